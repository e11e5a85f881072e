"""ai.onnx.ml: ensembles of trees."""
import numpy as np
from onnx import numpy_helper

from draw import T, numpy_type
from families.ml import POSTS, both, few, labels, named, posted, result_type

DOMAIN = "ai.onnx.ml"
MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ",
         "BRANCH_NEQ")


def threshold(d):
    """Few different ones, which inputs meet exactly."""
    return d.integer(-4, 4) / 2


def weight(d, low=-1):
    return d.number(low, 1)


def forest(d, features, names, targets, per_leaf, low=-1):
    """Attributes of random trees; `names`: prefix of those of the leaves."""
    keys = ("treeids nodeids featureids values modes truenodeids falsenodeids "
            "missing_value_tracks_true").split()
    nodes = {f"nodes_{k}": [] for k in keys}
    leaves = {f"{names}_{k}": [] for k in "treeids nodeids ids weights".split()}
    modes = MODES[:d.pick(1, 1, 6)]
    nan, depth = d.chance(.4), d.integer(1, 4)
    number = {"next": 0}

    def grow(tree, level):
        at, node = len(nodes["nodes_nodeids"]), number["next"]
        number["next"] += 1
        end = level == depth or d.chance(.2 * (level > 0) + .05)
        for key, v in zip(keys, (tree, node, d.integer(0, features - 1),
                                 threshold(d), "LEAF" if end else d.pick(*modes),
                                 0, 0, int(nan and d.chance(.5)))):
            nodes[f"nodes_{key}"].append(v)
        if end:
            count = min(targets, per_leaf)
            for k in d.rng.permutation(targets)[:count]:
                for key, v in zip("treeids nodeids ids weights".split(),
                                  (tree, node, int(k), weight(d, low))):
                    leaves[f"{names}_{key}"].append(v)
        else:
            for side in "truenodeids", "falsenodeids":
                nodes[f"nodes_{side}"][at] = grow(tree, level + 1)
        return node

    for tree in range(d.pick(1, 2, 5, 17)):
        number["next"] = 0
        grow(tree, 0)
    if not nan and d.chance(.5):
        del nodes["nodes_missing_value_tracks_true"]
    if d.chance(.2):  # entries need not be in the order of their leaves
        order = d.rng.permutation(len(leaves[f"{names}_ids"]))
        leaves = {k: [v[i] for i in order] for k, v in leaves.items()}
    return nodes | leaves


def doubles(d, given, names):
    """Now and then the form with tensors of doubles."""
    if "nodes_values_as_tensor" not in d.attributes or d.chance(.5):
        return given
    given = dict(given)
    for key in "nodes_values", f"{names}_weights", "base_values":
        if given.get(key):
            given[key + "_as_tensor"] = numpy_helper.from_array(
                np.array(given.pop(key), np.float64), key)
    return given


def inputs(d, t):
    features = d.integer(1, 6)
    x = few(d, t, [0 if d.chance(.04) else d.integer(1, 40), features])
    return x, features


COMPARE = {"BRANCH_LEQ": np.less_equal, "BRANCH_LT": np.less,
           "BRANCH_GTE": np.greater_equal, "BRANCH_GT": np.greater,
           "BRANCH_EQ": np.equal, "BRANCH_NEQ": np.not_equal}


def scores(x, a, names, targets, aggregate="SUM"):
    """What the leaves say, [rows, targets]: a target that none scores has 0."""
    keys = ("featureids values modes truenodeids falsenodeids "
            "missing_value_tracks_true").split()
    rows = [a.get(f"nodes_{k}", [0] * len(a["nodes_modes"])) for k in keys]
    nodes = dict(zip(zip(a["nodes_treeids"], a["nodes_nodeids"]), zip(*rows)))
    leaves = {}
    for *place, k, w in zip(*[a[f"{names}_{k}"] for k in
                              "treeids nodeids ids weights".split()]):
        leaves.setdefault(tuple(place), []).append((k, np.float32(w)))
    found = np.zeros((len(x), targets))
    trees = sorted(set(a["nodes_treeids"]))
    for row, out in zip(x, found):
        given = [[] for _ in range(targets)]
        for tree in trees:
            at = 0
            while True:
                feature, split, mode, yes, no, nan = nodes[tree, at]
                if mode == "LEAF":
                    break
                v = row[feature]
                at = yes if COMPARE[mode](v, split) or nan and np.isnan(v) \
                    else no
            for k, w in leaves.get((tree, at), []):
                given[k].append(w)
        for k, some in enumerate(given):
            if some:
                out[k] = {"MIN": min, "MAX": max}.get(aggregate, sum)(some)
    return found / len(trees) if aggregate == "AVERAGE" else found


def regressor(d):
    t = d.type(among=(T.FLOAT, T.DOUBLE))
    x, features = inputs(d, t)
    targets = d.pick(1, 1, 2, 3)
    aggregate = d.pick(None, "SUM", "AVERAGE", "MIN", "MAX")
    post = d.pick(*POSTS[:-1]) if targets > 1 else d.pick(None, "NONE")
    given = forest(d, features, "target", targets, d.pick(1, targets))
    if d.chance(.4):
        given["base_values"] = [weight(d) for _ in range(targets)]
    plain = dict(given)
    if t == T.DOUBLE:
        given = doubles(d, given, "target")
    return d.node([x], spread="sum", n_targets=targets, post_transform=post,
                  aggregate_function=aggregate, **given,
                  formula=lambda x: posted(scores(
                      x, plain, "target", targets, aggregate) +
                      plain.get("base_values", [0]), post))


def classifier(d):
    t = d.type("T1")
    x, features = inputs(d, t)
    classes = d.pick(1, 2, 2, 3, 5)
    names = labels(d, classes, "classlabels_int64s")
    result_type(d, names)
    single = classes == 2 and d.chance(.7)
    low = d.pick(-1, 0)
    given = forest(d, features, "class", 1 if single else classes,
                   d.pick(1, classes), low)
    if single and d.chance(.5):
        given["class_ids"] = [1] * len(given["class_ids"])
    if d.chance(.3):
        given["base_values"] = [weight(d) for _ in range(
            1 if single else classes)]
    plain, post = dict(given), d.pick(*POSTS[:-1])
    if t == T.DOUBLE:
        given = doubles(d, given, "class")
    ids = set(plain["class_ids"])
    one = classes == 2 and len(ids) == 1 and len(
        plain.get("base_values", [])) != 2
    positive = min(plain["class_weights"]) >= 0

    def formula(x):
        base = plain.get("base_values", [0])
        s = scores(x, plain, "class", classes)
        if not one:
            s = s + base
            return [named(names, s.argmax(1)), posted(s, post)]
        s = s[:, list(ids)] + base
        label = named(names, (s[:, 0] > (.5 if positive else 0)).astype(int))
        if ids == {1}:
            return [label, posted(np.hstack([0 * s, s]), post)]
        if post in (None, "NONE", "SOFTMAX", "SOFTMAX_ZERO") and not positive:
            return [label, np.hstack([-s, s])]
        return [label, both(s, post)]
    return d.node([x], outputs=2, spread="sum", post_transform=post,
                  formula=formula, **names, **given)


def ensemble(d):
    t = d.type()
    x, features = inputs(d, t)
    targets, depth = d.pick(1, 1, 3), d.integer(1, 4)
    modes = d.pick([0], [0, 1, 2, 3], list(range(7)))
    nodes, leaves, members, roots = [], [], [], []
    nan = d.chance(.4)

    def grow(level):
        node = dict(feature=d.integer(0, features - 1), mode=d.pick(*modes),
                    split=threshold(d), nan=int(nan and d.chance(.5)))
        at = len(nodes)
        nodes.append(node)
        for side in "true", "false":
            end = level == depth or d.chance(.2)
            node[side + "leaf"] = int(end)
            if end:
                node[side] = len(leaves)
                leaves.append((d.integer(0, targets - 1), weight(d)))
            else:
                node[side] = grow(level + 1)
        return at

    for _ in range(d.pick(1, 2, 5)):
        roots.append(grow(1))
    for node in nodes:
        if node["mode"] == 6:  # ONNX Runtime has sets of integers only
            members += [d.integer(1, 8) for _ in range(d.integer(1, 6))] + [
                np.nan]
    tensor = lambda v, kind=numpy_type(t): numpy_helper.from_array(
        np.array(v, kind))
    get = lambda name: [node[name] for node in nodes]
    return d.node(
        [x], spread="sum", nodes_featureids=get("feature"),
        nodes_modes=tensor(get("mode"), np.uint8),
        nodes_splits=tensor(get("split")), nodes_truenodeids=get("true"),
        nodes_trueleafs=get("trueleaf"), nodes_falsenodeids=get("false"),
        nodes_falseleafs=get("falseleaf"), tree_roots=roots,
        leaf_targetids=[k for k, _ in leaves], leaf_weights=tensor(
            [w for _, w in leaves]), n_targets=targets,
        nodes_missing_value_tracks_true=get("nan") if nan else None,
        membership_values=tensor(members) if members else None,
        aggregate_function=d.pick(None, 0, 1, 2, 3),
        post_transform=d.pick(None, 0))


OPS = {"TreeEnsemble": ensemble, "TreeEnsembleRegressor": regressor,
       "TreeEnsembleClassifier": classifier}
