"""ZipMap, DictVectorizer and CastMap of ai.onnx.ml against ONNX Runtime."""
import os
import sys
import traceback

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as h

sys.path.insert(0, os.path.dirname(__file__))
from harness import Family, alike, by_runtime, ferrule  # noqa: E402

f = Family("ml_maps")


def model(op, inputs, outputs, more=(), **attributes):
    node = h.make_node(op, [i.name for i in inputs], [outputs[0].name],
                       domain="ai.onnx.ml", **attributes)
    graph = h.make_graph([node, *more], "test", inputs, outputs)
    return h.make_model(graph, ir_version=10, opset_imports=[
        h.make_opsetid("", 18), h.make_opsetid("ai.onnx.ml", 3)])


def map_of(key, value):
    proto = onnx.TypeProto()
    proto.map_type.key_type = key
    proto.map_type.value_type.tensor_type.elem_type = value
    proto.map_type.value_type.tensor_type.shape.SetInParent()
    return proto


def same(got, want):
    if isinstance(want, list):
        return isinstance(got, list) and len(got) == len(want) and \
            all(map(same, got, want))
    if isinstance(want, dict):
        return isinstance(got, dict) and set(got) == set(want) and \
            all(same(got[k], want[k]) for k in want)
    got, want = np.asarray(got), np.asarray(want)
    if want.dtype.kind in "OU":
        return got.shape == want.shape and \
            [str(g) for g in got.flat] == [str(w) for w in want.flat]
    return alike(got, want, 1e-5, 1e-8)


def case(what, m, feeds, want=None):
    try:
        if want is None:
            want = by_runtime(m, feeds)
        onnx.save(m, f.path)
        got = list(ferrule.load(f.path).run(feeds).values())
    except Exception:
        f.fail(what, traceback.format_exc(limit=-1).strip())
        return
    if same(got, want):
        f.passed += 1
    else:
        f.fail(what, f"{got}\n    is not {want}")


def tensor(name, elem, shape):
    return h.make_tensor_value_info(name, elem, shape)


# ZipMap: a map per row, keys of both kinds.
for labels in {"classlabels_int64s": [7, -1, 3]}, \
        {"classlabels_strings": ["a", "", "Gr\u00f6\u00dfe"]}:
    key = T.INT64 if "classlabels_int64s" in labels else T.STRING
    out = h.make_value_info("z", h.make_sequence_type_proto(
        map_of(key, T.FLOAT)))
    for rows in 1, 5, 0:
        for open_ in False, True:
            x = tensor("x", T.FLOAT, ["n" if open_ else rows, 3])
            case(f"ZipMap {labels} {rows} {open_}",
                 model("ZipMap", [x], [out], **labels), {"x": f.normal(rows, 3)})
    case("ZipMap of one row", model("ZipMap", [tensor("x", T.FLOAT, [3])],
                                    [out], **labels), {"x": f.normal(3)})
    try:
        onnx.save(model("ZipMap", [tensor("x", T.FLOAT, [2, 4])], [out],
                        **labels), f.path)
        ferrule.load(f.path)
        f.fail("ZipMap with too many columns", "was accepted")
    except ferrule.Error:
        f.passed += 1

# DictVectorizer: values of a vocabulary, zeros elsewhere.
many = {f"k{i}": float(i) for i in range(300)}
for vocabulary, key, value, feeds in (
        (["b", "a", "zz"], T.STRING, T.FLOAT, {"a": 1.5, "b": 2.5, "c": 3.0}),
        (["b", "a"], T.STRING, T.INT64, {"a": 4}),
        (["k7", "q", "k299", "k0", "k7"], T.STRING, T.FLOAT, many),
        ([3, 1, 2, -5], T.INT64, T.FLOAT, {1: 2.0, -5: 4.0, 9: 1.0}),
        ([3, 1], T.INT64, T.STRING, {1: "one"})):
    y = tensor("y", value, [1, len(vocabulary)])
    names = "string_vocabulary" if key == T.STRING else "int64_vocabulary"
    m = model("DictVectorizer", [h.make_value_info("x", map_of(key, value))],
              [y], **{names: vocabulary})
    zero = "" if value == T.STRING else 0
    case(f"DictVectorizer {vocabulary}", m, {"x": feeds},
         [np.array([[feeds.get(k, zero) for k in vocabulary]],
                   h.tensor_dtype_to_np_dtype(value))])

# CastMap: in the order of the keys, or by place.
for value, feeds in (T.FLOAT, {5: 1.5, -2: 3.0, 0: 2.25}), \
        (T.STRING, {4: "1.5", 0: "-3", 2: "7"}):
    for to, elem in ("TO_FLOAT", T.FLOAT), ("TO_INT64", T.INT64), \
            ("TO_STRING", T.STRING):
        if value == T.STRING and elem == T.INT64:
            feeds = {4: "15", 0: "-3", 2: "7"}
        x = h.make_value_info("x", map_of(T.INT64, value))
        # ONNX Runtime takes no maps of strings from Python.
        as_type = {T.FLOAT: float, T.INT64: int, T.STRING: str}[elem]
        if value == T.FLOAT and elem == T.STRING:  # six digits, always
            as_type = lambda v: v if v == "0.f" else "%f" % v
        kind = h.tensor_dtype_to_np_dtype(elem)
        want = [as_type(feeds[k]) for k in sorted(feeds)]
        case(f"CastMap {to} dense",
             model("CastMap", [x], [tensor("y", elem, [1, None])], cast_to=to),
             {"x": feeds}, [np.array([want], kind)])
        place = {k: v for k, v in feeds.items() if k >= 0}
        absent = "0.f" if elem == T.STRING else 0
        want = [as_type(place.get(k, absent)) for k in range(6)]
        case(f"CastMap {to} sparse",
             model("CastMap", [x], [tensor("y", elem, [1, 6])], cast_to=to,
                   map_form="SPARSE", max_map=6), {"x": place},
             [np.array([want], kind)])
odd = {0: 1.5, 1: -3.25e-9, 2: 1e20, 3: 3.4e38, 4: np.nan, 5: np.inf,
       6: -np.inf, 7: -0.0, 8: 123456.789}
case("CastMap to texts", model(
    "CastMap", [h.make_value_info("x", map_of(T.INT64, T.FLOAT))],
    [tensor("y", T.STRING, [1, None])], cast_to="TO_STRING"), {"x": odd})
f.done()
