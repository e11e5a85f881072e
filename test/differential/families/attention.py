"""Attention and what goes with it."""
from draw import FLOATS, T


def attention(d):
    t, v_type = d.type("T1"), d.type("T2")
    if v_type != t and d.chance(.9):
        v_type = d.types["T2"] = t
    batch, groups, each = d.integer(1, 3), d.integer(1, 3), d.pick(1, 1, 2)
    heads = groups * each
    width, v_width = d.pick(1, 4, 8, 16), d.pick(4, 8, 5)
    queries, keys, past = d.integer(1, 7), d.integer(1, 7), d.integer(1, 4)
    flat = d.chance(.4)
    shape = lambda n, count, size: [batch, count, n * size] if flat else \
        [batch, n, count, size]
    small = dict(low=-1.5, high=1.5)
    q = d.tensor(t, shape(heads, queries, width), **small)
    k = d.tensor(t, shape(groups, keys, width), **small)
    v = d.tensor(v_type, shape(groups, keys, v_width), **small)
    with_past = d.chance(.35)
    total = keys + (past if with_past else 0)
    mask = None
    if d.chance(.5):
        u = d.type("U")
        full = d.pick([queries, total], [1, 1, queries, total],
                      [batch, 1, queries, total], [batch, heads, queries, total],
                      [1, heads, queries, total])
        if u == T.BOOL:
            mask = d.tensor(u, full)
            mask.array[..., 0] = True
        elif u in FLOATS:
            mask = d.tensor(u, full, -2, 2)
        else:
            mask = d.tensor(u, full, 0, 2)
    before = [None, None]
    if with_past:
        before = [d.tensor(t, [batch, groups, past, width], **small),
                  d.tensor(v_type, [batch, groups, past, v_width], **small)]
    length = None
    if d.version >= 24 and not with_past and d.chance(.2):
        length = d.given(d.rng.integers(1, keys + 1, batch))
    present = with_past and d.chance(.8)
    outputs = [True, present, present, d.chance(.2)]
    return d.node([q, k, v, mask, *before, length], outputs=outputs,
                  spread="sum", is_causal=d.pick(None, 0, 1),
                  q_num_heads=heads if flat else None,
                  kv_num_heads=groups if flat else None,
                  scale=d.pick(None, .25), softcap=d.pick(None, None, 2.0),
                  qk_matmul_output_mode=d.pick(None, 0, 1, 2, 3)
                  if outputs[3] else None)


def rotary(d):
    t = d.type()
    batch, heads, length = d.integer(1, 3), d.integer(1, 3), d.integer(1, 6)
    half = d.integer(1, 6)
    size, part = 2 * half, None
    if d.chance(.3) and half > 1:
        part = 2 * d.integer(1, half - 1)
    table = (part or size) // 2
    flat = d.chance(.5)
    x = d.tensor(t, [batch, length, heads * size] if flat else
                 [batch, heads, length, size], special=0)
    at, rows = None, [batch, length]
    if d.chance(.6):
        rows = [d.integer(length, 12)]
        at = d.given(d.rng.integers(0, rows[0], (batch, length)))
    cos, sin = (d.tensor(t, rows + [table], -1, 1) for _ in range(2))
    return d.node([x, cos, sin, at], spread="sum", num_heads=heads if flat
                  else None, rotary_embedding_dim=part,
                  interleaved=d.pick(None, 0, 1))


def linear_attention(d):
    t = d.type()
    s = d.type("S")
    batch, length = d.integer(1, 3), d.integer(1, 6)
    groups, each = d.integer(1, 3), d.pick(1, 1, 2)
    dk, dv = d.integer(1, 6), d.integer(1, 6)
    rule = d.pick("linear", "gated", "delta", "gated_delta", None)
    small = dict(low=-.7, high=.7)
    q = d.tensor(t, [batch, length, groups * each * dk], **small)
    k = d.tensor(t, [batch, length, groups * dk], **small)
    v = d.tensor(t, [batch, length, groups * dv], **small)
    past = d.tensor(s, [batch, groups, dk, dv], **small) if d.chance(.5) \
        else None
    gated = rule in ("gated", "gated_delta", None)
    decay = d.tensor(t, [batch, length, groups * d.pick(1, dk)], -1, 0) \
        if gated else None
    beta = d.tensor(t, [batch, length, groups], 0, 1) \
        if rule in ("delta", "gated_delta", None) else None
    return d.node([q, k, v, past, decay, beta], outputs=2, spread="sum",
                  q_num_heads=groups * each, kv_num_heads=groups,
                  update_rule=rule, scale=d.pick(None, .5))


OPS = {"Attention": attention, "RotaryEmbedding": rotary,
       "LinearAttention": linear_attention}
