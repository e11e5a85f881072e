"""SparseAttention against ONNX Runtime, which wants past and present in one
buffer."""
import numpy as np
import onnx
import onnxruntime
from harness import Family, ferrule, model_of
from onnxruntime import OrtValue

f = Family("contrib_sparse")
n = f.normal
# Of each head, the blocks of keys that a block of queries sees.
LAYOUTS = [[[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0], [0, 1, 1, 1]],
           [[1, 0, 0, 0], [0, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 1]]]


def compressed(layouts):
    rows = [[0, *np.cumsum(np.sum(a, 1))] for a in layouts]
    width = max(r[-1] for r in rows)
    columns = [np.nonzero(a)[1].tolist() for a in layouts]
    columns = [c + [-1] * (width - len(c)) for c in columns]
    return np.array(rows, np.int32), np.array(columns, np.int32)


def by_runtime(model, feeds):
    session = onnxruntime.InferenceSession(model.SerializeToString())
    binding = session.io_binding()
    values = {k: OrtValue.ortvalue_from_numpy(a.copy()) for k, a in feeds.items()}
    for k, v in values.items():
        binding.bind_ortvalue_input(k, v)
    binding.bind_output("out0")
    binding.bind_ortvalue_output("out1", values["in3"])
    binding.bind_ortvalue_output("out2", values["in4"])
    session.run_with_iobinding(binding)
    return binding.copy_outputs_to_cpu()


def compare(inputs, free, **attributes):
    model = model_of("SparseAttention", inputs, outputs=3,
                     domain="com.microsoft", dynamic=free, **attributes)
    feeds = {f"in{i}": a for i, a in enumerate(inputs) if a is not None}
    want = by_runtime(model, feeds)
    onnx.save(model, f.path)
    got = ferrule.load(f.path).run(feeds)
    if f.agree(f"{[a is not None and a.shape for a in inputs]} {free} "
               f"{attributes}", want, got, 1e-3, 1e-4):
        f.passed += 1


at = 0
for count in 1, 2:
    blocks = compressed(LAYOUTS[:count])
    for past, rows in (0, 60), (0, 17), (37, 1), (15, 2), (47, 17):
        for packed in False, True:
            free, rotary, groups = at % 2, at // 2 % 2, 2
            heads, at = 4 if at % 3 else 2, at + 1
            total = np.array([past + rows, max(past, 5) + rows]
                             if past else [rows, rows], np.int32)
            q = n(2, rows, heads * 16)
            k, v = n(2, rows, groups * 16), n(2, rows, groups * 16)
            if packed:
                q, k, v = np.concatenate([q, k, v], 2), None, None
            inputs = [q, k, v, n(2, groups, 64, 16), n(2, groups, 64, 16),
                      *blocks, total.max(keepdims=True), total]
            if rotary:
                inputs += [n(64, 8), n(64, 8)]
            compare(inputs, bool(free), num_heads=heads, kv_num_heads=groups,
                    sparse_block_size=16, **(dict(
                        do_rotary=1, rotary_interleaved=int(packed))
                        if rotary else {}))
x, blocks = n(1, 3, 48), compressed(LAYOUTS)
last = np.array([3], np.int32)
for bad in dict(num_heads=3), dict(sparse_block_size=0), dict(do_rotary=1):
    attributes = dict(num_heads=2, kv_num_heads=1, sparse_block_size=16)
    attributes.update(bad)
    f.refused("SparseAttention", [n(1, 3, 32), n(1, 3, 16), n(1, 3, 16),
                                  n(1, 1, 64, 16), n(1, 1, 64, 16), *blocks,
                                  last, last], domain="com.microsoft",
              outputs=3, **attributes)
# No queries, and more heads than there can be.
k, v = n(1, 1, 64, 16), n(1, 1, 64, 16)
for free in False, True:
    inputs = [n(1, 0, 32), n(1, 0, 16), n(1, 0, 16), k, v, *blocks, last, last]
    f.case("SparseAttention", inputs, domain="com.microsoft", outputs=3,
           dynamic=free, want=[inputs[0], k, v], num_heads=2, kv_num_heads=1,
           sparse_block_size=16)
    f.refused("SparseAttention", inputs, domain="com.microsoft", outputs=3,
              dynamic=free, num_heads=2**62, kv_num_heads=1,
              sparse_block_size=16)
f.done()
