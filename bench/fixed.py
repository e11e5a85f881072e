"""A model as compilers with static sizes want it."""
import numpy as np
import onnx
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator


def _folded(graph):
    """Constants and ConstantOfShape become initializers, Dropout Identity."""
    known = {i.name: i for i in graph.initializer}
    kept, used = [], {i for n in graph.node for i in n.input}
    for node in graph.node:
        if node.op_type == "Dropout" and used.isdisjoint(node.output[1:]):
            node = onnx.helper.make_node("Identity", node.input[:1],
                                         node.output[:1])
        if node.op_type not in ("Constant", "ConstantOfShape") or \
                any(i not in known for i in node.input):
            kept.append(node)
            continue
        feeds = {i: numpy_helper.to_array(known[i]) for i in node.input}
        value, = ReferenceEvaluator(node).run(None, feeds)
        tensor = numpy_helper.from_array(np.asarray(value), node.output[0])
        graph.initializer.append(tensor)
        known[tensor.name] = tensor
    del graph.node[:]
    graph.node.extend(kept)


def fixed(path, inputs, opset):
    """The model with the sizes of the inputs, its opset at least `opset`."""
    model = onnx.load(path)
    if all(o.version < opset for o in model.opset_import
           if o.domain in ("", "ai.onnx")):
        model = onnx.version_converter.convert_version(model, opset)
    graph = model.graph
    _folded(graph)
    given = {i.name for i in graph.initializer}
    kept = [v for v in graph.input if v.name not in given]
    del graph.input[:]
    for value in kept:
        shape = value.type.tensor_type.shape
        for dim, size in zip(shape.dim, inputs[value.name].shape):
            dim.dim_value = size
        graph.input.append(value)
    del graph.value_info[:]
    for value in graph.output:  # their open sizes follow from the inputs'
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param:
                dim.Clear()
    model.ir_version = max(model.ir_version, 4)
    return onnx.shape_inference.infer_shapes(model, data_prop=True)
