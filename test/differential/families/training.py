"""Optimizers: one step over one or more tensors; Gradient."""
import numpy as np
from onnx import TensorProto, defs, helper
from onnx.reference import ReferenceEvaluator

from draw import Impossible
from families.control import Body

DOMAIN = "ai.onnx.preview.training"


def optimizer(states, **attributes):
    """states: for each tensor, the domains of values of what is kept of it."""

    def generate(d):
        t = d.type("T3")
        rate, step = d.type("T1"), d.type("T2")
        count = d.integer(1, 3)
        shapes = [d.shape(min_rank=1, max_rank=3, largest=100) for _ in range(count)]
        inputs = [d.tensor(rate, d.pick([], [1]), .01, .5),
                  d.given(np.array(d.integer(0, 5)).reshape(d.pick((), (1,))),
                          step)]
        for low, high in [(-2, 2), (-2, 2)] + states:
            inputs += [d.tensor(t, s, low, high) for s in shapes]
        given = {k: draw(d) for k, draw in attributes.items()
                 if d.chance(.7) or d.attributes[k].required}
        return d.node(inputs, outputs=count * (1 + len(states)), spread="sum",
                      **given)
    return generate


UNARY = ("Neg", "Exp", "Sqrt", "Sin", "Cos", "Sinh", "Cosh", "Tanh", "Sigmoid",
         "Softplus", "Relu", "LeakyRelu", "Abs", "Softmax", "LogSoftmax",
         "Identity", "Log", "Reciprocal")
BINARY = "Add", "Sub", "Mul", "Div", "Max", "Min", "Pow", "Where"


def step_of(d, body, values):
    """A node over one or two of `values`, (name, shape) each; the result. What
    must be positive is made so, and nothing grows without bound."""
    add, (x, shape) = body.add, d.pick(*values)
    how = d.pick("one", "one", "two", "two", "product", "reduce", "shape")
    if how == "one":
        op = d.pick(*UNARY)
        if "oftmax" in op and not shape:
            op = "Sin"
        if op in ("Sqrt", "Log", "Reciprocal"):
            one = body.constant(np.array(1, np.float64))
            x = add("Add", add("Mul", x, x), one)
        given = {"axis": d.axis(len(shape))} if "oftmax" in op else {}
        if op == "LeakyRelu":
            given["alpha"] = .25
        if op in ("Exp", "Sinh", "Cosh"):
            x = add("Tanh", x)
        return add(op, x, **given), shape
    if how == "two":
        y, other = d.pick(*values)
        try:
            whole = list(np.broadcast_shapes(tuple(shape), tuple(other)))
        except ValueError:
            y, whole = x, shape
        op = d.pick(*BINARY)
        if op in ("Div", "Pow"):
            one = body.constant(np.array(1, np.float64))
            y = add("Add", add("Tanh", add("Mul", y, y)), one)
        if op == "Pow":
            x, y = y, add("Tanh", x)
        if op == "Where":
            return add(op, add("Greater", x, y), x, y), whole
        return add(op, x, y), whole
    if how == "product" and len(shape) == 2:
        y = add("Transpose", x, perm=[1, 0])
        if d.chance(.5):
            return add("MatMul", x, y), [shape[0]] * 2
        turn = d.chance(.5)
        return add("Gemm", y if turn else x, y if not turn else x, alpha=.5), \
            [shape[1 if turn else 0]] * 2
    if how == "reduce" and shape:
        axis = d.integer(0, len(shape) - 1)
        axes, keep = body.constant(np.array([axis])), d.pick(0, 1)
        reduced = [1] * keep
        return add(d.pick("ReduceSum", "ReduceMean"), x, axes, keepdims=keep), \
            shape[:axis] + reduced + shape[axis + 1:]
    turned = [int(a) for a in d.rng.permutation(len(shape))]
    if shape and d.chance(.5):
        return add("Transpose", x, perm=turned), [shape[a] for a in turned]
    flat = [int(np.prod(shape))]
    return add("Reshape", x, body.constant(np.array([-1]))), flat


def gradient(d):
    """Of nodes over one to three tensors; some are not asked for."""
    body = Body(d)
    shape = d.shape(max_rank=3, largest=24, empty=0)
    inputs = [d.tensor(TensorProto.DOUBLE, s, -1.5, 1.5)
              for s in [shape] + [d.broadcast(shape)
                                  for _ in range(d.integer(0, 2))]]
    values = [(v.name, list(v.array.shape)) for v in inputs]
    for _ in range(d.integer(1, 5)):
        values.append(step_of(d, body, values))
    target = values[-1][0]
    by = [v.name for v in inputs if d.chance(.8)] or [inputs[0].name]
    outputs = [d.name("out") for _ in by]
    node = helper.make_node("Gradient", by, outputs, domain=DOMAIN, xs=by,
                            y=target, name=f"k{d.index}_Gradient")
    infos = [helper.make_tensor_value_info(v.name, v.type, v.array.shape)
             for v in inputs]
    graph = helper.make_graph(body.nodes, "forward", infos,
                              [helper.make_empty_tensor_value_info(target)])
    run = ReferenceEvaluator(helper.make_model(graph, opset_imports=[
        helper.make_opsetid("", defs.onnx_opset_version())])).run

    def slopes(arrays, name, step):
        """Of the sum by each number of an input: central differences."""
        feeds = dict(zip([v.name for v in inputs], arrays))
        found = np.zeros_like(feeds[name])
        for i in np.ndindex(*found.shape):
            sides = []
            for sign in 1, -1:
                moved = feeds[name].copy()
                moved[i] += sign * step
                sides.append(np.sum(run(None, {**feeds, name: moved})[0]))
            found[i] = (sides[0] - sides[1]) / (2 * step)
        return found

    def known(*arrays):
        with np.errstate(all="ignore"):
            found = []
            for name in by:  # two steps, so that the error is of the 4th order
                wide, narrow = (slopes(arrays, name, s) for s in (2e-3, 1e-3))
                if np.abs(wide - narrow).max(initial=0) > 1e-3 * max(
                        1, np.abs(narrow).max(initial=0)):
                    raise Impossible("a kink, or too steep")
                found.append((4 * narrow - wide) / 3)
        return found
    known(*[v.array for v in inputs])
    case = d.case(body.nodes + [node], inputs, outputs, spread="slope",
                  wide=False, known=known)
    return case


number = lambda low, high: lambda d: d.number(low, high)
OPS = {
    "Gradient": gradient,
    "Adagrad": optimizer([(0, 2)], decay_factor=number(0, .3),
                         epsilon=number(.001, .1),
                         norm_coefficient=number(0, .2)),
    "Adam": optimizer([(-1, 1), (0, 2)], alpha=number(.5, .95),
                      beta=number(.8, .999), epsilon=number(.001, .1),
                      norm_coefficient=number(0, .2),
                      norm_coefficient_post=number(0, .2)),
    "Momentum": optimizer([(-1, 1)], alpha=number(.5, .95),
                          beta=number(.5, 1), norm_coefficient=number(0, .2),
                          mode=lambda d: d.pick("standard", "nesterov")),
}
