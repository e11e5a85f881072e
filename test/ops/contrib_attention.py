"""Attention of ONNX Runtime's domain, against ONNX Runtime; what its CPU
provider does not do, against numpy."""
import os

import numpy as np
from harness import Family, by_runtime, model_of

f = Family("contrib_attention", rtol=1e-3, atol=1e-4)
n = f.normal
pick = lambda *of: of[f.random.integers(len(of))]
i32 = lambda v: np.array(v, np.int32)
COUNT = int(os.environ.get("FERRULE_CASES", 12))


def case(op, inputs, **options):
    f.case(op, inputs, domain="com.microsoft", **options)


def mask_of(kind, batch, rows, total):
    ones = lambda *s: f.integers(0, 2, *s, dtype=np.int32)
    if kind == "lengths":
        return f.integers(1, total + 1, batch, dtype=np.int32)
    if kind == "starts":
        end = f.integers(1, total + 1, batch)
        return np.concatenate([end, f.random.integers(0, end)]).astype(np.int32)
    if kind == "keys":
        return ones(batch, total)
    if kind == "queries":
        return ones(batch, rows, total)


def plain_run(op, inputs, outputs, **options):
    return by_runtime(
        model_of(op, inputs, outputs, domain="com.microsoft", **options),
        {f"in{i}": a for i, a in enumerate(inputs) if a is not None})


# Attention
for i in range(COUNT):
    heads, size = pick(1, 2, 3, 4), pick(1, 3, 8, 16)
    batch, rows, width = pick(1, 2, 3), pick(1, 2, 5, 9), pick(4, 8, 13)
    hidden = heads * size
    past = pick(None, None, 0, 1, 4)
    sizes = [hidden] * 3
    options = dict(num_heads=heads)
    if past is None and pick(0, 1):
        sizes[2] = heads * pick(2, 5)
        options["qkv_hidden_sizes"] = sizes
    wide = sum(sizes)
    x, w = n(batch, rows, width), n(width, wide)
    bias = pick(None, n(wide))
    total = rows + (past or 0)
    mask = mask_of(pick(None, "lengths", "starts", "keys", "queries"), batch,
                   rows, total)
    cache = None if past is None else n(2, batch, heads, past, size)
    added = pick(None, n(pick(1, batch), pick(1, heads), rows, total))
    if cache is not None:
        added = None  # ONNX Runtime has either
    if pick(0, 1):
        options["unidirectional"] = 1
    if pick(0, 1):
        options["scale"] = 0.3
    if pick(0, 1):
        options["mask_filter_value"] = pick(-10.0, -3.4028234663852886e38)
    case("Attention", [x, w, bias, mask, cache, added],
         outputs=2 if past is not None else 1, dynamic=pick(False, True),
         constants=pick((), (1, 2) if bias is not None else (1,)), **options)

# MultiHeadAttention
for i in range(COUNT):
    heads, size = pick(1, 2, 3, 4), pick(1, 3, 8, 16)
    batch, rows, keys = pick(1, 2, 3), pick(1, 2, 5, 9), pick(1, 3, 7)
    hidden = heads * size
    form = pick("plain", "plain", "packed", "keys", "cache")
    v_size = pick(size, 5) if form == "plain" else size
    past = pick(None, 0, 3) if form == "plain" else None
    q = n(batch, rows, hidden)
    k, v = n(batch, keys, hidden), n(batch, keys, heads * v_size)
    bias = None
    if form == "packed":
        q, k, v, keys = n(batch, rows, heads, 3, size), None, None, rows
    elif form == "keys":
        k, v = n(batch, keys, heads, 2, size), None
    elif form == "cache":
        k, v = n(batch, heads, keys, size), n(batch, heads, keys, v_size)
    if form == "plain" and pick(0, 1):
        bias = n(2 * hidden + heads * v_size)
    if past is not None and v_size != size:
        past = None
    total = keys + (past or 0)
    mask = mask_of(pick(None, "lengths", "keys", "queries"), batch, rows,
                   total)
    added = pick(None, n(pick(1, batch), pick(1, heads), rows, total))
    caches = [None, None]
    if past is not None:
        caches = [n(batch, heads, past, size) for _ in range(2)]
    options = dict(num_heads=heads)
    if pick(0, 1):
        options["scale"] = 0.3
    if pick(0, 1):
        options["mask_filter_value"] = -10.0
    if pick(0, 0, 1) and rows == keys:
        options["unidirectional"] = 1
    plain = [q, k, v, bias, mask, added] + caches
    rest = dict(dynamic=pick(False, True), **options)
    if form in ("packed", "keys"):  # not in ONNX Runtime's CPU provider
        together = q if form == "packed" else k
        parts = [together[:, :, :, p].reshape(batch, keys, hidden)
                 for p in range(together.shape[3])]
        plain[:3] = parts if form == "packed" else [q] + parts
        want = by_runtime(model_of(
            "MultiHeadAttention", plain, domain="com.microsoft", **options),
            {f"in{i}": a for i, a in enumerate(plain) if a is not None})
        case("MultiHeadAttention", [q, k, v, bias, mask, added], want=want,
             **rest)
        continue
    case("MultiHeadAttention", plain, outputs=3 if past is not None else 1,
         constants=pick((), (3,) if bias is not None else ()), **rest)

# Caches in longer buffers, masks of the largest size: as the plain forms.
for free in False, True:
    batch, rows, heads, size, past, longest = 2, 3, 2, 4, 2, 7
    q, k, v = (n(batch, rows, heads * size) for _ in range(3))
    buffers = [n(batch, heads, longest, size) for _ in range(2)]
    valid = [np.ascontiguousarray(b[:, :, :past]) for b in buffers]
    want = plain_run("MultiHeadAttention", [q, k, v, None, None, None, *valid],
                     3, num_heads=heads)
    presents = [b.copy() for b in buffers]
    for p, w in zip(presents, want[1:]):
        p[:, :, :past + rows] = w
    case("MultiHeadAttention", [q, k, v, None, None, None, *buffers,
                                i32([past])], outputs=3, dynamic=free,
         num_heads=heads, want=[want[0], *presents])
    x, w = n(batch, rows, 5), n(5, 3 * heads * size)
    large = f.integers(0, 2, batch, 1, longest, longest, dtype=np.int32)
    mask = np.ascontiguousarray(large[:, 0, past:past + rows, :past + rows])
    want = plain_run("Attention", [x, w, None, mask, np.stack(valid)], 2,
                     num_heads=heads)
    whole = np.stack(buffers)
    whole[:, :, :, :past + rows] = want[1]
    case("Attention", [x, w, None, large, np.stack(buffers), None, i32(past)],
         outputs=2, dynamic=free, num_heads=heads,
         past_present_share_buffer=1, want=[want[0], whole])

# DecoderMaskedMultiHeadAttention: ONNX Runtime wants the caches in a buffer.
for i in range(COUNT):
    heads, size, batch = pick(1, 2, 4), pick(4, 8), pick(1, 2, 3)
    hidden, past, keys = heads * size, pick(None, 1, 5), pick(1, 6)
    x = lambda: n(batch, 1, hidden)
    total = keys if past is None else past + 1
    mask = pick(None, f.integers(0, 2, batch, total, dtype=np.int32))
    free = pick(False, True)
    op, options = "DecoderMaskedMultiHeadAttention", dict(num_heads=heads)
    if past is None:  # keys of another sequence, which are a cache
        k, v = (n(batch, heads, keys, size) for _ in range(2))
        case(op, [x(), k, v, mask], dynamic=free, **options)
        continue
    bias = pick(None, n(3 * hidden))
    added = pick(None, n(pick(1, batch), heads, 1, total))
    buffers = [n(batch, heads, past + pick(1, 4), size) for _ in range(1)] * 2
    inputs = [x(), x(), x(), mask, added, *buffers, i32([past]), None, None,
              bias]
    want = plain_run(op, inputs, 3, past_present_share_buffer=1, **options)
    presents = [b.copy() for b in buffers]
    for p, w in zip(presents, want[1:]):  # it writes what is new only
        p[:, :, past] = w[:, :, past]
    case(op, inputs, outputs=3, past_present_share_buffer=1, dynamic=free,
         want=[want[0], *presents], **options)
    # The same with all in the query, and without a buffer.
    q = np.concatenate(inputs[:3], 2)
    inputs = [q, None, None, mask, added] + [
        np.ascontiguousarray(b[:, :, :past]) for b in buffers]
    inputs += [None, None, None, bias]
    case(op, inputs, outputs=3, dynamic=free, want=[
        want[0], *(p[:, :, :past + 1] for p in presents)], **options)

# QAttention
for i in range(COUNT):
    heads, size = pick(1, 2, 3), pick(4, 8)
    batch, rows, width = pick(1, 2), pick(1, 5), pick(4, 9)
    hidden, past = heads * size, pick(None, 3)
    x = f.integers(0, 256, batch, rows, width).astype(np.uint8)
    kind = pick(np.int8, np.uint8)
    low = np.iinfo(kind).min
    w = f.integers(low, low + 256, width, 3 * hidden).astype(kind)
    per = pick((), (1,), (3 * hidden,))
    scale = np.asarray(f.random.uniform(0.001, 0.01, per), np.float32)
    zero = np.asarray(f.integers(low + 100, low + 150, *per)).astype(kind)
    mask = mask_of(pick(None, "lengths", "keys"), batch, rows,
                   rows + (past or 0))
    cache = None if past is None else n(2, batch, heads, past, size)
    case("QAttention", [x, w, n(3 * hidden), np.array(0.01, np.float32), scale, mask,
                        np.array(131, np.uint8), zero, cache],
         outputs=1 if past is None else 2, dynamic=pick(False, [0]),
         constants=(1, 4, 7), num_heads=heads, unidirectional=pick(0, 1))
f.refused("MultiHeadAttention", [n(2, 3, 8), n(2, 3, 8), None], num_heads=2,
          domain="com.microsoft")
f.refused("Attention", [n(2, 3, 8), n(8, 20)], num_heads=2,
          domain="com.microsoft")
f.refused("Attention", [n(2, 3, 8), n(8, 24)], num_heads=2, do_rotary=1,
          domain="com.microsoft")

# Scores, and rows of the past that are of other beams.
beams = f.integers(0, 2, 2, 2, 8, dtype=np.int32)
kind = [np.float32] * 4
for free in False, True:
    f.case("MultiHeadAttention", [
        f.normal(2, 3, 32), f.normal(2, 5, 32), f.normal(2, 5, 32), None, None,
        f.normal(1, 2, 3, 5)], domain="com.microsoft", dynamic=free, outputs=4,
        result_types=kind, num_heads=2)
    new = [f.normal(4, 1, 32) for _ in range(3)]
    buffers = [f.normal(4, 2, 8, 16) for _ in range(2)]
    f.case("MultiHeadAttention", [
        *new, None, None, None, *buffers, np.array([3], np.int32), beams],
        domain="com.microsoft", dynamic=free, outputs=3, num_heads=2)
    for shown in 0, 1:
        f.case("DecoderMaskedMultiHeadAttention", [
            *new, None, f.normal(1, 2, 1, 4), *buffers, np.array([3], np.int32),
            np.array([2], np.int32), beams], domain="com.microsoft",
            dynamic=free, outputs=3 + shown, result_types=kind[:3 + shown],
            num_heads=2, past_present_share_buffer=1, output_qk=shown)
f.refused("MultiHeadAttention", [
    *new, *[None] * 6, beams], domain="com.microsoft", num_heads=2)
f.done()
