"""Softmax, LogSoftmax, Hardmax against ONNX Runtime."""
import numpy as np
from harness import Family

f = Family("softmax")
n = f.normal
for op in "Softmax", "LogSoftmax", "Hardmax":
    for shape in (5,), (3, 1), (2, 37), (3, 5, 7), (0, 4), (1, 2, 100, 3):
        for axis in {0, -1, len(shape) // 2}:
            f.case(op, [n(*shape) * 4], axis=axis, dynamic=axis < 0)
    # Before opset 13 all dims from the axis on are one.
    f.case(op, [n(3, 4, 5)], opset=11)
    f.case(op, [n(3, 4, 5)], opset=11, axis=0, dynamic=True)
    f.case(op, [n(3, 4, 5)], opset=11, axis=2)
    for shape in (0, 4, 5), (3, 0, 5), (3, 4, 0), (2, 0, 3, 0, 2):
        f.case(op, [n(*shape)], opset=11, axis=1, dynamic=shape[0] == 2)
    f.case(op, [n(3, 40, 1, 1)], opset=9, axis=1)
    f.case(op, [n(3, 4, 5, dtype=np.float64)], axis=1, reference="onnx")
for op in "Softmax", "LogSoftmax":
    f.case(op, [n(3, 40, dtype=np.float16)])
    f.case(op, [np.full((2, 9), -np.inf, np.float32)])
f.case("Hardmax", [np.array([[2, 7, 7], [9, 1, 9]], np.float32)])
f.refused("Softmax", [n(3, 4)], axis=2)
f.done()
