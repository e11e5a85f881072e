"""Disagreements that are not faults of Ferrule, each with its reason.

A rule holds for cases of its operators (none named: of all) for which
`when(case, message)` is true, and only where one of `agree` agrees with Ferrule:
"onnx" (the reference evaluator), "onnx in f64", "ONNX Runtime in f64", "the
formula", which the case's generator gives, "the first, as f32,": f64 that the
reference computed in single precision, or "the first, but for one,": integers. The case is then compared with that.
A rule without `agree` leaves its cases uncompared, and says why it must.
"""
import dataclasses
import re
import typing

from draw import FLOATS, T

SINGLE = ("the first, as f32,",)
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


def steps_over(case, message):
    """SAME padding, a step larger than the kernel."""
    given = case.attributes()
    return given.get("auto_pad", b"")[:4] == b"SAME" and any(
        s > k for s, k in zip(given.get("strides", ()), given["kernel_shape"]))


def slightly(share, off):
    """Few elements differ, the first of them by little."""
    def when(case, message):
        found = re.search(r"is (\S+), not (\S+) \((\d+) of (\d+) differ\)",
                          message)
        if not found:
            return False
        got, want, some, all_of = map(float, found.groups())
        return some <= max(1, share * all_of) \
            and abs(got - want) <= off * max(1, abs(want))
    return when


def both(*conditions):
    return lambda case, message: all(c(case, message) for c in conditions)


def one_more_or_less(case, message):
    """Shapes whose sizes differ by one, if at all."""
    found = re.search(r"shape \[(.*)\], not \[(.*)\], says onnx", message)
    if not found:
        return False
    got, want = ([int(n) for n in g.split(",")] for g in found.groups())
    return len(got) == len(want) and all(
        abs(a - b) <= 1 for a, b in zip(got, want))


def part_of_a_size(case, message):
    """Sizes by scales, axes in another order than the dims."""
    given = case.attributes()
    axes = list(given.get("axes", ()))
    return axes != sorted(axes) and "ONNX Runtime" in message and given.get(
        "coordinate_transformation_mode") in (b"tf_crop_and_resize",
                                              b"align_corners")


def negative_axes(case, message):
    given = case.attributes()
    return "shape [" in message and "ONNX Runtime" in message and min(
        given.get("axes", (0,))) < 0 and given.get("keep_aspect_ratio_policy") \
        in (b"not_larger", b"not_smaller")


def empty_axes(case, message):
    return len(case.values) > 1 and case.values[1].array.size == 0


RULES = [
    Rule((), "the first reference approximates in single precision; in double "
         "precision it is what Ferrule says", DOUBLE,
         lambda case, message: case.spread != "exact"
         and any(v.type in (T.FLOAT, T.FLOAT16, T.BFLOAT16)
                 for v in case.values) and " is " in message),
    Rule(("Erf", "Gelu"), "onnx rounds erf to single precision, ONNX Runtime "
         "the constants of Gelu", ("the formula",), of_type(T.DOUBLE)),
    Rule(("Shrink",), "ONNX Runtime computes f64 and large integers in f32",
         ("onnx",), of_type(T.DOUBLE, T.INT32, T.INT64, T.UINT32, T.UINT64)),
    Rule(("HardSwish",), "the evaluator has 1/6 in single precision; the "
         "standard says 1/6", ("the formula",), of_type(T.DOUBLE)),
    Rule(("GridSample",), "ONNX Runtime samples other elements at the border in "
         "mode cubic; onnx agrees with Ferrule", ("the formula",),
         lambda case, message: case.attributes().get("padding_mode") == b"border"
         and b"cubic" in case.attributes().get("mode", b"")),
    Rule(("BatchNormalization", "GroupNormalization", "Adam", "Resize",
          "Upsample", "FlexAttention"),
         "the reference computes f64 in f32", SINGLE,
         of_type(T.DOUBLE, T.COMPLEX128)),
    Rule(("RMSNormalization",), "stash_type says f32 for what is multiplied by a "
         "scale of f64", SINGLE, of_type(T.DOUBLE)),
    Rule(("DFT",), "ONNX Runtime scales the inverse of f64 in f32", ("onnx",),
         of_type(T.DOUBLE)),
    Rule(("HannWindow", "HammingWindow", "BlackmanWindow"), "ONNX Runtime "
         "computes f64 in f32 and divides 0 by 0 for one element, not periodic",
         ("the formula",)),
    Rule(("LRN",), "onnx: f64 in f32, and other neighbours when their number is "
         "even", ("the formula",)),
    Rule(("LayerNormalization",), "ONNX Runtime computes f64 less exactly where "
         "numbers are nearly equal", ("the formula",), of_type(T.DOUBLE)),
    Rule(("GroupNormalization",), "ONNX Runtime loses digits where numbers are nearly "
         "equal", ("the formula",), of_type(T.DOUBLE)),
    Rule(("Gemm",), "onnx forgets beta where nothing is broadcast",
         ("the formula",), lambda case, message: case.opset < 7),
    Rule(("ReduceMean",), "the mean of no integers: 0; onnx casts NaN", (),
         both(of_type(T.INT32, T.INT64, T.UINT32, T.UINT64),
              lambda case, message: 0 in case.values[0].array.shape)),
    Rule(("com.microsoft.FusedMatMul", "com.microsoft.TransposeMatMul"),
         "ONNX Runtime multiplies other elements where the second operand has one dim",
         ("the formula",), lambda case, message: case.values[1].array.ndim == 1),
    Rule(("Resize",), "ONNX Runtime keeps the aspect ratio of axes that are not "
         "negative only", (), negative_axes),
    Rule(("MaxPool",), "a window of padding alone: -inf; onnx, NaN", (),
         lambda case, message: "is -inf, not nan" in message),
    Rule((), "made for another opset by onnx's converter", ("onnx",),
         lambda case, message: "says converted" in message),
    Rule(("GlobalMaxPool",), "onnx gives another shape", ("the formula",)),
    Rule(("OneHot",), "onnx multiplies the values and adds them",
         ("the formula",)),
    Rule(("AffineGrid",), "one element between corners that are aligned: -1, 1 "
         "and 0 in the three; 0 is PyTorch's", ("the formula",),
         lambda case, message: 1 in case.values[1].array[2:]
         and case.attributes().get("align_corners") == 1),
    Rule(("Loop",), "nothing was done: no element that is as large as the inputs "
         "say; ONNX Runtime gives [0], or 0 for sizes that it does not know",
         ("onnx", "the formula"),
         lambda case, message: "shape [0" in message),
    Rule(("Loop",), "nothing was done, and only that would say how large an "
         "element is: 0", (),
         lambda case, message: "shape [0, 0" in message),
    Rule(("MatMulInteger",), "ONNX Runtime does not clear the sums of nothing",
         ("the formula",), lambda case, message: any(
             0 in v.array.shape for v in case.values)),
    Rule(("MeanVarianceNormalization",), "ONNX Runtime divides 0 by 0 where the "
         "standard adds 1e-9 to the divisor", ("onnx",),
         lambda case, message: "not nan" in message),
    Rule(("Resize",), "a cubic sum below 0 of unsigned integers: the evaluator's "
         "cast wraps around", (), lambda case, message: "is 0, not" in
         message and case.attributes().get("mode") == b"cubic" and of_type(T.UINT8, T.UINT16, T.UINT32, T.UINT64)(
             case, message)),
    Rule(("Resize",), "integers: onnx rounds, Ferrule cuts off as ONNX Runtime "
         "does with those that it has", ("the first, but for one,",)),
    Rule(("Resize",), "a size is multiplied by its scale in single precision, as "
         "ONNX Runtime does it; the evaluator takes double precision, which may "
         "be just below an integer", (), one_more_or_less),
    Rule(("Resize",), "the length is the size times the scale, as the standard's "
         "evaluator has it; ONNX Runtime takes the integer. The evaluator cannot "
         "do axes in this order; sorted, it gives what Ferrule does", (),
         part_of_a_size),
    Rule(("Upsample",), "ONNX Runtime copies when the shape does not change, "
         "its converter takes other coordinates", ("the formula",)),
    Rule(("QuantizeLinear",), "ONNX Runtime divides halves in f32; the standard "
         "says the scale's type", ("the formula",),
         of_type(T.FLOAT16, T.BFLOAT16)),
    Rule(("com.microsoft.QLinearAveragePool",), "SAME with steps larger than "
         "the kernel: ONNX Runtime crops by a negative padding, which its AveragePool "
         "refuses", (), steps_over),
    Rule(("Gather",), "ONNX Runtime gathers other strings", ("onnx",),
         of_type(T.STRING)),
    Rule(("Attention",), "ONNX Runtime computes f64 less exactly", ("the formula",),
         of_type(T.DOUBLE)),
    Rule(("Slice",), "backwards from before the first element: from the first, "
         "says the standard and ONNX Runtime; onnx slices as numpy does", (),
         lambda case, message: "says onnx" in message and "shape [" in message),
    Rule(("Squeeze",), "no axes: ONNX Runtime takes an empty list as an absent "
         "one", ("onnx",), empty_axes),
    Rule(("SplitToSequence",), "ONNX Runtime drops dims by keepdims with one size "
         "for all too; the standard ignores it where sizes are given", ("onnx",)),
    Rule(("Dropout",), "ONNX Runtime leaves out the mask below opset 12",
         ("onnx",), lambda case, message: case.opset < 12
         and message.startswith("output 1")),
    Rule(("Selu",), "the defaults of version 1 have five digits", ("the formula",),
         lambda case, message: case.opset < 6),
    Rule(("ReduceSum", "ReduceMean", "ReduceProd", "Gemm", "Einsum"), "ONNX Runtime computes "
         "integers in floating point", ("onnx",),
         of_type(T.INT32, T.INT64, T.UINT32, T.UINT64)),
    Rule(("ReduceMin", "ReduceMax"), "ONNX Runtime loses NaN when all is "
         "reduced", ("onnx",), lambda case, message: "is nan" in message),
    Rule(("ReduceLogSumExp",), "ONNX Runtime rounds each exponential of "
         "integers", ("the formula",),
         of_type(T.INT32, T.INT64, T.UINT32, T.UINT64)),
]

RULES += [
    Rule(("Normalizer",), "the largest absolute value, as scikit-learn has it; "
         "ONNX Runtime takes the largest number", ("onnx", "the formula"),
         lambda case, message: case.attributes().get("norm", b"MAX") == b"MAX"),
    Rule(("LinearRegressor", "SVMRegressor"), "one target is transformed like "
         "several; ONNX Runtime does so by PROBIT only", ("the formula",)),
    Rule(("TreeEnsembleClassifier",), "with a score for each of two classes the "
         "label is that of the higher one; ONNX Runtime gives the second where "
         "its score is above 0. A class that no leaf scores has its base, and "
         "one class that name", ("the formula",)),
    Rule(("TreeEnsembleRegressor",), "a target that no leaf scores has its base; "
         "ONNX Runtime gives 0", ("the formula",), lambda case, message:
         "base_values" in case.attributes()
         or "base_values_as_tensor" in case.attributes()),
    Rule(("com.microsoft.QLinearSigmoid", "com.microsoft.QLinearSoftmax"),
         "ONNX Runtime approximates the function: what lies between two integers "
         "may be either", ("the first, but for one,",)),
    Rule(("com.microsoft.QuantizeLinear",), "ONNX Runtime divides halves in f32; "
         "Ferrule as the standard's operator", ("the first, but for one,",),
         of_type(T.FLOAT16)),
    Rule(("com.microsoft.Attention",), "queries, keys and values are halves, "
         "large scores magnify how they are rounded; the reference computes in "
         "single precision", (),
         both(of_type(T.FLOAT16, T.BFLOAT16), slightly(.02, .05))),
    Rule(("com.microsoft.Attention",), "all keys of a row are hidden: the filter, "
         "-10000, leaves three decimals of what it is added to", (),
         both(of_type(T.INT32), slightly(.2, 2e-3))),
    Rule(("com.microsoft.FastGelu", "com.microsoft.QuickGelu"), "ONNX Runtime "
         "rounds the constants to single precision, and its sigmoid near 0 has "
         "an absolute error", ("the formula",),
         of_type(T.DOUBLE)),
    Rule(("com.microsoft.QMoE",), "ONNX Runtime weighs the chosen experts as if "
         "normalize_routing_weights were 1, and rounds activations to 8 bits by blocks "
         "of 8 bits", ("the formula",)),
    Rule(("com.microsoft.GatedRMSNorm",), "the single-precision sigmoid of ONNX Runtime "
         "has an absolute error", ("the formula",)),
    Rule(("LabelEncoder",), "NaN is a key like others; ONNX Runtime compares "
         "with it in the second opset", ("the formula",),
         of_type(T.FLOAT, T.DOUBLE)),
    Rule(("LinearClassifier",), "PROBIT of one score: ONNX Runtime writes one of "
         "the two", ("the formula",)),
    Rule(("SVMClassifier",), "PROBIT of one score: ONNX Runtime writes one of "
         "the two", (), lambda case, message: "output 1" in message
         and case.attributes().get("post_transform") == b"PROBIT"),
    Rule(("LinearRegressor", "LinearClassifier", "SVMRegressor"), "near its "
         "poles PROBIT magnifies how the score is rounded", (),
         lambda case, message: " is " in message
         and case.attributes().get("post_transform") == b"PROBIT"),
    Rule(("Scaler",), "onnx makes integers of the offsets", ("the formula",),
         of_type(T.INT32, T.INT64)),
]

def explained(case, message, agree):
    """The reason, or None. agree: references that agree with Ferrule."""
    for rule in RULES:
        if (not rule.ops or case.key in rule.ops) \
                and (not rule.agree or set(rule.agree) & set(agree)) \
                and rule.when(case, message):
            return rule.reason
    return None
