"""What the standard tries out."""
from draw import FLOATS, T
from families.control import Body

DOMAIN = "ai.onnx.preview"


def flex_attention(d):
    """Groups of heads, and what changes scores and probabilities."""
    t = d.type("T1")
    groups = d.integer(1, 3)
    heads = groups * d.pick(1, 1, 2, 3)
    batch, queries, keys = d.integer(1, 3), d.integer(1, 7), d.integer(1, 7)
    width, v_width = d.pick(1, 4, 8), d.pick(4, 8, 5)
    q, k, v = [d.tensor(t, [batch] + s, -1.5, 1.5) for s in (
        [heads, queries, width], [groups, keys, width], [groups, keys, v_width])]
    for x in q, k, v:
        x.static = 1, 3
    precision = T.DOUBLE if t == T.DOUBLE else T.FLOAT
    given = {}
    for what in "score_mod", "prob_mod":
        if d.chance(.4):
            body = Body(d)
            name = d.name(what)
            result = body.mix([name], d.integer(0, 3))
            shape = d.pick([batch, heads, queries, keys], [None] * 4)
            given[what] = body.graph([(name, precision, shape)],
                                     [(result, precision, shape)])
    if t in FLOATS and d.chance(.2):
        given["softmax_precision"] = precision
    return d.node([q, k, v], spread="sum", scale=d.pick(None, .25, 1.0), **given)


OPS = {"FlexAttention": flex_attention}
