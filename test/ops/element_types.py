"""Element types: Cast between all pairs, and what only moves elements."""
import os
import subprocess

import ml_dtypes as ml
import numpy as np
import onnx
from harness import Family, ferrule, helper, type_of
from onnx import numpy_helper

f = Family("element_types")
INTS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32,
        np.uint64]
NARROW_INTS = [ml.int2, ml.uint2, ml.int4, ml.uint4]
FLOATS = [np.float16, ml.bfloat16, np.float32, np.float64]
FLOAT8S = [ml.float8_e4m3fn, ml.float8_e4m3fnuz, ml.float8_e5m2,
           ml.float8_e5m2fnuz]
NARROW_FLOATS = [ml.float4_e2m1fn, ml.float6_e2m3fn, ml.float6_e3m2fn]
E8M0 = ml.float8_e8m0fnu
NUMBERS = ([np.bool_] + INTS + NARROW_INTS + FLOATS + FLOAT8S + NARROW_FLOATS +
           [E8M0])
SMALL = NARROW_INTS + NARROW_FLOATS + [E8M0]


def bits(t):
    if t is np.bool_:
        return 1
    return (ml.iinfo(t) if is_int(t) else ml.finfo(t)).bits


def is_int(t):
    return t in INTS or t in NARROW_INTS


def all_values(t):
    """Every value of a small type, else random bits and the extremes."""
    if t is np.bool_:
        return np.array([False, True])
    n = bits(t)
    if n <= 8:
        codes = np.arange(2 ** n).astype(np.uint8)
        return codes.view(t)
    if is_int(t):
        info = np.iinfo(t)
        return np.concatenate([
            f.random.integers(info.min, info.max, 300, t, endpoint=True),
            f.random.integers(max(info.min, -300), 300, 300).astype(t),
            np.array([info.min, info.max, 0, 1], t)])
    x = np.concatenate([
        np.ldexp(f.normal(400, dtype=np.float64),
                 f.random.integers(-20, 20, 400)),
        [0., -0., np.inf, -np.inf, 1e30, -1e30, 6, 5, 240, 248, 448, 464, 480,
         57344, 61440, 65520]])
    with np.errstate(over="ignore"):
        return x.astype(t)


def in_range(x, to):
    """What the standard leaves open for this conversion is left out."""
    if to is E8M0:
        wide = x.astype(np.float64)
        return x[~np.isnan(wide) & ~np.signbit(wide)]
    if not is_int(to) or is_int(x.dtype.type) or x.dtype == np.bool_:
        return x
    wide = x.astype(np.float64)
    info = ml.iinfo(to)
    low, high = float(info.min), float(info.max)
    # the largest number itself may not be one of the float type
    return x[(wide > low - 1) & (wide < high) & ~np.isnan(wide)]


def power_of_two(x, mode="up", saturate=True):
    """The standard's table for float8e8m0, of one number in float32."""
    x = float(np.float32(x))
    if np.isnan(x):
        return np.nan
    if np.isinf(x):
        return 2.0 ** 127 if saturate else np.nan
    if x < 2.0 ** -127:
        return 2.0 ** -127 if saturate else np.nan
    below = 2.0 ** int(np.floor(np.log2(x)))
    up = {"up": x > below, "down": False, "nearest": x >= 1.5 * below}[mode]
    v = 2 * below if up else below
    return v if v < 2.0 ** 128 else 2.0 ** 127 if saturate else np.nan


def cast(x, to):
    if x.dtype == to:
        return x
    # Not all pairs are there in numpy: by way of what holds all values.
    if x.dtype.type in NARROW_INTS or x.dtype == np.bool_:
        x = x.astype(np.int64)
    elif x.dtype.type not in INTS + FLOATS:
        x = x.astype(np.float64)
    if to in FLOAT8S:
        x = x if x.dtype.type in FLOATS else x.astype(np.float64)
        return numpy_helper.saturate_cast(x, to)
    if to is E8M0:
        return np.array([power_of_two(v) for v in x.astype(np.float64)]) \
            .astype(E8M0).reshape(x.shape)
    if to is np.bool_:
        return x.astype(np.float64) != 0
    if to in NARROW_INTS:
        return x.astype(np.int64).astype(to)
    with np.errstate(over="ignore"):
        return x.astype(to)


def all_casts(t):
    """From t to every type, in one model."""
    feeds, want, nodes = {}, {}, []
    for i, to in enumerate(NUMBERS):
        x = in_range(all_values(t), to)
        feeds[f"x{i}"], want[f"y{i}"] = x, cast(x, to)
        nodes.append(helper.make_node("Cast", [f"x{i}"], [f"y{i}"],
                                      to=type_of(want[f"y{i}"])))
    f.graph(f"Cast from {np.dtype(t)}", nodes, feeds, want, opset=25, rtol=0,
            atol=0)


for t in NUMBERS:
    all_casts(t)

# float8e8m0: all modes; the values are not ties of float32 itself.
x = np.ldexp(1 + f.random.random(200), f.random.integers(-140, 128, 200))
x = np.concatenate([x, 2.0 ** np.arange(-130, 128), 1.5 * 2.0 ** np.arange(
    -130, 127), [0, np.inf, np.nan]])
with np.errstate(over="ignore"):
    x = x.astype(np.float32)
for mode in "up", "down", "nearest":
    for saturate in 0, 1:
        want = np.array([power_of_two(v, mode, saturate) for v in x])
        f.case("Cast", [x], opset=25, to=24, round_mode=mode,
               saturate=saturate, want=[want.astype(E8M0)])
        f.case("CastLike", [x, np.ones(1, E8M0)], opset=25, round_mode=mode,
               saturate=saturate, want=[want.astype(E8M0)])
f.refused("Cast", [x], opset=25, to=24, round_mode="away")
f.refused("Cast", [x], opset=25, to=77)
for t in ml.int4, E8M0:
    f.refused("ScatterND", [np.ones(3, t), np.array([[0]]), np.ones(1, t)],
              opset=25, reduction="add")
f.refused("ScatterND", [np.ones(3, np.complex64), np.array([[0]]),
                        np.ones(1, np.complex64)], opset=25, reduction="max")
# Without saturation.
x = np.array([0, -0., 1, 1e9, -1e9, np.inf, -np.inf, np.nan, 464, 465, 247,
              248, 61439, 61440, -61440], np.float32)
for t in FLOAT8S:
    f.case("Cast", [x], opset=25, saturate=0, want=[x.astype(t)],
           to=helper.np_dtype_to_tensor_dtype(np.dtype(t)))
# Rounded once: the middle of two numbers of the type, and a little more.
for t, middle in (ml.float8_e5m2, 1.125), (ml.float4_e2m1fn, 1.25), \
        (ml.float6_e2m3fn, 1.0625):
    x = np.array([middle, middle * (1 + 1e-12), middle * (1 - 1e-12)])
    up = middle + (middle - 1)
    f.case("Cast", [x], opset=25, want=[np.array([1, up, 1]).astype(t)],
           to=helper.np_dtype_to_tensor_dtype(np.dtype(t)))
# A caller may leave anything above the bits of a narrow integer.
x = np.array([0x1f, 0xf8, 0x07, 0xa0], np.uint8)
f.case("Cast", [x.view(ml.int4)], opset=25, to=1,
       want=[np.array([-1, -8, 7, 0], np.float32)])

# Movement, of inputs and of constants, static and dynamic.
MOVED = [ml.int2, ml.float4_e2m1fn, E8M0,
         np.complex64, np.complex128]
for t in MOVED:
    if t in SMALL:
        x = f.random.choice(all_values(t)[:2 ** bits(t) - 1], (3, 5, 7))
    else:
        x = (f.normal(3, 5, 7) + 1j * f.normal(3, 5, 7)).astype(t)
    flat = np.ascontiguousarray(x.reshape(-1))
    big = np.tile(x, (2, 7, 5))
    i64 = np.int64
    grid = np.ascontiguousarray(big.reshape(1, 6, 35, 35)[:, :4, :4, :4])
    index = f.integers(0, 5, 2, 3)
    at = f.integers(-3, 3, 3, 2, 7)
    mask = f.random.random((3, 5, 7)) > 0.5
    rev = np.array([3, 1, 2, 2, 1], i64)
    want = x.copy()
    for b, n in enumerate(rev):
        want[:n, b] = x[:n, b][::-1]
    update = np.ascontiguousarray(x[:2, 0])
    scattered = x.copy()
    scattered[[2, 0], 1] = update
    where = np.take(np.arange(5), f.integers(0, 5, 3, 2, 7))
    elements = np.ascontiguousarray(x[:, :2])
    put = x.copy()
    for i, j, k in np.ndindex(3, 2, 7):
        put[i, where[i, j, k], k] = elements[i, j, k]
    cases = [
        ("Identity", [x], x, {}), ("Reshape", [x, np.array([7, -1])],
                                   x.reshape(7, -1), {}),
        ("Transpose", [x], x.transpose(2, 0, 1), {"perm": [2, 0, 1]}),
        ("Transpose", [big], big.transpose(0, 2, 1), {"perm": [0, 2, 1]}),
        ("Flatten", [x], x.reshape(3, 35), {}),
        ("Squeeze", [x[:1].copy(), np.array([0])], x[0], {}),
        ("Unsqueeze", [x, np.array([1])], x[:, None], {}),
        ("Shape", [x], np.array(x.shape), {}),
        ("Size", [x], np.array(x.size), {}),
        ("Concat", [x, x], np.concatenate([x, x], 1), {"axis": 1}),
        ("Slice", [x, np.array([-1]), np.array([0]), np.array([2]),
                   np.array([-2])], x[:, :, -1:0:-2], {}),
        ("Gather", [x, index], x[:, index], {"axis": 1}),
        ("GatherElements", [x, at], np.take_along_axis(
            x, np.where(at < 0, at + 5, at), 1), {"axis": 1}),
        ("GatherND", [x, np.array([[0, 1], [2, 4]])], x[[0, 2], [1, 4]], {}),
        ("Expand", [x[:, :1].copy(), np.array([3, 4, 7])],
         np.broadcast_to(x[:, :1], (3, 4, 7)), {}),
        ("Tile", [x, np.array([1, 2, 1])], np.tile(x, (1, 2, 1)), {}),
        ("Where", [mask, x, flat[:1]], np.where(mask, x, flat[0]), {}),
        ("Pad", [x, np.array([0, 1, 0, 0, 0, 2]), flat[:1].reshape(())],
         np.pad(x, ((0, 0), (1, 0), (0, 2)),
                constant_values=flat[0]), {}),
        ("Pad", [x, np.array([0, 1, 0, 0, 0, 2])],
         np.pad(x, ((0, 0), (1, 0), (0, 2)), mode="edge"), {"mode": "edge"}),
        ("Split", [x], x[:, :, :4], {"axis": 2, "num_outputs": 2}),
        ("ScatterND", [x, np.array([[2, 1], [0, 1]]), update], scattered, {}),
    ]
    if t not in SMALL or t is E8M0:
        cases += [] if t is E8M0 else [
            ("Compress", [flat, mask.reshape(-1)], flat[mask.reshape(-1)],
             {}),
            ("ReverseSequence", [x, rev], want, {}),
            ("Trilu", [x], np.triu(x), {}),
            ("DepthToSpace", [grid], grid.reshape(1, 2, 2, 1, 4, 4).transpose(
                0, 3, 4, 1, 5, 2).reshape(1, 1, 8, 8), {"blocksize": 2}),
            ("SpaceToDepth", [grid], grid.reshape(1, 4, 2, 2, 2, 2).transpose(
                0, 3, 5, 1, 2, 4).reshape(1, 16, 2, 2), {"blocksize": 2}),
            ("ScatterElements", [x, where, elements], put, {"axis": 1}),
            ("NonZero", [x], np.array(np.nonzero(x)), {}),
        ]
    for op, inputs, result, attributes in cases:
        n = attributes.get("num_outputs", 1)
        wanted = [np.asarray(result)] + [x[:, :, 4:]] * (n - 1)
        if op == "Pad" and t is E8M0 and "mode" not in attributes:
            continue  # numpy cannot
        f.case(op, inputs, opset=25, outputs=n, want=wanted,
               dynamic=[0], **attributes)
        f.case(op, inputs, opset=25, outputs=n, want=wanted,
               constants=range(len(inputs)), **attributes)

# Values given by attributes.
for t in MOVED:
    one = np.ones(1, t)
    if t not in (np.complex64, np.complex128):
        f.case("ConstantOfShape", [np.array([2, 3])], opset=25,
               want=[np.ones((2, 3), t)], value=numpy_helper.from_array(one))
    f.case("Constant", [], opset=25, want=[one],
           value=numpy_helper.from_array(one))
# The program reads and writes what numpy lacks as integers of the same size.
values = {"i4": all_values(ml.int4), "f4": all_values(ml.float4_e2m1fn),
          "f8": all_values(ml.float8_e4m3fn),
          "b": np.arange(5).astype(ml.bfloat16),
          "c": (f.normal(5) + 1j * f.normal(5)).astype(np.complex64)}
nodes, infos, outs = [], [], []
for i, (name, a) in enumerate(values.items()):
    infos.append(helper.make_tensor_value_info(name, type_of(a), a.shape))
    nodes.append(helper.make_node("Identity", [name], ["y" + name]))
    outs.append(helper.make_empty_tensor_value_info("y" + name))
    raw = {ml.int4: np.int8, ml.float4_e2m1fn: np.uint8,
           ml.float8_e4m3fn: np.uint8, ml.bfloat16: np.uint16}.get(
               a.dtype.type, a.dtype)
    for kind in "input", "output":
        np.save(os.path.join(f.folder.name, f"{kind}_{i}.npy"), a.view(raw))
onnx.save(helper.make_model(
    helper.make_graph(nodes, "g", infos, outs), ir_version=10,
    opset_imports=[helper.make_opsetid("", 25)]), f.path)
program = os.path.join(ferrule.BUILD, "bin", "ferrule")
run = subprocess.run([program, "run", f.path, "--verify", f.folder.name],
                     capture_output=True, text=True)
random = subprocess.run([program, "run", f.path, "--random"],
                        capture_output=True, text=True)
if run.returncode or run.stdout.count("matches") != len(values) or \
        random.returncode:
    f.fail("run --verify", run.stdout + run.stderr + random.stderr)
else:
    f.passed += 1
f.done()
