"""Disagreements that are not faults of Ferrule, each with its reason.

A rule holds for cases of its operators (none named: of all) for which
`when(case, message)` is true, and only where one of `agree` agrees with Ferrule:
"onnx" (the reference evaluator), "onnx in f64", "ONNX Runtime in f64" or "the
formula", which the case's generator gives. The case is then compared with that.
A rule without `agree` leaves its cases uncompared, and says why it must.
"""
import dataclasses
import typing

from draw import T

DOUBLE = "onnx in f64", "ONNX Runtime in f64", "the formula"
ANY = ("onnx",) + DOUBLE


@dataclasses.dataclass
class Rule:
    ops: tuple
    reason: str
    agree: tuple
    when: typing.Callable = lambda case, message: True


def of_type(*types):
    return lambda case, message: any(v.type in types for v in case.values)


def empty_axes(case, message):
    return len(case.values) > 1 and case.values[1].array.size == 0


def symbolic(case):
    return any(isinstance(n, str) for v in case.values for n in v.dims or [])


RULES = [
    Rule((), "the first reference approximates in single precision; in double "
         "precision it is what Ferrule says", DOUBLE,
         lambda case, message: case.spread != "exact"
         and case.values[0].type != T.DOUBLE and " is " in message),
    Rule(("Erf", "Gelu"), "onnx rounds erf to single precision, ONNX Runtime "
         "the constants of Gelu", ("the formula",), of_type(T.DOUBLE)),
    Rule(("Shrink",), "ONNX Runtime computes f64 in f32", ("onnx",),
         of_type(T.DOUBLE)),
    Rule(("HardSwish",), "the evaluator has 1/6 in single precision; the "
         "standard says 1/6", ("the formula",), of_type(T.DOUBLE)),
    Rule(("Squeeze",), "no axes: ONNX Runtime takes an empty list as an absent "
         "one", ("onnx",), empty_axes),
    Rule(("Clip",), "ONNX Runtime bounds infinities where there is no bound",
         ("onnx",), lambda case, message: "inf" in message),
    Rule(("Squeeze",), "a limit of the table: without axes, dims that only the "
         "run knows are kept", (), lambda case, message: symbolic(case)
         and (len(case.values) == 1 or case.values[1].array.size == 0)),
    Rule(("ReduceSum", "ReduceMean", "ReduceProd"), "ONNX Runtime computes "
         "integers in floating point", ("onnx",),
         of_type(T.INT32, T.INT64, T.UINT32, T.UINT64)),
    Rule(("ReduceMin", "ReduceMax"), "ONNX Runtime loses NaN when all is "
         "reduced", ("onnx",), lambda case, message: "is nan" in message),
    Rule(("ReduceLogSumExp",), "ONNX Runtime rounds each exponential of "
         "integers", ("the formula",),
         of_type(T.INT32, T.INT64, T.UINT32, T.UINT64)),
]


def explained(case, message, agree):
    """The reason, or None. agree: references that agree with Ferrule."""
    for rule in RULES:
        if (not rule.ops or case.op in rule.ops) \
                and (not rule.agree or set(rule.agree) & set(agree)) \
                and rule.when(case, message):
            return rule.reason
    return None
