"""usage: image_operators.py [SEED [CASES]]

Convolutions, pools, normalization and resizing of images with random shapes
and attributes, all sizes fixed and with symbolic dims. References: ONNX
Runtime; for types that it does not have, itself in float32.
"""
import sys

import numpy as np
import onnx
import onnxruntime

import operators
from operators import Case, Const, reference

I64 = np.int64
seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1
count = int(sys.argv[2]) if len(sys.argv) > 2 else 6
random = np.random.default_rng(seed)


def f(*shape):
    return random.uniform(-2, 2, shape).astype(np.float32)


def some(*values):
    return values[random.integers(len(values))]


def number(low, high):
    return int(random.integers(low, high + 1))


def wide(dtype, opset, op, *inputs, outputs=1, **attrs):
    """The case in `dtype`; its reference computes the same in float32."""
    def cast(a, t):
        if isinstance(a, Const):
            return Const(cast(a.array, t))
        is_float = a is not None and np.asarray(a).dtype.kind == "f"
        return a.astype(t) if is_float else a

    if op == "Resize": # but the scales
        inputs, rest = inputs[:1], inputs[1:]
    else:
        rest = ()

    narrow = [cast(a, dtype) for a in inputs]

    def want():
        case = Case(op, *[cast(a, np.float32) for a in narrow], *rest,
                    outputs=outputs, **attrs)
        results = operators.wanted(opset, [case])
        return [cast(results[f"y0_{i}"], dtype) for i in range(outputs)]
    return Case(op, *narrow, *rest, want=want, outputs=outputs, **attrs)


def window(n, dilated=True):
    """Attributes of a window over n dims, and the sizes of image and kernel."""
    kernel = [number(1, 4) for _ in range(n)]
    strides = [number(1, 3) for _ in range(n)]
    dilations = [number(1, 2) if dilated else 1 for _ in range(n)]
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilations)]
    sizes = [r + number(0, 9) for r in reach]
    attrs = dict(strides=strides, dilations=dilations)
    how = some("pads", "pads", "SAME_UPPER", "SAME_LOWER", "VALID", None)
    if how == "pads":
        attrs["pads"] = [number(0, r - 1) for r in reach + reach]
    elif how:
        attrs["auto_pad"] = how
        if how != "VALID": # all that ONNX Runtime knows
            attrs["dilations"] = [1] * n
    if not dilated:
        del attrs["dilations"]
    return attrs, sizes, kernel


def conv():
    n = number(1, 3)
    attrs, sizes, kernel = window(n)
    group = some(1, 1, 2, 3)
    each, filters = number(1, 3), group * number(1, 3)
    x, w = f(number(1, 2), each * group, *sizes), f(filters, each, *kernel)
    bias = some(None, f(filters))
    w = some(w, Const(w))
    return [x, w, bias], dict(attrs, group=group)


def conv_transpose():
    n = number(1, 3)
    attrs, sizes, kernel = window(n)
    group, each, filters = some(1, 1, 2), number(1, 3), number(1, 3)
    strides = attrs["strides"]
    if "pads" in attrs: # not more than there is
        attrs["pads"] = [min(p, (k - 1) * d // 2) for p, k, d in zip(
            attrs["pads"], kernel + kernel, attrs["dilations"] * 2)]
    if attrs.get("auto_pad") != "VALID" and some(True, False):
        attrs["output_padding"] = [number(0, s - 1) for s in strides]
    x = f(number(1, 2), each * group, *sizes)
    w = f(each * group, filters, *kernel)
    return ([x, some(w, Const(w)), some(None, f(group * filters))],
            dict(attrs, group=group))


def pool(dilated=True):
    n = number(1, 3)
    attrs, sizes, kernel = window(n, dilated)
    if attrs.get("auto_pad", "VALID") != "VALID":
        # ONNX Runtime knows no windows that leave gaps here.
        attrs["strides"] = [min(k, s) for k, s in zip(kernel, attrs["strides"])]
    if "pads" in attrs:
        attrs["pads"] = [min(p, k - 1)
                         for p, k in zip(attrs["pads"], kernel + kernel)]
    if attrs.get("auto_pad") is None:
        attrs["ceil_mode"] = number(0, 1)
    return [f(number(1, 2), number(1, 3), *sizes)], dict(
        attrs, kernel_shape=kernel)


def resize(mode):
    rank = number(3, 4)
    x = f(*[number(1, 3) for _ in range(2)],
          *[number(2, 9) for _ in range(rank - 2)])
    attrs = dict(mode=mode)
    transform = some("half_pixel", "asymmetric", "align_corners",
                     "pytorch_half_pixel")
    attrs["coordinate_transformation_mode"] = transform
    if mode == "nearest":
        attrs["nearest_mode"] = some("round_prefer_floor", "round_prefer_ceil",
                                     "floor", "ceil")
    if mode == "cubic":
        rank = 4
        x = f(1, 2, number(2, 9), number(2, 9))
        attrs["exclude_outside"] = number(0, 1)
        attrs["cubic_coeff_a"] = some(-0.75, -0.5)
    if some(True, False) or transform == "align_corners":
        sizes = [*x.shape[:2], *[number(1, 17) for _ in range(rank - 2)]]
        sizes = np.array(sizes, I64)
        return [x, None, None, some(sizes, Const(sizes))], attrs
    scales = [1, 1] + [some(0.5, 2, 3, 1.5, 0.7, 2.25) for _ in range(rank - 2)]
    scales = np.array(scales, np.float32)
    return [x, None, some(scales, Const(scales))], attrs


def batch_norm():
    c = number(1, 5)
    x = f(number(1, 3), c, *[number(1, 5) for _ in range(number(0, 3))])
    return [x, f(c), f(c), f(c), np.abs(f(c)) + np.float32(0.5)]


def quantized(shape, dtype):
    low, high = (0, 255) if dtype == np.uint8 else (-128, 127)
    return random.integers(low, high + 1, shape).astype(dtype)


def linear_conv():
    attrs, sizes, kernel = window(2)
    t, u = np.uint8, some(np.uint8, np.int8)
    filters, each, group = number(1, 4), number(1, 3), some(1, 2)
    filters *= group
    scale = np.float32(random.uniform(0.01, 0.1))
    w_scale = random.uniform(0.01, 0.1, filters).astype(np.float32)
    bias = random.integers(-999, 999, filters).astype(np.int32)
    zero = np.zeros(filters, np.int8) if u == np.int8 else u(number(0, 255))
    if u == np.uint8:
        w_scale = w_scale[0]
    return [quantized((2, each * group, *sizes), t), Const(scale), Const(t(7)),
            Const(quantized((filters, each, *kernel), u)), Const(w_scale),
            Const(zero), Const(np.float32(0.9)), Const(t(100)),
            some(None, Const(bias))], dict(attrs, group=group)


def integer_conv():
    attrs, sizes, kernel = window(2)
    w = quantized((3, 2, *kernel), np.uint8)
    return [quantized((1, 2, *sizes), np.uint8), Const(w), Const(np.uint8(3)),
            Const(np.uint8(200))], attrs


def grid():
    n, size = number(1, 2), [number(1, 6) for _ in range(4)]
    g = random.uniform(-1.4, 1.4, (n, size[2], size[3], 2)).astype(np.float32)
    return [f(n, 2, size[0], size[1]), g]


def regions(first):
    n = number(1, 4)
    a = np.sort(random.uniform(-3, 14, (n, 2, 2)), axis=1).reshape(n, 4)
    a = a.astype(np.float32)
    if first:
        batch = random.integers(0, 2, (n, 1)).astype(np.float32)
        a = np.concatenate([batch, np.abs(a).round()], 1)
    return a


def cases():
    old, v11, v16, new = [], [], [], []
    for _ in range(count):
        for make, op in ((conv, "Conv"), (conv_transpose, "ConvTranspose")):
            inputs, attrs = make()
            new.append(Case(op, *inputs, **attrs))
        inputs, attrs = pool()
        new.append(Case("MaxPool", *inputs, **attrs))
        inputs, attrs = pool()
        new.append(Case("MaxPool", *inputs, outputs=2,
                        storage_order=number(0, 1), **attrs))
        inputs, attrs = pool()
        new.append(Case("LpPool", *inputs, p=number(1, 3), **attrs))
        inputs, attrs = pool()
        new.append(Case("AveragePool", *inputs, count_include_pad=number(0, 1),
                        **attrs))
        inputs, attrs = pool(False)
        v11.append(Case("AveragePool", *inputs, count_include_pad=number(0, 1),
                        **attrs))
        for mode in "nearest", "linear", "cubic":
            inputs, attrs = resize(mode)
            new.append(Case("Resize", *inputs, **attrs))
        inputs, attrs = linear_conv()
        new.append(Case("QLinearConv", *inputs, **attrs))
        inputs, attrs = integer_conv()
        new.append(Case("ConvInteger", *inputs, **attrs))
        new.append(Case("BatchNormalization", *batch_norm(), epsilon=1e-3))
        new.append(Case("InstanceNormalization", *some(
            [f(2, 3, 4, 5), f(3), f(3)], [f(1, 2, 7), f(2), f(2)])))
        new.append(Case("LRN", f(2, number(1, 7), 3, 4), size=some(1, 3, 5),
                        alpha=0.1, beta=0.6, bias=1.5))
        # ONNX Runtime does not clamp first for bicubic with border, as the
        # standard's reference does.
        mode, padding = some(*[(m, p) for m in ("bilinear", "nearest", "bicubic")
                               for p in ("zeros", "border", "reflection")
                               if (m, p) != ("bicubic", "border")])
        v16.append(Case("GridSample", *grid(), mode=str(mode),
                        padding_mode=str(padding),
                        align_corners=number(0, 1)))
        rois = regions(False)
        batch = random.integers(0, 2, len(rois)).astype(I64)
        v16.append(Case("RoiAlign", f(2, 2, 9, 11), rois, batch,
                        mode=some("avg", "max"), output_height=number(1, 3),
                        output_width=number(1, 3), spatial_scale=0.7,
                        sampling_ratio=number(0, 2),
                        coordinate_transformation_mode=some(
                            "half_pixel", "output_half_pixel")))
        v11.append(Case("MaxRoiPool", f(2, 2, 9, 11), regions(True),
                        pooled_shape=[number(1, 3), number(1, 3)],
                        spatial_scale=0.7))
        b = number(1, 3)
        v11.append(Case("DepthToSpace", f(2, b * b * 2, 2, 3), blocksize=b,
                        mode=some("DCR", "CRD")))
        v11.append(Case("SpaceToDepth", f(1, 2, b * 2, b), blocksize=b))
        scales = np.array([1, 1, 2, some(1, 3)], np.float32)
        old.append(Case("Upsample", f(1, 2, 4, 4), Const(scales),
                        mode=some("nearest", "linear")))
    for op in "GlobalAveragePool", "GlobalMaxPool":
        new.append(Case(op, f(2, 3, 4, 5)))
    new.append(Case("GlobalLpPool", f(2, 3, 4, 5), p=3))
    for dtype in np.float16, np.float64:
        for op, (inputs, attrs) in {
                "Conv": conv(), "ConvTranspose": conv_transpose(),
                "MaxPool": pool(), "AveragePool": pool(), "LpPool": pool(),
                "Resize": resize("linear"), "GlobalAveragePool": ([f(2, 3, 9)],
                                                                  {}),
                "BatchNormalization": (batch_norm(), {}),
                "LRN": ([f(1, 5, 3, 2)], {"size": 3}), "GlobalMaxPool": (
                    [f(2, 3, 4, 5)], {}), "GlobalLpPool": ([f(1, 2, 3, 4)], {}),
                "InstanceNormalization": ([f(2, 3, 4), f(3), f(3)], {}),
        }.items():
            new.append(wide(dtype, 19, op, *inputs, **attrs))
    new.append(Case("Conv", f(1, 2, 5, 300), f(3, 2, 3, 3), pads=[1] * 4))
    new.append(Case("ConvTranspose", f(1, 2, 3, 150), f(2, 3, 2, 5),
                    strides=[2, 3]))
    for kernel, stride, attrs in (
            (3, 2, dict(pads=[1] * 4, output_padding=[1, 1])), (5, 3, {}),
            (4, 2, dict(pads=[1] * 4)), (4, 2, dict(auto_pad="SAME_UPPER")),
            (2, 2, {}), (2, 3, dict(output_padding=[1, 2])), (3, 1, {})):
        w = f(9, some(16, 32, 5), kernel, kernel)
        new.append(Case("ConvTranspose", f(2, 9, 5, 6), Const(w),
                        Const(f(w.shape[1])), strides=[stride] * 2, **attrs))
    x, w = quantized((2, 40, 9, 8), np.uint8), quantized((24, 40, 3, 3), np.int8)
    scales = Const(random.uniform(0.001, 0.01, 24).astype(np.float32))
    new.append(Case("QLinearConv", x, Const(np.float32(0.02)),
                    Const(np.uint8(130)), Const(w), scales,
                    Const(np.zeros(24, np.int8)), Const(np.float32(0.5)),
                    Const(np.uint8(99)), pads=[1] * 4))
    w = quantized((24, 40, 3, 3), np.uint8)
    new.append(Case("ConvInteger", x, Const(w), Const(np.uint8(130)),
                    Const(np.uint8(120)), pads=[1] * 4))
    new.append(Case("ConvTranspose", f(1, 9, 7), Const(f(9, 16, 11)),
                    strides=[5], pads=[3, 2]))
    new.append(Case("MaxPool", f(1, 2, 5, 300), kernel_shape=[3, 3],
                    strides=[1, 1]))
    new.append(Case("Conv", f(0, 2, 5, 5), f(3, 2, 3, 3)))
    new.append(Case("Resize", f(1, 1, 3, 4), f(8) * 0 + np.array(
        [0, 0, .1, -.2, 1, 1, .8, 1.3], np.float32), None,
        Const(np.array([1, 1, 5, 6], I64)), mode="linear",
        coordinate_transformation_mode="tf_crop_and_resize",
        extrapolation_value=3.5))
    x = random.integers(-9, 9, (1, 1, 3, 4)).astype(np.int32)
    new.append(Case("Resize", x, None, Const(np.array(
        [1, 1, 2, 2], np.float32)), mode="nearest"))
    x = random.integers(0, 9, (1, 2, 5, 5)).astype(np.uint8)
    new.append(Case("MaxPool", x, kernel_shape=[2, 2], pads=[1, 0, 0, 1]))
    x = batch_norm()
    new.append(Case("BatchNormalization", *x, training_mode=1, outputs=3))
    v21 = [Case("GroupNormalization", f(2, 6, 3, 4), f(6), f(6), num_groups=3)]
    return {9: old, 11: v11, 16: v16, 19: new, 21: v21}


if __name__ == "__main__":
    sys.exit(operators.check(cases()) > 0)
