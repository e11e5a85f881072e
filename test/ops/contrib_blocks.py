"""Weights of few bits in blocks, against ONNX Runtime."""
import ml_dtypes
import numpy as np
from harness import Family

f = Family("contrib_blocks", rtol=2e-3, atol=1e-3)
n = f.normal
pick = lambda *of: of[f.random.integers(len(of))]
u8 = lambda *s: f.integers(0, 256, *s).astype(np.uint8)


def case(op, inputs, **options):
    f.case(op, inputs, domain="com.microsoft", **options)


def dequantized(b, scales, zeros, bits, K, size, groups=None):
    """[N][K]"""
    N, count = b.shape[0], b.shape[1]
    per = 8 // bits
    q = np.stack([b >> (bits * i) & ((1 << bits) - 1) for i in range(per)], -1)
    q = q.reshape(N, -1)[:, :K].astype(np.float32)
    at = np.arange(K) // size if groups is None else groups
    if zeros is None:
        z = np.full((N, count), 1 << (bits - 1), np.float32)
    elif zeros.dtype == np.uint8:
        z = np.stack([zeros >> (bits * i) & ((1 << bits) - 1)
                      for i in range(per)], -1)
        z = z.reshape(N, -1)[:, :count].astype(np.float32)
    else:
        z = zeros.reshape(N, count)
    return (q - z[:, at]) * scales.reshape(N, count)[:, at]


for bits in 2, 4, 8:
    for K, size in (32, 16), (40, 16), (64, 32), (100, 128):
        N, count = 5, -(-K // size)
        b, scales = u8(N, count, size * bits // 8), n(N * count)
        a, bias = n(2, 3, K), n(N)
        packed = u8(N * -(-count * bits // 8))
        options = dict(K=K, N=N, bits=bits, block_size=size)
        forms = None, packed.reshape(N, -1), n(N * count)
        for zeros in forms:
            w = dequantized(b, scales, zeros, bits, K, size)
            want = [(a @ w.T + bias).astype(np.float32)]
            constants = [1, 2, 5] + ([3] if zeros is not None else [])
            case("MatMulNBits", [a, b, scales,
                                 None if zeros is None else zeros.reshape(-1),
                                 None, bias], constants=constants, want=want,
                 dynamic=pick(False, [0]), **options)
        groups = f.integers(0, count, K, dtype=np.int32)
        w = dequantized(b, scales, forms[1], bits, K, size, groups)
        case("MatMulNBits", [a, b, scales, packed, groups],
             constants=[1, 2, 3, 4], want=[(a @ w.T).astype(np.float32)],
             **options)
    if bits != 2:
        case("MatMulNBits", [n(3, 64), u8(5, 4, 2 * bits), n(20)],
             constants=[1, 2], K=64, N=5, bits=bits, block_size=16)
        case("MatMulNBits", [n(3, 64), u8(5, 4, 2 * bits), n(20),
                             u8(5 * bits // 2)], constants=[1, 2, 3], K=64,
             N=5, bits=bits, block_size=16)
half = lambda *s: n(*s).astype(np.float16)
case("MatMulNBits", [half(3, 32), u8(5, 2, 8), half(10)], constants=[1, 2],
     K=32, N=5, bits=4, block_size=16, rtol=1e-2, atol=2e-2)
f.refused("MatMulNBits", [n(3, 32), u8(5, 2, 4), n(10)], constants=[1, 2],
          domain="com.microsoft", K=32, N=5, bits=4, block_size=16)
f.refused("MatMulNBits", [n(3, 32), u8(5, 2, 8), n(10), None,
                          np.full(32, 7, np.int32)], constants=[1, 2, 4],
          domain="com.microsoft", K=32, N=5, bits=4, block_size=16)

# Weights that only the run knows, and blocks out of order, of equal sizes or not.
for bits in 2, 4, 8:
    for K, size in (64, 16), (100, 32):
        N, count = 5, -(-K // size)
        b, scales, a = u8(N, count, size * bits // 8), n(N * count), n(2, 3, K)
        packed = u8(N * -(-count * bits // 8))
        equal = f.random.permutation(np.arange(K, dtype=np.int32) // size)
        for zeros, groups in (None, None), (packed, None), (n(N * count), None), \
                (packed, equal), (None, equal):
            w = dequantized(b, scales, zeros if zeros is None or zeros.dtype !=
                            np.uint8 else zeros.reshape(N, -1), bits, K, size,
                            groups)
            want = [(a @ w.T).astype(np.float32)]
            inputs = [a, b, scales, zeros, groups]
            for constants in ((), (1,), (1, 2, 3, 4)):
                case("MatMulNBits", inputs, want=want, K=K, N=N, bits=bits,
                     block_size=size, dynamic=pick(False, [0]), constants=[
                         i for i in constants if inputs[i] is not None])
for kind in 0, 1:
    case("MatMulBnb4", [n(2, 31), u8(78), np.abs(n(10))], K=31, N=5,
         block_size=16, quant_type=kind, constants=pick((), (1,), (2,)))

for kind in 0, 1:
    for K, N, size in (32, 8, 16), (64, 5, 32), (48, 7, 64):
        case("MatMulBnb4", [n(2, K), u8((N * K + 1) // 2),
                            np.abs(n(-(-N * K // size)))], constants=[1, 2],
             K=K, N=N, block_size=size, quant_type=kind, transB=1,
             dynamic=pick(False, [0]))

for bits in 4, 8:
    for K, size in (32, 16), (64, 32), (48, 32):
        rows, count = 9, -(-K // size)
        data, scales = u8(rows, K * bits // 8), n(rows, count)
        zeros = pick(None, u8(rows, -(-count * bits // 8)))
        constants = [0, 2] + ([3] if zeros is not None else [])
        for ids in f.integers(0, rows, 4), f.integers(
                0, rows, 2, 3, dtype=np.int32):
            case("GatherBlockQuantized", [data, ids, scales, zeros],
                 constants=constants, bits=bits, block_size=size,
                 gather_axis=0, quantize_axis=1, dynamic=pick(False, [1]))
for t in ml_dtypes.int4, ml_dtypes.uint4:
    low = -8 if t is ml_dtypes.int4 else 0
    four = lambda *s: f.integers(low, low + 16, *s).astype(t)
    for zeros in None, four(9, 2):
        case("GatherBlockQuantized", [four(9, 32), f.integers(0, 9, 4),
                                      n(9, 2), zeros], block_size=16,
             constants=[0, 2] + ([3] if zeros is not None else []),
             gather_axis=0, quantize_axis=1)
# Single elements of blocks.
for t in ml_dtypes.int4, ml_dtypes.uint4, np.uint8:
    low, high = (-8, 8) if t is ml_dtypes.int4 else (0, 16)
    data, zeros = (f.integers(low, high, *s).astype(t) for s in ((3, 32), (3, 2)))
    ids, scales = f.integers(-32, 32, 2, 3), n(3, 2)
    real = (data.astype(np.float32) - np.repeat(zeros, 16, 1).astype(
        np.float32)) * np.repeat(scales, 16, 1)
    pack = lambda v: v[:, ::2] | v[:, 1::2] << 4 if t is np.uint8 else v
    case("GatherBlockQuantized", [pack(data), ids, scales, pack(zeros)],
         block_size=16, gather_axis=1, quantize_axis=1, bits=4,
         want=[real[:, ids]], dynamic=[1], constants=pick((), (0, 2, 3)))
f.done()
