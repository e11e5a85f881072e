"""Windows over images: convolutions and pools."""
import dataclasses
import math

import numpy as np
from onnx import helper

import sampling





def placing(d, sizes, kernel, pads=True, dilated=True):
    """strides, dilations, pads or auto_pad of a window; sizes are enlarged
    where it would not fit."""
    n = len(kernel)
    given = {}
    dilations = [1] * n
    if dilated and d.chance(.4) and "dilations" in d.attributes:
        dilations = given["dilations"] = [d.integer(1, 3) for _ in range(n)]
    if d.chance(.6):
        given["strides"] = [d.integer(1, 3) for _ in range(n)]
    how = d.pick("NOTSET", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")
    extent = [(k - 1) * s + 1 for k, s in zip(kernel, dilations)]
    if how == "NOTSET" and pads and d.chance(.7):
        given["pads"] = [d.integer(0, e - 1) if d.chance(.8) else 0
                         for e in extent * 2]
        if d.chance(.4):
            given["pads"] = given["pads"][:n] * 2
    elif how != "NOTSET" or d.chance(.1):
        given["auto_pad"] = how
    padded = given.get("pads", [0] * (2 * n))
    for i in range(n):
        sizes[i] = max(sizes[i], extent[i] - padded[i] - padded[n + i], 1)
    return given


def explicit(case, sizes, kernel):
    """The case with the pads that auto_pad means: the standard's formula, the
    same for all of these operators."""
    given = case.attributes()
    how = given.pop("auto_pad", b"NOTSET").decode()
    if how not in ("SAME_UPPER", "SAME_LOWER") or 0 in sizes:
        return None
    n = len(sizes)
    low, high = [], []
    for size, k, stride, apart in zip(sizes, kernel,
                                      given.get("strides", [1] * n),
                                      given.get("dilations", [1] * n)):
        count = -(-size // stride)
        total = max((count - 1) * stride + (k - 1) * apart + 1 - size, 0)
        low.append(total // 2 if how == "SAME_UPPER" else total - total // 2)
        high.append(total - low[-1])
    given["pads"] = low + high
    node = case.nodes[0]
    node = helper.make_node(case.op, node.input, node.output, **given)
    return dataclasses.replace(case, nodes=[node])


def image(d, dims=None, channels=None, largest=12):
    n = d.integer(1, 3) if dims is None else dims
    top = {1: 40, 2: largest, 3: 7}[n]
    return ([0 if d.chance(.02) else d.integer(1, 3),
             channels or d.integer(1, 5)],
            [d.integer(1, top) for _ in range(n)])


def conv(d):
    t = d.type()
    group = d.pick(1, 1, 1, 2, 3)
    depthwise = d.chance(.2)
    each = 1 if depthwise else d.pick(1, 2, 3, 5, 16, 17)
    if depthwise:
        group = d.pick(1, 3, 16, 20)
    out = group * (d.pick(1, 1, 2) if depthwise else d.pick(1, 2, 3, 8, 16, 19))
    front, sizes = image(d, channels=group * each)
    kernel = [d.integer(1, 4) if d.chance(.7) else d.pick(1, 3)
              for _ in sizes]
    given = placing(d, sizes, kernel)
    x = d.tensor(t, front + sizes, special=0)
    w = d.tensor(t, [out, each] + kernel, special=0)
    b = d.tensor(t, [out], special=0) if d.chance(.5) else None
    case = d.node([x, w, b], spread="sum", group=group if group > 1 else None,
                  kernel_shape=d.pick(None, kernel), **given)
    case.stand_in = explicit(case, sizes, kernel)
    return case


def conv_integer(d):
    group, each = d.pick(1, 1, 2, 3), d.pick(1, 2, 5)
    out = group * d.pick(1, 2, 5)
    front, sizes = image(d, 2 if d.chance(.7) else None, group * each)
    kernel = [d.integer(1, 3) for _ in sizes]
    given = placing(d, sizes, kernel)
    t, u = d.type("T1"), d.type("T2")
    x = d.tensor(t, front + sizes, -128, 255)
    w = d.tensor(u, [out, each] + kernel, -128, 255)
    xz = d.tensor(t, d.pick([], [1]), -128, 255) if d.chance(.6) else None
    wz = d.tensor(u, d.pick([], [1], [out]), -128, 255) \
        if d.chance(.6) else None
    case = d.node([x, w, xz, wz], group=group if group > 1 else None,
                  kernel_shape=d.pick(None, kernel), **given)
    case.stand_in = explicit(case, sizes, kernel)
    return case


def conv_transpose(d):
    t = d.type()
    group, each = d.pick(1, 1, 2, 3), d.pick(1, 2, 5, 16)
    out = d.pick(1, 2, 4, 16)
    front, sizes = image(d, channels=group * each, largest=8)
    n = len(sizes)
    kernel = [d.integer(1, 4) for _ in sizes]
    strides = [d.integer(1, 3) for _ in sizes] if d.chance(.7) else None
    dilations = [d.integer(1, 2) for _ in sizes] if d.chance(.3) else None
    steps, apart = strides or [1] * n, dilations or [1] * n
    extra = [d.integer(0, max(s, a) - 1) for s, a in zip(steps, apart)] \
        if d.chance(.3) else None
    extent = [(k - 1) * a + 1 for k, a in zip(kernel, apart)]
    given = {}
    natural = [s * (m - 1) + e + o for s, m, e, o in
               zip(steps, sizes, extent, extra or [0] * n)]
    how = d.pick("pads", "pads", "none", "auto", "shape")
    if how == "pads":
        low = [d.integer(0, max(0, min(e - 1, (m - 1) // 2)))
               for e, m in zip(extent, natural)]
        high = [d.integer(0, max(0, min(e - 1, (m - 1) // 2)))
                for e, m in zip(extent, natural)]
        given["pads"] = low + high
    elif how == "auto":
        given["auto_pad"] = d.pick("SAME_UPPER", "SAME_LOWER", "VALID")
    elif how == "shape":
        given["output_shape"] = [max(1, m - d.integer(0, 2)) for m in natural]
        if d.chance(.4):
            given["auto_pad"] = d.pick("SAME_UPPER", "SAME_LOWER")
    x = d.tensor(t, front + sizes, special=0)
    w = d.tensor(t, [group * each, out] + kernel, special=0)
    b = d.tensor(t, [group * out], special=0) if d.chance(.5) else None

    def formula(x, w, b=None):
        """onnx's evaluator adds the whole bias to each group, and ONNX Runtime
        has neither f64 nor all sizes."""
        same = given.get("auto_pad", "").startswith("SAME")
        low = given.get("pads", [0] * 2 * n)[:n]
        size = [m - p - q for m, p, q in zip(natural, low, given.get(
            "pads", [0] * 2 * n)[n:])]
        if same or how == "shape":
            size = given.get("output_shape") or [
                m * s for m, s in zip(sizes, steps)]
            # Where the stride is beyond the kernel: no more than there is.
            total = [max(0, m - k) for m, k in zip(natural, size)]
            size = [m - t for m, t in zip(natural, total)]
            low = [t // 2 if given.get("auto_pad") == "SAME_UPPER"
                   else t - t // 2 for t in total]
        parts = x.reshape(x.shape[0], group, each, *sizes)
        taps = w.reshape(group, each, out, *kernel)
        canvas = np.zeros([x.shape[0], group, out] + natural)
        for tap in np.ndindex(*kernel):
            at = tuple(slice(t * a, t * a + (m - 1) * s + 1, s)
                       for t, a, m, s in zip(tap, apart, sizes, steps))
            canvas[(slice(None),) * 3 + at] += np.einsum(
                "ngc...,gco->ngo...", parts, taps[(slice(None),) * 3 + tap])
        canvas = canvas.reshape(x.shape[0], group * out, *natural)
        beyond = [(0, 0), (0, 0)] + [
            (max(0, -p), max(0, p + k - m))
            for p, k, m in zip(low, size, natural)]
        canvas = np.pad(canvas, beyond)
        y = canvas[(slice(None), slice(None), *[
            slice(max(0, p), max(0, p) + k) for p, k in zip(low, size)])]
        return y if b is None else y + b.reshape([-1] + [1] * n)
    return d.node([x, w, b], spread="sum", strides=strides,
                  dilations=dilations, output_padding=extra,
                  group=group if group > 1 else None, formula=formula,
                  kernel_shape=d.pick(None, kernel), **given)


def pooled(x, kernel, given, reduce):
    """reduce(elements, whether each is one of x, of x or its pads) over the
    first dim: the elements of a window."""
    n, sizes = len(kernel), x.shape[2:]
    one = [1] * n
    steps, apart = given.get("strides", one), given.get("dilations", one)
    pads = given.get("pads", [0] * (2 * n))
    low, high, out = pads[:n], pads[n:], []
    for i in range(n):
        room = sizes[i] + low[i] + high[i] - (kernel[i] - 1) * apart[i] - 1
        up = given.get("ceil_mode", 0) and room % steps[i] > 0
        out.append(room // steps[i] + 1 + up)
        if up and (out[i] - 1) * steps[i] >= sizes[i] + low[i]:
            out[i] -= 1  # it would begin behind the image
    more = [max(0, (m - 1) * s + (k - 1) * a + 1 - size - p - q)
            for m, s, k, a, size, p, q in zip(out, steps, kernel, apart, sizes,
                                              low, high)]
    around = [(0, 0), (0, 0)] + list(zip(low, high))
    behind = [(0, 0), (0, 0)] + [(0, m) for m in more]
    grown = lambda v, pads, fill: np.pad(v, pads, constant_values=fill)
    ones = np.ones(x.shape)
    arrays = [grown(grown(x, around, 0), behind, 0),
              grown(grown(ones, around, 0), behind, 0),
              grown(grown(ones, around, 1), behind, 0)]
    taps = [[], [], []]
    for tap in np.ndindex(*kernel):
        part = tuple(slice(t * a, t * a + (m - 1) * s + 1, s)
                     for t, a, m, s in zip(tap, apart, out, steps))
        for array, held in zip(arrays, taps):
            held.append(array[(slice(None), slice(None), *part)])
    return reduce(*[np.stack(t) for t in taps])


def average(include):
    """Of no elements 0."""
    return lambda x, own, padded: x.sum(0) / np.maximum(
        (padded if include else own).sum(0), 1)


def power_mean(p):
    return lambda x, own, padded: (np.abs(x)**p).sum(0)**(1 / p)


def pool(spread="sum", outputs=False, **attributes):
    def generate(d):
        t = d.type()
        front, sizes = image(d, 2 if d.version < 2 else None)
        kernel = [d.integer(1, 4) for _ in sizes]
        placed = placing(d, sizes, kernel)
        given = {k: draw(d) for k, draw in attributes.items() if d.chance(.6)}
        x = d.tensor(t, front + sizes, special=0)
        both = outputs and len(d.schema.outputs) > 1 and d.chance(.4)
        case = d.node([x], outputs=1 + both, spread=spread,
                      kernel_shape=kernel, **placed, **given)
        case.stand_in = explicit(case, sizes, kernel)
        given = (case.stand_in or case).attributes()
        reduce = {"AveragePool": average(given.get("count_include_pad", 0)),
                  "LpPool": power_mean(given.get("p", 2))}.get(d.op)
        if reduce and 0 not in x.array.shape:
            case.formula = lambda x: pooled(x, kernel, given, reduce)
        return case
    return generate


def global_pool(spread="sum", formula=None, **attributes):
    def generate(d):
        front, sizes = image(d)
        given = {k: draw(d) for k, draw in attributes.items() if d.chance(.6)}
        return d.node([d.tensor(d.type(), front + sizes, special=0)],
                      spread=spread, formula=formula, **given)
    return generate


def roi_pool(d):
    t = d.type()
    n, c, h, w = d.integer(1, 3), d.integer(1, 4), d.integer(2, 12), \
        d.integer(2, 12)
    count = d.integer(1, 5)
    corners = d.rng.integers(0, [w, h] * 2, (count, 4))
    rois = np.concatenate([d.rng.integers(0, n, (count, 1)),
                           np.minimum(corners[:, :2], corners[:, 2:]),
                           np.maximum(corners[:, :2], corners[:, 2:])], 1)
    return d.node([d.tensor(t, [n, c, h, w], special=0), d.given(rois, t)],
                  spread="exact", pooled_shape=[d.integer(1, 4),
                                                d.integer(1, 4)],
                  spatial_scale=d.pick(None, 1.0, .5))


def unpool(d):
    t = d.type("T1")
    n = d.integer(1, 3)
    kernel = [d.integer(1, 3) for _ in range(n)]
    strides = list(kernel) if d.chance(.7) else None
    front = [d.integer(1, 2), d.integer(1, 3)]
    sizes = [d.integer(1, 4) for _ in range(n)]
    steps = strides or [1] * n
    whole = [(m - 1) * s + k for m, s, k in zip(sizes, steps, kernel)]
    x = d.tensor(t, front + sizes, special=0)
    count, total = int(np.prod(sizes)), int(np.prod(whole))
    places = np.stack([d.rng.permutation(total)[:count]
                       for _ in range(front[0] * front[1])])
    offset = np.arange(front[0] * front[1])[:, None] * total
    at = d.given((places + offset).reshape(front + sizes))
    given = None
    if d.chance(.3):
        given = d.integers(front + whole)
    return d.node([x, at, given], spread="exact", kernel_shape=kernel,
                  strides=strides)


def col2im(d):
    t = d.type()
    n = d.integer(1, 3)
    sizes = [d.integer(2, 7) for _ in range(n)]
    block = [d.integer(1, min(3, s)) for s in sizes]
    given, steps, apart, pads = {}, [1] * n, [1] * n, [0] * (2 * n)
    if d.chance(.4):
        steps = given["strides"] = [d.integer(1, 3) for _ in sizes]
    if d.chance(.4):
        pads = given["pads"] = [d.integer(0, 1) for _ in range(2 * n)]
    if d.chance(.3) and all(s > 2 * (b - 1) for s, b in zip(sizes, block)):
        apart = given["dilations"] = [d.integer(1, 2) for _ in sizes]
    count = [(sizes[i] + pads[i] + pads[n + i] - apart[i] * (block[i] - 1) - 1)
             // steps[i] + 1 for i in range(n)]
    c = d.integer(1, 3)
    x = d.tensor(t, [d.integer(1, 2), c * int(np.prod(block)),
                     int(np.prod(count))], special=0)
    return d.node([x, d.integers(sizes), d.integers(block)], spread="sum",
                  **given)


def deform_conv(d):
    t, dims = d.type(), d.pick(1, 2, 2, 3)
    group, parts = d.pick(1, 1, 2), d.pick(1, 1, 2)
    channels = group * parts * d.integer(1, 2)
    out = group * d.integer(1, 3)
    largest = 4 if dims == 3 else 7
    n, sizes = d.integer(1, 2), [d.integer(3, largest) for _ in range(dims)]
    kernel = [d.integer(1, min(largest - 1, 3)) for _ in sizes]
    strides = [d.integer(1, 2) for _ in sizes] if d.chance(.4) else None
    pads = [d.integer(0, 1) for _ in sizes * 2] if d.chance(.5) else None
    p, s = pads or [0] * 2 * dims, strides or [1] * dims
    result = [(sizes[i] + p[i] + p[dims + i] - kernel[i]) // s[i] + 1
              for i in range(dims)]
    k = math.prod(kernel)
    x = d.tensor(t, [n, channels] + sizes, special=0)
    w = d.tensor(t, [out, channels // group] + kernel, special=0)
    offset = d.tensor(t, [n, parts * dims * k] + result, -2, 2)
    b = d.tensor(t, [out], special=0) if d.chance(.5) else None
    mask = d.tensor(t, [n, parts * k] + result, 0, 1) if d.chance(.5) else None

    def formula(x, w, offset, *more):
        more = list(more)
        return sampling.deform_conv(
            x, w, offset, more.pop(0) if b else None,
            more.pop(0) if mask else None, group, parts, strides, None, pads)
    return d.node([x, w, offset, b, mask], spread="sum", group=group,
                  offset_group=parts, strides=strides, pads=pads,
                  kernel_shape=d.pick(None, kernel),
                  formula=None if dims == 2 else formula)


def causal_conv(d):
    t = d.type()
    n, c, length, k = d.integer(1, 3), d.pick(1, 3, 8), d.integer(1, 9), \
        d.integer(1, 4)
    x = d.tensor(t, [n, c, length], special=0)
    w = d.tensor(t, [c, 1, k], special=0)
    b = d.tensor(t, [c], special=0) if d.chance(.5) else None
    past = d.tensor(t, [n, c, k - 1], special=0) if d.chance(.5) else None
    return d.node([x, w, b, past], outputs=d.pick(1, 2), spread="sum",
                  activation=d.pick(None, "silu", "swish", "none"))


flag = lambda d: d.pick(0, 1)
OPS = {
    "Conv": conv, "ConvInteger": conv_integer, "ConvTranspose": conv_transpose,
    "AveragePool": pool(ceil_mode=flag, count_include_pad=flag),
    "MaxPool": pool("exact", True, ceil_mode=flag, storage_order=flag),
    "LpPool": pool(ceil_mode=flag, p=lambda d: d.integer(1, 3)),
    "GlobalAveragePool": global_pool(), 
    "GlobalMaxPool": global_pool("exact", lambda x: x.max(
        tuple(range(2, x.ndim)), keepdims=True)),
    "GlobalLpPool": global_pool(p=lambda d: d.integer(1, 3)),
    "MaxRoiPool": roi_pool, "MaxUnpool": unpool, "Col2Im": col2im,
    "DeformConv": deform_conv, "CausalConvWithState": causal_conv,
}
