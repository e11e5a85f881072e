"""Resampling of images."""
import dataclasses

import numpy as np

from draw import COMPLEX, FLOATS, T, numpy_type
from sampling import grid_sample as exact_sample


def upsampled(x, scales, mode):
    """Upsample by the standard: asymmetric coordinates, one axis after the
    other; nearest is the floor."""
    for axis, scale in enumerate(np.float32(scales)):
        n = x.shape[axis]
        size = int(np.floor(np.float32(n) * scale))
        at = np.arange(size, dtype=np.float32) / scale
        low = np.minimum(np.floor(at).astype(int), n - 1)
        if mode != "linear":
            x = np.take(x, low, axis)
            continue
        part = np.clip(at, 0, n - 1) - low
        part = part.reshape([-1] + [1] * (x.ndim - axis - 1))
        x = np.take(x, low, axis) * (1 - part) + \
            np.take(x, np.minimum(low + 1, n - 1), axis) * part
    return x


def resize(d):
    t = d.type(d.schema.inputs[0].type_str)
    whole = t not in FLOATS + COMPLEX
    rank = 4 if "width_scale" in d.attributes else d.integer(1, 4)
    shape = [d.integer(1, 8) for _ in range(rank)]
    x = d.tensor(t, shape, -50 if whole else None, 50 if whole else None,
                 special=0)
    # Those that change; the standard interpolates in at most three.
    axes = d.axes(rank, 1) if d.version >= 18 and d.chance(.4) else None
    if axes:
        changed = [a % rank for a in axes]
    else:
        changed = [k for k in range(rank) if d.chance(.6)]
    mode = "nearest" if t in (T.BOOL, T.STRING) else d.pick(
        "nearest", "linear", *(("cubic",) if d.version >= 11 else ()))
    if mode == "cubic":
        changed = changed[:2]
    new = {}
    for k in changed:
        new[k] = d.integer(1, 16)
    scale = {k: d.pick(new[k] / shape[k], d.number(.3, 3, 2), 2.0, .5)
             for k in changed}
    # ONNX Runtime copies when no size changes, whatever the scales.
    if all(int(np.float32(shape[k] * scale[k])) == shape[k] for k in changed):
        scale = {k: 1.0 for k in changed}
    listed = [a % rank for a in axes] if axes else range(rank)
    scales = np.array([scale.get(k, 1.0) for k in listed], np.float32)
    sizes = [new.get(k, shape[k]) for k in listed]
    if d.version < 11:  # Upsample too
        if d.op == "Upsample":
            scales = np.maximum(scales, 1)
        how = dict(mode=mode, spread="cut" if whole and mode == "linear"
                   else "sum")
        if d.op == "Upsample":
            used = scales
            if "width_scale" in d.attributes:
                used = np.array([1.5 if k == x.array.ndim - 2 else 2.0 if k ==
                                 x.array.ndim - 1 else 1.0
                                 for k in range(x.array.ndim)])
            how["formula"] = lambda x, *_: upsampled(x, used, mode)
        parts = []
        if "scales" in d.attributes:
            how["scales"] = [float(s) for s in scales]
        elif "width_scale" in d.attributes:
            how.update(width_scale=2.0, height_scale=1.5)
        else:
            parts = [d.given(scales, shape_fixed=True)]
        case = d.node([x, *parts], **how)
        case.by_parts = t in COMPLEX
        return case
    coordinates = d.pick(None, "half_pixel", "pytorch_half_pixel",
                         "align_corners", "asymmetric", "tf_crop_and_resize",
                         *(("tf_half_pixel_for_nn",) if d.version < 13 else ()),
                         *(("half_pixel_symmetric",) if d.version >= 19
                           else ()))
    roi = None
    if coordinates == "tf_crop_and_resize":
        low = [d.number(0, .4) if k in changed else 0. for k in listed]
        high = [d.number(.6, 1.2) if k in changed else 1. for k in listed]
        roi = d.given(np.array(low + high), d.type("T2"), shape_fixed=True)
    by_size = d.chance(.5)
    if d.version < 13:
        empty = lambda t: d.given(np.zeros(0), t, shape_fixed=True)
        roi = roi or empty(d.type("T2"))
        parts = [empty(T.FLOAT) if by_size else d.given(scales, shape_fixed=True)]
    else:
        parts = [None if by_size else d.given(scales, shape_fixed=True)]
    parts.append(d.integers(sizes) if by_size else None)
    # Integers of types that ONNX Runtime lacks are cut off as it does with
    # others: in linear mode i32, in cubic mode f32.
    cut = whole and t not in (T.BOOL, T.STRING) and (mode == "cubic" or t not in (T.INT8, T.UINT8, T.INT32))
    wide = T.FLOAT if mode == "cubic" else T.INT32
    down = all(new.get(k, 0) <= shape[k] for k in changed)
    case = d.node([x, roi, *parts], spread="cut" if cut else "sum", mode=mode, axes=axes,
                  coordinate_transformation_mode=coordinates,
                  nearest_mode=d.pick(None, "round_prefer_floor",
                                      "round_prefer_ceil", "floor", "ceil")
                  if mode == "nearest" else None,
                  cubic_coeff_a=d.pick(None, -.5) if mode == "cubic" else None,
                  exclude_outside=d.pick(None, 0, 1) if mode == "cubic"
                  else None, antialias=1 if mode != "nearest" and down
                  and d.chance(.3) else None,
                  extrapolation_value=d.pick(None, 7.0) if roi else None,
                  keep_aspect_ratio_policy=d.pick("stretch", "not_larger",
                                                  "not_smaller")
                  if by_size and d.chance(.3) else None)
    case.by_parts = t in COMPLEX
    if cut:
        as_float = [dataclasses.replace(
            v, type=wide, array=v.array.astype(numpy_type(wide)))
            if v is x else v for v in case.values]
        case.stand_in = dataclasses.replace(case, values=as_float)
    return case


def grid_sample(d):
    t, u = d.type("T1"), d.type("T2") if "T2" in d.constraints else None
    n = 2 if d.version < 20 or d.chance(.6) else 3
    sizes = [d.integer(1, 8 if n == 2 else 5) for _ in range(n)]
    out = [0 if d.chance(.02) else d.integer(1, 6) for _ in range(n)]
    batch = d.integer(1, 3)
    modes = ("nearest",) if t == T.STRING else ("nearest", "linear", "cubic") \
        if n == 2 else ("nearest", "linear")
    mode = d.pick(None, *modes) if t != T.STRING else "nearest"
    how = dict(padding_mode=d.pick(None, "zeros", "border", "reflection"),
               align_corners=d.pick(None, 0, 1))
    x = d.tensor(t, [batch, d.integer(1, 4)] + sizes, -9, 9)
    kind = u or (t if t in FLOATS else T.FLOAT)
    grid = d.tensor(kind, [batch] + out + [n], -1.4, 1.4)

    def formula(x, grid):
        words = None
        if x.dtype == object:  # by their numbers; the first is nothing
            words = np.array([""] + list(x.ravel()), object)
            x = np.arange(1., x.size + 1).reshape(x.shape)
        y = exact_sample(x, grid, mode or "linear", how["padding_mode"] or
                         "zeros", how["align_corners"] or 0)
        if words is not None:
            return words[y.astype(int)]
        if t in FLOATS + COMPLEX:
            return y
        y = np.rint(y)
        if t == T.BOOL:
            return y > 0
        info = np.iinfo(numpy_type(t))
        return np.clip(y, info.min, info.max)
    if mode and d.version < 20:
        given = {"linear": "bilinear", "cubic": "bicubic"}.get(mode, mode)
    else:
        given = mode
    return d.node([x, grid], spread="sum" if t in FLOATS + COMPLEX else "cut",
                  mode=given, formula=formula, **how)


def roi_align(d):
    t = d.type("T1")
    n, h, w = d.integer(1, 3), d.integer(2, 10), d.integer(2, 10)
    count = d.integer(1, 5)
    low = d.rng.uniform(-1, [w, h], (count, 2))
    rois = np.concatenate([low, low + d.rng.uniform(0, [w, h], (count, 2))], 1)
    x = d.tensor(t, [n, d.integer(1, 4), h, w], -9, 9)
    at = d.given(d.rng.integers(0, n, count))
    return d.node([x, d.given(rois, t), at], spread="sum",
                  mode=d.pick(None, "avg", "max"),
                  output_height=d.pick(None, d.integer(1, 5)),
                  output_width=d.pick(None, d.integer(1, 5)),
                  sampling_ratio=d.pick(None, 0, 1, 2, 3),
                  spatial_scale=d.pick(None, .5, 1.0, .25),
                  coordinate_transformation_mode=d.pick(
                      None, "half_pixel", "output_half_pixel"))


def affine_grid(d):
    t = d.type("T1")
    n = d.integer(2, 3)
    batch = d.integer(1, 3)
    size = [batch, d.integer(1, 3)] + [d.integer(1, 7) for _ in range(n)]
    aligned = d.pick(None, 0, 1)

    def formula(theta, size):
        """One element between corners that are aligned: ONNX Runtime has -1,
        onnx 1, PyTorch 0."""
        places = []
        for s in size[2:].astype(int):
            at = np.arange(s)
            places.append((2 * at / (s - 1) - 1 if s > 1 else 0. * at)
                          if aligned else (2 * at + 1) / s - 1)
        grid = np.meshgrid(*places, indexing="ij")[::-1]
        grid = np.stack([*grid, np.ones_like(grid[0])], -1)
        return np.einsum("...k,bik->b...i", grid, theta)
    return d.node([d.tensor(t, [batch, n, n + 1], -2, 2), d.integers(size)],
                  spread="sum", align_corners=aligned, formula=formula)


OPS = {"Resize": resize, "Upsample": resize, "GridSample": grid_sample,
       "RoiAlign": roi_align, "AffineGrid": affine_grid}
