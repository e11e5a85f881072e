"""Scan of opset 8, a batch of sequences of different lengths."""
import numpy as np
import onnx
from harness import Family, by_runtime, helper

import ferrule

f = Family("scan_batches")
FLOAT, INT64 = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64


def value(name, kind, shape):
    return helper.make_tensor_value_info(name, kind, shape)


def model(directions, lengths=True, open_sizes=True, batch=3, steps=4,
          apart=False):
    """A state, two scanned inputs, results of two ranks. apart: no size has the
    same name as another."""
    body = helper.make_graph(
        [helper.make_node("Add", ["s", "x"], ["t"]),
         helper.make_node("Mul", ["t", "k"], ["y"]),
         helper.make_node("ReduceSum", ["y"], ["z"], keepdims=0)], "body",
        [value("s", FLOAT, [2]), value("x", FLOAT, [2]), value("k", FLOAT, [])],
        [value("t", FLOAT, [2]), value("y", FLOAT, [2]), value("z", FLOAT, [])])
    scan = helper.make_node("Scan", ["n" if lengths else "", "h", "a", "b"],
                            ["f", "ys", "zs"], num_scan_inputs=2, body=body,
                            directions=directions)
    B, S = ("B", "S") if open_sizes else (batch, steps)
    infos = [value("h", FLOAT, [B, 2]), value("a", FLOAT, [B, S, 2]),
             value("b", FLOAT, [B, S])]
    if lengths:
        infos.insert(0, value("n", INT64, [B]))
    if apart:
        for i in infos:
            for k, d in enumerate(i.type.tensor_type.shape.dim):
                if d.dim_param:
                    d.dim_param = f"{i.name}{k}"
    return helper.make_model(
        helper.make_graph([scan], "g", infos, [
            helper.make_empty_tensor_value_info(n) for n in ("f", "ys", "zs")]),
        opset_imports=[helper.make_opsetid("", 8)], ir_version=4)


def feeds(lengths, steps):
    n = np.array(lengths)
    return {"n": n, "h": f.normal(len(n), 2), "a": f.normal(len(n), steps, 2),
            "b": f.normal(len(n), steps)}


CASES = (([4, 4, 4], 4), ([2, 4, 1], 4), ([1], 1), ([3, 7], 7),
         ([20, 1, 33, 40], 40))
for directions in [0, 0], [1, 1], [0, 1]:
    f.runs(f"lengths, {directions}", model(directions),
           [feeds(n, s) for n, s in CASES])
    f.runs(f"all, {directions}", model(directions, lengths=False),
           [{k: v for k, v in feeds(n, s).items() if k != "n"}
            for n, s in CASES])
    f.runs(f"fixed sizes, {directions}", model(directions, open_sizes=False),
           [feeds([2, 4, 1], 4), feeds([4, 3, 4], 4)])
# An empty sequence, which ONNX Runtime refuses: the state as it was, zeros.
given = feeds([2, 0, 3], 3)
some = {k: v[::2].copy() for k, v in given.items()}
want = [np.insert(w, 1, 0, axis=0) for w in by_runtime(model([0, 1]), some)]
want[0][1] = given["h"][1]
f.runs("an empty sequence", model([0, 1]), [given], want=[want])
# Longer than there is, or negative.
onnx.save(model([0, 0]), f.path)
compiled = ferrule.load(f.path)
for lengths in [5, 1, 1], [4, 4, -1]:
    try:
        compiled.run(feeds(lengths, 4))
        f.fail(f"lengths {lengths}", "were accepted")
    except ferrule.Error as e:
        if "sequence_lens" in str(e):
            f.passed += 1
        else:
            f.fail(f"lengths {lengths}", str(e))
# Sizes that do not fit together, which only the run knows.
onnx.save(model([0, 0], apart=True), f.path)
compiled = ferrule.load(f.path)
for name, part in dict(n="sequence_lens", h="batch", b="batch").items():
    given = feeds([4, 2, 3], 4)
    given[name] = given[name][:2].copy()
    try:
        compiled.run(given)
        f.fail(f"two of {name}", "were accepted")
    except ferrule.Error as e:
        if part in str(e):
            f.passed += 1
        else:
            f.fail(f"two of {name}", str(e))
f.done()
