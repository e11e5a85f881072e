"""Ensembles of trees of ai.onnx.ml against ONNX Runtime."""
import numpy as np
from harness import Family, by_runtime, model_of, numpy_helper

f = Family("ml_trees")
n = f.normal
ML = {"domain": "ai.onnx.ml"}
V3 = ML | {"version": 3}
V5 = ML | {"version": 5}
POSTS = "NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"
MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ",
         "BRANCH_NEQ"]
pick = f.random.choice


def value():
    """Few different thresholds, so that inputs meet them exactly."""
    return float(np.float32(f.random.integers(-4, 5) / 2))


def inputs(rows, features, dtype=np.float32, nan=True):
    x = f.random.integers(-6, 7, (rows, features)) / 2
    for at in range(0, x.size if nan else 0, 7):
        x.flat[at] = pick([np.nan, np.inf, -np.inf, -0.0])
    return x.astype(dtype)


def forest(trees, depth, features, modes, names, targets, per_leaf=1,
           nan=True, shuffle=False):
    """Attributes of random trees; `names`: prefix of those of the leaves. The
    first tree's leaves have a weight for each target."""
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
                ("values", value()), \
                ("modes", "LEAF" if end else str(pick(modes))), \
                ("truenodeids", 0), ("falsenodeids", 0), \
                ("missing_value_tracks_true", int(nan and pick(2))):
            a[f"nodes_{key}"].append(v)
        if end:
            count = targets if tree == 0 else per_leaf
            for k in f.random.permutation(targets)[:count]:
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
    if shuffle:  # entries need not be in the order of their leaves
        order = f.random.permutation(len(leaf[f"{names}_ids"]))
        leaf = {k: [v[i] for i in order] for k, v in leaf.items()}
    return a | leaf


def doubles(a, names):
    """The form of opset 3 with tensors of doubles."""
    a = dict(a)
    for key in "nodes_values", f"{names}_weights", "base_values":
        if key in a:
            v = np.array(a.pop(key), np.float64) + 1e-9
            a[key + "_as_tensor"] = numpy_helper.from_array(v, key)
    return a


# Every kind of comparison, alone and together; sizes around those of a block.
for i, modes in enumerate([[m] for m in MODES] + [MODES, MODES[:4]]):
    for rows in (40, 1) if i < 7 else (0, 15, 16, 17, 300):
        f.case("TreeEnsembleRegressor", [inputs(rows, 5)], n_targets=1,
               dynamic=rows != 15,
               **forest(19, 4, 5, modes, "target", 1), **V3)
f.case("TreeEnsembleRegressor", [inputs(33, 5)], n_targets=1,
       **forest(16, 3, 5, MODES[:1], "target", 1, nan=False), **ML)
# One row without a batch, which ONNX Runtime's inference refuses.
x, a = inputs(1, 3), forest(3, 3, 3, MODES, "target", 1)
f.case("TreeEnsembleRegressor", [x[0]], n_targets=1, want=by_runtime(
    model_of("TreeEnsembleRegressor", [x], n_targets=1, **a, **V3), {"in0": x}),
       **a, **V3)
for dtype in np.int64, np.int32, np.float64:
    f.case("TreeEnsembleClassifier", [inputs(20, 5, dtype, False)], outputs=2,
           classlabels_int64s=[3, 1, 8],
           **forest(5, 4, 5, MODES, "class", 3), **V3)
f.case("TreeEnsembleRegressor", [inputs(20, 5, np.float64)], n_targets=2,
       **forest(5, 4, 5, MODES, "target", 2), **V3)
for names, op in ("target", "TreeEnsembleRegressor"), \
        ("class", "TreeEnsembleClassifier"):
    a = {"base_values": [0.25, -1.5, 2.0],
         **forest(5, 4, 5, MODES, names, 3, 2)}
    a |= {"n_targets": 3} if names == "target" else \
        {"classlabels_int64s": [5, 4, 3], "outputs": 2}
    f.case(op, [inputs(40, 5)], **a, **V3)
    f.case(op, [inputs(40, 5, np.float64)], dynamic=[0], **doubles(a, names),
           **V3)

# How leaves are combined.
for aggregate in "SUM", "AVERAGE", "MIN", "MAX":
    for targets, per_leaf in (1, 1), (3, 1), (3, 3):
        f.case("TreeEnsembleRegressor", [inputs(20, 5)], n_targets=targets,
               aggregate_function=aggregate, base_values=[0.5] * targets,
               **forest(7, 4, 5, MODES, "target", targets, per_leaf,
                        shuffle=True), **V3)
# A target that no leaf has.
for aggregate in "SUM", "MIN", "MAX":
    f.case("TreeEnsembleRegressor", [inputs(20, 5)], n_targets=3,
           aggregate_function=aggregate,
           **forest(4, 3, 5, MODES, "target", 2, 2), **V3)

for modes in MODES[:1], MODES:
    for post in POSTS:
        f.case("TreeEnsembleClassifier", [inputs(20, 5)], outputs=2,
               classlabels_int64s=[3, 1, 8], post_transform=post,
               **forest(5, 4, 5, modes, "class", 3, 2), **V3)
        two = forest(5, 4, 5, modes, "class", 2, 2)
        # With a score for each, the label is that of the higher one; ONNX
        # Runtime asks whether the second one is above 0.
        a = dict(classlabels_int64s=[0, 1], post_transform=post, **two, **V3)
        x = inputs(20, 5)
        scores = by_runtime(model_of("TreeEnsembleClassifier", [x], outputs=2,
                                     **a), {"in0": x})[1]
        f.case("TreeEnsembleClassifier", [x], outputs=2,
               want=[scores.argmax(1), scores], **a)
        one = forest(5, 4, 5, modes, "class", 1)
        for base in {}, {"base_values": [0.25]}:
            a = one | base
            f.case("TreeEnsembleClassifier", [x], outputs=2,
                   classlabels_int64s=[3, 1], post_transform=post, **a, **V3)
            a["class_weights"] = [abs(w) / 5 for w in a["class_weights"]]
            f.case("TreeEnsembleClassifier", [x], outputs=2,
                   classlabels_int64s=[3, 1], post_transform=post, **a, **V3)
        a = one | {"class_ids": [1] * len(one["class_ids"])}
        f.case("TreeEnsembleClassifier", [x], outputs=2,
               classlabels_int64s=[3, 1], post_transform=post, **a, **V3)
    # A score of one class only, but a base for both (ONNX Runtime drops one).
    a = forest(5, 4, 5, modes, "class", 1)
    raw = {k.replace("class", "target"): v for k, v in a.items()}
    x = inputs(20, 5)
    score = by_runtime(model_of("TreeEnsembleRegressor", [x], n_targets=1,
                                **raw, **V3), {"in0": x})[0]
    want = np.hstack([score + 0.25, 0 * score + 0.5]).astype(np.float32)
    f.case("TreeEnsembleClassifier", [x], outputs=2, classlabels_int64s=[0, 1],
           base_values=[0.25, 0.5], want=[want.argmax(1), want], **a, **V3)
for names in ["x", "y"], ["x", "y", "z"]:
    f.case("TreeEnsembleClassifier", [inputs(20, 5)], outputs=2, dynamic=[0],
           classlabels_strings=names,
           **forest(5, 4, 5, MODES, "class", 1 if len(names) == 2 else 3), **V3)
# One class, which has no other to be told from.
for names in {"classlabels_strings": ["only"]}, {"classlabels_int64s": [7]}:
    for post in "NONE", "LOGISTIC":
        x, a = inputs(20, 5), forest(5, 4, 5, MODES, "class", 1)
        raw = {k.replace("class", "target"): v for k, v in a.items()}
        score = by_runtime(model_of("TreeEnsembleRegressor", [x], n_targets=1,
                                    **raw, **V3), {"in0": x})[0]
        (label,) = names.values()
        f.case("TreeEnsembleClassifier", [x], outputs=2, post_transform=post,
               want=[np.array(label * 20, object if label == ["only"] else None),
                     1 / (1 + np.exp(-score)) if post == "LOGISTIC" else score],
               dynamic=[0], **names, **a, **V3)
probability = forest(4, 3, 5, MODES, "target", 1)
probability["target_weights"] = [0.02 + abs(w) / 16 for w in
                                 probability["target_weights"]]
f.case("TreeEnsembleRegressor", [inputs(20, 5)], n_targets=1, rtol=1e-3,
       post_transform="PROBIT", **probability, **V3)

# A chain of equalities with one child, as exporters write sets.
for nan in 0, 1:
    chain = dict(
        nodes_treeids=[0] * 9, nodes_nodeids=list(range(9)),
        nodes_featureids=[0, 0, 0, 1, 0, 0, 0, 0, 0],
        nodes_values=[1.0, 2.0, -1.0, 0.5, 3.0, 1.5, 0.0, 0.0, 0.0],
        nodes_modes=["BRANCH_EQ"] * 3 + ["BRANCH_LEQ"] + ["BRANCH_EQ"] * 2 +
        ["LEAF"] * 3,
        nodes_truenodeids=[3, 3, 3, 6, 7, 6, 0, 0, 0],
        nodes_falsenodeids=[1, 2, 4, 7, 5, 8, 0, 0, 0],
        nodes_missing_value_tracks_true=[nan] + [0] * 8,
        target_treeids=[0] * 3, target_nodeids=[6, 7, 8], target_ids=[0] * 3,
        target_weights=[1.0, 2.0, 4.0])
    x = inputs(60, 2)
    high = x[:, 1] <= 0.5
    member = (x[:, 0] == 1) | (x[:, 0] == 2) | (x[:, 0] == -1)
    member |= np.isnan(x[:, 0]) & bool(nan)
    want = np.where(member, np.where(high, 1, 2),
                    np.where(x[:, 0] == 3, 2, np.where(x[:, 0] == 1.5, 1, 4)))
    f.case("TreeEnsembleRegressor", [x], n_targets=1,
           want=[want[:, None].astype(np.float32)], **chain, **V3)


def ensemble(trees, depth, features, modes, targets, dtype, nan=True):
    """Attributes of TreeEnsemble."""
    nodes, leaves, members, roots = [], [], [], []

    def grow(level):
        i = len(nodes)
        node = dict(feature=int(f.random.integers(features)), mode=int(pick(modes)),
                    split=value(), nan=int(nan and pick(2)))
        nodes.append(node)
        for side in "true", "false":
            end = level == depth or f.random.random() < 0.2
            node[side + "leaf"] = int(end)
            if end:
                node[side] = len(leaves)
                leaves.append((int(f.random.integers(targets)), n()))
            else:
                node[side] = grow(level + 1)
        return i

    for _ in range(trees):
        roots.append(grow(1))
    for node in nodes:
        if node["mode"] == 6:  # ONNX Runtime has sets of integers only
            members += list(f.random.integers(1, 9, f.random.integers(1, 9)))
            members.append(np.nan)
    tensor = lambda v, t=dtype: numpy_helper.from_array(np.array(v, t))
    get = lambda key: [node[key] for node in nodes]
    a = dict(nodes_featureids=get("feature"), nodes_modes=tensor(get("mode"), np.uint8),
             nodes_splits=tensor(get("split")), nodes_truenodeids=get("true"),
             nodes_trueleafs=get("trueleaf"), nodes_falsenodeids=get("false"),
             nodes_falseleafs=get("falseleaf"), tree_roots=roots,
             leaf_targetids=[t for t, _ in leaves],
             leaf_weights=tensor([w for _, w in leaves]), n_targets=targets)
    if nan:
        a["nodes_missing_value_tracks_true"] = get("nan")
    if members:
        a["membership_values"] = tensor(members)
    return a


for modes in *([m] for m in range(7)), range(7):
    f.case("TreeEnsemble", [inputs(40, 5)],
           **ensemble(9, 4, 5, list(modes), 1, np.float32), **V5)
for aggregate in range(4):
    for dtype in np.float32, np.float64:
        f.case("TreeEnsemble", [inputs(30, 5, dtype)], dynamic=True,
               aggregate_function=aggregate,
               **ensemble(6, 4, 5, range(7), 3, dtype), **V5)


def softmax(v, keep=None):
    e = np.exp(v - v.max(1, keepdims=True))
    e = e if keep is None else np.where(keep, e, 0)
    return e / e.sum(1, keepdims=True)


# By the standard's numbers; ONNX Runtime has 1 and 2 the other way round.
transforms = [lambda v: v, softmax, lambda v: 1 / (1 + np.exp(-v)),
              lambda v: softmax(v, v != 0)]
for post, transform in enumerate(transforms):
    x, a = inputs(17, 5), ensemble(3, 2, 5, range(7), 3, np.float32, nan=False)
    scores = by_runtime(model_of("TreeEnsemble", [x], **a, **V5), {"in0": x})[0]
    f.case("TreeEnsemble", [x], post_transform=post,
           want=[transform(scores).astype(np.float32)], **a, **V5)

# Trees that are not: nodes that are missing, circles, too few features.
wrong = forest(2, 2, 5, MODES, "target", 1)
count = len(wrong["nodes_modes"])
x = inputs(3, 5)
f.refused("TreeEnsembleRegressor", [x[:, :1]],
          **(wrong | {"nodes_featureids": [3] * count}), **ML)
f.refused("TreeEnsembleRegressor", [x[:, :1]], run_time=True, dynamic=True,
          **(wrong | {"nodes_featureids": [3] * count}), **ML)
for key, v in ("nodes_truenodeids", [999] * count), \
        ("nodes_featureids", [-1] * count), ("nodes_nodeids", [0] * count), \
        ("nodes_truenodeids", [0] * count), ("nodes_modes", ["BRANCH"] * count), \
        ("target_ids", [7] * len(wrong["target_ids"])), \
        ("target_nodeids", [0] * len(wrong["target_ids"])):
    f.refused("TreeEnsembleRegressor", [x], **(wrong | {key: v}), **ML)
f.done()
