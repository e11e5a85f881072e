"""Elements narrower than what they are computed as: nothing is written beside
them, whatever remains behind the last whole vector."""
import ctypes

import ml_dtypes
import numpy as np
import onnx
from harness import Family, ferrule
from onnx import TensorProto as T
from onnx import helper
from onnx.reference import ReferenceEvaluator

f = Family("narrow_tails")
GUARD = 64
LENGTHS = [*range(1, 36), 47, 65]
bf16 = ml_dtypes.bfloat16


def info(name, number, shape):
    return helper.make_tensor_value_info(name, number, shape)


def check(what, nodes, inputs, outputs, feeds):
    """Results in buffers of their size, in front of bytes that must stay."""
    model = helper.make_model(
        helper.make_graph(nodes, what, inputs, outputs), ir_version=10,
        opset_imports=[helper.make_opsetid("", 23)])
    want = ReferenceEvaluator(model).run(None, feeds)
    onnx.save(model, f.path)
    compiled = ferrule.load(f.path)
    run = compiled.prepare(feeds)
    buffers = []
    for i, w in enumerate(want):
        buffers.append(np.full(w.nbytes + GUARD, 0xA5, np.uint8))
        run.outputs[i].data = buffers[-1].ctypes.data_as(ctypes.c_void_p)
        run.outputs[i].capacity = w.nbytes
    compiled.run_prepared(run)
    for w, b, o in zip(want, buffers, outputs):
        got = b[:w.nbytes].view(w.dtype).reshape(w.shape)
        ok = (b[w.nbytes:] == 0xA5).all() and np.allclose(
            got.astype(np.float32), w.astype(np.float32), 2e-2, 2e-2)
        f.passed += bool(ok)
        f.failed += not ok
        if not ok:
            print("FAILED", what, o.name, w.shape,
                  b[w.nbytes:w.nbytes + 8])


for to in T.BFLOAT16, T.FLOAT16, T.INT8, T.UINT8, T.INT16:
    nodes, inputs, outputs, feeds = [], [], [], {}
    for n in LENGTHS:
        for rows in 1, 3:
            x, y = f"x{n}_{rows}", f"y{n}_{rows}"
            nodes.append(helper.make_node("Cast", [x], [y], to=to))
            inputs.append(info(x, T.FLOAT, [rows, n]))
            outputs.append(info(y, to, [rows, n]))
            feeds[x] = f.random.uniform(0, 90, (rows, n)).astype(np.float32)
    check(f"cast {to}", nodes, inputs, outputs, feeds)

# Two halves of a row, of which the second is written in the same loop.
for number, kind in (T.BFLOAT16, bf16), (T.FLOAT16, np.float16):
    nodes, inputs, outputs, feeds = [], [], [], {}
    for n in LENGTHS:
        names = [f"{k}{n}" for k in "xcsy"]
        nodes.append(helper.make_node("RotaryEmbedding", names[:3], names[3:]))
        shapes = [1, 2, 2, 2 * n], [1, 2, n], [1, 2, n], [1, 2, 2, 2 * n]
        infos = [info(*pair) for pair in zip(names, [number] * 4, shapes)]
        inputs += infos[:3]
        outputs.append(infos[3])
        feeds.update((name, f.normal(*shape).astype(kind))
                     for name, shape in zip(names[:3], shapes))
    check(f"rotary {number}", nodes, inputs, outputs, feeds)
f.done()
