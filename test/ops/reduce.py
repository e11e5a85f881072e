"""Reductions against ONNX Runtime."""
import numpy as np
from harness import Family

f = Family("reduce")
n = f.normal
ints = lambda *v: np.array(v, np.int64)
OPS = ["ReduceSum", "ReduceMean", "ReduceProd", "ReduceMax", "ReduceMin",
       "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp",
       "ReduceSumSquare"]
CASES = [((3, 4, 5), (1,)), ((3, 4, 5), (0, -1)), ((2, 3, 4, 5), (1, 2)),
         ((7, 33), (1,)), ((7, 33), (0,)), ((5,), (0,))]
for k, op in enumerate(OPS):
    for i, (shape, axes) in enumerate(CASES):
        x = np.abs(n(*shape)) + 0.1 if op == "ReduceLogSum" else n(*shape)
        keep = (i + k) % 2
        # constant axes, dims known or not; axes of run time
        f.case(op, [x, ints(*axes)], opset=18, keepdims=keep, constants=[1],
               dynamic=[0] if k % 2 else False)
        if i < 3:
            f.case(op, [x, ints(*axes)], opset=18, keepdims=keep,
                   dynamic=[0] if k % 2 else False)
    x = np.abs(n(3, 4)) + 0.1
    f.case(op, [x], opset=11, axes=[1])
    f.case(op, [x], opset=18)
    f.case(op, [x], opset=18, noop_with_empty_axes=1, reference="onnx")
    f.case(op, [x.astype(np.float64)], opset=18, keepdims=0)
    f.case(op, [x.astype(np.float16), ints(0)], opset=18, constants=[1],
           reference="onnx")
    if "Log" not in op and op != "ReduceL2":
        x = f.integers(-5, 9, 3, 4, dtype=np.int32)
        f.case(op, [x, ints(0)], opset=18, constants=[1])
for op in "ReduceMax", "ReduceMin":
    for t in np.uint8, np.int8:
        f.case(op, [f.integers(-99, 99, 4, 5).astype(t), ints(1)], opset=18,
               constants=[1])
    f.case(op, [n(4, 5) > 0, ints(1)], opset=20, constants=[1],
           reference="onnx")
for op in OPS:
    if op not in ("ReduceMean", "ReduceMax", "ReduceMin"):
        f.case(op, [n(2, 0, 3), ints(1)], opset=18, constants=[1],
               reference="onnx")
f.case("ReduceLogSumExp", [np.array([[-np.inf] * 2, [300, 300]], np.float32),
                           ints(1)], opset=18, constants=[1])
# Means of integers whose sums have more bits than they, rounded to zero.
for t in np.int32, np.uint32, np.int64, np.uint64:
    low, high = np.iinfo(t).min, np.iinfo(t).max
    x = f.random.integers(low, high, (5, 7), t, True)
    x[0], x[1, 1:], x[2, ::2] = high, low, high - 1
    x[3] = np.array([1, -1, 2, -2, 3, -4, -1] if low else range(7)).astype(t)
    for axis in 0, 1:
        sums = x.astype(object).sum(axis, keepdims=True)
        size = x.shape[axis]
        want = np.where(sums < 0, -(-sums // size), sums // size).astype(t)
        for constants in (1,), ():
            f.case("ReduceMean", [x, ints(axis)], opset=18,
                   constants=constants, dynamic=[0] if axis else False,
                   want=[want])
f.refused("ReduceSum", [n(3, 4), ints(2)], opset=18, constants=[1])
f.refused("ReduceSum", [n(3, 4), ints(2)], opset=18, run_time=True)
f.done()
