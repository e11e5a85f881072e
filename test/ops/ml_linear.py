"""Linear models and support vector machines of ai.onnx.ml against ONNX
Runtime."""
import numpy as np
from harness import Family

f = Family("ml_linear")
n, ints = f.normal, f.integers
ML = {"domain": "ai.onnx.ml"}
POSTS = "NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"
flat = lambda *shape: [float(v) for v in n(*shape).ravel()]

for post in POSTS:
    f.case("LinearRegressor", [n(4, 3)], coefficients=flat(2, 3), targets=2,
           intercepts=flat(2), post_transform=post, **ML)
    f.case("LinearClassifier", [n(9, 3)], coefficients=flat(3, 3),
           intercepts=flat(3), classlabels_ints=[4, 7, 9], outputs=2,
           post_transform=post, dynamic=[0], **ML)
    for rows in 2, 1:
        f.case("LinearClassifier", [n(9, 3)], coefficients=flat(rows, 3),
               intercepts=flat(rows), classlabels_ints=[4, 7], outputs=2,
               post_transform=post, **ML)
f.case("LinearRegressor", [n(4, 3)], coefficients=flat(3), targets=1, **ML)
f.case("LinearRegressor", [n(3)], coefficients=flat(3), targets=1, **ML)
f.case("LinearRegressor", [abs(n(9, 3)) / 9], coefficients=[0.5, 0.3, 0.8],
       targets=1, intercepts=[0.2], post_transform="PROBIT", atol=1e-3, **ML)
# PROBIT does not cancel, neither in the middle nor near the ends.
v = np.array([.5 + 1e-4, .4999, .594, 1e-6, 1 - 1e-6, .9], np.float32)
p = v.astype(float)
a = 2 / (np.pi * .147) + np.log(4 * p * (1 - p)) / 2
f.case("LinearRegressor", [v[:, None]], coefficients=[1.0], targets=1,
       post_transform="PROBIT", rtol=1e-5, atol=0,
       want=[(np.sqrt(2) * np.sign(p - .5) * np.sqrt(np.sqrt(
           a * a - np.log(4 * p * (1 - p)) / .147) - a)).astype(
               np.float32)[:, None]], **ML)
f.case("LinearClassifier", [n(0, 3)], coefficients=flat(3, 3), outputs=2,
       intercepts=flat(3), classlabels_ints=[4, 7, 9], dynamic=[0], **ML)
for dtype in np.float64, np.int64, np.int32:
    f.case("LinearClassifier", [ints(-3, 4, 5, 3, dtype=dtype)], outputs=2,
           coefficients=flat(3, 3), intercepts=flat(3),
           classlabels_ints=[4, 7, 9], **ML)
# One target is transformed as well.
x, c = n(4, 3), flat(3)
score = x @ np.array(c, np.float32)[:, None]
f.case("LinearRegressor", [x], coefficients=c, targets=1,
       post_transform="LOGISTIC", want=[1 / (1 + np.exp(-score))], **ML)
# Classes with names.
for rows, names in (3, ["a", "bee", "Gr\u00f6\u00dfe"]), (1, ["", "b"]), (2, ["c", "b"]):
    f.case("LinearClassifier", [n(9, 3)], coefficients=flat(rows, 3),
           intercepts=flat(rows), classlabels_strings=names, outputs=2,
           dynamic=[0], **ML)
    if rows > 1:
        f.case("SVMClassifier", [n(9, 3)], coefficients=flat(rows, 3), rho=[0.1],
               classlabels_strings=names, outputs=2, kernel_params=[0.0] * 3, **ML)
# Ties: the first class.
f.case("LinearClassifier", [np.ones((2, 2), np.float32)], outputs=2,
       coefficients=[1.0, 1.0] * 3, intercepts=[0.0] * 3,
       classlabels_ints=[4, 7, 9], **ML)

KERNELS = "LINEAR", "POLY", "RBF", "SIGMOID"
for kernel in KERNELS:
    machine = dict(kernel_type=kernel, kernel_params=[0.3, 0.1, 2.0], **ML)
    f.case("SVMRegressor", [n(6, 3)], n_supports=4, support_vectors=flat(4, 3),
           coefficients=flat(4), rho=[0.1], dynamic=[0], **machine)
    for counts in (2, 3), (2, 1, 3), (1, 2, 1, 2):
        k, total = len(counts), sum(counts)
        pairs = k * (k - 1) // 2
        model = dict(support_vectors=flat(total, 3), rho=flat(pairs),
                     coefficients=flat(k - 1, total), outputs=2,
                     vectors_per_class=list(counts),
                     classlabels_ints=[1, 5, 6, 0][:k], **machine)
        f.case("SVMClassifier", [n(20, 3)], **model)
        f.case("SVMClassifier", [n(20, 3)], prob_a=[-abs(v) for v in flat(pairs)],
               prob_b=flat(pairs), dynamic=[0], rtol=1e-3, atol=1e-4, **model)
for post in POSTS[1:]:
    for counts in (2, 3), (2, 1, 3):
        k, total = len(counts), sum(counts)
        pairs = k * (k - 1) // 2
        model = dict(support_vectors=flat(total, 3), rho=flat(pairs),
                     coefficients=flat(k - 1, total), outputs=2,
                     vectors_per_class=list(counts), post_transform=post,
                     kernel_type="RBF", kernel_params=[0.3, 0.1, 2.0],
                     classlabels_ints=[1, 5, 6, 0][:k], **ML)
        f.case("SVMClassifier", [n(20, 3)], **model)
        f.case("SVMClassifier", [n(20, 3)], prob_a=[-abs(v) for v in flat(pairs)],
               prob_b=flat(pairs), rtol=1e-3, atol=1e-4, **model)
f.case("SVMRegressor", [n(6, 3)], n_supports=4, support_vectors=flat(4, 3),
       coefficients=flat(4), rho=[0.1], one_class=1, kernel_type="LINEAR",
       kernel_params=[0.0, 0.0, 0.0], **ML)
f.case("SVMRegressor", [n(6, 3)], n_supports=0, coefficients=flat(3),
       rho=[0.1], kernel_params=[0.0, 0.0, 0.0], **ML)
for post in POSTS:
    for k in 2, 3:
        # All coefficients positive decides otherwise between two classes.
        for sign in (False, True) if k == 2 else (False,):
            c = [abs(v) if sign else v for v in flat(k, 3)]
            f.case("SVMClassifier", [n(12, 3)], coefficients=c, rho=[0.2],
                   kernel_params=[0.0, 0.0, 0.0], post_transform=post,
                   classlabels_ints=[2, 1, 0][:k], outputs=2, **ML)
f.refused("SVMClassifier", [n(6, 3)], coefficients=flat(2, 5), rho=[0.2],
          support_vectors=flat(5, 3), vectors_per_class=[2, 3], outputs=2,
          classlabels_ints=[0, 1, 2], **ML)
f.refused("LinearClassifier", [n(6, 3)], coefficients=flat(2, 5), outputs=2,
          intercepts=flat(2), classlabels_ints=[0, 1], **ML)
f.done()
