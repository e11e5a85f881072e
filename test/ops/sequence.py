"""Sequences, optionals and maps against ONNX Runtime."""
import os
import subprocess
import sys
import traceback

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as h

sys.path.insert(0, os.path.dirname(__file__))
from harness import Family, by_runtime, ferrule, type_of  # noqa: E402

f = Family("sequence")
F, I = np.float32, np.int64


def tensor(shape=None, elem=T.FLOAT):
    return h.make_tensor_type_proto(elem, shape)


def seq(of):
    return h.make_sequence_type_proto(of)


def opt(of):
    return h.make_optional_type_proto(of)


def value(name, type_):
    return h.make_value_info(name, type_)


def const(name, array):
    return h.make_node("Constant", [], [name],
                       value=onnx.numpy_helper.from_array(np.asarray(array),
                                                          name))


def model(nodes, inputs, outputs, opset=18, initializers=()):
    graph = h.make_graph(nodes, "test", inputs, outputs, list(initializers))
    return h.make_model(graph, opset_imports=[h.make_opsetid("", opset)],
                        ir_version=10)


def same(got, want):
    if isinstance(want, list):
        return isinstance(got, list) and len(got) == len(want) and \
            all(same(g, w) for g, w in zip(got, want))
    if isinstance(want, dict):
        return isinstance(got, dict) and list(got) == list(want) and \
            all(same(got[k], w) for k, w in want.items())
    if want is None or got is None:
        return got is want
    want = np.asarray(want)
    if want.dtype.kind == "U":
        want = want.astype(object)
    got = np.asarray(got)
    if got.dtype.kind == "U":
        got = got.astype(object)
    return got.shape == want.shape and got.dtype == want.dtype and \
        (np.array_equal(got, want) if want.dtype.kind == "O"
         else np.allclose(got, want, equal_nan=True))


programs = {}  # compiled; many cases differ in their inputs only


def load(m):
    key = m.SerializeToString()
    if key not in programs:
        onnx.save(m, f.path)
        programs[key] = ferrule.load(f.path)
    return programs[key]


def case(what, m, feeds, want=None):
    """The model's outputs; want: by default those of ONNX Runtime."""
    try:
        if want is None:
            want = by_runtime(m, feeds)
        program = load(m)
        for _ in range(2):  # nothing of one run is in the next
            got = list(program.run(feeds).values())
            if ferrule.live:
                raise RuntimeError(f"{ferrule.live} blocks are not released")
    except Exception:
        f.fail(what, traceback.format_exc(limit=-1).strip())
        return
    if same(got, list(want)):
        f.passed += 1
    else:
        f.fail(what, f"is {got}, not {want}")


def ends(what, m, feeds, message):
    """The run ends, with a message that has these words."""
    try:
        load(m).run(feeds)
        f.fail(what, "was accepted")
    except ferrule.Error as e:
        if message in str(e) and not ferrule.live:
            f.passed += 1
        else:
            f.fail(what, str(e))


def refused(what, m, message):
    try:
        load(m)
        f.fail(what, "was accepted")
    except ferrule.Error as e:
        if message in str(e):
            f.passed += 1
        else:
            f.fail(what, str(e))


a, b, c = f.normal(2, 3), f.normal(4, 3), f.normal(1, 3)
SEQ = seq(tensor(["n", 3]))
one_out = [h.make_empty_tensor_value_info("y")]


def node(op, inputs, outputs=("y",), **attributes):
    return h.make_node(op, inputs, list(outputs), **attributes)


# One operator between inputs and outputs: everything is the run's.
position = value("p", tensor([], T.INT64))
for items in [a, b, c], [a], [a, b, c, a, b, c, a, b, c, a]:
    n = len(items)
    case(f"Identity of {n}", model([node("Identity", ["x"])], [value("x", SEQ)],
                                   [value("y", SEQ)]), {"x": items})
    case(f"SequenceLength of {n}",
         model([node("SequenceLength", ["x"])], [value("x", SEQ)],
               [value("y", tensor([], T.INT64))]), {"x": items})
    for p in range(-n - 2, n + 3):
        at = np.array(p, I)
        m = model([node("SequenceAt", ["x", "p"])],
                  [value("x", SEQ), position], [value("y", tensor([None, 3]))])
        if -n <= p < n:
            case(f"SequenceAt {p} of {n}", m, {"x": items, "p": at})
        else:
            ends(f"SequenceAt {p} of {n}", m, {"x": items, "p": at},
                 "outside of the sequence")
        m = model([node("SequenceErase", ["x", "p"])],
                  [value("x", SEQ), position], [value("y", SEQ)])
        if -n <= p < n:
            case(f"SequenceErase {p} of {n}", m, {"x": items, "p": at})
        else:
            ends(f"SequenceErase {p} of {n}", m, {"x": items, "p": at},
                 "outside of the sequence")
        m = model([node("SequenceInsert", ["x", "t", "p"])],
                  [value("x", SEQ), value("t", tensor([None, 3])), position],
                  [value("y", SEQ)])
        feeds = {"x": items, "t": c, "p": at}
        if -n <= p <= n:
            case(f"SequenceInsert {p} of {n}", m, feeds)
        else:
            ends(f"SequenceInsert {p} of {n}", m, feeds,
                 "outside of the sequence")
    case(f"SequenceErase of {n}",
         model([node("SequenceErase", ["x"])], [value("x", SEQ)],
               [value("y", SEQ)]), {"x": items})
    case(f"SequenceInsert of {n}",
         model([node("SequenceInsert", ["x", "t"])],
               [value("x", SEQ), value("t", tensor([None, 3]))],
               [value("y", SEQ)]), {"x": items, "t": c})
    case(f"ConcatFromSequence of {n}",
         model([node("ConcatFromSequence", ["x"], axis=0)], [value("x", SEQ)],
               [value("y", tensor([None, 3]))]), {"x": items})
    for axis in 0, 1, 2, -1:
        case(f"ConcatFromSequence, new axis {axis}",
             model([node("ConcatFromSequence", ["x"], axis=axis, new_axis=1)],
                   [value("x", SEQ)], one_out), {"x": [a + i for i in range(n)]})
ends("ConcatFromSequence, sizes differ",
     model([node("ConcatFromSequence", ["x"], axis=1)], [value("x", SEQ)],
           [value("y", tensor([None, None]))]), {"x": [a, b]}, "do not fit")
ends("ConcatFromSequence of nothing",
     model([node("ConcatFromSequence", ["x"], axis=0)], [value("x", SEQ)],
           [value("y", tensor([None, 3]))]), {"x": []}, "empty")
case("empty input", model([node("Identity", ["x"])], [value("x", SEQ)],
                          [value("y", SEQ)]), {"x": []})
case("int32 position",
     model([node("SequenceAt", ["x", "p"])],
           [value("x", SEQ), value("p", tensor([], T.INT32))],
           [value("y", tensor([None, 3]))]),
     {"x": [a, b], "p": np.array(1, np.int32)})
case("items of any rank",
     model([node("SequenceInsert", ["x", "t"])],
           [value("x", seq(tensor())), value("t", tensor(["k"]))],
           [value("y", seq(tensor()))]),
     {"x": [a, np.zeros((), F), f.normal(2, 0, 3)], "t": f.normal(5)})
case("the rank that is declared",
     model([node("SequenceAt", ["x", "p"])],
           [value("x", seq(tensor())), position],
           [value("y", tensor([None, None]))]),
     {"x": [a, b], "p": np.array(1, I)})
ends("not the rank that is declared",
     model([node("SequenceAt", ["x", "p"])],
           [value("x", seq(tensor())), position],
           [value("y", tensor([None, None]))]),
     {"x": [a, f.normal(3)], "p": np.array(1, I)}, "dimensions")
refused("a rank that nobody declares",
        model([node("SequenceAt", ["x", "p"]),
               node("Identity", ["y"], ["z"])],
              [value("x", seq(tensor())), position],
              [h.make_empty_tensor_value_info("z")]), "dimensions")
for dtype in (np.float16, np.float64, np.int8, np.uint8, np.int32, np.int64,
              np.bool_):
    x = [(10 * f.normal(2, 3)).astype(dtype) for _ in range(3)]
    case(f"items of {np.dtype(dtype)}",
         model([node("SequenceErase", ["x"])],
               [value("x", seq(tensor([2, 3], type_of(x[0]))))],
               [value("y", seq(tensor([2, 3], type_of(x[0]))))]), {"x": x})
words = [np.array(["a", "", "größer"], object), np.array([], object),
         np.array(["x" * 100], object)]
STRINGS = seq(tensor(["n"], T.STRING))
case("strings", model([node("SequenceInsert", ["x", "t", "p"])],
                      [value("x", STRINGS), value("t", tensor([2], T.STRING)),
                       position], [value("y", STRINGS)]),
     {"x": words, "t": np.array(["p", "q"], object), "p": np.array(1, I)})
case("strings joined",
     model([node("ConcatFromSequence", ["x"], axis=0)], [value("x", STRINGS)],
           [value("y", tensor([None], T.STRING))]), {"x": words})
case("a string out of a sequence",
     model([node("SequenceAt", ["x", "p"])], [value("x", STRINGS), position],
           [value("y", tensor([None], T.STRING))]),
     {"x": words, "p": np.array(0, I)})

# SplitToSequence
for shape in (6, 2), (7, 3), (1, 4), (5,):
    x = f.normal(*shape)
    for open_ in False, True:
        names = [f"d{i}" for i in range(x.ndim)]
        X = value("x", tensor(names if open_ else list(shape)))
        for axis in range(-x.ndim, x.ndim):
            for keep in 0, 1:
                case(f"SplitToSequence {shape} {axis} {keep} {open_}",
                     model([node("SplitToSequence", ["x"], axis=axis,
                                 keepdims=keep)], [X],
                           [value("y", seq(tensor()))]), {"x": x})
        for size in 1, 2, 4, 100:
            case(f"SplitToSequence {shape} by {size} {open_}",
                 model([const("s", np.array(size, I)),
                        node("SplitToSequence", ["x", "s"])], [X],
                       [value("y", seq(tensor()))]), {"x": x})
            case(f"SplitToSequence {shape} by {size} of the run {open_}",
                 model([node("SplitToSequence", ["x", "s"])],
                       [X, value("s", tensor([], T.INT64))],
                       [value("y", seq(tensor()))]),
                 {"x": x, "s": np.array(size, I)})
        sizes = np.array([1, 0, shape[0] - 1], np.int32)
        case(f"SplitToSequence {shape} by {sizes} {open_}",
             model([node("SplitToSequence", ["x", "s"])],
                   [X, value("s", tensor(["k"], T.INT32))],
                   [value("y", seq(tensor()))]), {"x": x, "s": sizes})
x = f.normal(6, 2)
for sizes, message in ([2, 3], "add up"), ([4, 3], "add up"), \
        ([-1, 7], "negative"):
    ends(f"SplitToSequence by {sizes}",
         model([node("SplitToSequence", ["x", "s"])],
               [value("x", tensor([6, 2])), value("s", tensor(["k"], T.INT64))],
               [value("y", seq(tensor()))]),
         {"x": x, "s": np.array(sizes, I)}, message)
ends("SplitToSequence by 0",
     model([node("SplitToSequence", ["x", "s"])],
           [value("x", tensor([6, 2])), value("s", tensor([], T.INT64))],
           [value("y", seq(tensor()))]), {"x": x, "s": np.array(0, I)},
     "not positive")


# What is known when compiling is gone; the answer is the same.
def known(what, nodes, inputs, feeds, out, leaves_none=True):
    m = model(nodes, inputs, out)
    case(what, m, feeds)
    if not leaves_none:
        return
    onnx.save(m, f.path)
    ferrule.compile(f.path, f.path + ".ll")
    with open(f.path + ".ll") as file:
        if "fe_rt_sequence" in file.read():
            f.fail(what, "makes a sequence in the run")


ABC = [value("a", tensor([2, 3])), value("b", tensor([4, 3])),
       value("c", tensor(["n", 3]))]
abc = {"a": a, "b": b, "c": c}
for p in -3, -1, 0, 2:
    known(f"Construct, At {p}",
          [node("SequenceConstruct", ["a", "b", "c"], ["s"]),
           const("p", np.array(p, I)), node("SequenceAt", ["s", "p"])],
          ABC, abc, one_out)
    known(f"Construct, Erase {p}, Insert {p}, At, Length, Concat",
          [node("SequenceConstruct", ["a", "b", "c"], ["s"]),
           const("p", np.array(p, I)), const("q", np.array([1], I)),
           node("SequenceErase", ["s", "p"], ["s2"]),
           node("SequenceInsert", ["s2", "b", "q"], ["s3"]),
           node("SequenceInsert", ["s3", "a"], ["s4"]),
           node("SequenceAt", ["s4", "p"]),
           node("SequenceLength", ["s4"], ["z"]),
           node("ConcatFromSequence", ["s4"], ["w"], axis=0)],
          ABC, abc, one_out + [h.make_empty_tensor_value_info("z"),
                               h.make_empty_tensor_value_info("w")])
known("Concat of a split",
      [node("SplitToSequence", ["a"], ["s"], axis=1, keepdims=0),
       node("ConcatFromSequence", ["s"], axis=1, new_axis=1),
       node("SequenceLength", ["s"], ["z"])], ABC[:1], {"a": a},
      one_out + [h.make_empty_tensor_value_info("z")])
many = [f"x{i}" for i in range(70)]
known("Construct of 70",
      [node("SequenceConstruct", many, ["s"]), const("p", np.array(50, I)),
       node("SequenceAt", ["s", "p"]),
       node("ConcatFromSequence", ["s"], ["w"], axis=0)],
      [value(n, tensor([2])) for n in many], {n: f.normal(2) for n in many},
      one_out + [h.make_empty_tensor_value_info("w")])
case("Construct of 70 in the run",
     model([node("SequenceConstruct", many)],
           [value(n, tensor([2])) for n in many], [value("y", seq(tensor()))]),
     {n: f.normal(2) for n in many})
case("one item twice",
     model([node("SequenceConstruct", ["a", "a"])], ABC[:1],
           [value("y", seq(tensor()))]), {"a": a})
refused("items of two types",
        model([node("SequenceConstruct", ["a", "i"])],
              [ABC[0], value("i", tensor([2], T.INT64))],
              [value("y", seq(tensor()))]), "Cast")
case("SequenceEmpty", model([node("SequenceEmpty", [], dtype=T.INT64)], [],
                            [value("y", seq(tensor(elem=T.INT64)))]), {})

# Control flow
COND = value("cond", tensor([], T.BOOL))


def graph(nodes, inputs, outputs):
    return h.make_graph(nodes, "g", inputs, outputs)


for take in False, True:
    case(f"If {take}",
         model([node("If", ["cond"],
                     then_branch=graph(
                         [node("SequenceInsert", ["x", "a"], ["t"])], [],
                         [value("t", SEQ)]),
                     else_branch=graph(
                         [node("SequenceConstruct", ["a"], ["e"])], [],
                         [value("e", SEQ)]))],
               [COND, value("x", SEQ), ABC[0]], [value("y", SEQ)]),
         {"cond": np.array(take), "x": [b, c], "a": a})
for trips in 0, 1, 5, 100:
    grow = graph(
        [node("Identity", ["go"], ["go2"]),
         node("Cast", ["i"], ["fi"], to=T.FLOAT),
         node("Mul", ["row", "fi"], ["item"]),
         node("SequenceInsert", ["s", "item"], ["s2"])],
        [value("i", tensor([], T.INT64)), value("go", tensor([], T.BOOL)),
         value("s", seq(tensor()))],
        [value("go2", tensor([], T.BOOL)), value("s2", seq(tensor()))])
    case(f"Loop that appends {trips}",
         model([node("SequenceEmpty", [], ["empty"]),
                node("Loop", ["n", "", "empty"], body=grow),
                node("SequenceLength", ["y"], ["z"])],
               [value("n", tensor([], T.INT64)), value("row", tensor(["k"]))],
               [value("y", seq(tensor())),
                h.make_empty_tensor_value_info("z")]),
         {"n": np.array(trips, I), "row": f.normal(3)})
case("Loop that joins what it appended",
     model([node("SequenceEmpty", [], ["empty"]),
            node("Loop", ["n", "", "empty"], ["s"], body=grow),
            node("ConcatFromSequence", ["s"], axis=0, new_axis=1)],
           [value("n", tensor([], T.INT64)), value("row", tensor(["k"]))],
           one_out), {"n": np.array(7, I), "row": f.normal(3)})
total = graph(
    [node("Identity", ["go"], ["go2"]),
     node("SequenceAt", ["x", "i"], ["item"]),
     node("ReduceSum", ["item"], ["part"], keepdims=0),
     node("Add", ["sum", "part"], ["sum2"]),
     node("Mul", ["part", "part"], ["square"])],
    [value("i", tensor([], T.INT64)), value("go", tensor([], T.BOOL)),
     value("sum", tensor([]))],
    [value("go2", tensor([], T.BOOL)), value("sum2", tensor([])),
     value("square", tensor([]))])
case("Loop over a sequence from outside",
     model([const("zero", np.array(0, F)),
            node("SequenceLength", ["x"], ["n"]),
            node("Loop", ["n", "", "zero"], ["y", "z"], body=total)],
           [value("x", SEQ)],
           one_out + [h.make_empty_tensor_value_info("z")]), {"x": [a, b, c]})
both = graph(
    [node("Identity", ["go"], ["go2"]),
     node("SequenceInsert", ["s", "c"], ["s2"]),
     node("SequenceErase", ["t"], ["t2"])],
    [value("i", tensor([], T.INT64)), value("go", tensor([], T.BOOL)),
     value("s", SEQ), value("t", SEQ)],
    [value("go2", tensor([], T.BOOL)), value("s2", SEQ), value("t2", SEQ)])
case("two sequences change places of use",
     model([node("Loop", ["n", "", "x", "x"], ["y", "z"], body=both)],
           [value("n", tensor([], T.INT64)), value("x", SEQ), ABC[2]],
           [value("y", SEQ), value("z", SEQ)]),
     {"n": np.array(3, I), "x": [a, b, a, b, a], "c": c})
case("two sequences made of one",
     model([node("SequenceInsert", ["x", "a"], ["s"]),
            node("SequenceInsert", ["s", "b"]),
            node("SequenceInsert", ["s", "a"], ["z"]),
            node("SequenceInsert", ["y", "a"], ["w"])],
           [value("x", SEQ), ABC[0], ABC[1]],
           [value("y", SEQ), value("z", SEQ), value("w", SEQ),
            value("s", SEQ)]), {"x": [], "a": a, "b": b})

# SequenceMap, which ONNX Runtime expands
body = graph([node("Add", ["u", "v"], ["r"]), node("Shape", ["u"], ["q"])],
             [value("u", tensor([None, 3])), value("v", tensor([3]))],
             [value("r", tensor([None, 3])), value("q", tensor([2], T.INT64))])
row = f.normal(3)
for items in [a, b, c], []:
    case(f"SequenceMap of {len(items)}",
         model([node("SequenceMap", ["x", "v"], ["y", "z"], body=body)],
               [value("x", SEQ), value("v", tensor([3]))],
               [value("y", SEQ), value("z", seq(tensor([2], T.INT64)))]),
         {"x": items, "v": row},
         want=[[i + row for i in items],
               [np.array(i.shape, I) for i in items]])
case("SequenceMap of what is known",
     model([node("SequenceConstruct", ["a", "b"], ["x"]),
            node("SequenceMap", ["x", "v"], ["y", "z"], body=body)],
           [ABC[0], ABC[1], value("v", tensor([3]))],
           [value("y", SEQ), value("z", seq(tensor([2], T.INT64)))]),
     {"a": a, "b": b, "v": row},
     want=[[a + row, b + row], [np.array([2, 3], I), np.array([4, 3], I)]])
two = graph([node("Sub", ["u", "v"], ["r"])],
            [value("u", tensor([None, 3])), value("v", tensor([None, 3]))],
            [value("r", tensor([None, 3]))])
pair = model([node("SequenceMap", ["x", "v"], body=two)],
             [value("x", SEQ), value("v", SEQ)], [value("y", SEQ)])
case("SequenceMap of two", pair, {"x": [a, b], "v": [c, b]},
     want=[[a - c, b - b]])
ends("SequenceMap of two lengths", pair, {"x": [a, b], "v": [c]}, "lengths")

# Optionals
OPT = opt(tensor(["n", 3]))
for what, held in ("tensor", a), ("nothing", None):
    case(f"Identity of an optional {what}",
         model([node("Identity", ["x"])], [value("x", OPT)],
               [value("y", OPT)]), {"x": held}, want=[held])
    case(f"OptionalHasElement, {what}",
         model([node("OptionalHasElement", ["x"])], [value("x", OPT)],
               [value("y", tensor([], T.BOOL))]), {"x": held},
         want=[np.array(held is not None)])
get = model([node("OptionalGetElement", ["x"])], [value("x", OPT)],
            [value("y", tensor([None, 3]))])
case("OptionalGetElement", get, {"x": a}, want=[a])
ends("OptionalGetElement of nothing", get, {"x": None}, "nothing")
case("Optional", model([node("Optional", ["a"])], ABC[:1], [value("y", OPT)]),
     {"a": a}, want=[a])
case("Optional of nothing",
     model([node("Optional", [], type=tensor([2]))], [], [value("y", OPT)]),
     {}, want=[None])
case("Optional of a sequence",
     model([node("Optional", ["x"]),
            node("OptionalGetElement", ["o"], ["z"])],
           [value("x", SEQ), value("o", opt(SEQ))],
           [value("y", opt(SEQ)), value("z", SEQ)]),
     {"x": [a, b], "o": [c]}, want=[[a, b], [c]])
known("Optional, HasElement, GetElement",
      [node("Optional", ["a"], ["o"]),
       node("OptionalHasElement", ["o"], ["y"]),
       node("OptionalGetElement", ["o"], ["z"])], ABC[:1], {"a": a},
      one_out + [h.make_empty_tensor_value_info("z")])
for take in False, True:
    case(f"If gives an optional, {take}",
         model([node("If", ["cond"], ["o"],
                     then_branch=graph([node("Optional", ["a"], ["t"])], [],
                                       [value("t", OPT)]),
                     else_branch=graph(
                         [node("Optional", [], ["e"], type=tensor([2, 3]))],
                         [], [value("e", OPT)])),
                node("OptionalHasElement", ["o"]),
                node("Identity", ["o"], ["z"])], [COND, ABC[0]],
               one_out + [value("z", OPT)]),
         {"cond": np.array(take), "a": a},
         want=[np.array(take), a if take else None])

# Maps, which no operator here looks into
for what, key, of, given in (
        ("numbers", T.INT64, T.FLOAT, {3: 1.5, -1: 0.0, 7: 2.0}),
        ("words", T.STRING, T.INT64, {"a": 1, "": 2, "größer": 3}),
        ("both words", T.STRING, T.STRING, {"x": "y"}), ("none", T.INT64,
                                                         T.FLOAT, {})):
    MAP = onnx.TypeProto()
    MAP.map_type.key_type = key
    MAP.map_type.value_type.CopyFrom(tensor([], of))
    case(f"a map of {what}",
         model([node("Identity", ["x"]),
                node("SequenceConstruct", ["x", "x"], ["z"]),
                node("Optional", ["x"], ["w"])], [value("x", MAP)],
               [value("y", MAP), value("z", seq(MAP)), value("w", opt(MAP))]),
         {"x": given}, want=[given, [given, given], given])

# A loop that looks at what it appended before: the rank is the body's to say.
fibonacci = graph(
    [node("Identity", ["go"], ["go2"]), const("one", np.array(-1, I)),
     node("SequenceLength", ["s"], ["m"]), const("zero", np.array(0, I)),
     node("Greater", ["m", "zero"], ["some"]),
     node("If", ["some"], ["last"],
          then_branch=graph([node("SequenceAt", ["s", "one"], ["t"])], [],
                            [value("t", tensor(["k"]))]),
          else_branch=graph([node("Identity", ["row"], ["e"])], [],
                            [value("e", tensor(["k"]))])),
     node("Add", ["last", "row"], ["item"]),
     node("SequenceInsert", ["s", "item"], ["s2"])],
    [value("i", tensor([], T.INT64)), value("go", tensor([], T.BOOL)),
     value("s", seq(tensor()))],
    [value("go2", tensor([], T.BOOL)), value("s2", seq(tensor()))])
case("Loop that looks at what it appended",
     model([node("SequenceEmpty", [], ["empty"]),
            node("Loop", ["n", "", "empty"], ["y"], body=fibonacci)],
           [value("n", tensor([], T.INT64)), value("row", tensor(["k"]))],
           [value("y", seq(tensor()))]),
     {"n": np.array(6, I), "row": f.normal(3)})
refused("optionals within each other without end",
        model([node("Optional", [], ["o"], type=tensor([2])),
               node("Loop", ["n", "", "o"], body=graph(
                   [node("Identity", ["go"], ["go2"]),
                    node("Optional", ["s"], ["s2"])],
                   [value("i", tensor([], T.INT64)),
                    value("go", tensor([], T.BOOL)), value("s", OPT)],
                   [value("go2", tensor([], T.BOOL)), value("s2", OPT)]))],
              [value("n", tensor([], T.INT64))], [value("y", OPT)]),
        "Loop")

# Dumps of every phase are models like any other.
m = model([node("SequenceInsert", ["x", "a", "p"], ["s"]),
           const("w", np.array(["p", "größer"], object)),
           node("SequenceInsert", ["t", "w"], ["z"]),
           node("SequenceAt", ["s", "p"]),
           node("Optional", ["s"], ["o"])],
          [value("x", SEQ), ABC[0], position, value("t", STRINGS)],
          [value("y", tensor([None, 3])), value("z", STRINGS),
           value("o", opt(SEQ))])
feeds = {"x": [b, c], "a": a, "p": np.array(1, I), "t": words}
want = [a, words + [np.array(["p", "größer"], object)], [b, a, c]]
case("before dumps", m, feeds, want=want)
onnx.save(m, f.path)
for phase in "import", "optimize", "lower", "group", "schedule", "plan":
    dump = os.path.join(f.folder.name, phase + ".mlir")
    made = subprocess.run([os.path.join(ferrule.BUILD, "bin", "ferrule"),
                           "compile", f.path, "-o", dump,
                           "--stop-after=" + phase], capture_output=True,
                          text=True)
    try:
        got = list(ferrule.load(dump).run(feeds).values())
    except (ferrule.Error, OSError) as e:
        f.fail(f"dump of {phase}", f"{e} {made.stderr}")
        continue
    if same(got, want):
        f.passed += 1
    else:
        f.fail(f"dump of {phase}", f"is {got}")

# A caller's mistakes
x3 = model([node("Identity", ["x"])], [value("x", seq(tensor([2, 3])))],
           [value("y", SEQ)])
for what, items in ("rank", [f.normal(3)]), ("size", [f.normal(2, 4)]), \
        ("type", [np.zeros((2, 3), np.float64)]):
    ends(f"an item of another {what}", x3, {"x": [a] + items}, "wrong")
# Nothing of the list of items is copied when a loop appends: its time would be
# quadratic in the number of iterations, here minutes.
big = model([node("SequenceEmpty", [], ["empty"]),
             node("Loop", ["n", "", "empty"], ["s"], body=grow),
             node("SequenceLength", ["s"])],
            [value("n", tensor([], T.INT64)), value("row", tensor(["k"]))],
            one_out)
case("Loop that appends 200000", big,
     {"n": np.array(200000, I), "row": f.normal(1)},
     want=[np.array(200000, I)])
f.done()
