"""ONNX Runtime's own operators: attention and embeddings."""
import numpy as np

from draw import CONTRIB, T
from families.attention import rotary_sizes

DOMAIN = CONTRIB


def small(d, t, *shape, **options):
    return d.tensor(t, list(shape), -1.5, 1.5, **options)


def mask_of(d, batch, rows, total, *kinds):
    """What hides keys; every query sees one."""
    kind = d.pick(None, None, *kinds)
    if not kind:
        return None
    if kind == "lengths":
        a = d.rng.integers(1, total + 1, batch)
    elif kind == "starts":
        end = d.rng.integers(1, total + 1, batch)
        a = np.concatenate([end, d.rng.integers(0, end)])
    elif kind == "keys":
        a = d.rng.integers(0, 2, (batch, total))
        a[:, 0] = 1
    else:
        a = d.rng.integers(0, 2, (batch, rows, total))
        a[..., 0] = 1
    return d.given(a, T.INT32)


def common(d):
    return dict(scale=d.pick(None, None, .3), spread="sum",
                mask_filter_value=d.pick(None, None, -10.0))


def attention(d):
    t = d.type()
    heads, size = d.integer(1, 4), d.pick(1, 3, 8, 16)
    batch, rows, width = d.integer(1, 3), d.integer(1, 7), d.pick(4, 8, 13)
    past = d.pick(None, None, 0, 1, 4)
    sizes = [heads * size] * 3
    given = {}
    if past is None and d.chance(.4):
        sizes[2] = heads * d.pick(2, 5)
        given["qkv_hidden_sizes"] = sizes
    wide = sum(sizes)
    if d.chance(.15) and past is None and "qkv_hidden_sizes" not in given \
            and size == 16:
        given["do_rotary"] = 1
    total = rows + (past or 0)
    x, w = small(d, t, batch, rows, width), small(d, t, width, wide)
    bias = small(d, t, wide) if d.chance(.7) else None
    mask = mask_of(d, batch, rows, total, "lengths", "starts", "keys", "queries")
    how = common(d)
    if mask is not None and mask.array.shape == (2 * batch,):
        # Rows that see nothing but what is hidden: with -10000 there three
        # decimals of the scores would be left.
        how["mask_filter_value"] = -10.0
    cache, added = None, None
    if past is not None:
        cache = small(d, t, 2, batch, heads, past, size)
    elif d.chance(.3):
        added = small(d, t, d.pick(1, batch), d.pick(1, heads), rows, total)
    return d.node([x, w, bias, mask, cache, added],
                  outputs=2 if past is not None else 1, num_heads=heads,
                  unidirectional=d.pick(None, 0, 1), **given, **how)


def multi_head(d):
    t = d.type()
    heads, size = d.integer(1, 4), d.pick(1, 3, 8, 16)
    batch, rows, keys = d.integer(1, 3), d.integer(1, 7), d.integer(1, 7)
    hidden = heads * size
    form = d.pick("plain", "plain", "cache")
    v_size = d.pick(size, 5) if form == "plain" else size
    past = d.pick(None, 0, 3) if form == "plain" and v_size == size else None
    q = small(d, t, batch, rows, hidden)
    if form == "cache":
        k, v = small(d, t, batch, heads, keys, size), \
            small(d, t, batch, heads, keys, v_size)
    else:
        k, v = small(d, t, batch, keys, hidden), \
            small(d, t, batch, keys, heads * v_size)
    bias = small(d, t, 2 * hidden + heads * v_size) \
        if form == "plain" and d.chance(.5) else None
    total = keys + (past or 0)
    mask = mask_of(d, batch, rows, total, "lengths", "keys", "queries")
    added = small(d, t, d.pick(1, batch), d.pick(1, heads), rows, total) \
        if d.chance(.3) else None
    caches = [None, None]
    if past is not None:
        caches = [small(d, t, batch, heads, past, size) for _ in range(2)]
    return d.node([q, k, v, bias, mask, added, *caches],
                  outputs=3 if past is not None else 1, num_heads=heads,
                  unidirectional=d.pick(None, 1) if rows == keys else None,
                  **common(d))


def masked(d):
    """One new row, caches in buffers; of these the rows in use count."""
    t = T.FLOAT
    d.types["T"] = t
    heads, size, batch = d.integer(1, 4), d.pick(4, 8), d.integer(1, 3)
    hidden = heads * size
    if d.chance(.4):  # keys of another sequence
        keys = d.integer(1, 6)
        mask = mask_of(d, batch, 1, keys, "keys")
        return d.node([small(d, t, batch, 1, hidden),
                       small(d, t, batch, heads, keys, size),
                       small(d, t, batch, heads, keys, size), mask],
                      num_heads=heads, **common(d))
    past, room = d.integer(1, 5), d.integer(1, 4)
    mask = mask_of(d, batch, 1, past + 1, "keys")
    added = small(d, t, d.pick(1, batch), heads, 1, past + 1) \
        if d.chance(.3) else None
    buffers = [small(d, t, batch, heads, past + room, size) for _ in range(2)]
    bias = small(d, t, 3 * hidden) if d.chance(.5) else None
    q, k, v = (small(d, t, batch, 1, hidden) for _ in range(3))
    return d.node([q, k, v, mask, added, *buffers, d.given(np.array([past]),
                   T.INT32), None, None, bias], num_heads=heads, outputs=3,
                  past_present_share_buffer=1, **common(d))


def group_query(d):
    t = d.type()
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
        angles = d.rng.uniform(-3, 3, (longest + 4, size // 2))
        cos, sin = d.given(np.cos(angles), t), d.given(np.sin(angles), t)
        if d.chance(.3):
            ids = d.given(past[:, None] + np.arange(rows)[None])
    bias = small(d, t, d.pick(1, batch), d.pick(1, heads), rows, longest) \
        if d.chance(.3) else None
    sink = small(d, t, heads) if d.chance(.25) else None
    qk = d.pick(None, None, 0, 1, 2)
    lengths = d.given(total - 1, T.INT32)
    whole = d.given(np.array(d.pick([longest], longest)), T.INT32)
    return d.node(
        [q, k, v, *caches, lengths, whole, cos, sin, ids, bias, sink],
        outputs=4 if qk else 3, spread="sum", num_heads=heads,
        kv_num_heads=groups, do_rotary=int(rotary) or None, qk_output=qk,
        rotary_interleaved=d.pick(None, 0, 1) if rotary else None,
        scale=d.pick(None, None, .2), softcap=d.pick(None, None, 1.5),
        local_window_size=d.pick(None, None, 1, 2, 4),
        smooth_softmax=d.pick(None, 0, 1) if not sink else None)


def quantized(d):
    t, u = d.type("T1", (T.UINT8,)), d.type("T2")
    v = d.type("T3", (T.FLOAT,))
    heads, size = d.integer(1, 3), d.pick(4, 8)
    batch, rows, width = d.integer(1, 2), d.integer(1, 5), d.pick(4, 9)
    hidden, past = heads * size, d.pick(None, 3)
    x = d.tensor(t, [batch, rows, width], 0, 255)
    w = d.tensor(u, [width, 3 * hidden], -128, 255)
    per = d.pick((), (1,), (3 * hidden,))
    total = rows + (past or 0)
    mask = mask_of(d, batch, rows, total, "lengths", "keys")
    cache = small(d, v, 2, batch, heads, past, size) if past else None
    return d.node([x, w, small(d, v, 3 * hidden), d.tensor(v, [], .005, .02),
                   d.tensor(v, per, .001, .01), mask, d.tensor(t, [], 100, 150),
                   d.tensor(u, per, -20, 120), cache],
                  outputs=2 if past else 1, num_heads=heads,
                  unidirectional=d.pick(None, 0, 1), **common(d))


def rotary(d):
    t = d.type()
    batch, heads, length, size, part = rotary_sizes(d)
    flat = bool(part) or d.chance(.5)
    x = d.tensor(t, [batch, length, heads * size] if flat else
                 [batch, heads, length, size], special=0)
    limit = length + d.integer(0, 5)
    at = d.rng.integers(0, limit - length + 1, 1) if d.chance(.4) else \
        d.rng.integers(0, limit, (batch, length))
    cos, sin = (d.tensor(t, [limit, (part or size) // 2], -1, 1)
                for _ in range(2))
    return d.node([x, d.given(at), cos, sin], spread="sum",
                  num_heads=heads if part else None, rotary_embedding_dim=part,
                  interleaved=d.pick(None, 0, 1), scale=d.pick(None, 1.0))


def embedding(d, table, vector, numbers=()):
    """The inputs that both have; `table` and `vector` make the weights."""
    batch, rows, size = d.integer(1, 3), d.integer(1, 5), d.pick(4, 9)
    draw = lambda limit, *shape: d.given(d.rng.integers(0, limit, shape), T.INT32)
    segmented = d.chance(.5)
    inputs = [draw(11, batch, rows), draw(2, batch, rows) if segmented else None,
              table(11, size), table(7, size),
              table(2, size) if segmented else None, vector(size), vector(size),
              draw(2, batch, rows) if d.chance(.5) else None]
    return inputs, batch, rows, segmented


def embed(d):
    t = d.type()
    weights = lambda *s: small(d, t, *s, shape_fixed=True)
    inputs, batch, rows, _ = embedding(d, weights, weights)
    if d.chance(.4):
        inputs.append(d.given(d.rng.integers(0, 7, (d.pick(1, batch), rows)),
                              T.INT32))
    d.types["T1"] = T.INT32
    return d.node(inputs, outputs=d.pick(2, 3), spread="sum",
                  epsilon=d.pick(1e-5, 1e-3))


def quantized_embed(d):
    t = d.type("T2")
    d.types["T1"], d.types["T"] = T.INT32, T.FLOAT
    weights = lambda *s: d.tensor(t, list(s), -128, 255, shape_fixed=True)
    inputs, _, _, segmented = embedding(d, weights, weights)
    scale = lambda: d.tensor(T.FLOAT, [], .01, .1)
    zero = lambda: d.tensor(t, [], -20, 100)
    for make in scale, zero:
        inputs += [make(), make(), make() if segmented else None, make(), make()]
    return d.node(inputs, outputs=2, spread="sum", epsilon=d.pick(1e-5, 1e-3))


OPS = {"Attention": attention, "MultiHeadAttention": multi_head,
       "DecoderMaskedMultiHeadAttention": masked,
       "GroupQueryAttention": group_query, "QAttention": quantized,
       "RotaryEmbedding": rotary, "EmbedLayerNormalization": embed,
       "QEmbedLayerNormalization": quantized_embed}
