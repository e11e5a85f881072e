"""Gradient through If, Loop and Scan, against central differences of ONNX
Runtime in float64 (onnx's reference stacks wrongly)."""
import numpy as np
import onnx
import onnxruntime
from harness import Family, helper

import ferrule
import gradients
from gradients import TRAINING, model_of, node

f = Family("gradient_control", rtol=1e-5, atol=1e-6)
F64, I64, BOOL = 11, 7, 9


def normal(*shape):
    return np.asarray(f.random.standard_normal(shape))


def value(name, kind=F64, shape=None):
    return helper.make_tensor_value_info(name, kind, shape)


def graph(nodes, inputs, outputs):
    return helper.make_graph(nodes, "part", inputs, outputs)


def constant(name, number, kind=I64):
    return helper.make_node("Constant", [], [name], value=helper.make_tensor(
        name, kind, [], [number]))


def runtime(nodes, feeds):
    infos = [value(n, gradients.type_of(a), a.shape) for n, a in feeds.items()]
    model = helper.make_model(
        helper.make_graph(nodes, "g", infos, [value("y")]),
        opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    return lambda d: session.run(["y"], d)[0]


def check(nodes, feeds, by=None, both=True):
    by = by or [n for n, a in feeds.items() if a.dtype == np.float64]
    forward = runtime(nodes, feeds)
    for free in (False, True) if both else (False,):
        gradients.check(f, nodes, feeds, by, free=free, forward=forward)


# If: what the branches use, in one of them or in both; one gives what it got.
def branch(nodes, last):
    return graph(nodes, [], [value(last)])


choose = helper.make_node(
    "If", ["c"], ["z"],
    then_branch=branch([node("Sin", ["x"], "s"), node("Mul", ["s", "w"], "t")],
                       "t"),
    else_branch=branch([node("Exp", ["x"], "e")], "e"))
for flag in True, False:
    check([choose, node("Tanh", ["z"])],
          {"x": normal(3), "w": normal(3), "c": np.array(flag)}, ["x", "w"])
same = helper.make_node(
    "If", ["c"], ["z", "u"],
    then_branch=graph([node("Identity", ["x"], "t"), node("Mul", ["x", "x"],
                                                          "v")],
                      [], [value("t"), value("v")]),
    else_branch=graph([node("Neg", ["w"], "e"), node("Sin", ["x"], "v2")], [],
                      [value("e"), value("v2")]))
for flag in True, False:
    check([same, node("Mul", ["z", "u"], "p"), node("Tanh", ["p"])],
          {"x": normal(3), "w": normal(3), "c": np.array(flag)}, ["x", "w"])
# By what decides there is none.
less = [node("ReduceSum", ["x"], "r", keepdims=0), constant("nil", 0., F64),
        node("Greater", ["r", "nil"], "c"), choose, node("Tanh", ["z"])]
for sign in 1, -1:
    check(less, {"x": sign * np.abs(normal(3)), "w": normal(3)})

# Loop: a state, a stacked result, what is used from outside.
step = [node("MatMul", ["h", "w"], "p"), node("Add", ["p", "b"], "q"),
        node("Tanh", ["q"], "h1"), node("Mul", ["h1", "h1"], "o"),
        node("Identity", ["go"], "on")]
body = graph(step, [value("i", I64, []), value("go", BOOL, []), value("h")],
             [value("on", BOOL, []), value("h1"), value("o")])
weights = {"w": normal(3, 3), "b": normal(3)}
loop = helper.make_node("Loop", ["n", "", "h0"], ["last", "all"], body=body)
ends = [node("ReduceSumSquare", ["all"], "s", keepdims=0),
        node("ReduceSum", ["last"], "t", keepdims=0), node("Mul", ["s", "t"])]
feeds = {"h0": normal(2, 3)} | weights
check([constant("n", 4), loop, *ends], feeds)
for n in 0, 1, 3:
    check([loop, *ends], feeds | {"n": np.array(n)}, both=n != 1)
for last in "last", "all":
    check([loop, node("Sin", [last])], feeds | {"n": np.array(3)})
# One that ends by what it computes.
until = graph([node("Mul", ["h", "w"], "h1"),
               node("ReduceSum", ["h1"], "r", keepdims=0),
               constant("most", 20., F64), node("Less", ["r", "most"], "on")],
              [value("i", I64, []), value("go", BOOL, []), value("h")],
              [value("on", BOOL, []), value("h1"), value("h1")])
loop = helper.make_node("Loop", ["", "go0", "h0"], ["last", "all"], body=until)
check([constant("go0", 1, BOOL), loop, *ends],
      {"h0": np.abs(normal(3)) + .1, "w": 1.5 + .2 * np.abs(normal(3))})
# States that exchange their places, one of integers, an element per iteration.
swap = graph([node("Gather", ["xs", "k"], "x"), node("Mul", ["a", "x"], "b1"),
              constant("one", 1), node("Add", ["k", "one"], "k1"),
              node("Identity", ["go"], "on")],
             [value("i", I64, []), value("go", BOOL, []), value("a"),
              value("b"), value("k", I64, [])],
             [value("on", BOOL, []), value("b"), value("b1"),
              value("k1", I64, [])])
loop = helper.make_node("Loop", ["n", "", "a0", "b0", "k0"], ["a1", "b1", "k1"],
                        body=swap)
check([constant("n", 3), constant("k0", 1), loop, node("Mul", ["a1", "b1"])],
      {"xs": normal(5, 2), "a0": normal(2), "b0": normal(2)})


# Scan: directions, axes, several inputs and results; within each other.
def scan(nodes, ins, outs, states, **how):
    body = graph(nodes, [value(n) for n in ins], [value(n) for n in outs])
    return lambda given, made: helper.make_node(
        "Scan", given, made, body=body, num_scan_inputs=len(ins) - states,
        **how)


cell = scan([node("Mul", ["x", "u"], "p"), node("Add", ["p", "h"], "q"),
             node("Tanh", ["q"], "h1"), node("Mul", ["h1", "w"], "o")],
            ["h", "x", "u"], ["h1", "o", "q"], 1,
            scan_input_directions=[0, 1], scan_input_axes=[0, 1],
            scan_output_axes=[0, 1], scan_output_directions=[1, 0])
feeds = {"h0": normal(2), "xs": normal(4, 2), "us": normal(2, 4),
         "w": normal(2)}
check([cell(["h0", "xs", "us"], ["h", "o", "q"]), node("Sin", ["o"], "so"),
       node("ReduceSum", ["so"], "a", keepdims=0),
       node("ReduceSumSquare", ["q"], "b", keepdims=0),
       node("ReduceSum", ["h"], "c", keepdims=0), node("Sum", ["a", "b", "c"])],
      feeds)
inner = scan([node("Mul", ["g", "v"], "g1"), node("Sin", ["g1"], "r")],
             ["g", "v"], ["g1", "r"], 1)
outer = scan([inner(["h", "row"], ["h1", "rs"])], ["h", "row"], ["h1", "rs"], 1)
check([outer(["h0", "xs"], ["h", "all"]),
       node("ReduceSumSquare", ["all"], "a", keepdims=0),
       node("Mul", ["h", "a"])],
      {"h0": normal(), "xs": normal(3, 4)})
# An If within a loop.
turn = scan([node("Greater", ["x", "nil"], "c"), choose,
             node("Add", ["h", "z"], "h1"), node("Identity", ["h1"], "o")],
            ["h", "x"], ["h1", "o"], 1)
check([constant("nil", 0., F64), turn(["h0", "xs"], ["h", "o"]),
       node("Tanh", ["o"])],
      {"h0": normal(), "xs": normal(6), "w": normal()}, ["h0", "xs", "w"])

# The second derivative: of x^5 by a loop.
power = graph([node("Mul", ["h", "x"], "h1"), node("Identity", ["go"], "on")],
              [value("i", I64, []), value("go", BOOL, []),
               value("h", F64, [4])],
              [value("on", BOOL, []), value("h1", F64, [4])])
feeds = {"x": normal(4)}
model = model_of([constant("n", 4),
                  helper.make_node("Loop", ["n", "", "x"], ["y"], body=power)],
                 feeds, ["x"])
model.graph.node.append(helper.make_node("Gradient", ["x"], ["second"],
                                         domain=TRAINING, xs=["x"], y="d_x"))
model.graph.output.append(helper.make_empty_tensor_value_info("second"))
onnx.save(model, f.path)
x = feeds["x"]
if f.agree("second", [5 * x ** 4, 20 * x ** 3],
           ferrule.load(f.path).run(feeds)):
    f.passed += 1
# At other values than those of the graph.
feeds = {"x": normal(4), "other": normal(4)}
onnx.save(model_of([constant("n", 4), helper.make_node(
    "Loop", ["n", "", "x"], ["y"], body=power)], feeds, ["x"], at=["other"]),
    f.path)
if f.agree("at other values", [5 * feeds["other"] ** 4],
           ferrule.load(f.path).run(feeds)):
    f.passed += 1
# A state that grows.
grow = graph([node("Concat", ["h", "x"], "h1", axis=0),
              node("Identity", ["go"], "on")],
             [value("i", I64, []), value("go", BOOL, []), value("h")],
             [value("on", BOOL, []), value("h1")])
feeds = {"x": normal(3), "n": np.array(2)}
onnx.save(model_of([helper.make_node("Loop", ["n", "", "x"], ["last"],
                                     body=grow), node("Sin", ["last"])],
                   feeds, ["x"]), f.path)
try:
    ferrule.load(f.path).run(feeds)
    f.fail("grows", "was accepted")
except ferrule.Error as e:
    if "changes its size" in str(e):
        f.passed += 1
    else:
        f.fail("grows", str(e))
# A state that comes back to its size; what is random has the same numbers.
odd = helper.make_node(
    "If", ["odd"], ["h1"],
    then_branch=branch([node("Slice", ["h", "first", "count"], "part"),
                        node("Sin", ["part"], "t")], "t"),
    else_branch=branch([node("Concat", ["h", "x"], "c", axis=0)], "c"))
there = graph([constant("two", 2), node("Mod", ["i", "two"], "m"),
               node("Cast", ["m"], "odd", to=BOOL), odd,
               node("Identity", ["go"], "on")],
              [value("i", I64, []), value("go", BOOL, []), value("h")],
              [value("on", BOOL, []), value("h1")])
for n in 1, 2, 3:
    feeds = {"x": normal(3), "n": np.array(n), "first": np.array([0]),
             "count": np.array([3])}
    onnx.save(model_of([helper.make_node("Loop", ["n", "", "x"], ["last"],
                                         body=there), node("Sin", ["last"])],
                       feeds, ["x"]), f.path)
    try:
        ferrule.load(f.path).run(feeds)
        f.fail(f"there and back, {n}", "was accepted")
    except ferrule.Error as e:
        if "changes its size" in str(e):
            f.passed += 1
        else:
            f.fail(f"there and back, {n}", str(e))
draw = graph([node("RandomNormalLike", ["h"], "r"), node("Mul", ["h", "r"], "g"),
              node("Identity", ["go"], "on")],
             [value("i", I64, []), value("go", BOOL, []), value("h", F64, [3])],
             [value("on", BOOL, []), value("g", F64, [3])])
either = [helper.make_node("Loop", ["n", "", "x"], ["y"], body=draw)], [
    helper.make_node("If", ["c"], ["y"], then_branch=branch(
        [node("RandomNormalLike", ["x"], "r"), node("Mul", ["x", "r"], "t")],
        "t"), else_branch=branch([node("Sin", ["x"], "s")], "s"))]
for nodes in either:
    feeds = {"x": normal(3), "n": np.array(3), "c": np.array(True)}
    model = model_of(nodes, feeds, ["x"])
    model.graph.output.append(helper.make_empty_tensor_value_info("y"))
    onnx.save(model, f.path)
    d, y = ferrule.load(f.path).run(feeds).values()
    if f.agree(f"random {nodes[0].op_type}", [y], {"d * x": d * feeds["x"]}):
        f.passed += 1
# Two nodes of one name in two bodies draw different numbers.
def drawing(name):
    return branch([helper.make_node("RandomNormalLike", ["x"], ["r"],
                                    name="same"),
                   node("Mul", ["x", "r"], name)], name)


feeds = {"x": normal(3), "c": np.array(True)}
model = model_of([helper.make_node("If", ["c"], [f"y{i}"], name="if",
                                   then_branch=drawing(f"t{i}"),
                                   else_branch=drawing(f"e{i}"))
                  for i in range(2)] + [node("Add", ["y0", "y1"])], feeds, ["x"])
for i in range(2):
    model.graph.output.append(helper.make_empty_tensor_value_info(f"y{i}"))
onnx.save(model, f.path)
d, first, second = ferrule.load(f.path).run(feeds).values()
if np.allclose(first, second):
    f.fail("names of random nodes", "the same numbers")
elif f.agree("two draws", [first + second], {"d * x": d * feeds["x"]}):
    f.passed += 1
f.done()
