"""ONNX Runtime's own operators: grouped queries over caches."""
import numpy as np
from onnx import helper

from draw import CONTRIB, T
from families.contrib_attention import small

DOMAIN = CONTRIB


def group_query(d):
    how = d.pick("plain", "plain", "quantized", "sliding")
    if how == "sliding":
        return sliding(d)
    if how == "quantized":
        return quantized(d)
    t = d.type("T", (T.FLOAT, T.FLOAT16))
    groups, size = d.integer(1, 3), d.pick(8, 16, 16)
    heads, batch = groups * d.pick(1, 2, 4), d.integer(1, 3)
    prompt = d.chance(.5)
    rotary = size % 16 == 0 and d.chance(.5)
    # ONNX Runtime wants one row, or one sequence, after a past.
    rows = d.integer(1, 6) if prompt or batch == 1 else 1
    past = np.zeros(batch, int) if prompt else d.rng.integers(0, 6, batch)
    total = past + rows
    longest = int(total.max())
    q = small(d, t, batch, rows, heads * size)
    k, v = (small(d, t, batch, rows, groups * size) for _ in range(2))
    if d.chance(.3):
        q, k, v = small(d, t, batch, rows, (heads + 2 * groups) * size), None, \
            None
    caches = [None, None]
    if not prompt or d.chance(.5):
        room = d.pick(int(past.max()), longest, longest + 3)
        caches = [small(d, t, batch, groups, room, size) for _ in range(2)]
    cos = sin = ids = None
    if rotary:
        cos, sin = angles(d, t, longest + 4, size)
        if d.chance(.3):
            ids = d.given(past[:, None] + np.arange(rows)[None])
    bias = small(d, t, d.pick(1, batch), d.pick(1, heads), rows, longest) \
        if d.chance(.3) else None
    sink = small(d, t, heads) if d.chance(.25) else None
    qk = d.pick(None, None, 0, 1, 2)
    return d.node(
        [q, k, v, *caches, *lengths(d, total), cos, sin, ids, bias, sink],
        outputs=4 if qk else 3, spread="sum", num_heads=heads,
        kv_num_heads=groups, do_rotary=int(rotary) or None, qk_output=qk,
        rotary_interleaved=d.pick(None, 0, 1) if rotary else None,
        scale=d.pick(None, None, .2), softcap=d.pick(None, None, 1.5),
        local_window_size=d.pick(None, None, 1, 2, 4),
        smooth_softmax=d.pick(None, 0, 1) if not sink else None)


def angles(d, t, count, size):
    a = d.rng.uniform(-3, 3, (count, size // 2))
    return d.given(np.cos(a), t), d.given(np.sin(a), t)


def lengths(d, total):
    longest = int(total.max())
    return (d.given(total - 1, T.INT32),
            d.given(np.array(d.pick([longest], longest)), T.INT32))


def quantized(d):
    """Caches of bytes or half bytes; new rows lie a quarter of a step beside
    what they are rounded to, so that it is the same whoever rounds."""
    t = d.type("T", (T.FLOAT, T.FLOAT16))
    bits = d.pick(4, 8)
    store = d.types["T_CACHE"] = T.UINT8 if bits == 4 else T.INT8
    groups, size = d.integer(1, 2), d.pick(8, 16)
    heads, batch = groups * d.pick(1, 2, 3), d.integer(1, 3)
    rows = d.integer(1, 4) if batch == 1 else 1
    past = d.rng.integers(0, 6, batch)
    total = past + rows
    room = int(total.max()) + d.pick(0, 0, 2)
    q = small(d, t, batch, rows, heads * size)
    modes, scales, new = [], [], []
    for _ in range(2):
        modes.append(d.pick("PER_TENSOR", "PER_CHANNEL"))
        shape = (1, groups, 1, size) if modes[-1] == "PER_CHANNEL" else (1,)
        step = np.exp2(d.rng.integers(-3, 0, shape) - (0 if bits == 4 else 3))
        half = 1 << (bits - 1)
        code = d.rng.integers(-half - 2, half + 2, (batch, rows, groups, size))
        new.append((code + d.rng.choice([-.25, .25], code.shape)) *
                   step.reshape(-1, size if step.size > 1 else 1))
        scales.append(step)
    k, v = (d.given(a.reshape(batch, rows, -1), t) for a in new)
    stored = [batch, groups, room, size * bits // 8]
    caches = [d.tensor(store, stored, -128, 255) for _ in range(2)]
    scales = [d.given(a, T.FLOAT) for a in scales]
    qk = d.pick(None, None, 1, 2)
    value = helper.make_tensor_type_proto(t, None)
    byte = helper.make_tensor_type_proto(store, None)
    return d.node([q, k, v, *caches, *lengths(d, total), *[None] * 5, *scales],
                  outputs=4 if qk else 3, declared=[value, byte, byte, value],
                  spread="sum", num_heads=heads, kv_num_heads=groups,
                  qk_output=qk, k_quant_type=modes[0], v_quant_type=modes[1],
                  kv_cache_bit_width=bits,
                  local_window_size=d.pick(None, None, 2))


def sliding(d):
    """Caches of the window's size; what lies behind the rows that they hold is
    not said, so only those are compared."""
    t = d.type("T", (T.FLOAT, T.FLOAT16))
    d.types["T_CACHE"] = t
    groups, size = d.integer(1, 2), d.pick(8, 16)
    heads = groups * d.pick(1, 2)
    window = d.integer(1, 6)
    room = window + d.integer(0, 3)
    past = d.integer(0, 20)
    rows = d.integer(1, 7)
    total = past + rows
    gap = room - window + 1
    held = total - gap * -(-max(0, total - room) // gap)
    q = small(d, t, 1, rows, heads * size)
    k, v = (small(d, t, 1, rows, groups * size) for _ in range(2))
    for x in q, k, v:
        x.static = (-1,)
    caches = [small(d, t, 1, groups, room, size) for _ in range(2)]
    cos = sin = None
    if size == 16 and d.chance(.4):
        cos, sin = angles(d, t, total + 2, size)
    case = d.node([q, k, v, *caches, *lengths(d, np.array([total])), cos, sin],
                  outputs=3, spread="sum", num_heads=heads, kv_num_heads=groups,
                  do_rotary=1 if cos else None, local_window_size=window,
                  sliding_window_cache=1)
    # Outputs: the first rows of both.
    ends = [helper.make_node("Constant", [], [d.name("at")], value_ints=[n])
            for n in (0, held, 2)]
    case.nodes += ends
    for i in 1, 2:
        cut = d.name("held")
        case.nodes.append(helper.make_node(
            "Slice", [case.outputs[i], *[e.output[0] for e in ends]], [cut]))
        case.outputs[i] = cut
    return case


def sparse(d):
    """Blocks of keys that a head sees. ONNX Runtime wants past and present in
    one buffer; the formula does not."""
    t = d.type()
    block, blocks = d.pick(1, 2, 4, 16), d.integer(1, 5)
    layouts = d.integer(1, 3)
    groups, size = layouts * d.integer(1, 2), d.pick(8, 16)
    heads, batch = groups * d.pick(1, 2), d.integer(1, 3)
    limit = block * blocks
    prompt = d.chance(.5)
    rows = d.integer(1, min(6, limit))
    past = np.zeros(batch, int) if prompt else \
        d.rng.integers(0, limit - rows + 1, batch)
    total = past + rows
    longest = int(total.max())
    room = longest + d.pick(0, 0, 3)
    q = small(d, t, batch, rows, heads * size)
    k, v = (small(d, t, batch, rows, groups * size) for _ in range(2))
    caches = [small(d, t, batch, groups, room, size) for _ in range(2)]
    seen = np.tril(d.rng.random((layouts, blocks, blocks)) < d.pick(.3, .7, 1.))
    if d.chance(.8):
        seen |= np.eye(blocks, dtype=bool)
    found = [np.nonzero(a) for a in seen]
    longest_row = max(1, max(len(r) for r, _ in found))
    columns = np.full((layouts, longest_row), -1)
    starts = np.zeros((layouts, blocks + 1), int)
    for i, (r, c) in enumerate(found):
        columns[i, :len(c)] = c
        starts[i, 1:] = np.cumsum(seen[i].sum(1))
    inputs = [q, k, v, *caches, d.given(starts, T.INT32),
              d.given(columns, T.INT32),
              d.given(np.array([longest]), T.INT32), d.given(total, T.INT32)]
    rotary, twisted = size == 16 and d.chance(.5), d.pick(0, 1)
    if rotary:
        inputs += angles(d, t, longest + 3, size)
    scale = d.pick(None, .3)

    def turned(x, cos, sin):  # [batch][heads][rows][size]
        at = past[:, None] + np.arange(rows)
        c, s = cos[at][:, None], sin[at][:, None]
        a, b = (x[..., ::2], x[..., 1::2]) if twisted else np.split(x, 2, -1)
        y = a * c - b * s, a * s + b * c
        return np.stack(y, -1).reshape(x.shape) if twisted else \
            np.concatenate(y, -1)

    def formula(q, k, v, past_k, past_v, *more):
        apart = lambda x: x.reshape(batch, rows, -1, size).swapaxes(1, 2)
        q, k, v = apart(q), apart(k), apart(v)
        if rotary:
            q, k = turned(q, *more[-2:]), turned(k, *more[-2:])
        present = past_k.copy(), past_v.copy()
        y = np.zeros((batch, rows, heads, size))
        for b in range(batch):
            for p, x in zip(present, (k, v)):
                p[b, :, past[b]:total[b]] = x[b]
            for h in range(heads):
                for r in range(rows):
                    n = past[b] + r + 1
                    g = h // (heads // groups)
                    s = present[0][b, g, :n] @ q[b, h, r] * (
                        scale or size ** -.5)
                    may = seen[h % layouts, (n - 1) // block,
                               np.arange(n) // block]
                    s = np.where(may, s, -np.inf) if may.any() else s * 0
                    p = np.exp(s - s.max())
                    y[b, r, h] = p / p.sum() @ present[1][b, g, :n]
        return [y.reshape(batch, rows, -1), *present]
    return d.node(inputs, outputs=3, spread="sum", formula=formula,
                  num_heads=heads, kv_num_heads=groups, scale=scale,
                  sparse_block_size=block, do_rotary=int(rotary) or None,
                  rotary_interleaved=twisted if rotary else None)


OPS = {"GroupQueryAttention": group_query, "SparseAttention": sparse}
