"""Attention and RotaryEmbedding against the reference of the onnx package."""
import numpy as np
from harness import Family

f = Family("attention")
n = f.normal


def attention(q, k, v, *more, outputs=1, **options):
    f.case("Attention", [q, k, v, *more], outputs=outputs, reference="onnx",
           opset=24, **options)


B, H, S, T, D, E = 2, 4, 3, 5, 8, 7
for dynamic in False, True:
    q, k, v = n(B, H, S, D), n(B, H, T, D), n(B, H, T, E)
    attention(q, k, v, dynamic=dynamic)
    attention(q, k, v, dynamic=dynamic, is_causal=1, softcap=2.0, scale=0.3)
    for shape in (S, T), (1, T), (B, 1, S, T), (1, H, 1, T), (S, T - 2):
        attention(q, k, v, n(*shape), dynamic=dynamic)
    mask = n(S, T) > 0
    mask[1] = False  # a row without anything to attend
    attention(q, k, v, mask, dynamic=dynamic, outputs=4,
              qk_matmul_output_mode=3)
    attention(q, k, v, mask, dynamic=dynamic, is_causal=1)
    past = n(B, H, 2, D), n(B, H, 2, E)
    attention(q, k, v, None, *past, outputs=4, dynamic=dynamic, is_causal=1,
              qk_matmul_output_mode=1)
    attention(q, k, v, None, n(B, H, 0, D), n(B, H, 0, E), outputs=3,
              dynamic=dynamic)
    attention(q, k, v, n(S, T) > 0, None, None, np.array([5, 2]),
              dynamic=dynamic, is_causal=1)
    for t in np.int8, np.uint32, np.int64: # a mask of numbers is added
        attention(q, k, v, f.integers(0, 3, S, T, dtype=t), dynamic=dynamic)
    # Heads that share keys; rank 3.
    if not dynamic:
        attention(q, n(B, 2, T, D), n(B, 2, T, E), is_causal=1)
    attention(n(B, S, 6 * D), n(B, T, 2 * D), n(B, T, 2 * E), q_num_heads=6,
              kv_num_heads=2, dynamic=dynamic, outputs=3)
attention(q.astype(np.float64), k.astype(np.float64), v.astype(np.float64))
attention(q.astype(np.float16), k.astype(np.float16), v.astype(np.float16))
attention(n(1, 2, 40, 16), n(1, 2, 70, 16), n(1, 2, 70, 16), is_causal=1)
for past in 0, 3: # the form of a decoder
    x = [n(1, 4, 6, 16)] + [n(1, 2, 6, 16)] * 2
    past = [None] + [n(1, 2, past, 16)] * 2 if past else []
    attention(*x, *past, is_causal=1, outputs=3 if past else 1)
    x = [n(2, 6, 64)] + [n(2, 6, 32)] * 2
    past = [None] + [n(2, 2, 5, 16)] * 2 if past else []
    attention(*x, *past, is_causal=1, outputs=3 if past else 1,
              q_num_heads=4, kv_num_heads=2)
f.refused("Attention", [q, n(B, H, T, D + 1), v], opset=24)
f.refused("Attention", [q, n(B, H, T, D + 1), v], opset=24, dynamic=True,
          run_time=True)
f.refused("Attention", [q, k, n(B, H, T + 1, E)], opset=24, dynamic=True,
          run_time=True)

ids = np.array([[2, 0, 1], [4, 3, 3]])
for interleaved in 0, 1:
    for part in 0, 4:
        half = (part or D) // 2
        options = dict(interleaved=interleaved, rotary_embedding_dim=part,
                       opset=23, reference="onnx", dynamic=part == 0)
        f.case("RotaryEmbedding", [n(B, H, S, D), n(6, half), n(6, half), ids],
               **options)
        f.case("RotaryEmbedding", [n(B, S, H * D), n(B, S, half),
                                   n(B, S, half)], num_heads=H, **options)
f.refused("RotaryEmbedding", [n(B, H, S, D), n(6, 3), n(6, 3), ids], opset=23,
          dynamic=True, run_time=True)
f.done()
