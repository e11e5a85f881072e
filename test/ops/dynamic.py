"""Sizes that only the run knows: each model is compiled once, with open dims,
and run with several sizes, against ONNX Runtime."""
import numpy as np
from harness import Family, IR_VERSION, by_runtime, model_of, type_of
from onnx import helper, numpy_helper

f = Family("dynamic")
FAR = 2**63 - 1


def ints(*v):
    return np.array(v, np.int64)


def floats(*v):
    return np.array(v, np.float32)


def scalar(v, dtype=np.int64):
    return np.array(v, dtype)


def graph(what, nodes, inputs, feeds, constants=(), reference=None, opset=22,
          outputs=("y",)):
    """Several nodes; inputs: name to dims, a string or number each."""
    infos = [helper.make_tensor_value_info(n, type_of(feeds[0][n]), dims)
             for n, dims in inputs.items()]
    g = helper.make_graph(
        nodes, "test", infos,
        [helper.make_empty_tensor_value_info(o) for o in outputs],
        [numpy_helper.from_array(a, n) for n, a in constants])
    f.runs(what, helper.make_model(
        g, opset_imports=[helper.make_opsetid("", opset)],
        ir_version=IR_VERSION), feeds, reference)


def opened(op, sets, **options):
    """Sizes that the model has are opened, but for those that decide a rank.
    ONNX Runtime gets the model with each set's own."""
    want = [by_runtime(model_of(op, s, **options),
                       {f"in{i}": a for i, a in enumerate(s)}) for s in sets]
    f.runs(f"{op} opened", model_of(op, sets[0], **options),
           [{f"in{i}": a for i, a in enumerate(s)} for s in sets], want=want,
           dims=["*=?"])


def node(op, inputs, outputs="y", **attributes):
    return helper.make_node(op, inputs.split(","), outputs.split(","),
                            **attributes)


# Slice: constant bounds of an open dim are clamped, whatever there is.
for start, end, step in (
        (0, 3, 1), (2, FAR, 1), (-3, FAR, 1), (-3, -1, 1), (0, -2, 1),
        (1, -1, 1), (3, 5, 1), (-5, 3, 1), (0, 7, 2), (2, FAR, 3), (-4, FAR, 2),
        (-1, -4, -1), (5, 0, -2), (-1, -FAR - 1, -1), (4, -FAR - 1, -3)):
    f.sizes("Slice", [[f.normal(n, 4), ints(start), ints(end), ints(0),
                       ints(step)] for n in (0, 1, 2, 3, 4, 9)],
            constants=(1, 2, 3, 4))
f.sizes("Slice", [[f.normal(n, 4), ints(-1), ints(FAR), ints(0)]
                  for n in (1, 2, 9)], constants=(1, 2, 3))
# Slices of slices: sizes made of such sizes.
graph("two slices meet", [
    node("Slice", "x,one,far", "a"), node("Slice", "x,zero,minus_one", "b"),
    node("Sub", "a,b")], {"x": ["n"]},
    [{"x": f.normal(n)} for n in (0, 1, 2, 7)],
    [("one", ints(1)), ("far", ints(FAR)), ("zero", ints(0)),
     ("minus_one", ints(-1))])
graph("slice, concat, slice", [
    node("Slice", "x,a,far,axis", "t"), node("Concat", "t,x", "c", axis=1),
    node("Slice", "c,b,far,axis")], {"x": ["m", "n"]},
    [{"x": f.normal(2, n)} for n in (1, 2, 3, 8)],
    [("a", ints(-3)), ("b", ints(2)), ("far", ints(FAR)), ("axis", ints(1))])
# Bounds, axes, steps of the run; also their number.
for fixed in (1, 2, 3, 4), (), (3,):
    f.sizes("Slice", [
        [f.normal(5, 6, 7), ints(1, -3), ints(4, FAR), ints(0, 2), ints(2, 1)],
        [f.normal(2, 1, 9), ints(-1, 8), ints(-9, 0), ints(-1, 1), ints(-2, 1)],
        [f.normal(3, 3, 3), ints(0, 0), ints(0, 5), ints(1, 2), ints(1, 1)]],
        fixed=fixed)
f.sizes("Slice", [[f.normal(5, 6, 7), ints(1), ints(4), ints(1), ints(1)],
                  [f.normal(2, 2, 4), ints(0, 1, 0), ints(1, 2, 3),
                   ints(2, 0, 1), ints(1, 1, 1)]])
f.sizes("Slice", [[f.normal(5, 6), ints(1), ints(4)],
                  [f.normal(2, 4), ints(0, 1), ints(1, 2)]])

# Split
f.sizes("Split", [[f.normal(7, 3), ints(3, 0, 4)], [f.normal(2, 5),
                                                    ints(1, 1, 0)]],
        outputs=3, fixed=(1,))
f.sizes("Split", [[f.normal(7, 3), ints(3, 0, 4)], [f.normal(2, 5),
                                                    ints(1, 1, 0)]], outputs=3)
f.sizes("Split", [[f.normal(3, n)] for n in (8, 4, 7)], outputs=2, axis=1,
        num_outputs=2)
f.sizes("Split", [[f.normal(n, 6), ints(2, 4)] for n in (1, 5)], outputs=2,
        axis=1, constants=(1,))

# TopK
f.sizes("TopK", [[f.normal(n, 5), ints(k)] for n, k in
                 ((4, 3), (2, 1), (3, 0), (1, 5))], outputs=2)
f.sizes("TopK", [[f.normal(n, 5), ints(k)] for n, k in ((4, 3), (9, 7))],
        outputs=2, axis=0, largest=0, fixed=(1,))

# Reductions
for op in "ReduceSum", "ReduceMax", "ReduceMean", "ReduceLogSumExp":
    f.sizes(op, [[f.normal(3, 4, 5), ints(1)], [f.normal(2, 1, 6), ints(-1, 0)],
                 [f.normal(2, 3, 1), ints()]])
    f.sizes(op, [[f.normal(3, 4, 5), ints(1, 0)], [f.normal(2, 1, 6),
                                                   ints(-1, 0)]],
            fixed=(1,), keepdims=0)
f.sizes("ReduceSum", [[f.normal(3, 4), ints(1)], [f.normal(2, 1), ints()]],
        noop_with_empty_axes=1)
f.sizes("ReduceMean", [[f.normal(n, 1, 3), ints(0, 2)] for n in (4, 9)],
        constants=(1,))
f.sizes("ArgMax", [[f.normal(n, m)] for n, m in ((4, 3), (1, 9))], axis=1)

# Shapes
f.sizes("Reshape", [[f.normal(4, 6), ints(3, -1, 2)], [f.normal(5, 2),
                                                       ints(0, 1, 2)]],
        fixed=(1,))
f.sizes("Expand", [[f.normal(1, 3), ints(2, 5, 3)], [f.normal(4, 1),
                                                     ints(1, 1, 1)]],
        fixed=(1,))
f.sizes("Tile", [[f.normal(2, 3), ints(2, 2)], [f.normal(1, 4), ints(0, 3)]])
f.sizes("ConstantOfShape", [[ints(2, 3)], [ints(0, 5)]], fixed=(0,),
        value=numpy_helper.from_array(floats(7)))
f.sizes("Squeeze", [[f.normal(1, 3, 1), ints(0)], [f.normal(2, 3, 1),
                                                   ints(-1)]], fixed=(1,))
f.sizes("Unsqueeze", [[f.normal(2, 3), ints(0, 2)], [f.normal(4, 1),
                                                     ints(-1, 1)]], fixed=(1,))
f.sizes("Transpose", [[f.normal(2, 3, 4)], [f.normal(5, 1, 2)]],
        perm=[2, 0, 1])
f.sizes("Flatten", [[f.normal(2, 3, 4)], [f.normal(5, 0, 2)]], axis=2)
f.sizes("Range", [[scalar(0), scalar(7), scalar(2)],
                  [scalar(5), scalar(-2), scalar(-3)],
                  [scalar(1), scalar(1), scalar(1)]])
f.sizes("Range", [[scalar(0.5, np.float32), scalar(3, np.float32), scalar(0.25, np.float32)],
                  [scalar(3, np.float32), scalar(0, np.float32), scalar(-1, np.float32)]])
f.sizes("OneHot", [[f.integers(0, 3, 4), scalar(5), floats(0, 1)],
                   [f.integers(-2, 2, 7), scalar(2), floats(3, 4)]], axis=0)
f.sizes("OneHot", [[f.integers(0, 3, 4, 2), ints(5), floats(0, 1)],
                   [f.integers(-2, 2, 1, 3), ints(2), floats(3, 4)]])
f.sizes("EyeLike", [[f.normal(3, 4)], [f.normal(5, 2)]], k=1)
f.sizes("Trilu", [[f.normal(3, 4), scalar(1)], [f.normal(5, 2), scalar(-2)]])
f.sizes("CenterCropPad", [[f.normal(7, 4), ints(3, 6)],
                          [f.normal(2, 5), ints(4, 1)]], fixed=(1,),
        reference="onnx")

# Pad
for mode in "constant", "reflect", "edge", "wrap":
    f.sizes("Pad", [[f.normal(4, 5), ints(1, 2, 3, 0)],
                    [f.normal(3, 7), ints(0, 1, -1, 2)]], mode=mode)
f.sizes("Pad", [[f.normal(4, 5), ints(1, 2), scalar(9, np.float32), ints(1)],
                [f.normal(3, 2), ints(0, 1, 2, 3), scalar(-1, np.float32),
                 ints(1, 0)]])
f.sizes("Pad", [[f.normal(4, 5), ints(1, 2), scalar(9, np.float32), ints(1)],
                [f.normal(3, 2), ints(0, 1), scalar(-1, np.float32), ints(-2)]],
        fixed=(1, 3))

# Resize
for mode in "nearest", "linear", "cubic":
    f.sizes("Resize", [[f.normal(1, 2, 4, 5), None, floats(1, 1, 2, 1.5)],
                       [f.normal(2, 1, 6, 3), None, floats(1, 1, .5, 2)]],
            mode=mode)
    f.sizes("Resize", [[f.normal(1, 2, 4, 5), None, None, ints(1, 2, 7, 5)],
                       [f.normal(2, 1, 6, 3), None, None, ints(2, 1, 3, 8)]],
            mode=mode, fixed=(3,))
    f.sizes("Resize", [[f.normal(1, 2, n, 5), None, floats(1, 1, 2, .5)]
                       for n in (2, 5)], mode=mode, constants=(2,))
for policy in "not_larger", "not_smaller":
    f.sizes("Resize", [[f.normal(1, 2, 4, 5), None, None, ints(7, 9)],
                       [f.normal(2, 1, 6, 3), None, None, ints(3, 8)]],
            axes=[2, 3], keep_aspect_ratio_policy=policy, fixed=(3,))

# What decides sizes comes out of the data, and more follows.
find = [{"x": x} for x in (floats(0, 1, 2, 0, 3), floats(0, 0), floats(5))]
graph("NonZero, Gather", [
    node("NonZero", "x", "i"), node("Transpose", "i", "t", perm=[1, 0]),
    node("GatherND", "x,t", "g"), node("Mul", "g,g")], {"x": ["n"]}, find)
graph("NonZero, Concat, Softmax", [
    node("NonZero", "x", "i"), node("Cast", "i", "c", to=1),
    node("Concat", "c,c", "d", axis=1), node("Softmax", "d", "y")],
    {"x": ["n"]}, find[:1] + find[2:])
graph("Compress, MatMul", [
    node("Compress", "x,c", "r", axis=0), node("MatMul", "r,w", "m"),
    node("ReduceSum", "m,axes", "y")], {"x": ["n", 3], "c": ["n"]},
    [{"x": f.normal(n, 3), "c": f.integers(0, 2, n).astype(bool)}
     for n in (5, 1, 8)], [("w", f.normal(3, 4)), ("axes", ints(0))])
graph("Unique, Shape, Expand", [
    node("Unique", "x", "u,i,r,c"), node("Shape", "u", "s"),
    node("Expand", "one,s", "e"), node("Add", "u,e", "y")], {"x": ["n"]},
    [{"x": floats(3, 1, 3, 2)}, {"x": floats(1, 1)}, {"x": floats(4)}],
    [("one", floats(1))])
boxes = f.random.random((1, 9, 4)).astype(np.float32)
boxes[..., 2:] += boxes[..., :2]
graph("NonMaxSuppression, Gather", [
    node("NonMaxSuppression", "b,s,m,iou", "n"),
    node("Slice", "n,two,three,one", "i"), node("Squeeze", "i,one", "k"),
    node("Gather", "b,k", "y", axis=1)],
    {"b": [1, "n", 4], "s": [1, 1, "n"]},
    [{"b": boxes[:, :n], "s": f.random.random((1, 1, n)).astype(np.float32)}
     for n in (9, 4, 1)],
    [("m", ints(5)), ("iou", floats(.3)), ("one", ints(1)), ("two", ints(2)),
     ("three", ints(3))])
graph("Where of two unknowns", [
    node("NonZero", "x", "i"), node("NonZero", "z", "j"),
    node("Equal", "i,j", "e"), node("Where", "e,i,j", "y")],
    {"x": ["n"], "z": ["m"]},
    [{"x": floats(0, 1, 2), "z": floats(1, 1)},
     {"x": floats(1), "z": floats(1, 2, 3)}])

# Convolutions and pools with everything open, weights and kernel too.
for group, more in ((1, {"pads": [1, 0, 2, 1]}), (2, {"dilations": [2, 1]}),
                    (2, {"auto_pad": "SAME_UPPER"}),
                    (1, {"auto_pad": "SAME_LOWER", "strides": [2, 1]})):
    f.sizes("Conv", [
        [f.normal(1, 4, 9, 8), f.normal(6, 4 // group, 3, 3), f.normal(6)],
        [f.normal(2, 2, 7, 9), f.normal(2, 2 // group, 1, 2), f.normal(2)]],
        group=group, **more)
f.sizes("Conv", [[f.normal(1, 3, n), f.normal(4, 3, 5)] for n in (9, 12)],
        strides=[2])
f.sizes("Conv", [[f.normal(1, 3, n, n + 1), f.normal(16, 3, 3, 3)]
                 for n in (9, 12)], constants=(1,))
for group in 1, 2:
    f.sizes("ConvTranspose", [
        [f.normal(1, 4, 5, 4), f.normal(4, 3, 3, 2)],
        [f.normal(2, 2, 3, 6), f.normal(2, 1, 2, 4)]], group=group,
        strides=[2, 1], pads=[1, 0, 0, 1])
f.sizes("ConvTranspose", [
    [f.normal(1, 4, 5, 4), f.normal(4, 3, 3, 2)],
    [f.normal(2, 2, 3, 6), f.normal(2, 1, 2, 4)]], auto_pad="SAME_UPPER",
    strides=[2, 2])
for op in "MaxPool", "AveragePool", "LpPool":
    f.sizes(op, [[f.normal(1, 3, 9, 8)], [f.normal(2, 1, 5, 12)]],
            kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 0, 1])
    f.sizes(op, [[f.normal(1, 3, 9, 8)], [f.normal(2, 1, 5, 12)]],
            kernel_shape=[3, 2], strides=[2, 2], auto_pad="SAME_LOWER")
f.sizes("MaxPool", [[f.normal(1, 3, 9, 8)], [f.normal(2, 1, 6, 13)]],
        kernel_shape=[3, 2], strides=[2, 3], ceil_mode=1, outputs=2)
f.sizes("GlobalAveragePool", [[f.normal(1, 3, 9, 8)], [f.normal(2, 1, 6, 1)]])
f.sizes("DepthToSpace", [[f.normal(1, 8, 3, 2)], [f.normal(2, 4, 1, 5)]],
        blocksize=2)
f.sizes("SpaceToDepth", [[f.normal(1, 2, 4, 2)], [f.normal(2, 1, 6, 8)]],
        blocksize=2)

# Products, norms, quantization
f.sizes("MatMul", [[f.normal(2, 3, 4), f.normal(4, 5)],
                   [f.normal(1, 1, 7), f.normal(7, 2)]])
f.sizes("Gemm", [[f.normal(4, 3), f.normal(4, 5), f.normal(1, 5)],
                 [f.normal(2, 7), f.normal(2, 1), f.normal(7, 1)]], transA=1)
f.sizes("Einsum", [[f.normal(2, 3, 4), f.normal(2, 4, 5)],
                   [f.normal(1, 6, 2), f.normal(1, 2, 3)]],
        equation="bij,bjk->bik")
f.sizes("BatchNormalization", [
    [f.normal(2, c, 4), f.normal(c), f.normal(c), f.normal(c),
     np.abs(f.normal(c))] for c in (3, 5)])
f.sizes("LayerNormalization", [[f.normal(2, n, m), f.normal(m), f.normal(m)]
                               for n, m in ((3, 4), (1, 9))])
f.sizes("InstanceNormalization", [[f.normal(2, c, 4, 3), f.normal(c),
                                   f.normal(c)] for c in (3, 5)])
f.sizes("GroupNormalization", [[f.normal(2, c, 4), f.normal(c), f.normal(c)]
                               for c in (4, 6)], num_groups=2)
f.sizes("QuantizeLinear", [
    [f.normal(n, c, 2), np.abs(f.normal(c)) + .1,
     f.integers(0, 9, c, dtype=np.uint8)] for n, c in ((2, 3), (1, 5))])
f.sizes("QLinearConv", [
    [f.integers(0, 255, 1, c, 6, 7, dtype=np.uint8), scalar(.02, np.float32),
     scalar(120, np.uint8), f.integers(0, 255, 4, c, k, 2, dtype=np.uint8),
     scalar(.01, np.float32), scalar(130, np.uint8), scalar(.3, np.float32),
     scalar(100, np.uint8)] for c, k in ((3, 3), (5, 1))])

f.sizes("DequantizeLinear", [
    [f.integers(0, 9, n, 3, dtype=np.uint8), f.normal(k),
     f.integers(0, 9, k, dtype=np.uint8)] for n, k in ((2, 1), (4, 3))])
f.sizes("DequantizeLinear", [
    [f.integers(0, 9, n, dtype=np.uint8), f.normal(1)] for n in (2, 4)])

# Signals: real or complex is the run's, too; windows put back together.
for inverse in 0, 1:
    for axis in 0, 1:
        f.sizes("DFT", [[f.normal(2, 3, 2), scalar(n), scalar(axis)]
                        for n in (4, 6)], inverse=inverse, constants=(2,))
for parts in 1, 2:
    f.sizes("DFT", [[f.normal(2, n, parts), None, scalar(1)]
                    for n in (3, 8)], constants=(2,))
f.sizes("DFT", [[f.normal(2, n, 1), None, scalar(1)] for n in (3, 8)],
        constants=(2,), onesided=1)
graph("DFT of one and of two parts", [node("DFT", "x,,axis", "y")],
      {"x": [2, "n", "parts"]},
      [{"x": f.normal(2, n, parts)} for n, parts in ((3, 1), (4, 2), (8, 1))],
      [("axis", scalar(1))])
f.sizes("STFT", [[f.normal(1, n, 1), scalar(step), f.normal(w)]
                 for n, step, w in ((16, 4, 8), (30, 3, 5))])
f.sizes("Col2Im", [[f.normal(1, 2 * a * b, (5 - a + 1) * (7 - b + 1)),
                    ints(5, 7), ints(a, b)] for a, b in ((2, 3), (1, 5))],
        fixed=(1,))
f.sizes("AffineGrid", [[f.normal(n, 2, 3), ints(n, 1, h, w)]
                       for n, h, w in ((1, 3, 4), (2, 1, 6))], fixed=(1,))
f.sizes("GridSample", [[f.normal(n, c, 5, 4), f.normal(n, 3, w, 2)]
                       for n, c, w in ((1, 2, 4), (2, 1, 6))])
f.sizes("MaxUnpool", [
    [f.normal(1, 1, 2, 2), ints([[[0, 3], [10, 15]]]).reshape(1, 1, 2, 2),
     ints(1, 1, 4, 4)],
    [f.normal(1, 1, 1, 2), ints(1, 7).reshape(1, 1, 1, 2), ints(1, 1, 2, 4)]],
    kernel_shape=[2, 2], strides=[2, 2])
f.sizes("DeformConv", [
    [f.normal(1, c, 5, 6), f.normal(4, c // 2, k, 2),
     f.normal(1, 2 * 2 * k * 2, 6 - k, 5), f.normal(4),
     f.normal(1, 2 * k * 2, 6 - k, 5)] for c, k in ((4, 3), (2, 1))],
    group=2, offset_group=2, reference="onnx")
f.sizes("FlexAttention", [
    [f.normal(b, h, n, e), f.normal(b, k, m, e), f.normal(b, k, m, e)]
    for b, h, k, n, m, e in ((2, 4, 2, 5, 3, 8), (1, 3, 3, 2, 7, 4))],
    opset=26, domain="ai.onnx.preview", reference="onnx")
f.sizes("Attention", [
    [f.normal(b, h, n, e), f.normal(b, k, m, e), f.normal(b, k, m, e)]
    for b, h, k, n, m, e in ((2, 4, 2, 5, 3, 8), (1, 3, 3, 2, 7, 4))],
    opset=23, reference="onnx")
f.sizes("RoiAlign", [[f.normal(1, c, 9, n), f.random.random((k, 4)).astype(
    np.float32) * 8, np.zeros(k, np.int64)] for c, n, k in ((2, 9, 3),
                                                           (1, 12, 1))],
    output_height=2, output_width=3, sampling_ratio=2, opset=16)

# Gathers and scatters
f.sizes("Gather", [[f.normal(n, 3), f.integers(-n, n, 2, m)]
                   for n, m in ((4, 5), (7, 1))])
f.sizes("GatherElements", [[f.normal(n, 3), f.integers(-n, n, m, 3)]
                           for n, m in ((4, 5), (7, 1))])
graph("GatherND", [node("GatherND", "x,i", "y")],
      {"x": ["n", "k"], "i": ["m", 2]},
      [{"x": f.normal(n, 3), "i": f.integers(-3, 3, m, 2)}
       for n, m in ((4, 5), (7, 1))])
f.sizes("ScatterElements", [[f.normal(n, 3), f.integers(0, n, m, 3),
                             f.normal(m, 3)] for n, m in ((4, 2), (7, 1))],
        reduction="add")
f.sizes("ScatterND", [[f.normal(n, 3), f.integers(0, n, m, 1),
                       f.normal(m, 3)] for n, m in ((4, 2), (7, 1))],
        reduction="add")
# ... the length of an index tuple, too: the data's rank is the result's.
f.sizes("ScatterND", [
    [f.normal(4, 3), ints([1], [3]), f.normal(2, 3)],
    [f.normal(2, 5), ints([0], [1]), f.normal(2, 5)]])

# Recurrent networks with weights of the run.
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


def recurrent(op, direction, layout, lengths, peepholes=False, initial=True,
              **attributes):
    directions, hidden = 1 + (direction == "bidirectional"), 4
    g = GATES[op] * hidden

    def batched(a):
        return a if not layout else a.swapaxes(0, 1).copy()

    def inputs(steps, batch, size):
        state = batched(f.normal(directions, batch, hidden))
        return [batched(f.normal(steps, batch, size)),
                f.normal(directions, g, size), f.normal(directions, g, hidden),
                f.normal(directions, 2 * g),
                f.integers(1, steps + 1, batch, dtype=np.int32) if lengths
                else None, state if initial else None] + (
                    [state * .5 if initial else None,
                     f.normal(directions, 3 * hidden) if peepholes else None]
                    if op == "LSTM" else [])
    # layout 1 is not in ONNX Runtime's kernels
    f.sizes(op, [inputs(5, 2, 3), inputs(3, 1, 6)], direction=direction,
            outputs=3 if op == "LSTM" else 2, layout=layout,
            reference="onnx" if layout else None, hidden_size=hidden,
            **attributes)


for op in GATES:
    for direction in "forward", "reverse", "bidirectional":
        for lengths in False, True:
            recurrent(op, direction, 0, lengths)
    recurrent(op, "forward", 0, False, initial=False)
    recurrent(op, "forward", 1, False)
recurrent("LSTM", "bidirectional", 0, True, peepholes=True)
recurrent("LSTM", "forward", 0, False, peepholes=True, initial=False)
recurrent("LSTM", "forward", 0, False, input_forget=1)
recurrent("GRU", "bidirectional", 0, True, linear_before_reset=1)
for name in ("Relu", "Tanh", "Sigmoid", "Affine", "LeakyRelu",
             "ThresholdedRelu", "ScaledTanh", "HardSigmoid", "Elu", "Softsign",
             "Softplus"):
    recurrent("RNN", "forward", 0, False, activations=[name],
              activation_alpha=[.4], activation_beta=[.6])
recurrent("LSTM", "forward", 0, False,
          activations=["HardSigmoid", "Softsign", "Relu"])
recurrent("GRU", "forward", 0, False, activations=["HardSigmoid", "Softsign"],
          clip=.5)

# Everything that can be open is.
opened("Add", [[f.normal(2, 3), f.normal(3)], [f.normal(4, 1), f.normal(5)]])
opened("Reshape", [[f.normal(4, 6), ints(3, -1, 2)], [f.normal(5, 2),
                                                      ints(0, 1, 2)]])
opened("Expand", [[f.normal(1, 3), ints(2, 5, 3)], [f.normal(4, 1),
                                                    ints(1, 1, 1)]])
opened("ReduceSum", [[f.normal(3, 4), ints(1)], [f.normal(2, 5), ints()]])
opened("Slice", [[f.normal(5, 6), ints(1), ints(4)],
                 [f.normal(2, 4), ints(0, 1), ints(1, 2)]])
opened("Conv", [[f.normal(1, 4, 9, 8), f.normal(6, 4, 3, 3), f.normal(6)],
                [f.normal(2, 2, 7, 9), f.normal(2, 2, 1, 2), f.normal(2)]])

# A rank that only the run knows is refused when compiling, and says why.
f.refused("Reshape", [f.normal(4, 6), ints(3, -1, 2)], dynamic=True)
f.refused("Expand", [f.normal(4, 6), ints(1, 4, 6)], dynamic=True)
f.refused("ConstantOfShape", [ints(3, 1)], dynamic=True)
f.refused("Squeeze", [f.normal(4, 1), ints(1)], dynamic=True)
f.refused("Unsqueeze", [f.normal(4, 1), ints(1)], dynamic=True)
f.refused("ReduceSum", [f.normal(4, 1), ints(1)], dynamic=True, keepdims=0)
f.refused("GatherND", [f.normal(4, 3), ints([1], [2])], dynamic=True)
f.sizes("Slice", [[f.normal(n, 4), ints(-1), ints(FAR), ints(0)]
                  for n in (0, 1, 2)], constants=(1, 2, 3))
# Bounds made of the sizes of another input, inside and outside of the dim.
for what, bounds in {
        "[:n]": "zero,n", "[n:]": "n,far", "[-n:]": "minus_n,far",
        "[:-n]": "zero,minus_n", "[n - 3:n]": "less,n", "[2:n]": "two,n",
        "[n:5]": "n,five", "[-3:n]": "minus_three,n"}.items():
    for rows in "m", 4, 1:
        for step in (1, 2, -1):
            if step < 0 and "far" in bounds:
                continue  # for ONNX Runtime that is to the first element
            graph(f"{what} of {rows} by {step}", [
                node("Shape", "z", "n", end=1), node("Neg", "n", "minus_n"),
                node("Sub", "n,three", "less"),
                node("Slice", f"x,{bounds},zero,step")],
                {"x": [rows, 3], "z": ["n"]},
                [{"x": f.normal(m, 3), "z": f.normal(n)}
                 for m in ((0, 1, 4, 7) if rows == "m" else (rows,))
                 for n in (0, 1, 2, 4, 5, 9)],
                [("zero", ints(0)), ("far", ints(FAR)), ("two", ints(2)),
                 ("five", ints(5)), ("three", ints(3)),
                 ("minus_three", ints(-3)), ("step", ints(step))])
# What is cut meets the size that it is cut to, in both orders.
for rows in "m", 6:
    graph(f"x + table[:n] of {rows}", [
        node("Shape", "x", "n", start=1, end=2),
        node("Slice", "table,zero,n,zero", "t"), node("Add", "x,t", "a"),
        node("Mul", "t,a", "b"), node("Softmax", "b", "c"),
        node("Add", "c,x")],
        {"x": ["b", "n", 3], "table": [rows, 3]},
        [{"x": f.normal(2, n, 3), "table": f.normal(m, 3)}
         for n, m in ((1, 6), (6, 6), (3, 6))] +
        [{"x": f.normal(2, n, 3), "table": f.normal(m, 3)}
         for n, m in ((5, 1), (1, 1), (4, 4)) if rows == "m"],
        [("zero", ints(0))])
f.done()
