"""Models of cases: of one, or of many in one to save compiling."""
import dataclasses
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from draw import NUMBERS, mapped, schema_of

WRONGLY_INFERRED = "RMSNormalization",  # the type is that of the scale
HALVES = (TensorProto.FLOAT16, TensorProto.BFLOAT16)


def widened(case, to=TensorProto.FLOAT):
    """The case's values with halves as f32, or all smaller floats as f64; None
    when there are none."""
    small = HALVES if to == TensorProto.FLOAT else \
        HALVES + (TensorProto.FLOAT,)
    if not case.wide or not any(v.type in small for v in case.values):
        return None
    kind = helper.tensor_dtype_to_np_dtype(to)
    return [dataclasses.replace(
        v, type=to, array=mapped(v.array, lambda a: a.astype(kind)))
        if v.type in small else v for v in case.values]


def model_of(cases, values=None):
    """One model of all the cases, which have the same opset; `values` instead
    of the case's own."""
    nodes, inputs, outputs, constants = [], [], [], []
    for case in cases:
        nodes += case.nodes
        outputs += [helper.make_value_info(o, case.declared[o])
                    if o in case.declared
                    else helper.make_empty_tensor_value_info(o)
                    for o in case.outputs]
        for v in values or case.values:
            if v.dims is None:
                constants.append(numpy_helper.from_array(v.array, v.name))
            else:
                inputs.append(helper.make_value_info(v.name, v.proto()))
    opsets = [helper.make_opsetid("", cases[0].opset)]
    if cases[0].domain:
        opsets = [helper.make_opsetid("", onnx.defs.onnx_opset_version()),
                  helper.make_opsetid(cases[0].domain, cases[0].opset)]
    # Below 4, an initializer would have to be an input too.
    version = max(4, helper.find_min_ir_version_for(opsets, True))
    graph = helper.make_graph(nodes, "differential", inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=opsets, ir_version=version)


def element_type(proto):
    """Of the tensors in a value of this type; 0: not known."""
    kind = proto.WhichOneof("value")
    if kind in ("sequence_type", "optional_type"):
        return element_type(getattr(proto, kind).elem_type)
    return proto.tensor_type.elem_type


def output_types(case):
    """Element types of the results: as the standard infers them, else what its
    signature says; 0: not known."""
    schema = schema_of(case.op, case.opset, case.domain)
    asked = [k for k, name in enumerate(case.nodes[0].output) if name]
    named = [schema.outputs[min(k, len(schema.outputs) - 1)].type_str
             for k in asked]
    signature = [case.types.get(t, NUMBERS.get(t[7:-1], 0)) for t in named]
    if case.op in WRONGLY_INFERRED:
        return signature
    if len(case.nodes) > 1 or len(signature) != len(case.outputs):
        signature = [0] * len(case.outputs)
    try:
        model = onnx.shape_inference.infer_shapes(model_of([case]))
    except Exception:  # its inference is wrong or has gaps
        return signature
    return [element_type(o.type) or s
            for o, s in zip(model.graph.output, signature)]


def save(case, want, folder):
    """As the standard's test data: model.onnx, test_data_set_0."""
    data = os.path.join(folder, "test_data_set_0")
    os.makedirs(data, exist_ok=True)
    onnx.save(model_of([case]), os.path.join(folder, "model.onnx"))
    feeds = [(v.name, v.array) for v in case.values if v.dims is not None]
    results = list(zip(case.outputs, want or []))
    optional = {v.name for v in case.values if v.of[:1] == ("optional",)}
    for kind, held in ("input", feeds), ("output", results):
        for i, (name, value) in enumerate(held):
            if name in optional or value is None:
                proto = numpy_helper.from_optional(value, name)
            elif isinstance(value, dict):
                proto = numpy_helper.from_dict(value, name)
            elif isinstance(value, list):
                proto = numpy_helper.from_list(value, name)
            else:
                proto = numpy_helper.from_array(value, name)
            with open(os.path.join(data, f"{kind}_{i}.pb"), "wb") as f:
                f.write(proto.SerializeToString())
