"""ai.onnx.ml against ONNX Runtime."""
import numpy as np
from harness import Family, by_runtime, model_of

f = Family("classical")
n, ints = f.normal, f.integers
ML = {"domain": "ai.onnx.ml"}
flat = lambda *shape: [float(v) for v in n(*shape).ravel()]

for shape in (4,), (3, 5), (1, 1), (0, 3):
    x = n(*shape)
    f.case("Binarizer", [x], threshold=0.2, dynamic=True, **ML)
    f.case("Scaler", [x], offset=[0.5], scale=[2.0], **ML)
    f.case("Scaler", [x.astype(np.float64)], offset=flat(shape[-1]),
           scale=flat(shape[-1]), dynamic=[0] if len(shape) > 1 else False, **ML)
    for norm in "MAX", "L1", "L2":
        # Of the largest, ONNX Runtime takes no absolute value.
        f.case("Normalizer", [np.abs(x) if norm == "MAX" else x], norm=norm,
               **ML)
x = n(4, 3)
x[1, 2] = x[3, 0] = np.nan
f.case("Imputer", [x], imputed_value_floats=flat(3),
       replaced_value_float=float("nan"), **ML)
f.case("Imputer", [ints(0, 3, 4, 3)], imputed_value_int64s=[7],
       replaced_value_int64=1, dynamic=True, **ML)
f.case("ArrayFeatureExtractor", [n(3, 4), np.array([3, 0, 3])], **ML)
f.case("ArrayFeatureExtractor", [n(5), np.array([[4, 1]])], **ML)
f.case("FeatureVectorizer", [n(3, 2), n(3, 4)], inputdimensions=[2, 4], **ML)
f.case("OneHotEncoder", [ints(0, 4, 3, 2)], cats_int64s=[2, 0, 5], **ML)
f.case("OneHotEncoder", [ints(0, 4, 5).astype(np.float32)],
       cats_int64s=[1, 2], **ML)
f.case("LabelEncoder", [ints(0, 6, 3, 4)], keys_int64s=[5, 1, 3],
       values_floats=flat(3), default_float=0.5, dynamic=True, version=2, **ML)
f.case("LabelEncoder", [ints(0, 6, 7).astype(np.float32)],
       keys_floats=[5.0, 1.0], values_int64s=[50, 10], version=2, **ML)
f.refused("LabelEncoder", [ints(0, 6, 7)], keys_int64s=[1, 2],
          values_strings=["a", "b"], version=2, **ML)

POSTS = "NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"
for post in POSTS:
    f.case("LinearRegressor", [n(4, 3)], coefficients=flat(2, 3), targets=2,
           intercepts=flat(2), post_transform=post, **ML)
    f.case("LinearClassifier", [n(9, 3)], coefficients=flat(3, 3),
           intercepts=flat(3), classlabels_ints=[4, 7, 9], outputs=2,
           post_transform=post, dynamic=[0], **ML)
    f.case("LinearClassifier", [n(9, 3)], coefficients=flat(2, 3),
           intercepts=flat(2), classlabels_ints=[4, 7], outputs=2,
           post_transform=post, **ML)
f.case("LinearRegressor", [n(4, 3)], coefficients=flat(3), **ML)

for kernel in "LINEAR", "POLY", "RBF", "SIGMOID":
    machine = dict(kernel_type=kernel, kernel_params=[0.3, 0.1, 2.0], **ML)
    f.case("SVMRegressor", [n(6, 3)], n_supports=4, support_vectors=flat(4, 3),
           coefficients=flat(4), rho=[0.1], dynamic=[0], **machine)
    for counts in (2, 3), (2, 1, 3):
        k, total = len(counts), sum(counts)
        f.case("SVMClassifier", [n(20, 3)], support_vectors=flat(total, 3),
               coefficients=flat(k - 1, total), rho=flat(k * (k - 1) // 2),
               vectors_per_class=list(counts), outputs=2,
               classlabels_ints=[1, 5, 6][:k], **machine)
f.case("SVMRegressor", [n(6, 3)], n_supports=4, support_vectors=flat(4, 3),
       coefficients=flat(4), rho=[0.1], one_class=1, kernel_type="LINEAR",
       kernel_params=[0.0, 0.0, 0.0], **ML)
f.case("SVMClassifier", [n(6, 3)], coefficients=flat(3, 3), rho=[0.2],
       kernel_params=[0.0, 0.0, 0.0],
       classlabels_ints=[0, 1, 2], outputs=2, **ML)


def forest(trees, depth, features, modes, names, targets, per_leaf=1):
    """Attributes of random trees; `names`: prefix of those of the leaves."""
    a = {f"nodes_{k}": [] for k in
         ("treeids nodeids featureids values modes truenodeids falsenodeids "
          "missing_value_tracks_true").split()}
    leaf = {f"{names}_{k}": [] for k in "treeids nodeids ids weights".split()}

    def grow(tree, level):
        i = len(a["nodes_nodeids"])
        node = a["nodes_treeids"].count(tree)
        end = level == depth or f.random.random() < 0.2 * (level > 0)
        for key, v in ("treeids", tree), ("nodeids", node), \
                ("featureids", int(f.random.integers(features))), \
                ("values", float(np.float32(n()))), \
                ("modes", "LEAF" if end else str(f.random.choice(modes))), \
                ("truenodeids", 0), ("falsenodeids", 0), \
                ("missing_value_tracks_true", int(f.random.integers(2))):
            a[f"nodes_{key}"].append(v)
        if end:
            for k in f.random.permutation(targets)[:per_leaf]:
                leaf[f"{names}_treeids"].append(tree)
                leaf[f"{names}_nodeids"].append(node)
                leaf[f"{names}_ids"].append(int(k))
                leaf[f"{names}_weights"].append(float(np.float32(n())))
        else:
            a["nodes_truenodeids"][i] = grow(tree, level + 1)
            a["nodes_falsenodeids"][i] = grow(tree, level + 1)
        return node

    for tree in range(trees):
        grow(tree, 0)
    return a | leaf


ALL = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ",
       "BRANCH_NEQ"]
x = n(30, 5)
x[3, 2] = x[7, 0] = np.nan
for modes in ALL[:1], ALL[3:4], ALL:
    for aggregate in "SUM", "AVERAGE", "MIN", "MAX":
        trees = forest(7, 4, 5, modes, "target", 2, 2)
        f.case("TreeEnsembleRegressor", [x], n_targets=2,
               aggregate_function=aggregate, **trees, **ML)
    f.case("TreeEnsembleRegressor", [x], dynamic=True, base_values=[0.5],
           n_targets=1,
           **forest(3, 3, 5, modes, "target", 1), **ML)
    for post in POSTS:
        f.case("TreeEnsembleClassifier", [x], outputs=2,
               classlabels_int64s=[3, 1, 8], post_transform=post,
               **forest(5, 4, 5, modes, "class", 3, 2), **ML)
        two = forest(5, 4, 5, modes, "class", 2, 2)
        # With a score for each, the label is that of the higher one; ONNX
        # Runtime asks whether the second one is above 0.
        a = dict(classlabels_int64s=[0, 1], post_transform=post, **two, **ML)
        scores = by_runtime(model_of("TreeEnsembleClassifier", [x], outputs=2,
                                     **a), {"in0": x})[1]
        f.case("TreeEnsembleClassifier", [x], outputs=2,
               want=[scores.argmax(1), scores], **a)
        one = forest(5, 4, 5, modes, "class", 1)
        f.case("TreeEnsembleClassifier", [x], outputs=2,
               classlabels_int64s=[3, 1], post_transform=post, **one, **ML)
        one["class_weights"] = [abs(w) / 5 for w in one["class_weights"]]
        f.case("TreeEnsembleClassifier", [x], outputs=2,
               classlabels_int64s=[3, 1], post_transform=post, **one, **ML)
        one["class_ids"] = [1] * len(one["class_ids"])
        f.case("TreeEnsembleClassifier", [x], outputs=2,
               classlabels_int64s=[3, 1], post_transform=post, **one, **ML)
wrong = forest(2, 2, 5, ALL, "target", 1)
f.refused("TreeEnsembleRegressor", [n(3, 2)[:, :1]],
          **(wrong | {"nodes_featureids": [3] * len(wrong["nodes_modes"])}),
          **ML)
wrong["nodes_truenodeids"] = [999] * len(wrong["nodes_modes"])
f.refused("TreeEnsembleRegressor", [x], **wrong, **ML)
f.done()
