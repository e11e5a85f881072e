"""Attributes with values that the standard does not have: refused, for every
operator that has an enumeration, with the node, the operator and the attribute;
axes and permutations that are none, too. With a value that exists each of the
nodes is accepted."""
import numpy as np
import onnx
from harness import Family, helper, model_of

import ferrule

f = Family("attribute_values")
ML, ORT, TRAINING = "ai.onnx.ml", "com.microsoft", "ai.onnx.preview.training"
one = np.ones(1, np.float32)
x3 = f.normal(2, 3, 4)
x4 = f.normal(1, 4, 6, 6)
ints = np.arange(6).reshape(2, 3)
text = np.array([["a", "b"]], object)
WORD = ["", "constant ", "Linear", "nothing"]
NUMBER = [-1, 2, 7]


def case(op, inputs, wrong, domain="", outputs=1, opset=22, version=1,
         constants=(), **right):
    """wrong: values that must be refused, by attribute."""
    name = "the node"

    def compile(attributes):
        model = model_of(op, inputs, outputs=outputs, opset=opset,
                         domain=domain, version=version, constants=constants,
                         more=attributes)
        model.graph.node[0].name = name
        onnx.save(model, f.path)
        ferrule.load(f.path)

    try:
        compile(right)
        f.passed += 1
    except ferrule.Error as e:
        f.fail(f"{op} {right}", f"is refused: {e}")
        return
    for attribute, values in wrong.items():
        for value in values:
            what = f"{op} {attribute}={value!r}"
            try:
                compile({**right, attribute: value})
                f.fail(what, "was accepted")
            except ferrule.Error as e:
                said = "axis" if attribute == "axes" else attribute
                if all(t in str(e) for t in (op, name, said)):
                    f.passed += 1
                else:
                    f.fail(what, f"says: {e}")


# Words.
case("Gelu", [x3], {"approximate": WORD}, approximate="tanh")
case("BitShift", [ints.astype(np.uint8)] * 2,
     {"direction": [*WORD, "left"]}, direction="LEFT")
w = f.normal(5, 4, 3, 3)
PADS = {"auto_pad": ["SAME", "same_upper"]}
case("Conv", [x4, w], PADS, auto_pad="VALID")
case("ConvTranspose", [x4, f.normal(4, 5, 3, 3)], PADS, auto_pad="VALID")
case("ConvInteger", [ints.astype(np.uint8).reshape(1, 1, 6),
                     ints.astype(np.uint8).reshape(1, 1, 6)], PADS,
     auto_pad="VALID")
for op in "MaxPool", "AveragePool", "LpPool":
    case(op, [x4], PADS, kernel_shape=[2, 2], auto_pad="VALID")
case("MaxPool", [x4], {"storage_order": NUMBER}, outputs=2,
     kernel_shape=[2, 2], storage_order=1)
case("Pad", [x3, np.ones(6, np.int64)], {"mode": WORD}, mode="edge",
     constants=[1])
case("Resize", [x4, None, np.array([1, 1, 2, 2], np.float32)],
     {"mode": WORD, "nearest_mode": [*WORD, "round"],
      "coordinate_transformation_mode": WORD,
      "keep_aspect_ratio_policy": WORD}, constants=[2], mode="nearest")
case("Upsample", [x4, np.array([1, 1, 2, 2], np.float32)], {"mode": WORD},
     constants=[1], opset=9)
grid = f.normal(1, 2, 2, 2)
case("GridSample", [x4, grid], {"mode": WORD, "padding_mode": WORD})
case("GridSample", [x4, grid], {"mode": WORD, "padding_mode": WORD},
     domain=ORT)
rois = np.array([[0, 0, 2, 2]], np.float32)
case("RoiAlign", [x4, rois, np.zeros(1, np.int64)],
     {"mode": WORD, "coordinate_transformation_mode": WORD})
case("CropAndResize", [x4, rois, np.zeros(1, np.int32),
                       np.array([2, 2], np.int32)], {"mode": WORD}, domain=ORT,
     constants=[3])
for op, more in ("ScatterElements", {}), ("ScatterND", {}):
    at = np.zeros((2, 3, 4) if op == "ScatterElements" else (2, 1), np.int64)
    case(op, [x3, at, x3], {"reduction": WORD}, reduction="add")
case("TensorScatter", [x4, x4[:, :, :1]], {"mode": WORD}, opset=24)
case("DepthToSpace", [x4], {"mode": WORD, "blocksize": [0, -1]}, blocksize=2)
case("SpaceToDepth", [x4], {"blocksize": [0, -1]}, blocksize=2)
for op in "NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss":
    case(op, [x3[:, :, 0], np.zeros(2, np.int64)], {"reduction": WORD})
for op, gates in ("RNN", 1), ("GRU", 3), ("LSTM", 4):
    layer = [x3, f.normal(1, gates * 5, 4), f.normal(1, gates * 5, 5)]
    case(op, layer, {"direction": [*WORD, "FORWARD"], "layout": NUMBER,
                     "activations": [["Tanhh"] * {1: 1, 3: 2, 4: 3}[gates]]},
         hidden_size=5, direction="reverse")
case("Cast", [x3], {"to": [0, 99, -1]}, to=7)
case("Cast", [x3], {"round_mode": WORD}, opset=25, to=24)
case("StringNormalizer", [text[0]], {"case_change_action": WORD[1:]})
case("ReverseSequence", [x3[0], np.array([1, 2, 1])],
     {"batch_axis": NUMBER, "time_axis": [2, 9]}, time_axis=1, batch_axis=0)
case("TfIdfVectorizer", [np.arange(4)], {"mode": [*WORD, "tf"]},
     mode="TF", min_gram_length=1, max_gram_length=1, max_skip_count=0,
     ngram_counts=[0], ngram_indexes=[0, 1], pool_int64s=[1, 2])
case("ImageDecoder", [np.zeros(9, np.uint8)], {"pixel_format": WORD})
case("Einsum", [x3], {"equation": ["ij->i", "ijk->ijkl", "i-jk"]},
     equation="ijk->k")
case("MoE", [f.normal(2, 4), f.normal(2, 2), f.normal(2, 8, 4), None,
             f.normal(2, 4, 8)], {"activation_type": WORD}, domain=ORT,
     activation_type="gelu", k=1)
case("GatedRMSNorm", [x3, f.normal(4), x3], {"activation": WORD}, domain=ORT)
case("FusedConv", [x4, w], {"activation": WORD[1:]}, domain=ORT,
     activation="Relu")
case("FusedGemm", [x3[0], x3[0].T.copy()], {"activation": WORD[1:]},
     domain=ORT, activation="Relu")
case("CDist", [x3[0], x3[1]], {"metric": WORD}, domain=ORT,
     metric="euclidean")
case("Normalizer", [x3[0]], {"norm": WORD}, domain=ML, norm="L1")
case("LinearRegressor", [x3[0]], {"post_transform": WORD}, domain=ML,
     coefficients=[1.] * 4, post_transform="SOFTMAX")
case("LinearClassifier", [x3[0]],
     {"post_transform": WORD}, domain=ML,
     coefficients=[1.] * 8, intercepts=[0., 0.], classlabels_ints=[0, 1],
     outputs=2)
case("SVMRegressor", [x3[0]],
     {"post_transform": WORD, "kernel_type": WORD}, domain=ML,
     coefficients=[1.], support_vectors=[1.] * 4, n_supports=1, rho=[0.],
     kernel_type="RBF", kernel_params=[1., 0., 0.])
tree = dict(nodes_treeids=[0], nodes_nodeids=[0], nodes_featureids=[0],
            nodes_values=[0.], nodes_modes=["LEAF"], nodes_truenodeids=[0],
            nodes_falsenodeids=[0], target_treeids=[0], target_nodeids=[0],
            target_ids=[0], target_weights=[1.], n_targets=1)
case("TreeEnsembleRegressor", [x3[0]],
     {"post_transform": WORD, "aggregate_function": WORD,
      "nodes_modes": [[""], ["BRANCH"]]}, domain=ML, **tree)
case("Momentum", [np.array(1, np.float32), np.array(0), one, one, one],
     {"mode": WORD}, domain=TRAINING, outputs=2, alpha=.9, beta=1.,
     mode="nesterov", norm_coefficient=0.)
qkv = [f.normal(1, 2, 3, 4)] * 3
case("Attention", qkv, {"qk_matmul_output_mode": [-1, 4, 9],
                        "softmax_precision": [7, 99]}, opset=23, outputs=4)
flat = [f.normal(1, 3, 8)] * 3
case("LinearAttention", [*flat, None, f.normal(1, 3, 2)],
     {"update_rule": WORD}, opset=27, outputs=2, q_num_heads=2,
     kv_num_heads=2, update_rule="gated")
case("CausalConvWithState", [f.normal(1, 4, 6), f.normal(4, 1, 3)],
     {"activation": WORD}, opset=27, outputs=2, activation="silu")
case("GroupQueryAttention",
     [*flat, None, None, np.array([2], np.int32), np.array(3, np.int32)],
     {"k_quant_type": WORD, "qk_output": [-1, 3, 9]}, domain=ORT, outputs=3,
     num_heads=2, kv_num_heads=2)
case("NonMaxSuppression", [f.normal(1, 3, 4), f.normal(1, 1, 3)],
     {"center_point_box": NUMBER}, center_point_box=1)

# Numbers of types.
case("EyeLike", [x3[0]], {"dtype": [99, -1]}, dtype=7)
case("RandomNormal", [], {"dtype": [7, 99]}, shape=[2], dtype=1)
case("RandomUniformLike", [x3], {"dtype": [7, 99]}, dtype=1)
case("Bernoulli", [np.abs(x3)], {"dtype": [99]}, dtype=1)
case("Multinomial", [x3[0]], {"dtype": [1, 99]}, dtype=7)
case("HannWindow", [np.array(5)], {"output_datatype": [0, 99]},
     output_datatype=1)
case("SequenceEmpty", [], {"dtype": [0, 99]}, dtype=1)
case("LayerNormalization", [x3, f.normal(4)], {"stash_type": [0, 7, 99]},
     stash_type=1)
case("QuantizeLinear", [x3, np.array(1, np.float32)],
     {"output_dtype": [1, 99], "block_size": [-1]}, output_dtype=3, opset=23)

# Axes.
AXIS = {"axis": [3, -4, 2**62, -2**63]}
for op in "Softmax", "LogSoftmax", "Hardmax", "ArgMax", "ArgMin", \
        "LpNormalization":
    case(op, [x3], AXIS)
case("Flatten", [x3], {"axis": [4, -4]})
case("Concat", [x3, x3], AXIS, axis=0)
case("Split", [x3], AXIS, axis=1, outputs=3, num_outputs=3)
case("Gather", [x3, np.array([0])], AXIS)
case("GatherElements", [x3, np.zeros((2, 3, 4), np.int64)], AXIS)
case("ScatterElements", [x3, np.zeros((2, 3, 4), np.int64), x3], AXIS)
case("Compress", [x3, np.array([True])], AXIS, axis=0)
case("TopK", [x3, np.array([1])], AXIS, outputs=2, constants=[1])
case("OneHot", [ints, np.array(3), np.array([0, 1])], AXIS, constants=[1])
case("LayerNormalization", [x3, f.normal(4)], AXIS)
case("RMSNormalization", [x3, f.normal(4)], AXIS, opset=23)
case("Unique", [x3], AXIS, axis=1)
case("DequantizeLinear", [x3.astype(np.int8), f.normal(3)], AXIS)
case("QuantizeLinear", [x3, f.normal(3)], AXIS)
case("GatherND", [x3, np.zeros((2, 1), np.int64)],
     {"batch_dims": [-1, 2, 9]}, batch_dims=1)
case("Transpose", [x3], {"perm": [[0, 1], [0, 1, 1], [0, 1, 3], [-1, 0, 1]]},
     perm=[2, 0, 1])
case("MeanVarianceNormalization", [x3], {"axes": [[3], [-4]]},
     axes=[0, 2])
case("CenterCropPad", [x3, np.array([2, 2])], {"axes": [[0, 3], [1, 1]]},
     axes=[0, 1])
case("ReduceSum", [x3], {"axes": [[3], [-4]], "keepdims": NUMBER}, opset=11, axes=[0, 2])
case("Squeeze", [x3[:1]], {"axes": [[3], [-4], [0, 0]]}, opset=11, axes=[0])
case("Unsqueeze", [x3], {"axes": [[4], [-5], [0, 0]]}, opset=11, axes=[0])
case("ReverseSequence", [x3, np.array([1, 2, 1])],
     {"batch_axis": [2, -1], "time_axis": [2, 9, 1]}, batch_axis=1, time_axis=0)
case("LpNormalization", [x3], {"p": [0, 3, -1]}, p=1)
case("Conv", [x4, w], {"strides": [[0, 1], [-1, 1]], "dilations": [[0, 1]],
                       "group": [0, -1, 3]}, strides=[1, 1])


# Directions and axes of Scan, of both forms.
def scan(opset, **attributes):
    info = helper.make_tensor_value_info
    body = helper.make_graph(
        [helper.make_node("Add", ["s", "x"], ["t"]),
         helper.make_node("Identity", ["t"], ["y"])], "body",
        [info("s", 1, [4]), info("x", 1, [4])],
        [info("t", 1, [4]), info("y", 1, [4])])
    old = opset < 9
    node = helper.make_node("Scan", ["", "h", "x"][not old:], ["f", "ys"],
                            "the node", num_scan_inputs=1, body=body,
                            **attributes)
    batch = [2] if old else []
    onnx.save(helper.make_model(helper.make_graph(
        [node], "g", [info("h", 1, [*batch, 4]), info("x", 1, [*batch, 3, 4])],
        [helper.make_empty_tensor_value_info(n) for n in ("f", "ys")]),
        opset_imports=[helper.make_opsetid("", opset)], ir_version=8), f.path)
    ferrule.load(f.path)


WRONG = [[2], [-1], [0, 0]]
for opset, wrong in (8, {"directions": WRONG}), (
        16, {"scan_input_directions": WRONG, "scan_output_directions": WRONG,
             "scan_input_axes": [[2], [-3], [0, 0]],
             "scan_output_axes": [[2], [-3], [0, 0]]}):
    for name in wrong:
        scan(opset, **{name: [0]})
    for name, values in wrong.items():
        for value in values:
            what = f"Scan-{opset} {name}={value}"
            try:
                scan(opset, **{name: value})
                f.fail(what, "was accepted")
            except ferrule.Error as e:
                if all(t in str(e) for t in ("Scan", "the node", name)):
                    f.passed += 1
                else:
                    f.fail(what, f"says: {e}")
f.done()
