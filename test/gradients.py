"""Models with Gradient, and central differences of onnx's reference, in float64."""
import numpy as np
import onnx
from onnx import helper
from onnx.reference import ReferenceEvaluator

import ferrule

TRAINING = "ai.onnx.preview.training"
OPSETS = [helper.make_opsetid("", 23), helper.make_opsetid(TRAINING, 1)]


def type_of(array):
    return helper.np_dtype_to_tensor_dtype(array.dtype)


def evaluator(nodes, feeds):
    infos = [helper.make_tensor_value_info(n, type_of(a), a.shape)
             for n, a in feeds.items()]
    graph = helper.make_graph(
        nodes, "g", infos, [helper.make_empty_tensor_value_info("y")])
    return ReferenceEvaluator(helper.make_model(
        graph, opset_imports=OPSETS[:1], ir_version=10))


def differences(run, feeds, name, step=1e-6):
    """Of the sum of y by one of the feeds."""
    x = feeds[name]
    out = np.zeros_like(x)
    for i in np.ndindex(*x.shape):
        sides = []
        for sign in 1, -1:
            moved = x.copy()
            moved[i] += sign * step
            sides.append(np.sum(run.run(None, {**feeds, name: moved})[0]))
        out[i] = (sides[0] - sides[1]) / (2 * step)
    return out


def node(op, inputs, output="y", **attributes):
    return helper.make_node(op, inputs, [output], **attributes)


def model_of(nodes, feeds, by, at=(), free=False, target="y"):
    wanted = [f"d_{n}" for n in by]
    infos = [helper.make_tensor_value_info(
        n, type_of(a), [f"{n}{k}" for k in range(a.ndim)] if free else a.shape)
        for n, a in feeds.items()]
    last = helper.make_node("Gradient", list(at) or by, wanted, domain=TRAINING,
                            xs=by, y=target)
    return helper.make_model(helper.make_graph(
        nodes + [last], "g", infos,
        [helper.make_empty_tensor_value_info(n) for n in wanted]),
        opset_imports=OPSETS, ir_version=10)



def check(f, nodes, feeds, by, free=False, forward=None):
    """forward(feeds): what the reference gets wrong; f: a Family."""
    what = f"{[n.op_type for n in nodes]} by {by}, " \
           f"{[a.shape for a in feeds.values()]}, free={free}"
    run = evaluator(nodes, feeds) if not forward else Forward(forward)
    want = [differences(run, feeds, n) for n in by]
    onnx.save(model_of(nodes, feeds, by, free=free), f.path)
    try:
        got = ferrule.load(f.path).run(feeds)
    except ferrule.Error as e:
        f.fail(what, str(e))
        return
    if f.agree(what, want, got):
        f.passed += 1


class Forward:
    """A function as an evaluator."""

    def __init__(self, function):
        self.function = function

    def run(self, names, feeds):
        return [self.function(feeds)]
