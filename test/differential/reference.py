"""What a case's results should be: by ONNX Runtime, else by onnx itself."""
import dataclasses
import os

os.environ["ALLOW_RELEASED_ONNX_OPSET_ONLY"] = "0"
import numpy as np  # noqa: E402
import onnx  # noqa: E402
import onnxruntime  # noqa: E402
from onnx import (TensorProto, numpy_helper,  # noqa: E402
                  version_converter)
from onnx.reference import ReferenceEvaluator  # noqa: E402

from draw import BYTES, COMPLEX, SMALL, mapped, numpy_type  # noqa: E402
from model import HALVES, model_of, output_types, widened  # noqa: E402

onnxruntime.set_default_logger_severity(4)


def _runtime(model, feeds):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = \
        onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def _converted(model, feeds):
    """A model of an opset that nothing runs any more, in a newer one."""
    if model.opset_import[0].domain or model.opset_import[0].version > 9:
        raise NotImplementedError("new enough")
    return _runtime(version_converter.convert_version(model, 13), feeds)


def _onnx(model, feeds):
    # The evaluator takes a condition that is not there as false.
    for node in model.graph.node:
        if node.op_type == "Loop" and not node.input[1]:
            node.input[1] = "begin"
            if not any(i.name == "begin" for i in model.graph.initializer):
                model.graph.initializer.append(
                    numpy_helper.from_array(np.array(True), "begin"))
    with np.errstate(all="ignore"):
        return ReferenceEvaluator(model).run(None, feeds)


PROGRAMS = {"ONNX Runtime": _runtime, "converted": _converted, "onnx": _onnx}


# Operators whose implementation in onnx's evaluator is wrong in general.
NOT_BY_ONNX = {
    "StringNormalizer": "drops strings that are empty",
    "QLinearConv": "the result has a dim too many",
    "LinearClassifier": "no transform, labels by rounding",
    "RNN": "ignores sequence_lens, activations, direction",
    "GRU": "ignores sequence_lens, activations, direction",
    "LSTM": "ignores sequence_lens, activations, direction",
}


def _feeds(values):
    return {v.name: v.array for v in values if v.dims is not None}


def _rounded(case, arrays, types):
    """Results of wider types in those that they should have."""
    halves = {v.type for v in case.values if v.type in HALVES}

    def rounded(a, t):
        a = np.asarray(a)
        if not t and case.wide and len(halves) == 1 and a.dtype == np.float32:
            (t,) = halves
        kind = numpy_type(t) if t else object if a.dtype.kind == "U" \
            else a.dtype
        with np.errstate(all="ignore"):
            if a.dtype.kind == "O" and t == TensorProto.STRING:
                a = np.asarray(  # filled with 0
                    np.frompyfunc(lambda v: v or "", 1, 1)(a), object)
            bits = t in SMALL and a.dtype == np.uint8  # from ONNX Runtime
            return a.view(kind) if bits else a.astype(kind)
    return [mapped(a, lambda a: rounded(a, t)) for a, t in zip(arrays, types)]


def results(case, programs=tuple(PROGRAMS)):
    """(program, arrays) of the first that can, or (None, why none can)."""
    if case.by_parts:
        return _by_parts(case, programs)
    types, why = output_types(case), []
    asked = case.stand_in or case
    wide = widened(asked)
    # ONNX Runtime takes no arrays of the smallest types, and gives them packed.
    small = {v.type for v in case.values} | set(types)
    if small & (set(SMALL) - set(BYTES)):
        programs = [p for p in programs if p == "onnx"]
    for program in programs:
        if program == "onnx" and (case.formula or case.known
                                  or case.key in NOT_BY_ONNX):
            continue
        for values in ([wide] if wide else []) + [asked.values]:
            try:
                found = PROGRAMS[program](model_of([asked], values),
                                          _feeds(values))
                return program, _rounded(case, found, types)
            except Exception as e:
                text = " ".join(str(e).split())
                if "new enough" not in text:
                    why.append(f"{program}: {text[:200]}")
    if case.formula:
        return "the formula", _rounded(case, _formula(case), types)
    if case.known:
        return "the generator", case.known(*[v.array for v in case.values])
    return None, "; ".join(why)


def _by_parts(case, programs):
    """Of complex numbers, the real and the imaginary part by themselves."""
    done = []
    for part in np.real, np.imag:
        values = [dataclasses.replace(
            v, array=np.ascontiguousarray(part(v.array)), type=TensorProto.FLOAT
            if v.type == TensorProto.COMPLEX64 else TensorProto.DOUBLE)
            if v.type in COMPLEX else v for v in case.values]
        program, found = results(dataclasses.replace(
            case, values=values, by_parts=False), programs)
        if not program:
            return None, found
        done.append(found)
    return program, [a + 1j * b.astype(np.result_type(b, np.complex64))
                     for a, b in zip(*done)]


def _wide(array):
    """Numbers in double precision; strings as they are."""
    if array.dtype.kind == "O":
        return array
    return array.astype(np.complex128 if array.dtype.kind == "c"
                        else np.float64)


def _formula(case):
    with np.errstate(all="ignore"):
        found = case.formula(*[mapped(v.array, _wide) for v in case.values])
    return found if isinstance(found, list) else [found]


def others(case):
    """(program, arrays) of whatever else can say what is right."""
    types = output_types(case)
    asked = case.stand_in or case
    exact = widened(asked, TensorProto.DOUBLE)
    tries = [("onnx", lambda: results(case, ["onnx"])[1])]
    if exact:
        model = lambda: model_of([asked], exact)
        for name, run in (("onnx in f64", _onnx),
                          ("ONNX Runtime in f64", _runtime)):
            tries.append((name, lambda run=run: _rounded(
                case, run(model(), _feeds(exact)), types)))
    if case.formula:
        tries.append(("the formula",
                      lambda: _rounded(case, _formula(case), types)))
    for name, run in tries:
        try:
            found = run()
        except Exception:  # cannot
            continue
        if isinstance(found, list):
            yield name, found
