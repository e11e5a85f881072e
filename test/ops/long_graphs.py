"""Models with many nodes: what their compilation costs is measured by
bench/scaling.py; here that they are compiled at all, and right."""
import numpy as np
import onnx
from harness import Family, helper, numpy_helper, type_of

f = Family("long_graphs")
x = f.normal(4, 16)


def check(what, nodes, outputs, shape=None, constants=()):
    """shape: of x, with symbols."""
    infos = [helper.make_tensor_value_info("x", type_of(x), shape or x.shape)]
    f.runs(what, helper.make_model(helper.make_graph(
        nodes, "g", infos, [helper.make_tensor_value_info(o, type_of(x), None)
                            for o in outputs],
        [numpy_helper.from_array(np.asarray(a), n) for n, a in constants]),
        opset_imports=[helper.make_opsetid("", 18)], ir_version=10),
        [{"x": x}])


def chain(n, step):
    """Nodes of step(i, value before, value after)."""
    nodes = [helper.make_node("Identity", ["x"], ["v0"])]
    for i in range(n):
        nodes += step(i, f"v{i}", f"v{i + 1}")
    return nodes


node = helper.make_node
check("a product of 1500 factors", chain(1500, lambda i, v, w: [
    node("Mul", [v, "ones"], [w])]), ["v1500"],
    constants=[("ones", np.full((4, 16), 1.0005, np.float32))])
check("factors of two kinds", chain(1500, lambda i, v, w: [
    node("Sigmoid", [v], [f"s{i}"]), node("Sub", ["two", f"s{i}"], [f"r{i}"]),
    node("Mul", [v, f"r{i}"], [w])]), ["v1500"],
    constants=[("two", np.float32(1.5))])
# Sizes and checks of each result are in one function.
for shape in None, ["a", "b"], ["a", 16]:
    check(f"250 results, {shape}", [
        n for i in range(250) for n in (
            node("Add", ["x", f"c{i}"], [f"s{i}"]),
            node("Concat", [f"s{i}", "x"], [f"y{i}"], axis=i % 2))],
        [f"y{i}" for i in range(250)], shape,
        [(f"c{i}", np.float32(i)) for i in range(250)])
check("300 parts", [
    node("Concat", ["x"] * 75, ["rows"], axis=0),
    node("Split", ["rows", "ones"], [f"p{i}" for i in range(300)], axis=0),
    node("Concat", [f"p{i}" for i in reversed(range(300))], ["y"], axis=0)],
    ["y", "p299"], constants=[("ones", np.ones(300, np.int64))])
f.done()
