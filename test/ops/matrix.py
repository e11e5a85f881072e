"""CumSum, CumProd, Det, Trilu, EyeLike against ONNX Runtime or the reference."""
import numpy as np
from harness import Family

f = Family("matrix")
n = f.normal
i64 = lambda *v: np.array(v, np.int64)
scalar = lambda v, t=np.int64: np.array(v, t)
for exclusive in 0, 1:
    for reverse in 0, 1:
        for shape, axis in ((7,), 0), ((3, 5), -1), ((2, 4, 5), 1), ((3, 0), 1):
            f.case("CumSum", [n(*shape), scalar(axis)], exclusive=exclusive,
                   reverse=reverse, constants=[1] if reverse else (),
                   dynamic=[0])
        f.case("CumProd", [n(4, 5), scalar(1)], exclusive=exclusive,
               reverse=reverse, opset=26, reference="onnx", constants=[1])
for t in np.float64, np.int32, np.int64:
    f.case("CumSum", [f.integers(-9, 9, 4, 5).astype(t), scalar(0, np.int32)])
f.refused("CumSum", [n(3, 4), scalar(2)], constants=[1])
f.refused("CumSum", [n(3, 4), scalar(2)], run_time=True)
for shape in (1, 1), (2, 2), (3, 5, 5), (2, 2, 4, 4), (0, 0), (3, 0, 0):
    f.case("Det", [n(*shape)], dynamic=len(shape) == 3, reference="onnx")
f.case("Det", [np.ones((3, 3), np.float32)])
f.case("Det", [np.array([[0, 1], [1, 0]], np.float64)], reference="onnx")
for upper in 0, 1:
    for k in None, -9, -1, 0, 2, 9:
        for t in np.float32, np.int64, np.bool_:
            x = n(2, 3, 5).astype(t)
            if k is None:
                f.case("Trilu", [x], upper=upper)
            elif t == np.float32:
                f.case("Trilu", [x, scalar(k)], upper=upper, dynamic=[0],
                       constants=[1] if k > 0 else ())
for k in -1, 0, 2:
    f.case("EyeLike", [n(3, 5)], k=k, dynamic=k == 2)
    f.case("EyeLike", [f.integers(0, 9, 4, 3, dtype=np.int32)], k=k, dtype=11)
f.case("EyeLike", [n(3, 3)], dtype=9, reference="onnx")
f.done()
