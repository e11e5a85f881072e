"""Quantization and integer products against ONNX Runtime or the reference."""
import ml_dtypes
import numpy as np
from harness import Family, type_of

f = Family("quantize")
n = f.normal
f32 = np.float32
scalar = lambda v, t=f32: np.array(v, t)
# Exact halves, and numbers that saturate.
x = np.array([[-300, -2.5, -1.5, -0.5, 0.5], [1.5, 2.5, 99.4, 128, 300]], f32)
for t in np.uint8, np.int8, np.uint16, np.int16:
    zero = 3 if np.iinfo(t).min == 0 else -2
    f.case("QuantizeLinear", [x, scalar(1), scalar(zero, t)])
    f.case("QuantizeLinear", [x, scalar(0.3), scalar(zero, t)], dynamic=True)
    f.case("QuantizeLinear", [x, n(5) ** 2 + 0.1, np.full(5, zero, t)],
           axis=1, constants=[1, 2], dynamic=[0])
    f.case("QuantizeLinear", [x, n(2) ** 2 + 0.1, np.full(2, zero, t)],
           axis=-2)
    y = f.integers(np.iinfo(t).min, np.iinfo(t).max, 3, 4).astype(t)
    f.case("DequantizeLinear", [y, scalar(0.3), scalar(zero, t)])
    f.case("DequantizeLinear", [y, n(4), np.full(4, zero, t)], axis=1,
           dynamic=True)
    f.case("DequantizeLinear", [y, n(3)], axis=0)
f.case("QuantizeLinear", [x, scalar(0.5)])
f.case("QuantizeLinear", [x.astype(np.float16), scalar(0.5, np.float16),
                          scalar(4, np.uint8)], opset=21)
f.case("QuantizeLinear", [n(4, 6) * 9, n(2, 6) ** 2 + 0.1,
                          f.integers(0, 9, 2, 6, dtype=np.uint8)], axis=0,
       block_size=2, opset=21)
f.case("QuantizeLinear", [n(3, 5) * 9, n(3, 2) ** 2 + 0.1], axis=1,
       block_size=3, opset=21, dynamic=True)
f.case("QuantizeLinear", [n(0, 5), scalar(1)])
f.case("DequantizeLinear", [f.integers(-999, 999, 3, dtype=np.int32),
                            scalar(0.1)])
f.case("DequantizeLinear", [f.integers(0, 99, 4, 6, dtype=np.int8), n(4, 2)],
       axis=1, block_size=3, opset=21)
f.case("DequantizeLinear", [f.integers(0, 99, 4, 6, dtype=np.int8),
                            n(4, dtype=np.float16)], axis=0, opset=21)
f.refused("DequantizeLinear", [y, n(5)], axis=1)
f.refused("DequantizeLinear", [y, n(5)], axis=1, dynamic=True, run_time=True)
for values in [1, 2, -3], [-5, -1], [0, 0], [2.5, 100]:
    f.case("DynamicQuantizeLinear", [np.array(values, f32)], outputs=3)
f.case("DynamicQuantizeLinear", [n(3, 40)], outputs=3, dynamic=True)

for ta in np.uint8, np.int8:
    for tb in np.uint8, np.int8:
        def a(*shape, t=ta):
            low = np.iinfo(t).min
            return f.integers(low, low + 256, *shape).astype(t)
        b = lambda *shape: a(*shape, t=tb)
        f.case("MatMulInteger", [a(3, 70), b(70, 5)])
        f.case("MatMulInteger", [a(3, 70), b(70, 35), a(1)[0], b(1)[0]],
               constants=[1, 3], dynamic=[0], reference="onnx")
        f.case("MatMulInteger", [a(2, 3, 9), b(9, 5), a(1)[0], b(5)],
               dynamic=True, reference="onnx")
        f.case("MatMulInteger", [a(2, 3, 9), b(2, 9, 5), a(1)[0]],
               reference="onnx")
        f.case("MatMulInteger", [a(65, 4), b(4, 3)], constants=[1])
        scales = [scalar(0.02), scalar(0.03), scalar(0.1)]
        f.case("QLinearMatMul", [a(3, 8), scales[0], a(1)[0], b(8, 5),
                                 scales[1], b(1)[0], scales[2], a(1)[0]],
               reference="onnx")
        f.case("QLinearMatMul", [a(2, 3, 8), scales[0], a(1)[0], b(8, 5),
                                 scales[1], b(1)[0], scales[2], a(1)[0]],
               constants=[1, 2, 3, 4, 5, 6, 7], dynamic=True,
               reference="onnx")
# Constant B: tiles of the dot instructions, and what does not fill them.
for m, k, n_ in ((1, 4, 48), (7, 5, 5), (8, 64, 100), (9, 130, 48),
                 (65, 6, 97), (3, 1, 1), (0, 4, 3)):
    for signed in 0, 1:
        ta, tb = (np.int8, np.uint8) if signed else (np.uint8, np.int8)
        f.case("MatMulInteger", [a(m, k, t=ta), a(k, n_, t=tb)],
               constants=[1], dynamic=[0] if signed else False)
        f.case("MatMulInteger", [a(m, k, t=ta), a(k, n_, t=tb), a(1, t=ta)[0],
                                 a(n_, t=tb)], constants=[1, 3],
               dynamic=[] if signed else [0], reference="onnx")
f.case("MatMulInteger", [a(2, 3, 7), b(7, 5), a(1)[0]], constants=[1],
       dynamic=[0], reference="onnx")
f.case("MatMulInteger", [a(0, 4), b(4, 3)])
# Types of 8 bits and less, floats of 6 too; scales of all granularities.
SMALL = {"int4": 22, "uint4": 21, "int2": 26, "uint2": 25,
         "float4_e2m1fn": 23, "float6_e2m3fn": 27, "float6_e3m2fn": 28,
         "float8_e4m3fn": 17, "float8_e5m2": 19}
x = f.normal(6, 10) * 20
scales = {"tensor": (np.array(2.5, np.float32), {}),
          "axis": (np.linspace(.5, 5, 10).astype(np.float32), {"axis": 1}),
          "block": (np.linspace(.5, 5, 24).astype(np.float32).reshape(6, 4),
                    {"axis": -1, "block_size": 3})}
for name, number in SMALL.items():
    t = np.dtype(getattr(ml_dtypes, name))
    for scale, attributes in scales.values():
        f.case("QuantizeLinear", [x, scale], "onnx", opset=28,
               output_dtype=number, **attributes)
        # the reference leaves other zero points of floats out
        zero = np.full(scale.shape, "int" in name).astype(t)
        f.case("QuantizeLinear", [x, scale, zero], "onnx", opset=28,
               dynamic=True, constants=[2], **attributes)
        q = np.clip(x, 0, 3).astype(np.int64) if "int" in name else x
        q = q.astype(t)
        f.case("DequantizeLinear", [q, scale], "onnx", opset=28, **attributes)
        f.case("DequantizeLinear", [q, scale, zero], "onnx", opset=28,
               dynamic=True, **attributes)
        f.case("DequantizeLinear", [q, scale, zero], "onnx", opset=28,
               constants=[0, 1, 2], output_dtype=10, **attributes)
# The quotient has the scale's precision, or the one that is given.
for t in np.float16, ml_dtypes.bfloat16:
    f.case("QuantizeLinear", [x.astype(t), np.array(.37, t)], "onnx",
           opset=25)
    f.case("QuantizeLinear", [x, np.array(.37, np.float32)], "onnx", opset=25,
           precision=type_of(np.zeros(0, t)))
q = np.arange(6).astype(ml_dtypes.int4)
e8m0 = np.array(0.25).astype(ml_dtypes.float8_e8m0fnu)
f.case("DequantizeLinear", [q, e8m0], opset=28, output_dtype=1,
       want=[np.arange(6, dtype=np.float32) / 4])
f.case("QuantizeLinear", [x, e8m0], opset=28, output_dtype=3,
       want=[np.clip(np.rint(x * 4), -128, 127).astype(np.int8)])
f.refused("DequantizeLinear", [q, e8m0], opset=28)
big = np.array([np.inf, -np.inf, 1e9, np.nan], np.float32)
for saturate in 0, 1:
    f.case("QuantizeLinear", [big, np.array(1, np.float32)], "onnx", opset=25,
           output_dtype=17, saturate=saturate)
f.done()
