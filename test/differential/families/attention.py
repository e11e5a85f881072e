"""Attention and what goes with it."""
import numpy as np

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
    how = dict(is_causal=d.pick(None, 0, 1), scale=d.pick(None, .25),
               softcap=d.pick(None, None, 2.0),
               qk_matmul_output_mode=d.pick(None, 0, 1, 2, 3)
               if outputs[3] else None)
    if d.version >= 25 and d.chance(.3):
        how.update(left_window_size=d.pick(None, -1, 0, 1, 2),
                   right_window_size=d.pick(None, -1, 0, 1, 2))

    def formula(*arrays):
        arrays = iter(arrays)
        q_, k_, v_, m_, pk, pv, n_ = [next(arrays) if there is not None else None
                                      for there in (q, k, v, mask, *before, length)]
        if flat:
            q_, k_, v_ = [a.reshape(*a.shape[:2], count, -1).swapaxes(1, 2)
                          for a, count in ((q_, heads), (k_, groups),
                                           (v_, groups))]
        if with_past:
            k_, v_ = (np.concatenate(p, 2) for p in ((pk, k_), (pv, v_)))
        held = [k_, v_]
        k_, v_ = (np.repeat(a, each, 1) for a in held)
        raw = q_ @ k_.swapaxes(2, 3) * (how["scale"] or width**-.5)
        capped = how["softcap"] * np.tanh(raw / how["softcap"]) \
            if how["softcap"] else raw
        i, j = np.arange(queries)[:, None], np.arange(total)
        if n_ is not None:
            i = i + (n_ - queries).reshape(-1, 1, 1, 1)
        elif with_past:
            i = i + past
        seen = np.ones(raw.shape, bool)
        if how["is_causal"]:
            seen = seen & (j <= i)
        for side, reach in (-1, how.get("left_window_size")), \
                (1, how.get("right_window_size")):
            if reach is not None and reach >= 0:
                seen = seen & (side * (j - i) <= reach)
        if n_ is not None:
            seen = seen & (j < n_.reshape(-1, 1, 1, 1))
        if m_ is not None and mask.type == T.BOOL:
            seen = seen & (m_ != 0)
        added = m_ if m_ is not None and mask.type != T.BOOL else 0
        biased = np.where(seen, capped + added, -np.inf)
        top = biased.max(-1, keepdims=True)
        shares = np.exp(biased - np.where(np.isfinite(top), top, 0))
        total_share = shares.sum(-1, keepdims=True)
        shares = shares / np.where(total_share == 0, 1, total_share)
        y = shares @ v_
        if flat:
            y = y.swapaxes(1, 2).reshape(batch, queries, -1)
        stages = [raw, capped, biased, shares]
        results = [y, *held, stages[how["qk_matmul_output_mode"] or 0]]
        return [r for r, wanted in zip(results, outputs) if wanted]
    return d.node([q, k, v, mask, *before, length], outputs=outputs,
                  spread="sum", formula=formula, q_num_heads=heads if flat else None,
                  kv_num_heads=groups if flat else None, **how)


def rotary_sizes(d):
    """Batch, heads, length, size of a head, and what of it is rotated or None."""
    batch, heads, length = d.integer(1, 3), d.integer(1, 3), d.integer(1, 6)
    half = d.integer(1, 6)
    part = 2 * d.integer(1, half - 1) if d.chance(.3) and half > 1 else None
    return batch, heads, length, 2 * half, part


def rotary(d):
    t = d.type()
    batch, heads, length, size, part = rotary_sizes(d)
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
