"""Embeddings of ONNX Runtime's domain, against ONNX Runtime."""
import os

import numpy as np
from harness import Family

f = Family("contrib_embed", rtol=1e-3, atol=1e-4)
n = f.normal
pick = lambda *of: of[f.random.integers(len(of))]
COUNT = int(os.environ.get("FERRULE_CASES", 5))


def case(op, inputs, **options):
    f.case(op, inputs, domain="com.microsoft", **options)


for i in range(COUNT):
    batch, rows, size = pick(1, 3), pick(1, 5), pick(4, 9)
    ids = f.integers(0, 11, batch, rows, dtype=np.int32)
    segmented = pick(False, True)
    segments = f.integers(0, 2, batch, rows, dtype=np.int32) if segmented \
        else None
    mask = pick(None, f.integers(0, 2, batch, rows, dtype=np.int32))
    places = pick(None, f.integers(0, 7, pick(1, batch), rows, dtype=np.int32))
    free = pick(False, [0, 1, 7, 8])
    case("EmbedLayerNormalization",
         [ids, segments, n(11, size), n(7, size),
          n(2, size) if segmented else None, n(size), n(size), mask, places],
         outputs=pick(2, 3), dynamic=free, epsilon=1e-5,
         constants=pick((), (2, 3, 5, 6)))
    kind = pick(np.uint8, np.int8)
    low = np.iinfo(kind).min
    q = lambda *s: f.integers(low, low + 256, *s).astype(kind)
    scale = lambda: np.array(f.random.uniform(0.01, 0.1), np.float32)
    zero = lambda: np.array(f.integers(low + 100, low + 150), kind)
    case("QEmbedLayerNormalization",
         [ids, segments, q(11, size), q(7, size),
          q(2, size) if segmented else None, q(size), q(size), mask,
          scale(), scale(), scale() if segmented else None, scale(), scale(),
          zero(), zero(), zero() if segmented else None, zero(), zero()],
         outputs=2, dynamic=free and [0], epsilon=1e-5,
         constants=pick((), (2, 3, 5, 6)))
f.done()
