"""ONNX Runtime's own operators: attention and embeddings."""
import numpy as np
from onnx import helper

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


def one_by_one(d, t):
    """One new row, pasts in buffers, of beams or not."""
    heads, size, batch = d.integer(1, 3), d.pick(4, 8), d.integer(1, 4)
    past, room = d.integer(1, 5), d.integer(1, 4)
    rows = [small(d, t, batch, 1, heads * size) for _ in range(3)]
    buffers = [small(d, t, batch, heads, past + room, size) for _ in range(2)]
    mask = mask_of(d, batch, 1, past + 1, "keys")
    beams = beams_of(d, batch, past + room)[0] if d.chance(.6) else None
    return d.node([*rows, None, mask, None, *buffers, d.given(
        np.array([past]), T.INT32), beams], outputs=3, num_heads=heads,
        **common(d))


def multi_head(d):
    t = d.type()
    if d.chance(.2):
        return one_by_one(d, t)
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
    causal = d.pick(None, 1) if rows == keys else None
    outputs, declared = 3 if past is not None else 1, []
    if d.chance(.25) and not causal:
        declared = [helper.make_tensor_type_proto(t, None)] * 4
        outputs = 4 if past is not None else [1, 0, 0, 1]
    return d.node([q, k, v, bias, mask, added, *caches], outputs=outputs,
                  declared=declared, num_heads=heads, unidirectional=causal,
                  **common(d))


def beams_of(d, batch, rows):
    """How many beams the batch is of, and of which each row is."""
    count = d.pick(*[n for n in range(1, batch + 1) if batch % n == 0])
    return d.given(d.rng.integers(0, count, (batch // count, count, rows)),
                   T.INT32), d.given(np.array([count]), T.INT32)


def masked(d):
    """One new row, caches in buffers; of these the rows in use count."""
    result = helper.make_tensor_type_proto(T.FLOAT, None)
    t = T.FLOAT
    d.types["T"] = t
    heads, size, batch = d.integer(1, 4), d.pick(4, 8), d.integer(1, 4)
    hidden = heads * size
    shown = d.pick(None, None, 1)
    how = dict(num_heads=heads, output_qk=shown, **common(d))
    scores = dict(declared=[result] * 4, outputs=4) if shown else {}
    if d.chance(.4):  # keys of another sequence
        keys = d.integer(1, 6)
        mask = mask_of(d, batch, 1, keys, "keys")
        return d.node([small(d, t, batch, 1, hidden),
                       small(d, t, batch, heads, keys, size),
                       small(d, t, batch, heads, keys, size), mask],
                      **how, **(scores and dict(
                          declared=[result] * 2, outputs=[1, 0, 0, 1])))
    past, room = d.integer(1, 5), d.integer(1, 4)
    mask = mask_of(d, batch, 1, past + 1, "keys")
    buffers = [small(d, t, batch, heads, past + room, size) for _ in range(2)]
    bias = small(d, t, 3 * hidden) if d.chance(.5) else None
    q, k, v = (small(d, t, batch, 1, hidden) for _ in range(3))
    beams, width = None, None
    if d.chance(.4):
        beams, width = beams_of(d, batch, past + room)
    # With beams ONNX Runtime adds what the first row has to all.
    added = small(d, t, 1 if beams else d.pick(1, batch), heads, 1, past + 1) \
        if d.chance(.3) else None
    return d.node([q, k, v, mask, added, *buffers, d.given(np.array([past]),
                   T.INT32), width, beams, bias], **(scores or dict(outputs=3)),
                  past_present_share_buffer=1, **how)


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


def multi_rotary(d):
    t = d.type()
    batch, heads, length = d.integer(1, 3), d.integer(1, 3), d.integer(1, 5)
    sections = [d.integer(0, 4) for _ in range(3)]
    sections[d.integer(0, 2)] += 1
    half = sum(sections)
    part = d.chance(.3)
    size = 2 * half + (d.pick(1, 4) if part else 0)
    flat = part or d.chance(.5)
    x = d.tensor(t, [batch, length, heads * size] if flat else
                 [batch, heads, length, size], special=0)
    limit = d.integer(1, 9)
    at = d.given(d.rng.integers(0, limit, (3, batch, length)))
    cos, sin = (d.tensor(t, [limit, half], -1, 1) for _ in range(2))
    layout = d.pick(None, 0, 1)
    if layout and max(3 * sections[1] - 2, 3 * sections[2] - 1) > half:
        layout = 0  # the columns of a stream would not all be there
    return d.node([x, at, cos, sin], spread="sum", mrope_section=sections,
                  mrope_layout=layout, interleaved=d.pick(None, 0, 1),
                  num_heads=heads if flat else None,
                  rotary_embedding_dim=2 * half if part else None)


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
       "QAttention": quantized, "RotaryEmbedding": rotary,
       "MRotaryEmbedding": multi_rotary, "EmbedLayerNormalization": embed,
       "QEmbedLayerNormalization": quantized_embed}
