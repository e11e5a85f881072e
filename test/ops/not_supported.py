"""Operators that are refused: the message says what can be done instead."""
import numpy as np
import onnx
from harness import Family, helper

import ferrule

f = Family("not_supported")
ORT = "com.microsoft"


def refused(op, domain, part, **attributes):
    x = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [2])
    node = helper.make_node(op, ["x"], ["y"], "the node", domain=domain,
                            **attributes)
    onnx.save(helper.make_model(helper.make_graph(
        [node], "g", [x], [helper.make_empty_tensor_value_info("y")]),
        opset_imports=[helper.make_opsetid("", 20),
                       helper.make_opsetid(domain, 1)], ir_version=10), f.path)
    try:
        ferrule.load(f.path).run({"x": np.zeros(2, np.float32)})
        f.fail(op, "was accepted")
    except ferrule.Error as e:
        if all(t in str(e) for t in (op, "the node", part)):
            f.passed += 1
        else:
            f.fail(op, str(e))


body = helper.make_graph([], "decoder", [], [])
for op in "BeamSearch", "WhisperBeamSearch", "GreedySearch", "Sampling":
    refused(op, ORT, "'decoder'", decoder=body)
refused("SoftmaxGrad", ORT, "Gradient")
refused("EPContext", ORT, "execution provider")
refused("Conv", "com.microsoft.nchwc", "ORT_ENABLE_EXTENDED")
refused("Conv", "com.ms.internal.nhwc", "ORT_ENABLE_EXTENDED")
refused("ATen", "org.pytorch.aten", "without a fallback")
refused("BertTokenizer", "ai.onnx.contrib", "onnxruntime-extensions")
refused("NobodyKnows", ORT, "docs/operators.md")
refused("Anything", "somebody.else", "add a function")
f.done()
