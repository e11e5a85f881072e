"""ai.onnx.ml against ONNX Runtime."""
import numpy as np
from harness import Family

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
f.done()
