"""Loop without iterations: what is stacked has no elements, of the size that
follows from what is outside the loop; and the same models with iterations."""
import numpy as np
import onnx
from harness import Family, helper

f = Family("loop_of_nothing")
FLOAT, INT64, BOOL = (onnx.TensorProto.FLOAT, onnx.TensorProto.INT64,
                      onnx.TensorProto.BOOL)
ANY = helper.make_empty_tensor_value_info


def model(body, feeds, before=(), free=True, results=("y", "z")):
    """Carries h; stacks what the body calls out. i: the iteration."""
    graph = helper.make_graph(
        [*body, helper.make_node("Identity", ["c"], ["go"])], "body",
        [helper.make_tensor_value_info("i", INT64, []),
         helper.make_tensor_value_info("c", BOOL, []), ANY("s")],
        [ANY("go"), ANY("t"), ANY("out")])
    infos = [helper.make_tensor_value_info(
        n, helper.np_dtype_to_tensor_dtype(a.dtype)
        if a.dtype != object else onnx.TensorProto.STRING,
        [f"{n}{k}" for k in range(a.ndim)] if free else a.shape)
        for n, a in feeds.items()]
    return helper.make_model(helper.make_graph(
        [*before, helper.make_node("Loop", ["n", "", "h"], list(results),
                                   body=graph)],
        "g", infos, [ANY(r) for r in results]),
        opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def node(op, inputs, output, **attributes):
    return helper.make_node(op, inputs, [output], **attributes)


def check(what, body, feeds, step, before=(), element=None):
    """step: of the state and the iteration, gives both again."""
    for free in True, False:
        several, want = [], []
        for trips in 0, 1, 40:
            several.append({"n": np.array(trips), **feeds})
            state, stacked = feeds["h"], []
            for i in range(trips):
                state, out = step(state, i)
                stacked.append(out)
            shape = element if element else step(feeds["h"], 0)[1].shape
            want.append([state, np.stack(stacked) if stacked else np.zeros(
                (0, *shape), step(feeds["h"], 0)[1].dtype)])
        f.runs(f"{what}, free={free}", model(body, several[0], before, free),
               several, want=want)


h, w = f.normal(3, 4), f.normal(4, 5)
# As large as what is carried, as what is outside, as a product of both.
check("the state", [node("Tanh", ["s"], "t"), node("Neg", ["t"], "out")],
      {"h": h}, lambda s, i: (np.tanh(s), -np.tanh(s)))
check("a product", [node("Tanh", ["s"], "t"),
                    node("MatMul", ["t", "w"], "p"),
                    node("Transpose", ["p"], "out", perm=[1, 0])],
      {"h": h, "w": w}, lambda s, i: (np.tanh(s), (np.tanh(s) @ w).T))
check("from outside", [node("Tanh", ["s"], "t"), node("Neg", ["w"], "out")],
      {"h": h, "w": w}, lambda s, i: (np.tanh(s), -w))
# As many as only the run counts, but before the loop.
mask = np.array([1., 0, 2, 0, 3], np.float32)
check("counted", [node("Tanh", ["s"], "t"), node("Abs", ["q"], "out")],
      {"h": h, "w": mask}, lambda s, i: (np.tanh(s), np.array([[0, 2, 4]])),
      before=[node("NonZero", ["w"], "q")])
# Strings.
words = np.array(["a", "", "longer than the others"], object)
check("strings", [node("Tanh", ["s"], "t"),
                  node("Identity", ["w"], "out")],
      {"h": h, "w": words}, lambda s, i: (np.tanh(s), words))
# Larger each time: nothing outside is as large.
check("growing", [node("Concat", ["s", "s"], "t", axis=0),
                  node("ReduceSum", ["t"], "out", keepdims=0)],
      {"h": f.normal(0, 4)}, lambda s, i: (np.concatenate([s, s]), s.sum()))
f.done()
