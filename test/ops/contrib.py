"""ONNX Runtime's operators for transformers, against ONNX Runtime."""
import numpy as np
from harness import Family

f = Family("contrib", rtol=1e-3, atol=1e-4)
n = f.normal


def case(op, inputs, **options):
    f.case(op, inputs, domain="com.microsoft", **options)


case("Gelu", [n(3, 4)])
case("FastGelu", [n(3, 4)])
case("FastGelu", [n(3, 4), n(4)], dynamic=True)
case("BiasGelu", [n(3, 4), n(4)])
case("QuickGelu", [n(3, 4)], alpha=1.5)

u8 = lambda *s: f.integers(0, 256, *s).astype(np.uint8)
i8 = lambda *s: f.integers(-128, 128, *s).astype(np.int8)
scalar = lambda v, t=np.float32: np.array(v, t)
case("MatMulIntegerToFloat", [u8(3, 8), i8(8, 5), scalar(0.1), scalar(0.2)])
case("MatMulIntegerToFloat", [u8(3, 8), u8(8, 5), scalar(0.1), n(5), scalar(7, np.uint8),
                              u8(5), n(5)], constants=[1, 3, 5, 6])
case("DynamicQuantizeMatMul", [n(3, 8), i8(8, 5), scalar(0.2)], constants=[1],
     dynamic=[0])
case("DynamicQuantizeMatMul", [n(3, 8), u8(8, 5), n(5), u8(5), n(5)],
     constants=[1, 2, 3, 4])

for bits in 4, 8:
    for K, size in (32, 16), (40, 16), (64, 32):
        N, count = 5, -(-K // size)
        b, scales = u8(N, count, size * bits // 8), n(N * count)
        zeros = u8(N * -(-count * bits // 8))
        options = dict(K=K, N=N, bits=bits, block_size=size)
        case("MatMulNBits", [n(2, 3, K), b, scales], constants=[1, 2],
             **options)
        case("MatMulNBits", [n(3, K), b, scales, zeros], constants=[1, 2, 3],
             dynamic=[0], **options)
f.refused("MatMulNBits", [n(3, 32), u8(5, 2, 4), n(10)], constants=[1, 2],
          domain="com.microsoft", K=32, N=5, bits=4, block_size=16)

f.done()
