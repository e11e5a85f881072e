"""Operators that compute with complex numbers: resizing, sampling, sums of
columns, sets. What is linear is done for both parts by the reference."""
import numpy as np
from harness import Family, by_reference, by_runtime, model_of
from sampling import grid_sample

f = Family("complex_numbers")


def parts(op, x, *rest, **options):
    """Of real numbers, for both parts."""
    run = by_reference if op == "Col2Im" else by_runtime
    done = []
    for part in x.real, x.imag:
        # In f32 for both types: ONNX Runtime lacks some of f64.
        inputs = [part.astype(np.float32), *rest]
        feeds = {f"in{i}": a for i, a in enumerate(inputs) if a is not None}
        done.append(run(model_of(op, inputs, **options), feeds)[0])
    return [(done[0] + 1j * done[1]).astype(x.dtype)]


def both(op, x, *rest, fixed=(), **options):
    for kind in np.complex64, np.complex128:
        z = x.astype(kind)
        want = parts(op, z, *rest, **options)
        free = [i for i in range(1 + len(rest)) if i not in fixed]
        for dynamic in False, free:
            f.case(op, [z, *rest], dynamic=dynamic, want=want, **options)


def sampled(x, grid, mode, padding):
    for kind in np.complex64, np.complex128:
        z = x.astype(kind)
        for dynamic in False, True:
            f.case("GridSample", [z, grid], dynamic=dynamic, mode=mode,
                   padding_mode=padding,
                   want=[grid_sample(z, grid, mode, padding)])


def numbers(*shape):
    return f.normal(*shape) + 1j * f.normal(*shape)


grid = f.random.uniform(-1.3, 1.3, (2, 3, 5, 2)).astype(np.float32)
for mode in "nearest", "linear", "cubic":
    for padding in "zeros", "border", "reflection":
        sampled(numbers(2, 3, 4, 5), grid, mode, padding)
for mode in "nearest", "linear", "cubic":
    scales = np.array([1, 1, 1.7, .6], np.float32)
    both("Resize", numbers(1, 2, 5, 7), None, scales, fixed=[2], mode=mode)
    both("Resize", numbers(5, 7), None, None, np.array([4, 9]), mode=mode,
         coordinate_transformation_mode="align_corners")
both("Resize", numbers(2, 3, 5), scales := np.array([1, 2, 1.5], np.float32),
     opset=10, fixed=[1], mode="linear")
both("Upsample", numbers(1, 2, 3, 5), np.array([1, 1, 2, 3], np.float32),
     opset=9, fixed=[1], mode="linear")
both("Col2Im", numbers(2, 8, 12), np.array([4, 5]), np.array([2, 2]), fixed=[1])

for kind in np.complex64, np.complex128:
    x, more = numbers(5, 4).astype(kind), numbers(6, 4).astype(kind)
    rows = f.integers(-5, 5, 6)
    for name, combine in ("add", np.add), ("mul", np.multiply):
        want, nothing = x.copy(), x[:, :0].copy()
        combine.at(want, rows, more)
        for dynamic in False, [0, 1, 2]:
            f.case("ScatterND", [x, rows[:, None].copy(), more],
                   reduction=name, dynamic=dynamic, opset=16, want=[want])
            f.case("ScatterElements", [x, np.repeat(rows[:, None], 4, 1), more],
                   reduction=name, dynamic=dynamic, opset=16, want=[want])
            f.case("ScatterElements", [nothing, np.zeros((6, 0), np.int64),
                                       more[:, :0].copy()],
                   reduction=name, dynamic=dynamic, want=[nothing])
    for name in "max", "min":
        f.refused("ScatterElements", [x, np.zeros((6, 4), np.int64), more],
                  reduction=name, opset=18)

x = numbers(40).round().astype(np.complex64)
rows = np.array([[1 + 2j, 3], [1 + 1j, 4], [1 + 2j, 3], [1 + 1j, -1]])
for z in x, x.reshape(4, 2, 5), rows, rows.astype(np.complex64):
    for axis in (None, *range(-z.ndim, z.ndim)):
        y, at, back, count = np.unique(z, True, True, True, axis=axis)
        given = {} if axis is None else {"axis": axis}
        for dynamic in False, True:
            f.case("Unique", [z], outputs=4, dynamic=dynamic, **given,
                   want=[y, at, back.reshape(-1), count])
f.refused("Unique", [rows], axis=2)
f.done()
