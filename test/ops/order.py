"""ArgMax, ArgMin, TopK against ONNX Runtime."""
import numpy as np
from harness import Family

f = Family("order")
n = f.normal
for op in "ArgMax", "ArgMin":
    for shape in (7,), (3, 5), (2, 21, 300), (4, 1, 3), (3, 0, 2)[:2]:
        for axis in {0, -1, len(shape) // 2}:
            if 0 in (shape[axis], len(shape)):
                continue
            f.case(op, [f.integers(0, 4, *shape, dtype=np.float32)], axis=axis,
                   keepdims=axis % 2, select_last_index=len(shape) % 2,
                   dynamic=axis < 0)
    for t in np.float16, np.float64, np.int8, np.uint8, np.int32:
        f.case(op, [f.integers(-99, 99, 4, 9).astype(t)], axis=1,
               reference="onnx")
    f.case(op, [n(2, 3, 0)], axis=1)
f.refused("ArgMax", [n(2, 0)], axis=1)
f.refused("ArgMax", [n(2, 0)], axis=1, dynamic=True, run_time=True)

k = lambda v: np.array([v], np.int64)
for shape, axis, count in ((10,), 0, 4), ((3, 50), 1, 50), ((3, 50), 0, 2), \
        ((2, 7, 9), 1, 5), ((4, 6), -1, 1), ((4, 6), -1, 0), ((0, 6), 1, 3):
    for largest in 0, 1:
        x = f.integers(0, 20, *shape, dtype=np.float32)
        f.case("TopK", [x, k(count)], axis=axis, largest=largest, outputs=2,
               constants=[1] if largest else (), dynamic=[0])
for t in np.float64, np.int64, np.int32, np.float16:
    f.case("TopK", [f.integers(-50, 50, 5, 30).astype(t), k(7)], outputs=2,
           reference="onnx" if t == np.float16 else None)
f.case("TopK", [np.array([200, 3, 255, 9], np.uint8), k(2)], outputs=2,
       reference="onnx")
f.case("TopK", [n(1, 3000), k(3000)], outputs=2)
f.case("TopK", [n(4, 9)], opset=9, k=3, outputs=2)
f.refused("TopK", [n(4, 9), k(10)], outputs=2, constants=[1])
f.refused("TopK", [n(4, 9), k(10)], outputs=2, run_time=True)
f.refused("TopK", [n(4, 9), k(-1)], outputs=2, run_time=True)
f.done()
