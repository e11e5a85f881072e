"""Gathers, scatters and what selects by contents, against ONNX Runtime."""
import numpy as np
from harness import Family

f = Family("index")
n, ints = f.normal, f.integers
i64 = lambda *v: np.array(v, np.int64)

for data, indices, axis in ((5,), (3,), 0), ((4, 7), (4, 3), 1), \
        ((4, 7), (2, 7), 0), ((3, 5, 2), (2, 5, 1), 1), ((4, 7), (0, 7), 0), \
        ((3, 5, 2), (3, 4, 2), -2):
    at = ints(-data[axis], data[axis], *indices)
    for t in np.float32, np.bool_, np.uint8, np.float16:
        f.case("GatherElements", [n(*data).astype(t), at.astype(np.int32)],
               axis=axis, dynamic=t == np.uint8)
    f.case("ScatterElements", [n(*data), at, n(*indices)], axis=axis,
           constants=[1], dynamic=[0, 2]) if at.size < 2 else None
    for reduction in "add", "mul", "max", "min":
        f.case("ScatterElements", [n(*data), at, n(*indices)], axis=axis,
               reduction=reduction, dynamic=reduction == "mul")
    f.case("ScatterElements",
           [ints(-9, 9, *data), at, ints(-9, 9, *indices)], axis=axis,
           reduction="max")
f.case("ScatterElements", [n(5), i64(4, -5, 0), n(3)])
f.case("ScatterElements", [n(1000, 3), ints(0, 1000, 500, 3), n(500, 3)],
       axis=0, reduction="add")
f.case("Scatter", [n(3, 4), i64([0, 2], [1, -1]), n(2, 2)], axis=1, opset=9)
f.refused("GatherElements", [n(3, 4), i64([1], [2], [0], [1])], axis=1)
f.refused("GatherElements", [n(0), i64(0)], dynamic=True, run_time=True)

for data, rows, tuple_size, batch in ((4,), (3,), 1, 0), \
        ((4, 5), (3, 2), 2, 0), ((4, 5, 3), (2,), 1, 0), \
        ((2, 5, 3), (2, 4), 1, 1), ((2, 5, 3), (2,), 2, 1), \
        ((4, 5), (0,), 1, 0), ((2, 3, 4, 5), (2, 3, 2), 1, 2):
    limit = [data[batch + k] for k in range(tuple_size)]
    at = np.stack([ints(-m, m, *rows) for m in limit], -1)
    f.case("GatherND", [n(*data), at], batch_dims=batch)
    f.case("GatherND", [ints(-9, 9, *data), at], batch_dims=batch,
           dynamic=[0])
    if batch:
        continue
    updates = rows + data[tuple_size:]
    for reduction in "add", "mul", "max", "min":
        f.case("ScatterND", [n(*data), at, n(*updates)], reduction=reduction,
               dynamic=[0, 2] if reduction == "add" else False)
f.case("ScatterND", [n(6, 2), i64([5], [-6], [3]), n(3, 2)])
f.case("ScatterND", [np.array([1, 200], np.uint8), i64([0], [0], [1]),
                     np.array([250, 3, 199], np.uint8)], reduction="max")

for shape, axis in ((), -1), ((3,), 0), ((2, 3), 1), ((2, 3), -1), ((0,), 0):
    x = ints(-6, 6, *shape)
    f.case("OneHot", [x, np.array(5), n(2)], axis=axis, dynamic=[0] if shape else
           False, reference=None if shape else "onnx")
    f.case("OneHot", [x.astype(np.float32), np.array(5, np.float32),
                      i64(-1, 7)], axis=axis, constants=[1], reference="onnx")
f.case("OneHot", [x.astype(np.float32), np.array([1], np.float32), n(2)])

for shape in (7,), (3, 5), (2, 1, 3), (0, 3), ():
    x = ints(-1, 2, *shape)
    f.case("NonZero", [x], dynamic=len(shape) == 2,
           reference=None if shape else "onnx")
    f.case("NonZero", [x.astype(np.float32)], reference=None if shape else "onnx")
    f.case("NonZero", [x > 0], reference=None if shape else "onnx")
    for axis in range(-len(shape), len(shape)):
        mask = ints(0, 2, shape[axis]) > 0
        f.case("Compress", [n(*shape), mask], axis=axis, dynamic=axis < 0)
    if shape:
        f.case("Compress", [n(*shape), ints(0, 2, x.size // 2) > 0])

for shape in (1,), (40,), (5, 4), (3, 2, 4), (0,):
    x = ints(-3, 3, *shape)
    for kept in 0, 1:
        f.case("Unique", [x], sorted=kept, outputs=4,
               dynamic=kept == 1)
        f.case("Unique", [x.astype(np.float32)], sorted=kept, outputs=4)
    for axis in range(len(shape)):
        small = ints(0, 2, *shape).astype(np.float32)
        if x.size:
            f.case("Unique", [small], axis=axis - len(shape), outputs=4)
            f.case("Unique", [small], axis=axis, sorted=0, outputs=4)
f.case("Unique", [ints(0, 2000, 3001)], outputs=4)

for time in 0, 1:
    x = n(5, 4, 3) if time == 0 else n(4, 5, 3)
    lengths = i64(1, 5, 3, 2)
    for dynamic in False, True:
        f.case("ReverseSequence", [x, lengths], time_axis=time,
               batch_axis=1 - time, dynamic=dynamic)

for t, to in (np.float32, 6), (np.int32, 1), (np.float16, 5), (np.int64, 11), \
        (np.uint8, 3), (np.uint16, 10):
    x = ints(0, 100, 3, 5).astype(t)
    np_to = {6: np.int32, 1: np.float32, 5: np.int16, 11: np.float64,
             3: np.int8, 10: np.float16}[to]
    f.case("BitCast", [x], to=to, opset=26, want=[x.view(np_to)])


def boxes(batch, count, centered):
    xy, wh = f.random.uniform(0, 4, (batch, count, 2)), \
        f.random.uniform(0.1, 2, (batch, count, 2))
    both = [xy, wh] if centered else [xy, xy + wh]
    return np.concatenate(both, -1).astype(np.float32)


scalar = lambda v: np.array([v], np.float32)
for batch, classes, count, most in (1, 1, 1, 1), (2, 3, 20, 4), \
        (1, 2, 200, 1000), (2, 1, 7, 0), (1, 1, 0, 3):
    for centered in 0, 1:
        scores = f.random.uniform(0, 1, (batch, classes, count)).astype(
            np.float32)
        f.case("NonMaxSuppression",
               [boxes(batch, count, centered), scores, i64(most), scalar(0.4),
                scalar(0.3)], center_point_box=centered,
               dynamic=centered == 1)
        f.case("NonMaxSuppression",
               [boxes(batch, count, centered), scores, i64(most)],
               center_point_box=centered)
# How many dimensions are sliced must be known.
x = n(3, 4)
f.case("Slice", [x, i64(0), i64(2)], dynamic=[1])
for lengths in ([1, 2, 1], [2, 1, 2], [2, 2, 1]):
    starts, ends, axes = (i64(*[0, 1][:k]) for k in lengths)
    f.refused("Slice", [x, starts, ends, axes], dynamic=[2, 3], run_time=True)
# Equal scores and boxes within each other.
grid = np.array([[[y, x, y + 2, x + 2] for y in range(6) for x in range(6)]],
                np.float32)
f.case("NonMaxSuppression",
       [grid, np.round(f.random.uniform(0, 2, (1, 3, 36))).astype(np.float32),
        i64(30), scalar(0.2)])

# Backwards from before the first element: from the first, says the standard.
for start in -9, -6, -5, -4, 9:
    for end in -2**63, -9, -5, 2:
        for n_rows in 5, 0:
            bounds = [i64(start), i64(end), i64(0), i64(-1)]
            for constants, dynamic in ((1, 2, 3, 4), False), ((), [0]), \
                    ((1, 2, 3, 4), [0]):
                f.case("Slice", [n(n_rows, 2), *bounds], constants=constants,
                       dynamic=dynamic)
f.done()
