"""GroupQueryAttention and RotaryEmbedding against ONNX Runtime; what its CPU
provider does not have, against the same computation in parts."""
import os

import numpy as np
import onnx
from harness import Family, alike, by_runtime, ferrule, model_of

f = Family("contrib_group_query", rtol=1e-3, atol=1e-4)
n = f.normal
pick = lambda *of: of[f.random.integers(len(of))]
COUNT = int(os.environ.get("FERRULE_CASES", 24))


def case(op, inputs, **options):
    f.case(op, inputs, domain="com.microsoft", **options)


def grouped(inputs, free, rtol=None, atol=None, outputs=3, **options):
    """Against ONNX Runtime; free: batch and lengths are open, sizes are not."""
    model = model_of("GroupQueryAttention", inputs, outputs=outputs,
                     dynamic=free, domain="com.microsoft", **options)
    for info in model.graph.input if free else ():
        i = int(info.name[2:])
        dims = info.type.tensor_type.shape.dim
        for d in range(len(dims)):
            if d == len(dims) - 1 or i in (3, 4) and d == 1:
                dims[d].dim_value = inputs[i].shape[d]
    feeds = {f"in{i}": a for i, a in enumerate(inputs) if a is not None}
    f.runs(f"GroupQueryAttention {free} {options}", model, [feeds], rtol=rtol,
           atol=atol)


for i in range(COUNT):
    kv_heads, size = pick(1, 2, 3), pick(8, 16, 16)
    heads = kv_heads * pick(1, 2, 4)
    batch = pick(1, 2, 3)
    prompt = pick(False, True)
    packed, rotary = pick(False, True), size % 16 == 0 and pick(False, True)
    past = f.integers(0, 6, batch) * (0 if prompt else 1)
    rows = pick(1, 3, 5)
    if not prompt:  # ONNX Runtime wants one row, or one sequence
        rows = 1 if batch > 1 else pick(1, 3)
    total = past + rows
    longest = int(total.max())
    buffer = pick(longest, longest, longest + 3)
    caches = [n(batch, kv_heads, buffer if buffer > longest else
                int(past.max()), size) for _ in range(2)]
    if prompt and pick(0, 1):
        caches = [None, None]
    q = n(batch, rows, heads * size)
    k, v = (n(batch, rows, kv_heads * size) for _ in range(2))
    if packed:
        q, k, v = np.concatenate([q, k, v], 2), None, None
    cos = sin = None
    if rotary:
        angles = f.random.uniform(-3, 3, (longest + 4, size // 2))
        cos, sin = (fn(angles).astype(np.float32) for fn in (np.cos, np.sin))
    inputs = [q, k, v] + caches + [(total - 1).astype(np.int32),
                                   np.array(longest, np.int32), cos, sin]
    options = dict(num_heads=heads, kv_num_heads=kv_heads)
    if rotary:
        options["do_rotary"] = 1
        options["rotary_interleaved"] = pick(0, 1)
    if pick(0, 0, 1):
        options["scale"] = 0.2
    if pick(0, 0, 1):
        options["softcap"] = 1.5
    if pick(0, 0, 1):
        options["local_window_size"] = pick(1, 2, 4)
    bias = pick(None, None, n(pick(1, batch), pick(1, heads), rows, longest))
    sink = None
    if pick(0, 0, 1):
        if pick(0, 1):
            options["smooth_softmax"] = 1
        else:
            sink = n(heads)
    ids = None
    if rotary and pick(0, 0, 1):
        ids = past[:, None] + np.arange(rows)[None]
    inputs += [ids, bias, sink]
    case("GroupQueryAttention", inputs, outputs=3, dynamic=pick(False, True),
         constants=pick((), (6,)), **options)

# Scores, before and after the softmax; hidden ones are zeros.
for shown in 1, 2:
    for more in {}, {"local_window_size": 2}, {"smooth_softmax": 1}, \
            {"softcap": 1.5}:
        case("GroupQueryAttention", [n(1, 4, 32), n(1, 4, 16), n(1, 4, 16)] +
             [n(1, 2, 2, 8)] * 2 + [np.array([5], np.int32),
                                    np.array(6, np.int32)],
             outputs=4, num_heads=4, kv_num_heads=2, qk_output=shown,
             dynamic=pick(False, True), **more)
# Halves, and caches of angles for a part of a head only.
for t in np.float32, np.float16:
    x = lambda *s: n(*s).astype(t)
    angles = f.random.uniform(-3, 3, (9, 8))
    cos, sin = (fn(angles).astype(t) for fn in (np.cos, np.sin))
    case("GroupQueryAttention",
         [x(2, 1, 128), x(2, 1, 64), x(2, 1, 64), x(2, 2, 6, 32),
          x(2, 2, 6, 32), np.array([3, 5], np.int32), np.array(6, np.int32),
          cos, sin], outputs=3, num_heads=4, kv_num_heads=2, do_rotary=1,
         constants=[7, 8], rtol=1e-2 if t == np.float16 else 1e-3,
         atol=1e-2 if t == np.float16 else 1e-4)
# A padded prompt: what belongs to padding is not compared.
lens = np.array([2, 3], np.int32)
inputs = [n(2, 4, 32), n(2, 4, 16), n(2, 4, 16), None, None, lens,
          np.array(4, np.int32)]
model = model_of("GroupQueryAttention", inputs, outputs=3,
                 domain="com.microsoft", num_heads=4, kv_num_heads=2)
feeds = {f"in{i}": a for i, a in enumerate(inputs) if a is not None}
want = by_runtime(model, feeds)
onnx.save(model, f.path)
got = list(ferrule.load(f.path).run(feeds).values())
for b in range(2):
    there = lens[b] + 1
    ok = len(got) == len(want) and got[1].shape == want[1].shape and alike(
        [got[0][b, :there], got[1][b, :, :there], got[2][b, :, :there]],
        [want[0][b, :there], want[1][b, :, :there], want[2][b, :, :there]])
    f.passed += ok
    f.failed += not ok

# Bidirectional, norms of the heads, chunks padded at the right: in parts.
def attend(q, k, v, allowed):
    """[batch][heads][..], allowed [batch][rows][keys]"""
    s = q @ k.swapaxes(2, 3) / np.sqrt(q.shape[3])
    s = np.where(allowed[:, None], s, -np.inf)
    p = np.exp(s - s.max(3, keepdims=True))
    return (p / p.sum(3, keepdims=True)) @ v


def heads_of(x, size):
    b, s, w = x.shape
    return x.reshape(b, s, w // size, size).swapaxes(1, 2)


for free in False, True:
    batch, rows, heads, kv_heads, size = 2, 3, 4, 2, 8
    q, k, v = n(batch, rows, 32), n(batch, rows, 16), n(batch, rows, 16)
    past = n(batch, kv_heads, 6, size), n(batch, kv_heads, 6, size)
    norms = n(size), n(size)
    new = np.array([2, 3], np.int32)
    ends = np.array([4, 6], np.int32)
    rms = lambda x, w: x / np.sqrt((x * x).mean(3, keepdims=True) + 1e-6) * w
    qh, kh = rms(heads_of(q, size), norms[0]), rms(heads_of(k, size), norms[1])
    vh = heads_of(v, size)
    present = [np.zeros((batch, kv_heads, 6, size), np.float32)
               for _ in range(2)]
    for b in range(batch):
        at = ends[b] - new[b]
        for p, old, fresh in zip(present, past, (kh, vh)):
            p[b, :, :at] = old[b, :, :at]
            p[b, :, at:ends[b]] = fresh[b, :, :new[b]]
    row = (ends - new)[:, None, None] + np.arange(rows)[None, :, None]
    allowed = np.arange(6)[None, None] <= row
    wide = [np.repeat(p, 2, 1) for p in present]
    y = attend(qh, *wide, allowed).swapaxes(1, 2).reshape(batch, rows, 32)
    inputs = [q, k, v, *past, ends - 1, np.array(6, np.int32)]
    inputs += [None] * 7 + [*norms, new]
    case("GroupQueryAttention", inputs, outputs=3, dynamic=free, num_heads=4,
         kv_num_heads=2, want=[y.astype(np.float32), *present])

# Many rows, keys in several blocks, caches longer than what is valid, of each
# type that they may have; heads that share nothing, and a prime number of them.
for heads, kv_heads, size, rows, past, room in (
        (8, 2, 64, 70, 0, 900), (6, 6, 40, 3, 1200, 1300),
        (7, 1, 128, 1, 700, 701), (4, 2, 32, 300, 0, 300)):
    for t in np.float32, np.float16:
        for more in {}, {"local_window_size": 37}, {"softcap": 2.0}:
            x = lambda *s: n(*s).astype(t)
            total = past + rows
            for free in False, True:
                grouped([x(1, rows, heads * size), x(1, rows, kv_heads * size),
                         x(1, rows, kv_heads * size), x(1, kv_heads, room, size),
                         x(1, kv_heads, room, size),
                         np.array([total - 1], np.int32),
                         np.array([total], np.int32)], free,
                        num_heads=heads, kv_num_heads=kv_heads,
                        rtol=1e-2 if t == np.float16 else 1e-3,
                        atol=1e-2 if t == np.float16 else 1e-4, **more)

# Caches that are inputs and outputs in one buffer: only the new rows are
# written, and what lies behind them stays.
inputs = [n(2, 1, 32), n(2, 1, 16), n(2, 1, 16), n(2, 2, 9, 8), n(2, 2, 9, 8),
          np.array([3, 6], np.int32), np.array(7, np.int32)]
for free in False, [0, 1, 2, 3, 4], [5, 6]:
    model = model_of("GroupQueryAttention", inputs, outputs=3, dynamic=free,
                     domain="com.microsoft", num_heads=4, kv_num_heads=2)
    feeds = {f"in{i}": a.copy() for i, a in enumerate(inputs)}
    want = by_runtime(model, feeds)
    onnx.save(model, f.path)
    compiled = ferrule.load(f.path)
    run = compiled.prepare(feeds)
    for i in 1, 2:
        run.outputs[i].data = run.inputs[2 + i].data
        run.outputs[i].capacity = feeds[f"in{2 + i}"].nbytes
    compiled.run_prepared(run)
    got = ferrule._value(run.outputs[0])
    caches = [ferrule._value(run.outputs[i]) for i in (1, 2)]
    ok = alike(got, want[0])
    for cache, old, new in zip(caches, inputs[3:5], want[1:]):
        for b, at in enumerate(inputs[5]):
            ok &= np.array_equal(cache[b, :, at], new[b, :, at])
            ok &= np.array_equal(cache[b, :, :at], old[b, :, :at])
            ok &= np.array_equal(cache[b, :, at + 1:], old[b, :, at + 1:])
    f.passed += ok
    f.failed += not ok
    if not ok:
        print("FAILED caches in one buffer")

# Quantized caches. Rounding of a new row may fall either way.
for bits, mode, past, rows in (
        (8, "PER_TENSOR", 5, 1), (8, "PER_CHANNEL", 3, 2), (4, "PER_TENSOR", 4, 1),
        (4, "PER_CHANNEL", 2, 3), (8, "PER_CHANNEL", 0, 4),
        (4, "PER_TENSOR", 0, 4)):
    for free in False, True:
        batch, heads, kv_heads, size = 1 if rows > 1 else 2, 4, 2, 16
        total, room = past + rows, past + rows + 2
        cache = (lambda: f.integers(-128, 128, batch, kv_heads, room, size,
                                    dtype=np.int8)) if bits == 8 else \
            (lambda: f.integers(0, 256, batch, kv_heads, room, size // 2,
                                dtype=np.uint8))
        shape = [1] if mode == "PER_TENSOR" else [1, kv_heads, 1, size]
        scale = lambda: (f.random.uniform(.5, 1, shape) *
                         (.02 if bits == 8 else .3)).astype(np.float32)
        grouped([n(batch, rows, heads * size), n(batch, rows, kv_heads * size),
                 n(batch, rows, kv_heads * size), cache(), cache(),
                 np.array([total - 1] * batch, np.int32),
                 np.array([total], np.int32), *[None] * 5, scale(), scale()],
                free, num_heads=heads, kv_num_heads=kv_heads, k_quant_type=mode,
                v_quant_type=mode, kv_cache_bit_width=bits, result_types=[
                    np.float32] + [np.int8 if bits == 8 else np.uint8] * 2)

# Scores beside quantized caches.
for shown in 1, 2:
    for bits in 4, 8:
        for free in False, True:
            cache = (lambda: f.integers(-128, 128, 1, 2, 8, 16, dtype=np.int8)) \
                if bits == 8 else \
                (lambda: f.integers(0, 256, 1, 2, 8, 8, dtype=np.uint8))
            step = np.array([.02 if bits == 8 else .3], np.float32)
            grouped([n(1, 2, 64), n(1, 2, 32), n(1, 2, 32), cache(), cache(),
                     np.array([5], np.int32), np.array([6], np.int32),
                     *[None] * 5, step, step], free, outputs=4, num_heads=4,
                    kv_num_heads=2, k_quant_type="PER_TENSOR",
                    v_quant_type="PER_TENSOR", kv_cache_bit_width=bits,
                    qk_output=shown, result_types=[
                        np.float32] + [cache().dtype] * 2 + [np.float32])

# Caches of the window's size, or longer, step by step: rows that they hold.
def held(total, room, window):
    gap = room - window + 1
    return total - gap * -(-max(0, total - room) // gap)


for room, window, steps in (6, 6, (4, 1, 1, 1, 5, 1)), (9, 5, (7, 1, 1, 1, 1, 12)), \
        (4, 3, (1,) * 7):
    caches, total = [n(1, 2, room, 8), n(1, 2, room, 8)], 0
    for rows in steps:
        total += rows
        inputs = [n(1, rows, 32), n(1, rows, 16), n(1, rows, 16), *caches,
                  np.array([total - 1], np.int32), np.array([total], np.int32)]
        model = model_of("GroupQueryAttention", inputs, outputs=3, num_heads=4,
                         domain="com.microsoft", kv_num_heads=2,
                         sliding_window_cache=1, local_window_size=window,
                         dynamic=[5, 6])
        feeds = {f"in{i}": a for i, a in enumerate(inputs)}
        want = by_runtime(model, feeds)
        onnx.save(model, f.path)
        got = list(ferrule.load(f.path).run(feeds).values())
        there = held(total, room, window)
        ok = len(got) == len(want) and alike(got[0], want[0]) and all(
            g.shape == w.shape and
            alike(g[:, :, :there], w[:, :, :there], 0, 0)
            for g, w in zip(got[1:], want[1:]))
        f.passed += ok
        f.failed += not ok
        if not ok:
            print("FAILED sliding caches", room, window, total, rows)
        caches = want[1:]
f.refused("GroupQueryAttention", [n(1, 1, 32), n(1, 1, 16), n(1, 1, 16)] +
          [n(1, 2, 4, 8)] * 2 + [np.array([4], np.int32), np.array(5, np.int32)],
          domain="com.microsoft", num_heads=4, kv_num_heads=2,
          sliding_window_cache=1, local_window_size=5)
f.refused("GroupQueryAttention", [n(1, 1, 32), n(1, 1, 16), n(1, 1, 16)] +
          [n(1, 2, 4, 8)] * 2 + [np.array([4], np.int32), np.array(5, np.int32)],
          domain="com.microsoft", num_heads=3, kv_num_heads=2)

ids = np.array([[2, 0, 1], [4, 3, 3]])
for interleaved in 0, 1:
    for free in False, True:
        options = dict(interleaved=interleaved, dynamic=free)
        cache = [n(6, 4), n(6, 4)]
        case("RotaryEmbedding", [n(2, 3, 32), ids] + cache, **options)
        case("RotaryEmbedding", [n(2, 4, 3, 8), ids] + cache, **options)
        case("RotaryEmbedding", [n(2, 3, 32), np.array([2])] + cache, **options)
        case("RotaryEmbedding", [n(2, 4, 3, 8), np.array([1])] + cache,
             scale=0.5, **options)
        case("RotaryEmbedding", [n(2, 3, 40), ids] + cache, num_heads=4,
             rotary_embedding_dim=8, **options)

# Three positions for each token.
ids = f.integers(0, 6, 3, 2, 3)
for layout in 0, 1:
    for interleaved in 0, 1:
        for free in False, True:
            options = dict(interleaved=interleaved, dynamic=free,
                           mrope_layout=layout)
            case("MRotaryEmbedding", [n(2, 3, 32), ids, n(6, 8), n(6, 8)],
                 num_heads=2, mrope_section=[4, 2, 2], **options)
            case("MRotaryEmbedding", [n(2, 2, 3, 16), ids, n(6, 8), n(6, 8)],
                 mrope_section=[3, 3, 2], **options)
            case("MRotaryEmbedding", [n(2, 3, 40), ids, n(6, 4), n(6, 4)],
                 num_heads=2, rotary_embedding_dim=8, mrope_section=[1, 1, 2],
                 **options)
for bad in dict(mrope_section=[1, 2]), dict(mrope_section=[4, 2, 1]), \
        dict(mrope_section=[9, -1, 0]), dict(mrope_section=[4, 2, 2],
                                             mrope_layout=2):
    f.refused("MRotaryEmbedding", [n(2, 3, 32), ids, n(6, 8), n(6, 8)],
              domain="com.microsoft", num_heads=2, **bad)
f.refused("MRotaryEmbedding", [n(2, 3, 32), ids, n(6, 8), n(6, 8)],
          domain="com.microsoft", mrope_section=[2**31 - 1] * 3, dynamic=True)
f.done()
