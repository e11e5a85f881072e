"""usage: operators.py [--seconds S] [--json FILE] [NAME ...]

Single operators with the shapes of real models, Ferrule and ONNX Runtime in
turns in one process, one thread. NAME: rows whose name starts with it; none:
all. Prints one line for each; ratio above 1: Ferrule is faster. `best` is the
ratio of the fastest rounds, which a busy machine disturbs less. Models and their
shared objects are in BUILD/bench. Needs: numpy, onnx, onnxruntime.
"""
import argparse
import json
import os
import sys
import time

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import models
from peers import ferrule as ours, onnxruntime as theirs

F, I64 = np.float32, np.int64
ELEM = {np.dtype(t): helper.np_dtype_to_tensor_dtype(np.dtype(t))
        for t in (np.float32, np.int64, np.int32, np.uint8, np.bool_,
                  np.float64)}
random = np.random.default_rng(0)


def normal(*shape):
    return random.standard_normal(shape).astype(F)


def below(limit, *shape):
    return random.integers(0, limit, shape).astype(I64)


def row(op, inputs, constants=(), outputs=1, opset=17, domain="",
        **attrs):
    """One operator: `inputs` are arrays of the run; `constants` are
    initializers behind them (None: an operand that is left out)."""
    return (op, inputs, constants, outputs, opset, domain, attrs)


def ints(*v):
    return np.array(v, I64)


def conv(c, size, o, kernel, group=1, op="Conv", **attrs):
    weights = normal(*((o, c // group) if op == "Conv" else (c, o // group)),
                     *kernel) / np.float32(np.sqrt(c // group * np.prod(kernel)))
    attrs.setdefault("pads", [k // 2 for k in kernel] * 2)
    return row(op, [normal(1, c, *size)], [weights, normal(o)], group=group,
               kernel_shape=list(kernel), **attrs)


def pool(op, c, size, kernel, stride, pad=0, **attrs):
    n = len(size)
    return row(op, [normal(1, c, *size)], kernel_shape=[kernel] * n,
               strides=[stride] * n, pads=[pad] * 2 * n, **attrs)


def resize(size, scale, mode, coords, **attrs):
    return row("Resize", [normal(1, *size)],
               [None, np.array([1, 1, scale, scale], F)], mode=mode,
               coordinate_transformation_mode=coords, **attrs)


def rotary(batch, heads, tokens, size):
    return row("RotaryEmbedding", [normal(batch, heads, tokens, size),
                                   np.arange(tokens, dtype=I64)[None]],
               [normal(2048, size // 2), normal(2048, size // 2)],
               domain="com.microsoft")


def stack(kind, steps, size):
    """A loop whose body is one Relu or Add, its results stacked. Until: it ends
    early; State: nothing is stacked."""
    def value(name, shape, elem=TensorProto.FLOAT):
        return helper.make_tensor_value_info(name, elem, shape)
    if kind == "Scan":
        body = helper.make_graph(
            [helper.make_node("Relu", ["e"], ["r"])], "body",
            [value("e", [size])], [value("r", [size])])
        return row("Scan", [normal(steps, size)], body=body, num_scan_inputs=1)
    ends = (helper.make_node("Less", ["i", "last"], ["d"]) if kind == "Until"
            else helper.make_node("Identity", ["c"], ["d"]))
    results = 1 if kind == "State" else 2
    body = helper.make_graph(
        [helper.make_node("Add", ["s", "one"], ["t"]),
         helper.make_node("Identity", ["t"], ["r"]), ends], "body",
        [value("i", [], TensorProto.INT64), value("c", [], TensorProto.BOOL),
         value("s", [size])],
        [value("d", [], TensorProto.BOOL), value("t", [size]),
         value("r", [size])][:1 + results],
        [numpy_helper.from_array(np.ones(1, F), "one"),
         numpy_helper.from_array(ints(steps - 1).reshape(()), "last")])
    most = 10**9 if kind == "Until" else steps
    return row("Loop", [ints(most).reshape(()), np.array(True),
                        normal(size)], outputs=results, body=body)


# name: how many of what; images [1, C, H, W], sequences [B, T, C].
ROWS = {
    "conv3d_c16_16x56x56_k3": lambda: conv(16, (16, 56, 56), 32, (3, 3, 3)),
    "conv3d_c64_8x28x28_k3": lambda: conv(64, (8, 28, 28), 64, (3, 3, 3)),
    "conv3d_c3_16x112x112_k3s2": lambda: conv(
        3, (16, 112, 112), 24, (3, 3, 3), strides=[1, 2, 2]),
    "conv3d_c64_8x28x28_k1": lambda: conv(64, (8, 28, 28), 128, (1, 1, 1)),
    "conv3d_dw_c64_8x28x28_k3": lambda: conv(
        64, (8, 28, 28), 64, (3, 3, 3), group=64),
    "convtranspose3d_c32_8x16x16_k2s2": lambda: conv(
        32, (8, 16, 16), 16, (2, 2, 2), op="ConvTranspose", pads=[0] * 6,
        strides=[2, 2, 2]),
    "conv1d_c80_t300_k3": lambda: conv(80, (300,), 256, (3,)),
    "conv1d_c256_t1000_k7": lambda: conv(256, (1000,), 256, (7,)),
    "conv1d_dw_c256_t1000_k31": lambda: conv(256, (1000,), 256, (31,),
                                             group=256),
    "conv1d_c1_t16000_k10s5": lambda: conv(1, (16000,), 512, (10,), pads=[0, 0],
                                           strides=[5]),
    "conv_grouped_c240_28_g3_k1": lambda: conv(240, (28, 28), 240, (1, 1),
                                               group=3),
    "conv_dw_c240_28_k3s2": lambda: conv(240, (28, 28), 240, (3, 3), group=240,
                                         strides=[2, 2]),
    "maxpool3d_c64_16x56x56_k3s2": lambda: pool("MaxPool", 64, (16, 56, 56), 3,
                                                2, 1),
    "maxpool3d_c64_8x28x28_k2s2": lambda: pool("MaxPool", 64, (8, 28, 28), 2, 2),
    "avgpool3d_c64_8x28x28_k2s2": lambda: pool("AveragePool", 64, (8, 28, 28), 2,
                                               2),
    "avgpool3d_c32_8x28x28_k3s1": lambda: pool("AveragePool", 32, (8, 28, 28), 3,
                                               1, 1),
    "maxpool_c64_112_k3s2": lambda: pool("MaxPool", 64, (112, 112), 3, 2, 1),
    "maxpool_c64_112_k2s2": lambda: pool("MaxPool", 64, (112, 112), 2, 2),
    "avgpool_c64_56_k3s1": lambda: pool("AveragePool", 64, (56, 56), 3, 1, 1),
    "maxpool_c512_7_k5s1": lambda: pool("MaxPool", 512, (13, 13), 5, 1, 2),
    "maxpool1d_c256_t1000_k3s2": lambda: pool("MaxPool", 256, (1000,), 3, 2, 1),
    "maxpool_indices_c64_56": lambda: row(
        "MaxPool", [normal(1, 64, 56, 56)], outputs=2, kernel_shape=[2, 2],
        strides=[2, 2]),
    "globalavgpool_c2048_7": lambda: row("GlobalAveragePool",
                                         [normal(1, 2048, 7, 7)]),
    "globalavgpool_c64_112": lambda: row("GlobalAveragePool",
                                         [normal(1, 64, 112, 112)]),
    "loop_1000_of_2KB": lambda: stack("Loop", 1000, 512),
    "loop_10000_of_2KB": lambda: stack("Loop", 10000, 512),
    "loop_4000_of_256B": lambda: stack("Loop", 4000, 64),
    "loop_until_1000_of_2KB": lambda: stack("Until", 1000, 512),
    "loop_until_10000_of_2KB": lambda: stack("Until", 10000, 512),
    "loop_state_1000_of_64KB": lambda: stack("State", 1000, 16384),
    "scan_1000_of_2KB": lambda: stack("Scan", 1000, 512),
    "scan_10000_of_2KB": lambda: stack("Scan", 10000, 512),
    "rotary_12x128x64": lambda: rotary(1, 12, 128, 64),
    "rotary_32x1x128": lambda: rotary(1, 32, 1, 128),
    "rotary_32x512x128": lambda: rotary(1, 32, 512, 128),
    "reducemax_1000x10": lambda: row("ReduceMax", [normal(1000, 10)], axes=[1]),
    "reducemax_128x128": lambda: row("ReduceMax", [normal(128, 128)], axes=[1]),
    "reducemax_64x1000": lambda: row("ReduceMax", [normal(64, 1000)], axes=[1]),
    "reducemax_16x30522": lambda: row("ReduceMax", [normal(16, 30522)],
                                      axes=[1]),
    "reducesum_1000x10": lambda: row("ReduceSum", [normal(1000, 10)],
                                     [ints(1)]),
    "reducesum_128x768": lambda: row("ReduceSum", [normal(128, 768)],
                                     [ints(1)]),
    "reducesum_columns_128x768": lambda: row("ReduceSum", [normal(128, 768)],
                                             [ints(0)]),
    "reducemean_c64_56": lambda: row("ReduceMean", [normal(1, 64, 56, 56)],
                                     axes=[2, 3]),
    "reducemean_channels_64_56": lambda: row(
        "ReduceMean", [normal(1, 64, 56, 56)], axes=[1]),
    "reducel2_128x768": lambda: row("ReduceL2", [normal(128, 768)], axes=[1]),
    "argmax_16x30522": lambda: row("ArgMax", [normal(16, 30522)], axis=1),
    "argmax_1000x10": lambda: row("ArgMax", [normal(1000, 10)], axis=1),
    "argmax_channels_21_128": lambda: row("ArgMax", [normal(1, 21, 128, 128)],
                                          axis=1),
    "topk_16x30522_k5": lambda: row("TopK", [normal(16, 30522)], [ints(5)],
                                    outputs=2),
    "topk_1x8400_k100": lambda: row("TopK", [normal(1, 8400)], [ints(100)],
                                    outputs=2),
    "topk_1x8400_k1000": lambda: row("TopK", [normal(1, 8400)], [ints(1000)],
                                     outputs=2),
    "topk_1x10000_all": lambda: row("TopK", [normal(1, 10000)], [ints(10000)],
                                    outputs=2),
    "cumsum_rows_128x512": lambda: row("CumSum", [normal(128, 512)],
                                       [np.array(1, np.int32)]),
    "cumsum_columns_512x128": lambda: row("CumSum", [normal(512, 128)],
                                          [np.array(0, np.int32)]),
    "cumsum_i64_1x512": lambda: row("CumSum", [below(2, 1, 512)],
                                    [np.array(1, np.int32)]),
    "gather_rows_128_of_30522x768": lambda: row(
        "Gather", [normal(30522, 768), below(30522, 1, 128)]),
    "gather_rows_4096_of_1000x16": lambda: row(
        "Gather", [normal(1000, 16), below(1000, 4096)]),
    "gather_axis1_64_of_128x512": lambda: row(
        "Gather", [normal(128, 512), below(512, 64)], axis=1),
    "gathernd_100_of_100x84x84": lambda: row(
        "GatherND", [normal(100, 84, 84), below(84, 1000, 2)]),
    "gatherelements_16x1000": lambda: row(
        "GatherElements", [normal(16, 30522), below(30522, 16, 1000)], axis=1),
    "transpose_heads_128x12x64": lambda: row(
        "Transpose", [normal(1, 128, 12, 64)], perm=[0, 2, 1, 3]),
    "transpose_keys_128x12x64": lambda: row(
        "Transpose", [normal(1, 128, 12, 64)], perm=[0, 2, 3, 1]),
    "transpose_nhwc_3x224x224": lambda: row(
        "Transpose", [normal(1, 3, 224, 224)], perm=[0, 2, 3, 1]),
    "transpose_nchw_224x224x3": lambda: row(
        "Transpose", [normal(1, 224, 224, 3)], perm=[0, 3, 1, 2]),
    "transpose_nhwc_64x56x56": lambda: row(
        "Transpose", [normal(1, 64, 56, 56)], perm=[0, 2, 3, 1]),
    "transpose_shuffle_3x80x28x28": lambda: row(
        "Transpose", [normal(1, 3, 80, 28, 28)], perm=[0, 2, 1, 3, 4]),
    "transpose_2d_768x768": lambda: row("Transpose", [normal(768, 768)],
                                        perm=[1, 0]),
    "transpose_window_8x7x8x7x96": lambda: row(
        "Transpose", [normal(1, 8, 7, 8, 7, 96)], perm=[0, 1, 3, 2, 4, 5]),
    "resize_nearest_c64_40_x2": lambda: resize(
        (64, 40, 40), 2, "nearest", "asymmetric", nearest_mode="floor"),
    "resize_linear_c64_40_x2": lambda: resize(
        (64, 40, 40), 2, "linear", "half_pixel"),
    "resize_linear_c21_64_x4": lambda: resize(
        (21, 64, 64), 4, "linear", "align_corners"),
    "resize_linear_c3_640_x0.5": lambda: resize(
        (3, 640, 640), 0.5, "linear", "half_pixel"),
    "resize_cubic_c3_112_x2": lambda: resize(
        (3, 112, 112), 2, "cubic", "half_pixel"),
    "add_128x768_row": lambda: row("Add", [normal(1, 128, 768), normal(768)]),
    "add_c64_56_channel": lambda: row("Add", [normal(1, 64, 56, 56),
                                              normal(1, 64, 1, 1)]),
    "mul_128x768_column": lambda: row("Mul", [normal(1, 128, 768),
                                              normal(1, 128, 1)]),
    "mul_outer_128x1_1x128": lambda: row("Mul", [normal(12, 128, 1),
                                                 normal(12, 1, 128)]),
    "add_c64_56_same": lambda: row("Add", [normal(1, 64, 56, 56),
                                           normal(1, 64, 56, 56)]),
    "where_mask_12x128x128": lambda: row(
        "Where", [below(2, 1, 1, 128, 128).astype(np.bool_),
                  normal(1, 12, 128, 128), normal(1)]),
    "pow2_128x768": lambda: row("Pow", [normal(128, 768)],
                                [np.array(2, F)]),
    "sigmoid_c64_56": lambda: row("Sigmoid", [normal(1, 64, 56, 56)]),
    "erf_128x3072": lambda: row("Erf", [normal(128, 3072)]),
    "softmax_12x128x128": lambda: row("Softmax", [normal(12, 128, 128)]),
    "softmax_channels_21_64": lambda: row("Softmax", [normal(1, 21, 64, 64)],
                                          axis=1),
    "layernorm_128x768": lambda: row("LayerNormalization",
                                     [normal(1, 128, 768)],
                                     [normal(768), normal(768)]),
    "instancenorm_c64_56": lambda: row("InstanceNormalization",
                                       [normal(1, 64, 56, 56)],
                                       [normal(64), normal(64)]),
    "batchnorm_c64_56": lambda: row("BatchNormalization",
                                    [normal(1, 64, 56, 56)],
                                    [normal(64), normal(64), normal(64),
                                     abs(normal(64)) + F(0.1)]),
    "concat_channels_2x128_28": lambda: row(
        "Concat", [normal(1, 128, 28, 28), normal(1, 128, 28, 28)], axis=1),
    "concat_last_2x768": lambda: row("Concat", [normal(128, 768),
                                                normal(128, 768)], axis=1),
    "slice_last_128x768": lambda: row(
        "Slice", [normal(1, 128, 2304)], [ints(768), ints(1536), ints(2)]),
    "slice_step2_c3_224": lambda: row(
        "Slice", [normal(1, 3, 224, 224)],
        [ints(0, 0), ints(224, 224), ints(2, 3), ints(2, 2)]),
    "split_128x2304": lambda: row("Split", [normal(1, 128, 2304)],
                                  [ints(768, 768, 768)], outputs=3, axis=2),
    "pad_c64_56_1": lambda: row("Pad", [normal(1, 64, 56, 56)],
                                [ints(0, 0, 1, 1, 0, 0, 1, 1)]),
    "pad_reflect_c64_56_3": lambda: row(
        "Pad", [normal(1, 64, 56, 56)], [ints(0, 0, 3, 3, 0, 0, 3, 3)],
        mode="reflect"),
    "expand_1x768_128x768": lambda: row("Expand", [normal(1, 1, 768)],
                                        [ints(1, 128, 768)]),
    "tile_1x64x1x1_56": lambda: row("Tile", [normal(1, 64, 1, 56)],
                                    [ints(1, 1, 56, 1)]),
    "depthtospace_c64_56": lambda: row("DepthToSpace", [normal(1, 64, 56, 56)],
                                       blocksize=2),
    "cast_u8_f32_3x224x224": lambda: row(
        "Cast", [below(256, 1, 3, 224, 224).astype(np.uint8)],
        to=TensorProto.FLOAT),
    "cast_f32_i64_128x768": lambda: row("Cast", [normal(128, 768)],
                                        to=TensorProto.INT64),
    "scatternd_1000_of_8400x4": lambda: row(
        "ScatterND", [normal(8400, 4), below(8400, 1000, 1), normal(1000, 4)]),
    "nonzero_128x128": lambda: row("NonZero", [np.maximum(normal(128, 128), 0)]),
    "onehot_128_of_1000": lambda: row(
        "OneHot", [below(1000, 128)], [ints(1000), np.array([0, 1], F)]),
    "trilu_1024": lambda: row("Trilu", [normal(1024, 1024)], upper=0),
    "einsum_bhid_bhjd": lambda: row(
        "Einsum", [normal(1, 12, 128, 64), normal(1, 12, 128, 64)],
        equation="bhid,bhjd->bhij"),
    "matmul_12x128x64": lambda: row("MatMul", [normal(12, 128, 64),
                                               normal(12, 64, 128)]),
    "gridsample_c32_64": lambda: row(
        "GridSample", [normal(1, 32, 64, 64),
                       np.tanh(normal(1, 64, 64, 2))], mode="bilinear"),
    "nms_1000": lambda: nms(1000),
}


def nms(n):
    corner = random.uniform(0, 600, (1, n, 2)).astype(F)
    boxes = np.concatenate([corner, corner + 40], axis=2)
    return row("NonMaxSuppression", [boxes, abs(normal(1, 1, n))],
               [ints(100), np.array([0.5], F), np.array([0.1], F)])


def write(path, spec):
    op, inputs, constants, outputs, opset, domain, attrs = spec
    names, given, inits = [], [], []
    for i, array in enumerate([*inputs, *constants]):
        names.append(f"x{i}" if array is not None else "")
        if i < len(inputs):
            given.append(helper.make_tensor_value_info(
                f"x{i}", ELEM[array.dtype], array.shape))
        elif array is not None:
            inits.append(numpy_helper.from_array(array, f"x{i}"))
    results = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(op, names, results, domain=domain, **attrs)
    graph = helper.make_graph(
        [node], "g", given,
        [helper.make_empty_tensor_value_info(r) for r in results], inits)
    model = helper.make_model(graph, ir_version=8, opset_imports=[
        helper.make_opsetid("", opset),
        helper.make_opsetid("com.microsoft", 1)])
    onnx.save(model, path)
    return {f"x{i}": a for i, a in enumerate(inputs)}


def interleave(sessions, seconds, turn=0.01):
    """[session][round]: median seconds of a run in turns of about `turn`."""
    counts = [max(1, min(1000, int(turn / max(min(s.time() for _ in range(3)),
                                              1e-7)))) for s in sessions]
    times = [[] for _ in sessions]
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times[0]) < 7:
        for session, count, out in zip(sessions, counts, times):
            out.append(float(np.median([session.time()
                                        for _ in range(count)])))
    return np.array(times)


def measure(name, seconds):
    path = f"{models.SCRATCH}/{name}.onnx"
    inputs = write(path, ROWS[name]())
    sessions = [peer.Session(path, name, inputs, 1) for peer in (ours, theirs)]
    error = max((float(np.max(np.abs(g.astype(np.float64) - w), initial=0))
                 for g, w in zip(*(s.run() for s in sessions))), default=0.0)
    times = interleave(sessions, seconds)
    first, second = np.median(times, axis=1)
    return {"operator": name, "ferrule_us": first * 1e6,
            "onnxruntime_us": second * 1e6, "ratio": second / first,
            "best": times[1].min() / times[0].min(), "error": error}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--json")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    os.makedirs(models.SCRATCH, exist_ok=True)
    names = [n for n in ROWS
             if not args.names or any(n.startswith(p) for p in args.names)]
    print(f"ONNX Runtime {theirs.version()}, one thread")
    print(f"{'operator':34}{'Ferrule':>12}{'ORT':>12}{'ratio':>8}{'best':>8}"
          f"{'error':>10}")
    rows, refused = [], 0
    for name in names:
        try:
            r = measure(name, args.seconds)
        except Exception as error:  # refused by either
            print(f"{name:34}refused: {str(error).splitlines()[0]}")
            refused += 1
            continue
        rows.append(r)
        print(f"{name:34}{r['ferrule_us']:9.1f} us{r['onnxruntime_us']:9.1f} us"
              f"{r['ratio']:8.2f}{r['best']:8.2f}{r['error']:10.1e}",
              flush=True)
    if args.json:
        with open(args.json, "w") as f:
            json.dump({"onnxruntime": theirs.version(), "rows": rows},
                      f, indent=1)
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
