"""ai.onnx.ml: preparation of features, tables of labels, linear models and
support vector machines."""
import numpy as np
from onnx import numpy_helper

from draw import FLOATS, T, WORDS, numpy_type

DOMAIN = "ai.onnx.ml"
POSTS = None, "NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"


def numbers(d, *shape, low=-2, high=2):
    """Random floats of an attribute."""
    return [float(np.float32(v)) for v in
            np.round(d.rng.uniform(low, high, shape), 3).ravel()]


def few(d, t, shape, low=-3, high=3):
    """A tensor with few different numbers, so that some meet a bound or key
    exactly; floats have halves, and now and then NaN and infinities."""
    if t == T.STRING:
        return d.tensor(t, shape)
    x = d.rng.integers(2 * low, 2 * high + 1, tuple(shape)) / 2
    if t in FLOATS and d.chance(.2):
        odd = d.rng.choice([np.nan, np.inf, -np.inf, -0.0], tuple(shape))
        x = np.where(d.rng.random(tuple(shape)) < .1, odd, x)
    elif t not in FLOATS:
        x = np.floor(x)
    return d.given(x, t)


def rows(d, columns, high=9):
    """[rows, columns], or one row without the first dim."""
    if d.chance(.1):
        return [columns]
    return [0 if d.chance(.04) else d.integer(1, high), columns]


def binarizer(d):
    x = few(d, d.type(), d.shape(max_rank=3))
    return d.node([x], spread="exact",
                  threshold=d.pick(None, 0.0, 0.5, -1.0, d.number(-2, 2)))


def scaler(d):
    shape = d.shape(min_rank=1, max_rank=3)
    if shape[-1] == 0:
        shape[-1] = 2
    t = d.type()
    x = d.tensor(t, shape, -9, 9)
    some = lambda low: numbers(d, d.pick(1, shape[-1]), low=low)
    offset = some(-2) if d.chance(.9) else None
    # ONNX Runtime wants as many of both.
    scale = numbers(d, len(offset)) if offset else some(-2)
    return d.node([x], offset=offset, scale=scale, spread="cancel",
                  formula=lambda x: (x - np.array(offset or [0])) * scale)


def normalizer(d):
    x = few(d, d.type(), d.shape(min_rank=1, max_rank=2))
    norm = d.pick(None, "MAX", "L1", "L2")

    def formula(x):
        by = {"L1": 1, "L2": 2}.get(norm, np.inf)
        length = np.linalg.norm(x, by, -1, keepdims=True) \
            if x.shape[-1] else np.ones([])
        return x / np.where(length == 0, 1, length)
    return d.node([x], norm=norm, formula=formula)


def imputer(d):
    t = d.type()
    features = d.size()
    x = few(d, t, rows(d, features))
    count = d.pick(1, features)
    if t in FLOATS:
        return d.node([x], spread="exact",
                      imputed_value_floats=numbers(d, count),
                      replaced_value_float=d.pick(None, 0.0, 1.5, float("nan")))
    values = [d.integer(-9, 9) for _ in range(count)]
    return d.node([x], spread="exact", imputed_value_int64s=values,
                  replaced_value_int64=d.pick(None, 0, 1, -3))


def vectorizer(d):
    t = d.type("T1")
    count = d.integer(1, 4)
    n = 0 if d.chance(.04) else d.integer(1, 7)
    sizes = [d.integer(1, 6) for _ in range(count)]
    parts = [few(d, t, [n, s]) for s in sizes]
    # Less than there is, or more.
    dims = [max(1, s + d.pick(0, 0, 0, 1, -1)) for s in sizes]
    return d.node(parts, inputdimensions=dims, spread="exact")


def extractor(d):
    shape = d.shape(min_rank=1, max_rank=3)
    if shape[-1] == 0:
        shape[-1] = 3
    x = d.tensor(d.type(), shape, special=0)
    count = d.integer(1, 5)
    at = d.rng.integers(0, shape[-1], d.pick((count,), (1, count)))
    return d.node([x, d.given(at)], spread="exact")


def one_hot(d):
    t = d.type()
    zeros = d.pick(None, 0, 1)
    shape = d.shape(min_rank=1, max_rank=2)
    if t == T.STRING:
        some = [w for w in WORDS if d.chance(.6)] or ["a"]
        x = d.given(d.rng.choice(np.array(some if zeros == 0 else WORDS, object),
                                 tuple(shape)), t)
        return d.node([x], cats_strings=some, zeros=zeros, spread="exact")
    some = [v for v in range(-3, 9) if d.chance(.6)] or [1]
    d.rng.shuffle(some)
    pool = np.array(some if zeros == 0 else range(-4, 10))
    x = d.given(d.rng.choice(pool, tuple(shape)), t)
    return d.node([x], cats_int64s=[int(v) for v in some], zeros=zeros,
                  spread="exact")


def column(d, t, count):
    """Keys or values of a table."""
    if t == T.STRING:
        return [d.pick(*WORDS) for _ in range(count)]
    if t in FLOATS:
        found = [d.integer(-6, 6) / 2 for _ in range(count)]
        if d.chance(.2):
            found[0] = float("nan")
        return found
    return [d.integer(-6, 6) for _ in range(count)]


def unlike(keys):
    """Keys that are there once: of equal ones the first."""
    seen, kept = set(), []
    for k in keys:
        name = str(k)
        if name not in seen:
            kept.append(k)
        seen.add(name)
    return kept


FORMS = {T.STRING: "strings", T.INT64: "int64s", T.FLOAT: "floats"}


def as_tensor(values, t):
    if t == T.STRING:
        return numpy_helper.from_array(np.array(values, object))
    return numpy_helper.from_array(np.array(values, numpy_type(t)))


def looked_up(keys, values, absent, t):
    """The formula of a table; NaN is a key like others."""
    same = lambda a, b: a == b or (a != a and b != b)

    def of(v):
        return next((w for k, w in zip(keys, values) if same(v, k)), absent)
    return lambda x: np.array([of(v) for v in x.ravel()],
                              numpy_type(t)).reshape(x.shape)


def encoder(d):
    if d.version == 1:
        t = d.type("T1")
        d.types["T2"] = T.INT64 if t == T.STRING else T.STRING
        x = few(d, t, d.shape(max_rank=3), -2, 8)
        classes = unlike(column(d, T.STRING, d.integer(1, 8)))
        return d.node([x], classes_strings=classes, spread="exact",
                      default_int64=d.pick(None, -7),
                      default_string=d.pick(None, "", "none"))
    t, u = d.type("T1"), d.type("T2")
    keys = unlike(column(d, t, d.pick(1, 3, 8, 40)))
    values = column(d, u, len(keys))
    x = few(d, t, d.shape(max_rank=3))
    if d.version < 4 or (t in FORMS and u in FORMS and d.chance(.5)):
        given = dict(default_float=d.pick(-0., 1.5), default_int64=d.pick(-1, -7),
                     default_string=d.pick("_Unused", "", "none"))
        return d.node([x], spread="exact", **given,
                      formula=looked_up(keys, values, given["default_" +
                                        FORMS[u].removesuffix("s")], u),
                      **{f"keys_{FORMS[t]}": keys, f"values_{FORMS[u]}": values})
    absent = column(d, u, 1) if d.chance(.7) else None
    given = absent[0] if absent else \
        "_Unused" if u == T.STRING else -0. if u in FLOATS else -1
    return d.node([x], spread="exact", keys_tensor=as_tensor(keys, t),
                  values_tensor=as_tensor(values, u),
                  default_tensor=as_tensor(absent, u) if absent else None,
                  formula=looked_up(keys, values, given, u))


def mapper(d):
    t = d.type("T1")
    d.types["T2"] = T.INT64 if t == T.STRING else T.STRING
    words = column(d, T.STRING, d.integer(1, 8))
    ints = column(d, T.INT64, len(words))
    return d.node([few(d, t, d.shape(max_rank=3))], cats_strings=words,
                  cats_int64s=ints, default_int64=d.pick(None, -7),
                  default_string=d.pick(None, "", "none"), spread="exact")


def labels(d, count, ints="classlabels_ints"):
    """The attribute with names of classes, all different."""
    if d.chance(.5):
        return {"classlabels_strings": [WORDS[i] for i in
                                        d.rng.permutation(len(WORDS))[:count]]}
    return {ints: [int(i) - 4 for i in d.rng.permutation(20)[:count]]}


def result_type(d, given):
    d.types["T2"] = T.STRING if "classlabels_strings" in given else T.INT64


def posted(v, name):
    """Scores as a post_transform leaves them."""
    if name == "LOGISTIC":
        return 1 / (1 + np.exp(-v))
    if name == "PROBIT":  # Winitzki's approximation
        x = 2 * v - 1
        log = np.log(1 - x * x)
        a = 2 / (np.pi * .147) + log / 2
        return np.sqrt(2) * np.sign(x) * np.sqrt(np.sqrt(a * a - log / .147) - a)
    if name in ("SOFTMAX", "SOFTMAX_ZERO"):
        most = v.max(-1, keepdims=True)
        e = np.exp(v - most)
        if name == "SOFTMAX_ZERO":
            e = np.where(np.abs(v) > 1e-7, e, v * np.exp(-most))
        return e / e.sum(-1, keepdims=True)
    return v


def both(s, name):
    """Scores of two classes, of which the second has one."""
    if name == "LOGISTIC":
        return posted(np.hstack([-s, s]), name)
    return posted(np.hstack([1 - s, s]), name if name == "PROBIT" else None)


def named(given, index):
    """Labels of classes."""
    (some,) = given.values()
    return np.array(some, object if isinstance(some[0], str) else None)[index]


def planes(x, coefficients, intercepts, count):
    c = np.array(coefficients).reshape(count, -1)
    return np.atleast_2d(x) @ c.T + (intercepts or [0])


def linear_classifier(d):
    t = d.type("T1")
    classes, features = d.pick(2, 2, 3, 5), d.size()
    vectors = 1 if classes == 2 and d.chance(.4) else classes
    names = labels(d, classes)
    result_type(d, names)
    x = d.tensor(t, rows(d, features), -3, 3)
    c, post = numbers(d, vectors, features), d.pick(*POSTS)
    b = numbers(d, vectors) if vectors != classes or d.chance(.8) else None

    def formula(x):
        s = planes(x, c, b, vectors)
        if vectors == 1:
            return [named(names, (s[:, 0] > 0).astype(int)), both(s, post)]
        return [named(names, s.argmax(1)), posted(s, post)]
    return d.node([x], outputs=2, spread="sum", post_transform=post,
                  coefficients=c, intercepts=b, formula=formula,
                  multi_class=d.pick(None, 0, 1), **names)


def linear_regressor(d):
    t = d.type()
    targets, features = d.pick(1, 1, 2, 5), d.size()
    x = d.tensor(t, rows(d, features), -3, 3)
    c, post = numbers(d, targets, features), d.pick(*POSTS)
    b = numbers(d, targets) if d.chance(.8) else None
    return d.node([x], spread="sum", post_transform=post, coefficients=c,
                  targets=targets if targets > 1 or d.chance(.5) else None,
                  intercepts=b,
                  formula=lambda x: posted(planes(x, c, b, targets), post))


def kernel(d):
    name = d.pick("LINEAR", "POLY", "RBF", "SIGMOID")
    return {"kernel_type": name,
            "kernel_params": [d.number(.05, .5), d.number(0, 1), 2.0]}


def kernel_values(x, vectors, count, kernel_type, kernel_params):
    v = np.array(vectors).reshape(count, -1)
    gamma, coef0, degree = kernel_params
    dot = x @ v.T
    if kernel_type == "RBF":
        return np.exp(-gamma * ((x[:, None] - v) ** 2).sum(-1))
    return {"LINEAR": lambda: dot, "SIGMOID": lambda: np.tanh(gamma * dot + coef0),
            "POLY": lambda: (gamma * dot + coef0) ** degree}[kernel_type]()


def svm_regressor(d):
    t = d.type()
    features = d.integer(1, 6)
    x = d.tensor(t, rows(d, features), -2, 2)
    post, one = d.pick(*POSTS), d.pick(None, None, 0, 1)
    rho = numbers(d, 1)
    count = 0 if d.chance(.2) else d.integer(1, 7)  # 0: a plane
    c = numbers(d, count or features)
    if count:
        given = dict(support_vectors=numbers(d, count, features), **kernel(d))
    else:
        given = dict(kernel_params=[0.0] * 3)

    def formula(x):
        x = np.atleast_2d(x)
        if count:
            x = kernel_values(x, given["support_vectors"], count,
                              given["kernel_type"], given["kernel_params"])
        s = planes(x, c, rho, 1)
        return posted(np.where(s > 0, 1., -1.) if one else s, post)
    return d.node([x], spread="sum", post_transform=post, rho=rho, one_class=one,
                  coefficients=c, n_supports=count, formula=formula, **given)


def svm_classifier(d):
    t = d.type("T1")
    classes, features = d.pick(2, 2, 3, 4), d.integer(1, 6)
    names = labels(d, classes)
    result_type(d, names)
    x = d.tensor(t, rows(d, features), -2, 2)
    shared = dict(outputs=2, spread="sum", post_transform=d.pick(*POSTS), **names)
    if d.chance(.25):  # a plane for each class
        low = d.pick(-2, 0)
        return d.node([x], coefficients=numbers(d, classes, features, low=low),
                      rho=numbers(d, 1), kernel_params=[0.0] * 3, **shared)
    per_class = [d.integer(1, 3) for _ in range(classes)]
    total, pairs = sum(per_class), classes * (classes - 1) // 2
    probable = {}
    if d.chance(.4):
        probable = dict(prob_a=numbers(d, pairs, low=-2, high=-.1),
                        prob_b=numbers(d, pairs))
    return d.node([x], coefficients=numbers(d, classes - 1, total),
                  support_vectors=numbers(d, total, features),
                  rho=numbers(d, pairs), vectors_per_class=per_class,
                  **kernel(d), **probable, **shared)


OPS = {"Binarizer": binarizer, "Scaler": scaler, "Normalizer": normalizer,
       "Imputer": imputer, "FeatureVectorizer": vectorizer,
       "ArrayFeatureExtractor": extractor, "OneHotEncoder": one_hot,
       "LabelEncoder": encoder, "CategoryMapper": mapper,
       "LinearClassifier": linear_classifier,
       "LinearRegressor": linear_regressor, "SVMRegressor": svm_regressor,
       "SVMClassifier": svm_classifier}
