"""Small operators of ONNX Runtime's domain, against ONNX Runtime; transforms,
which its CPU provider lacks, against numpy."""
import numpy as np
from harness import Family

f = Family("contrib_misc", rtol=1e-3, atol=1e-4)
n = f.normal
pick = lambda *of: of[f.random.integers(len(of))]
i64 = lambda *v: np.array(v, np.int64)
i32 = lambda *v: np.array(v, np.int32)


def case(op, inputs, **options):
    f.case(op, inputs, domain="com.microsoft", **options)


for free in False, True:
    case("TransposeMatMul", [n(4, 3), n(5, 4)], transA=1, transB=1, alpha=0.5,
         dynamic=free)
    case("Trilu", [n(2, 4, 5), np.array(1)], upper=pick(0, 1), dynamic=free)
    case("Trilu", [n(4, 5)], dynamic=free)
    case("GatherND", [n(4, 3, 2), i32([0, 1], [3, 2])], dynamic=free and [0])
    case("GatherND", [n(4, 3), i64([[0, 1]], [[2, 2]])], dynamic=free and [0])
    case("Range", [np.array(2, np.int32), np.array(11, np.int32),
                   np.array(3, np.int32)], dynamic=free)
    case("Range", [np.array([0.5], np.float32), np.array([3], np.float32)],
         dynamic=free)
    for mode in "constant", "reflect", "edge":
        case("Pad", [n(3, 4), i64(1, 0, 2, 1)], mode=mode, dynamic=free,
             constants=pick((), (1,)))
    case("Pad", [n(3, 4), i64([0, 1, 0, 2]), np.array([2], np.float32)],
         constants=[1], dynamic=free)
    case("ExpandDims", [n(3, 4), np.array(1, np.int32)], constants=[1],
         dynamic=free)
    case("ExpandDims", [n(3, 4), np.array(-1, np.int32)], constants=[1],
         dynamic=free)
    case("Unique", [np.array([2, 1, 1, 3, 4, 3], np.float32)], outputs=3,
         dynamic=free)
    for metric in "euclidean", "sqeuclidean":
        for t in np.float32, np.float64:
            case("CDist", [n(5, 7, dtype=t), n(3, 7, dtype=t)], metric=metric,
                 dynamic=free)
    for shape in (1, 1), (3, 3), (2, 3, 5, 5), (0, 4, 4):
        for t in np.float32, np.float64:
            x = n(*shape, dtype=t) + 2 * np.eye(shape[-1], dtype=t)
            case("Inverse", [x], dynamic=free)
    x = n(4, 4)
    x[0, 0] = 0  # needs a pivot
    case("Inverse", [x])
    # Transforms
    x = n(3, 8)
    both = lambda z: np.stack([z.real, z.imag], -1).astype(np.float32)
    case("Rfft", [x], signal_ndim=1, onesided=1, normalized=0,
         want=[both(np.fft.rfft(x))], dynamic=free)
    x = n(2, 6, 8)
    z = np.fft.rfft2(x)
    case("Rfft", [x], signal_ndim=2, onesided=1, normalized=0,
         want=[both(z)], dynamic=free)
    case("Irfft", [both(z)], signal_ndim=2, onesided=1, normalized=0,
         want=[x], dynamic=free)
    case("Irfft", [both(np.fft.rfft(x))], signal_ndim=1, onesided=1,
         normalized=0, want=[x], dynamic=free)
    for t in np.int32, np.uint32, np.int64, np.uint64, np.float32, np.float64:
        x = f.integers(0, 1 << 30, 9).astype(t) * t(1 if t(0.5) == 0 else 0.7)
        case("MurmurHash3", [x], seed=pick(0, 5), positive=pick(0, 1),
             dynamic=free)
    case("MurmurHash3", [np.array([["", "a", "ab"], ["abc", "abcd", "z\u00fc"],
                                   ["foobarbaz", "x" * 100, "abcdefg"]],
                                  object)], seed=pick(0, 7),
         positive=pick(0, 1), dynamic=free)
    case("NGramRepeatBlock", [i64([1, 2, 3, 1, 2, 3, 1, 2], [4, 4, 4, 4, 4, 4,
                                                             4, 4]),
                              n(2, 6)], ngram_size=3, dynamic=free)
    case("NGramRepeatBlock", [i64([1, 2, 1]), n(1, 6)], ngram_size=1,
         dynamic=free)
    case("NGramRepeatBlock", [i64([1, 2, 1]), n(1, 6)], ngram_size=5,
         dynamic=free)
    # CropAndResize
    x = n(2, 3, 6, 7)
    rois = f.random.uniform(-0.1, 1.1, (5, 4)).astype(np.float32)
    for mode in "bilinear", "nearest":
        for size in (3, 4), (1, 2), (5, 1):
            case("CropAndResize", [x, rois, i32(0, 1, 1, 0, 1), i32(*size)],
                 mode=mode, extrapolation_value=0.5, dynamic=free,
                 constants=pick((), (3,)))
    # WordConvEmbedding: words that end before the row does
    words = np.array([[3, 1, 4, 0, 0, 0], [2, 2, 1, 5, 4, 3], [1, 0, 0, 0, 0, 0],
                      [4, 1, 2, 3, 0, 0]], np.int32)
    case("WordConvEmbedding", [words, n(5, 1, 3, 4), n(5), n(6, 4)],
         dynamic=free and [0])
    # DynamicQuantizeLSTM: here nothing but the weights is rounded
    for direction, d in ("forward", 1), ("bidirectional", 2):
        u8 = lambda *s: f.integers(0, 256, *s).astype(np.uint8)
        per = pick((d,), (d, 16))
        w, r = u8(d, 3, 16), u8(d, 4, 16)
        scales = [np.full(per, 0.004, np.float32) for _ in range(2)]
        zeros = [np.full(per, 120, np.uint8) for _ in range(2)]
        case("DynamicQuantizeLSTM", [n(5, 2, 3), w, r, n(d, 32), None, None,
                                     None, None, scales[0], zeros[0],
                                     scales[1], zeros[1]],
             constants=[1, 2, 3, 8, 9, 10, 11], hidden_size=4, outputs=3,
             direction=direction, rtol=2e-2, atol=2e-2,
             dynamic=free and [0])
# BifurcationDetector: predictions right from the start, in part, not at all
source = i64(*f.random.integers(0, 4, 12))
for start, right in (3, 9), (3, 2), (5, 0), (12, 0):
    guess = np.append(source[start:], 2)
    if right < len(guess) - 1:
        guess[right] += 1
    for current in source[:4], i64(1), i64(*f.random.integers(0, 4, 6)):
        case("BifurcationDetector", [source, current, i64(start), guess],
             outputs=2, min_ngram_size=pick(1, 2), max_ngram_size=pick(2, 5),
             dynamic=pick(False, [0, 1, 3]))
case("BifurcationDetector", [source, source[2:5], i64(0)], outputs=2,
     min_ngram_size=1, max_ngram_size=3, dynamic=[0, 1])
# Distances that ONNX Runtime only names: the formulas of scipy.
a, b = n(5, 7), n(3, 7)
a[0, :3] = b[1, :3] = 0
a[1, 2] = b[2, 2]
x, y = a[:, None], b[None]
angle = lambda x, y: 1 - (x * y).sum(2) / (
    np.linalg.norm(x, axis=2) * np.linalg.norm(y, axis=2))
middle = lambda x: x - x.mean(2, keepdims=True)
size = np.abs(x) + np.abs(y)
for metric, want in (("cosine", angle(x, y)),
                     ("correlation", angle(middle(x), middle(y))),
                     ("cityblock", np.abs(x - y).sum(2)),
                     ("chebyshev", np.abs(x - y).max(2)),
                     ("canberra", (np.abs(x - y) / np.where(size == 0, 1, size)
                                   ).sum(2)),
                     ("braycurtis", np.abs(x - y).sum(2) / np.abs(x + y).sum(2)),
                     ("hamming", (x != y).mean(2).astype(np.float32))):
    for free in False, True:
        case("CDist", [a, b], metric=metric, want=[want], dynamic=free)
f.refused("CDist", [n(3, 4), n(2, 4)], metric="jensen", domain="com.microsoft")
f.refused("Rfft", [n(3, 4)], onesided=0, normalized=0, signal_ndim=1,
          domain="com.microsoft")
f.refused("NGramRepeatBlock", [i64([1]), n(1, 6)], ngram_size=0,
          domain="com.microsoft")
f.done()
