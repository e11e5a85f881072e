"""Gradient against central differences of onnx's reference, in float64."""
import numpy as np
import onnx
from harness import Family, helper

import ferrule
import gradients
from gradients import TRAINING, model_of, node

f = Family("gradient", rtol=1e-6, atol=1e-7)


def check(*given, **options):
    gradients.check(f, *given, **options)


def normal(*shape):
    return np.asarray(f.normal(*shape, dtype=np.float64)) \
        if shape else np.array(f.random.standard_normal())


# Functions of one number; positive arguments, away from kinks.
x = {"x": np.abs(normal(3, 4)) + .3}
for op in ("Neg", "Exp", "Log", "Sqrt", "Reciprocal", "Sin", "Cos", "Sinh",
           "Cosh", "Tanh", "Sigmoid", "Softplus", "Relu", "Abs"):
    check([node(op, ["x"])], x, ["x"])
    check([node(op, ["x"])], x, ["x"], free=True)
x = {"x": normal(5, 3)}
for op, attributes in (("Relu", {}), ("LeakyRelu", {"alpha": .3}),
                       ("Abs", {}), ("Softmax", {"axis": 1}),
                       ("LogSoftmax", {"axis": 0}),
                       ("Transpose", {"perm": [1, 0]}), ("Transpose", {}),
                       ("Flatten", {"axis": 0})):
    parts = [node(op, ["x"], "t", **attributes), node("Mul", ["t", "t"])]
    check(parts, x, ["x"])
# Two operands, broadcast in every way.
for shapes in ((3, 4), (3, 4)), ((3, 4), (4,)), ((1, 4), (3, 1)), ((), (2, 3)), \
        ((2, 3, 4), (3, 1)):
    pair = {n: np.asarray(np.abs(normal(*s)) + .2)
            for n, s in zip("ab", shapes)}
    for op in "Add", "Sub", "Mul", "Div", "Pow", "Max", "Min":
        check([node(op, ["a", "b"])], pair, ["a", "b"])
    check([node("Greater", ["a", "b"], "c"), node("Where", ["c", "a", "b"])],
          pair, ["a", "b"])
# Products.
for a, b in ((2, 3), (3, 4)), ((3,), (3, 4)), ((2, 3), (3,)), ((3,), (3,)), \
        ((5, 2, 3), (3, 4)), ((2, 3), (5, 3, 4)), ((1, 2, 3), (5, 3, 4)):
    pair = {"a": normal(*a), "b": normal(*b)}
    check([node("MatMul", ["a", "b"], "t"), node("Tanh", ["t"])], pair,
          ["a", "b"])
for i in range(4):
    trans = {"transA": i % 2, "transB": i // 2, "alpha": .7, "beta": 1.3}
    three = {"a": normal(2, 3), "b": normal(3, 4), "c": normal(4)}
    for k, t in ("a", "transA"), ("b", "transB"):
        if trans[t]:
            three[k] = np.ascontiguousarray(three[k].T)
    check([node("Gemm", ["a", "b", "c"], "t", **trans),
           node("Sin", ["t"])], three, ["a", "b", "c"])
# Reductions and shapes.
x = {"x": normal(2, 3, 4)}
axes = helper.make_node("Constant", [], ["axes"], value_ints=[0, 2])
for op in "ReduceSum", "ReduceMean":
    for keep in 0, 1:
        for inputs in ["x", "axes"], ["x"]:
            check([axes, node("Mul", ["x", "x"], "t"),
                   node(op, ["t"] + inputs[1:], "u", keepdims=keep),
                   node("Exp", ["u"])], x, ["x"], free=keep)
shape = helper.make_node("Constant", [], ["s"], value_ints=[6, 4])
check([shape, node("Reshape", ["x", "s"], "t"), node("Mul", ["t", "t"])], x,
      ["x"])
check([axes, node("Unsqueeze", ["x", "axes"], "t"),
       node("Squeeze", ["t", "axes"], "u"), node("Mul", ["u", "u"])], x, ["x"])
# A small network with a loss, some variables used twice, one not at all.
net = {"x": normal(5, 3), "w": normal(3, 4), "b": normal(4), "v": normal(4, 2),
       "unused": normal(2)}
check([node("MatMul", ["x", "w"], "p"), node("Add", ["p", "b"], "q"),
       node("Tanh", ["q"], "h"), node("MatMul", ["h", "v"], "o"),
       node("LogSoftmax", ["o"], "l", axis=1),
       node("ReduceMean", ["l"], "m", keepdims=0), node("Neg", ["m"], "n"),
       node("ReduceSum", ["w"], "r", keepdims=0), node("Mul", ["r", "r"], "rr"),
       node("Add", ["n", "rr"])], net, ["w", "b", "v", "unused"])

# The reference has Erf in float32 only.
x = normal(9)
onnx.save(model_of([node("Erf", ["x"])], {"x": x}, ["x"]), f.path)
if f.agree("Erf", [2 / np.sqrt(np.pi) * np.exp(-x * x)],
           ferrule.load(f.path).run({"x": x})):
    f.passed += 1

# At other values than those of the graph.
feeds = {"x": normal(4), "other": normal(4)}
onnx.save(model_of([node("Sin", ["x"], "s"), node("Mul", ["s", "x"])], feeds,
                   ["x"], at=["other"]), f.path)
o = feeds["other"]
if f.agree("at other values", [np.sin(o) + o * np.cos(o)],
           ferrule.load(f.path).run(feeds)):
    f.passed += 1
# The second derivative; the node comes before what it needs.
feeds = {"x": normal(4)}
model = model_of([node("Exp", ["x"], "e"), node("Mul", ["e", "x"])], feeds,
                 ["x"])
model.graph.node.append(helper.make_node("Gradient", ["x"], ["second"],
                                         domain=TRAINING, xs=["x"], y="d_x"))
model.graph.output.append(helper.make_empty_tensor_value_info("second"))
model.graph.node.insert(0, model.graph.node.pop())
onnx.save(model, f.path)
x = feeds["x"]
if f.agree("second", [np.exp(x) * (x + 1), np.exp(x) * (x + 2)],
           ferrule.load(f.path).run(feeds)):
    f.passed += 1

# Only the run knows which operand is repeated, and along which dims.
for shapes in ((3, 4), (3, 4)), ((3, 1), (1, 4)), ((3, 4), (1,)), \
        ((1, 4), (3, 4)), ((2, 1, 4), (3, 1)), ((0, 3), (1, 3)), ((0,), (1,)), \
        ((1, 1), (1, 1)):
    pair = {n: np.asarray(np.abs(normal(*s)) + .2)
            for n, s in zip("ab", shapes)}
    for op in "Mul", "Div", "Max":
        check([node(op, ["a", "b"], "t"), node("Sin", ["t"])], pair,
              ["a", "b"], free=True)
for a, b in ((5, 2, 3), (1, 3, 4)), ((1, 2, 3), (5, 3, 4)), ((2, 3), (5, 3, 4)):
    check([node("MatMul", ["a", "b"], "t"), node("Tanh", ["t"])],
          {"a": normal(*a), "b": normal(*b)}, ["a", "b"], free=True)
# Any number of operands.
three = {n: normal(3, 4) for n in "abc"} | {"d": normal(4)}
for op in "Max", "Min", "Sum", "Mean":
    for by in "abcd", "a", "bd":
        check([node(op, list("abcd"), "t"), node("Sin", ["t"])], three,
              list(by))
    check([node(op, ["a"], "t"), node("Sin", ["t"])], three, ["a"])
for to in [0, 5], [4, 0]:  # nothing in another shape
    to = helper.make_node("Constant", [], ["to"], value_ints=to)
    check([to, node("Mul", ["x", "x"], "t"),
           node("Reshape", ["t", "to"], allowzero=1)], {"x": normal(2, 0)},
          ["x"])

# A name is a variable of its own, whatever else has the same value.
def derivatives(what, model, feeds, want):
    onnx.save(model, f.path)
    try:
        got = ferrule.load(f.path).run(feeds)
    except ferrule.Error as e:
        f.fail(what, str(e))
        return
    if f.agree(what, want, got):
        f.passed += 1


x, z = normal(3), normal(3)
pair, one = {"x": x, "z": z}, {"x": x}
same = node("Identity", ["x"], "i")
derivatives("x is taken to be z", model_of([node("Mul", ["x", "z"])], pair,
                                           ["x"], at=["z"]), pair, [z])
derivatives("y does not use i",
            model_of([same, node("Mul", ["x", "x"])], one, ["i"]), one, [0 * x])
product = [same, node("Mul", ["i", "x"])]
derivatives("by i", model_of(product, one, ["i"]), one, [x])
derivatives("by x", model_of(product, one, ["x"]), one, [2 * x])
derivatives("by both", model_of(product, one, ["x", "i"]), one, [x, x])
derivatives("both are z", model_of(
    [node("Sin", ["x"], "a"), node("Cos", ["x"], "b"), node("Mul", ["a", "b"])],
    pair, ["a", "b"], at=["z", "z"]), pair, [z, z])
inner = helper.make_function(
    "local", "Inner", ["a", "b"], ["d"],
    [node("Mul", ["a", "b"]),
     helper.make_node("Gradient", ["a"], ["d"], domain=TRAINING, xs=["a"],
                      y="y")], gradients.OPSETS)
derivatives("a function's inputs", helper.make_model(
    helper.make_graph(
        [helper.make_node("Inner", ["x", "x"], ["d_x"], domain="local")], "g",
        [helper.make_tensor_value_info("x", 11, [3])],
        [helper.make_empty_tensor_value_info("d_x")]),
    opset_imports=gradients.OPSETS + [helper.make_opsetid("local", 1)],
    functions=[inner], ir_version=10), one, [x])
# Floats of 8 bits are steps.
single = {"x": x.astype(np.float32), "s": np.array(.5, np.float32)}
derivatives("float8", model_of(
    [helper.make_node("QuantizeLinear", ["x", "s"], ["q"], output_dtype=17),
     node("DequantizeLinear", ["q", "s"])], single, ["x"]), single,
    [0 * single["x"]])
# Random numbers are those that y was computed with.
for op in "RandomNormalLike", "RandomUniformLike":
    model = model_of([node(op, ["x"], "r"), node("Mul", ["x", "r"])], one, ["x"])
    model.graph.output.append(helper.make_empty_tensor_value_info("y"))
    onnx.save(model, f.path)
    d, y = ferrule.load(f.path).run(one).values()
    if f.agree(op, [y], {"d * x": d * x}):
        f.passed += 1


def refused(model, part):
    onnx.save(model, f.path)
    try:
        ferrule.load(f.path)
        f.fail(f"refused: {part}", "was accepted")
    except ferrule.Error as e:
        if part in str(e):
            f.passed += 1
        else:
            f.fail(f"refused: {part}", str(e))


refused(model_of([node("Det", ["x"])], {"x": normal(2, 2)}, ["x"]), "Det")
refused(model_of([node("Sin", ["x"])], feeds, ["x"], target="z"), "z")
for op in "SequenceConstruct", "Optional":
    refused(model_of([node(op, ["x"])], one, ["x"]), "no tensor of floats")
refused(model_of([node("Greater", ["x", "z"])], pair, ["x"]),
        "no tensor of floats")
refused(model_of([node("SequenceConstruct", ["x"], "s"),
                  node("Mul", ["x", "x"])], one, ["s"]), "by tensors of floats")
twice = model_of([node("Mul", ["x", "z"])], pair, ["x", "z"])
del twice.graph.node[-1].attribute[:]
twice.graph.node[-1].attribute.extend([
    helper.make_attribute("xs", ["x", "x"]), helper.make_attribute("y", "y")])
refused(twice, "named before")
refused(model_of([node("Einsum", ["x"], equation="ii->i")],
                 {"x": normal(1, 3)}, ["x"]), "sizes 1 and 3")
f.done()
