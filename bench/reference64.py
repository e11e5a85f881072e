"""A model in float64: onnx.reference with all floats made doubles.

Knows nothing of Ferrule. Convolutions, pools and whole-number enlargements are
done here by slices of arrays, since those of onnx.reference take hours, and LRN,
since that of onnx.reference does as many channels as there are images.
"""
import itertools

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun
from onnx.reference.ops.op_resize import Resize as ReferenceResize

FLOAT, DOUBLE = TensorProto.FLOAT, TensorProto.DOUBLE


def _pads(x, kernel, strides, dilations, pads, auto_pad):
    """[(before, after)] of each spatial dim."""
    n = len(kernel)
    if auto_pad in (b"SAME_UPPER", b"SAME_LOWER", "SAME_UPPER", "SAME_LOWER"):
        found = []
        for size, k, s, d in zip(x.shape[2:], kernel, strides, dilations):
            total = max(0, (-(-size // s) - 1) * s + (k - 1) * d + 1 - size)
            ends = total // 2, total - total // 2
            found.append(ends if "UPPER" in str(auto_pad) else ends[::-1])
        return found
    pads = pads or [0] * (2 * n)
    return list(zip(pads[:n], pads[n:]))


def _windows(x, kernel, strides, dilations, out):
    """(place in the kernel, what every result takes from there)"""
    for place in itertools.product(*map(range, kernel)):
        cut = tuple(slice(p * d, p * d + (o - 1) * s + 1, s)
                    for p, d, s, o in zip(place, dilations, strides, out))
        yield place, x[(slice(None), slice(None), *cut)]


def _out(x, kernel, strides, dilations, up=0):
    return [(size - (k - 1) * d - 1 + up * (s - 1)) // s + 1
            for size, k, s, d in zip(x.shape[2:], kernel, strides, dilations)]


def _ones(value, n):
    return list(value or [1] * n)


class Conv(OpRun):
    op_domain = ""

    def _run(self, x, w, b=None, auto_pad=None, dilations=None, group=None,
             kernel_shape=None, pads=None, strides=None):
        kernel, g = w.shape[2:], group or 1
        strides = _ones(strides, len(kernel))
        dilations = _ones(dilations, len(kernel))
        sides = _pads(x, kernel, strides, dilations, pads, auto_pad)
        x = np.pad(x, [(0, 0), (0, 0), *sides])
        out = _out(x, kernel, strides, dilations)
        n, o = x.shape[0], w.shape[0]
        y = np.zeros((n, g, o // g, int(np.prod(out))))
        for place, part in _windows(x, kernel, strides, dilations, out):
            weights = w[(slice(None), slice(None), *place)]
            y += np.matmul(weights.reshape(g, o // g, -1),
                           part.reshape(n, g, w.shape[1], -1))
        y = y.reshape(n, o, *out)
        return (y if b is None else y + b.reshape(-1, *[1] * len(kernel)),)


class ConvTranspose(OpRun):
    op_domain = ""

    def _run(self, x, w, b=None, auto_pad=None, dilations=None, group=None,
             kernel_shape=None, output_padding=None, output_shape=None,
             pads=None, strides=None):
        assert auto_pad in (None, "NOTSET") and not output_shape
        kernel, g = w.shape[2:], group or 1
        r = len(kernel)
        strides, dilations = _ones(strides, r), _ones(dilations, r)
        more, pads = output_padding or [0] * r, pads or [0] * (2 * r)
        full = [(size - 1) * s + (k - 1) * d + 1 + m for size, k, s, d, m
                in zip(x.shape[2:], kernel, strides, dilations, more)]
        n, c, o = x.shape[0], x.shape[1], w.shape[1] * g
        y = np.zeros((n, o, *full))
        flat = x.reshape(n, g, c // g, -1)
        for place, part in _windows(y, kernel, strides, dilations,
                                    x.shape[2:]):
            weights = w[(slice(None), slice(None), *place)]
            weights = weights.reshape(g, c // g, o // g).transpose(0, 2, 1)
            part += np.matmul(weights, flat).reshape(part.shape)
        y = y[(slice(None), slice(None),
               *[slice(a, f - z) for a, z, f in zip(pads[:r], pads[r:], full)])]
        return (y if b is None else y + b.reshape(-1, *[1] * r),)


def _pool(x, kernel, strides, dilations, pads, auto_pad, ceil_mode, start,
          join):
    r = len(kernel)
    strides, dilations = _ones(strides, r), _ones(dilations, r)
    sides = _pads(x, kernel, strides, dilations, pads, auto_pad)
    whole = np.pad(x, [(0, 0), (0, 0), *sides], constant_values=start)
    out = _out(whole, kernel, strides, dilations, int(bool(ceil_mode)))
    if ceil_mode:  # no window begins behind the image
        out = [min(o, -(-(size + a) // s)) for o, size, (a, _), s
               in zip(out, x.shape[2:], sides, strides)]
        whole = np.pad(whole, [(0, 0), (0, 0)] +
                       [(0, max(0, (o - 1) * s + (k - 1) * d + 1 - size))
                        for o, s, k, d, size in zip(
                            out, strides, kernel, dilations,
                            whole.shape[2:])], constant_values=start)
    y = np.full((*x.shape[:2], *out), start)
    for _, part in _windows(whole, kernel, strides, dilations, out):
        y = join(y, part)
    return y


class MaxPool(OpRun):
    op_domain = ""

    def _run(self, x, auto_pad=None, ceil_mode=None, dilations=None,
             kernel_shape=None, pads=None, storage_order=None, strides=None):
        return (_pool(x, kernel_shape, strides, dilations, pads, auto_pad,
                      ceil_mode, -np.inf, np.maximum),)


class AveragePool(OpRun):
    op_domain = ""

    def _run(self, x, auto_pad=None, ceil_mode=None, count_include_pad=None,
             dilations=None, kernel_shape=None, pads=None, strides=None):
        def total(a):
            return _pool(a, kernel_shape, strides, dilations, pads, auto_pad,
                         ceil_mode, 0.0, np.add)
        if count_include_pad:
            assert not ceil_mode
            return (total(x) / np.prod(kernel_shape),)
        return (total(x) / total(np.ones((1, 1, *x.shape[2:]))),)


class LRN(OpRun):
    op_domain = ""

    def _run(self, x, alpha=None, beta=None, bias=None, size=None):
        total, channels = np.zeros_like(x), x.shape[1]
        for c in range(channels):
            near = x[:, max(0, c - (size - 1) // 2):c + size // 2 + 1]
            total[:, c] = (near * near).sum(axis=1)
        return (x / (bias + alpha / size * total) ** beta,)


class Resize(ReferenceResize):
    op_domain = ""

    def _run(self, x, roi=None, scales=None, sizes=None, **attributes):
        factors = scales if scales is not None and len(scales) else (
            np.array(sizes) / x.shape)
        plain = (attributes.get("mode") == "nearest" and
                 attributes.get("coordinate_transformation_mode") in
                 ("asymmetric", "half_pixel") and
                 attributes.get("axes") is None and
                 all(f == int(f) for f in factors))
        # floor(i / f) for asymmetric, and the same for half_pixel where the
        # middle of a result's pixel lies within one of the image.
        if plain and (attributes["coordinate_transformation_mode"] ==
                      "half_pixel" or attributes["nearest_mode"] == "floor"):
            for axis, f in enumerate(factors):
                x = np.repeat(x, int(f), axis)
            return (x,)
        return super()._run(x, roi, scales, sizes, **attributes)


def _double(tensor):
    if tensor.data_type == FLOAT:
        values = numpy_helper.to_array(tensor).astype(np.float64)
        tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))


def _convert(graph):
    for tensor in graph.initializer:
        _double(tensor)
    for value in [*graph.input, *graph.output]:
        if value.type.tensor_type.elem_type == FLOAT:
            value.type.tensor_type.elem_type = DOUBLE
    del graph.value_info[:]
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.TENSOR:
                _double(attribute.t)
            elif attribute.type == onnx.AttributeProto.GRAPH:
                _convert(attribute.g)
            elif (attribute.name in ("to", "dtype") and
                  attribute.i == FLOAT):
                attribute.i = DOUBLE


def run(path, inputs):
    """The outputs as float64, of inputs as for the model itself."""
    model = onnx.load(path)
    # onnx.reference takes old forms of some operators for the newest.
    if all(o.version < 15 for o in model.opset_import):
        model = onnx.version_converter.convert_version(model, 17)
    _convert(model.graph)
    given = {i.name for i in model.graph.initializer}
    kept = [v for v in model.graph.input if v.name not in given]
    del model.graph.input[:]
    model.graph.input.extend(kept)
    evaluator = ReferenceEvaluator(
        model, new_ops=[Conv, ConvTranspose, MaxPool, AveragePool, LRN,
                        Resize])
    return evaluator.run(None, {
        k: a.astype(np.float64) if a.dtype == np.float32 else a
        for k, a in inputs.items()})
