"""If, Loop, Scan: bodies of a few pointwise nodes over carried values, values of
the outer graph and what each iteration gives."""
import numpy as np
from onnx import helper
from onnx.reference import ReferenceEvaluator

from draw import T

BINARY, UNARY = ("Add", "Sub", "Mul", "Max"), ("Neg", "Abs", "Relu", "Tanh")
NUMBERS = T.FLOAT, T.DOUBLE


class Body:
    """A graph written node by node. Values are names."""

    def __init__(self, d):
        self.d, self.nodes = d, []

    def add(self, op, *inputs, **attributes):
        name = self.d.name(op.lower())
        self.nodes.append(helper.make_node(op, list(inputs), [name],
                                           **attributes))
        return name

    def constant(self, array):
        return self.add("Constant", value=helper.make_tensor(
            "value", helper.np_dtype_to_tensor_dtype(array.dtype), array.shape,
            array.tobytes(), raw=True))

    def mix(self, values, count):
        """The last of some nodes over `values`, which have one shape."""
        values = list(values)
        for _ in range(count):
            if self.d.chance(.6):
                values.append(self.add(self.d.pick(*BINARY),
                                       values[-1], self.d.pick(*values)))
            else:
                values.append(self.add(self.d.pick(*UNARY), values[-1]))
        # Nothing grows without bound.
        return self.add("Tanh", values[-1])

    def graph(self, inputs, outputs):
        """inputs, outputs: (name, type, shape or None)."""
        info = lambda n, t, s: helper.make_tensor_value_info(n, t, s)
        return helper.make_graph(self.nodes, self.d.name("body"),
                                 [info(*i) for i in inputs],
                                 [info(*o) for o in outputs])


def finish(d, inputs, values, count, formula=None, **attributes):
    outputs = [d.name("out") for _ in range(count)]
    node = helper.make_node(d.op, [v.name if v is not None else ""
                                   for v in inputs], outputs,
                            name=f"k{d.index}_{d.op}", **attributes)
    case = d.case([node], values, outputs, spread="sum", wide=False,
                  formula=formula)
    return case


def branch(d):
    t = d.pick(*NUMBERS)
    shape = d.shape(max_rank=3, largest=100)
    outer = [d.tensor(t, shape, -2, 2) for _ in range(d.integer(1, 3))]
    names = [v.name for v in outer]
    count = d.integer(1, 2)
    condition = d.given(np.array(d.chance(.5)).reshape(d.pick((), (1,))))

    def side(depth):
        body = Body(d)
        results = []
        for _ in range(count):
            if depth and d.chance(.4):
                out = d.name("nested")
                inner = [side_of(names, t, shape) for _ in range(2)]
                body.nodes.append(helper.make_node(
                    "If", [condition.name], [out], then_branch=inner[0],
                    else_branch=inner[1]))
                results.append(body.add("Neg", out))
            else:
                results.append(body.mix(names, d.integer(0, 3)))
        return body.graph([], [(r, t, None) for r in results])

    def side_of(names, t, shape):
        body = Body(d)
        return body.graph([], [(body.mix(names, d.integer(0, 2)), t, None)])

    return finish(d, [condition], [condition, *outer], count,
                  then_branch=side(1), else_branch=side(1))


def loop(d):
    t = d.pick(*NUMBERS)
    shape = d.shape(max_rank=2, largest=60)
    carried = [d.tensor(t, shape, -2, 2) for _ in range(d.integer(0, 3))]
    outer = d.tensor(t, shape, -2, 2)
    trips = d.pick(0, 1, 3, 7, 2**63 - 1)
    limit = d.integer(0, 6)
    by_condition = trips > 7 or d.chance(.4)
    count = d.given(np.array(trips)) if d.chance(.8) else None
    condition = d.given(np.array(d.chance(.9))) \
        if by_condition or d.chance(.5) else None
    if count is None:
        by_condition = True
        condition = condition or d.given(np.array(True))
    body = Body(d)
    i, c = d.name("i"), d.name("c")
    ins = [d.name("v") for _ in carried]
    outs = [body.mix(ins + [outer.name], d.integer(0, 3)) for _ in carried]
    scans = []
    for _ in range(d.integer(0 if carried else 1, 2)):
        step = body.add("Cast", i, to=t)
        scans.append(body.mix([body.add("Add", outer.name, step)] + outs,
                              d.integer(0, 2)))
    going = body.add("Less", i, body.constant(np.array(limit))) \
        if by_condition else body.add("Identity", c)
    graph = body.graph(
        [(i, T.INT64, []), (c, T.BOOL, [])] + [(n, t, None) for n in ins],
        [(going, T.BOOL, [])] + [(o, t, None) for o in outs + scans])
    values = [v for v in (count, condition) if v] + carried + [outer]

    def formula(*arrays):
        """The body again and again: onnx's evaluator joins where opsets below
        11 stack, and nobody but the standard knows the shape of nothing."""
        given = {v.name: a.astype(v.array.dtype)
                 for v, a in zip(values, arrays)}
        closed = helper.make_graph(
            graph.node, "body", list(graph.input) + [helper.make_tensor_value_info(
                outer.name, t, None)], graph.output)
        body = ReferenceEvaluator(helper.make_model(
            closed, opset_imports=[helper.make_opsetid("", d.opset)]))
        top = int(count.array.reshape(())) if count else np.inf
        on = bool(given[condition.name].reshape(())) if condition else True
        state, stacked, step = [given[v.name] for v in carried], [], 0
        while step < top and on:
            on, *found = body.run(None, {
                i: np.array(step), c: np.array(on), outer.name: given[outer.name],
                **dict(zip(ins, state))})
            state, on = found[:len(carried)], bool(on)
            stacked.append(found[len(carried):])
            step += 1
        parts = [np.stack(p) for p in zip(*stacked)] if stacked else \
            [np.zeros([0] + list(shape), outer.array.dtype)] * len(scans)
        return [*state, *parts]
    return finish(d, [count, condition, *carried], values,
                  len(outs) + len(scans), body=graph, formula=formula)


def scan(d):
    t = d.pick(*NUMBERS)
    shape = d.shape(max_rank=2, largest=60, empty=0)
    length, rank = d.integer(1, 6), len(shape)
    states = [d.tensor(t, shape, -2, 2) for _ in range(d.integer(0, 2))]
    count = d.integer(1, 2)
    old = d.version < 9
    axes = [d.integer(-rank - 1 if d.version >= 11 else 0, rank)
            if not old else 0 for _ in range(count)]

    def whole(axis):
        full = list(shape)
        full.insert(axis % (rank + 1), length)
        return full
    given = [d.tensor(t, whole(a), -2, 2) for a in axes]
    body = Body(d)
    ins = [d.name("s") for _ in states] + [d.name("x") for _ in given]
    outs = [body.mix(ins, d.integer(0, 3)) for _ in states]
    more = [body.mix(ins + outs, d.integer(0, 2))
            for _ in range(d.integer(0 if states else 1, 2))]
    graph = body.graph([(n, t, shape if old else None) for n in ins],
                       [(o, t, None) for o in outs + more])
    how = dict(num_scan_inputs=count, body=graph)
    turn = lambda n: [d.integer(0, 1) for _ in range(n)]
    if old:
        for v in states + given:  # a batch
            v.array = np.stack([v.array, v.array + 1])
        if d.chance(.4):
            how["directions"] = turn(count)
        lengths = d.given(d.rng.integers(1, length + 1, 2)) \
            if d.chance(.4) else None
        values = ([lengths] if lengths else []) + states + given
        return finish(d, [lengths, *states, *given], values,
                      len(outs) + len(more), **how)
    if any(axes) or d.chance(.3):
        how["scan_input_axes"] = axes
    if d.chance(.4):
        how["scan_input_directions"] = turn(count)
    if more and d.chance(.4):
        how["scan_output_directions"] = turn(len(more))
    if more and d.chance(.4):
        how["scan_output_axes"] = [
            d.integer(-rank - 1 if d.version >= 11 else 0, rank) for _ in more]
    return finish(d, [*states, *given], states + given, len(outs) + len(more),
                  **how)


def listed(d):
    """A sequence that a loop carries and makes longer, or shorter, or that
    branches choose from; results: its length and its tensors joined."""
    t = d.pick(*NUMBERS)
    shape = d.shape(min_rank=1, max_rank=2, largest=40, empty=0)
    some = [d.tensor(t, shape, -2, 2) for _ in range(d.integer(1, 3))]
    outer = d.tensor(t, shape, -2, 2)
    trips = d.given(np.array(d.integer(0, 4)))
    kind = helper.make_sequence_type_proto(
        helper.make_tensor_type_proto(t, [None] * len(shape)))
    first, i, c, held = (d.name(s) for s in ("first", "i", "c", "held"))
    start = helper.make_node("SequenceConstruct", [v.name for v in some], [first])
    body = Body(d)
    on = body.add("Identity", c)
    step = body.add("Cast", i, to=t)
    item = body.mix([body.add("Add", outer.name, step)], d.integer(0, 2))
    zero = body.constant(np.array(0))
    last = body.add("SequenceAt", held, zero)
    how = d.pick("append", "front", "swap", "choose")
    if how == "append":
        left = body.add("SequenceInsert", held, body.add("Add", item, last))
    elif how == "front":
        left = body.add("SequenceInsert", held, item, zero)
    elif how == "swap":
        left = body.add("SequenceInsert", body.add("SequenceErase", held, zero),
                        item)
    else:
        sides = []
        for longer in True, False:
            side = Body(d)
            side.add("SequenceInsert" if longer else "Identity", held,
                     *[item] * longer)
            sides.append(helper.make_graph(
                side.nodes, d.name("side"), [], [helper.make_value_info(
                    side.nodes[-1].output[0], kind)]))
        odd = body.add("Equal", body.add(
            "Mod", i, body.constant(np.array(2))), zero)
        left = d.name("chosen")
        body.nodes.append(helper.make_node(
            "If", [odd], [left], then_branch=sides[0], else_branch=sides[1]))
    graph = helper.make_graph(
        body.nodes, d.name("body"),
        [helper.make_tensor_value_info(i, T.INT64, []),
         helper.make_tensor_value_info(c, T.BOOL, []),
         helper.make_value_info(held, kind)],
        [helper.make_tensor_value_info(on, T.BOOL, []),
         helper.make_value_info(left, kind)])
    end, length, joined = d.name("end"), d.name("length"), d.name("joined")
    nodes = [start, helper.make_node("Loop", [trips.name, "", first], [end],
                                     name=f"k{d.index}_{d.op}", body=graph),
             helper.make_node("SequenceLength", [end], [length]),
             helper.make_node("ConcatFromSequence", [end], [joined],
                              axis=d.pick(0, -1))]
    return d.case(nodes, [*some, outer, trips], [length, joined], spread="sum",
                  wide=False)


def loops(d):
    """Of tensors, or of a sequence, which loops carry from 13 on."""
    return listed(d) if d.version >= 13 and d.chance(.3) else loop(d)


OPS = {"If": branch, "Loop": loops, "Scan": scan}
