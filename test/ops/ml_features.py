"""Preparation of features of ai.onnx.ml against ONNX Runtime."""
import numpy as np
from harness import Family

f = Family("ml_features")
n, ints = f.normal, f.integers
ML = {"domain": "ai.onnx.ml"}
flat = lambda *shape: [float(v) for v in n(*shape).ravel()]
NUMBERS = np.float32, np.float64, np.int64, np.int32

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
for dtype in NUMBERS:
    x = ints(-5, 6, 4, 3, dtype=dtype)
    x[1] = 0
    f.case("Scaler", [x], offset=flat(3), scale=flat(3), **ML)
    for norm in "MAX", "L1", "L2":
        f.case("Normalizer", [np.abs(x) if norm == "MAX" else x], norm=norm,
               dynamic=True, **ML)
large = np.array([[1e300, 1e10, -1e10], [3, -4, 0]])
f.case("Normalizer", [large[1:]], norm="L2", **ML)
f.case("Scaler", [np.array([[1e10 + 1, 16777217.0]])], offset=[1e10, 16777216.0],
       scale=[1.0, 1.0], **ML)
x = n(4, 3)
x[1, 2] = x[3, 0] = np.nan
f.case("Imputer", [x], imputed_value_floats=flat(3),
       replaced_value_float=float("nan"), **ML)
f.case("Imputer", [x], imputed_value_floats=[0.5], replaced_value_float=float("nan"),
       dynamic=True, **ML)
f.case("Imputer", [x], imputed_value_floats=[0.5],
       replaced_value_float=float(x[0, 0]), **ML)
f.case("Imputer", [ints(0, 3, 4, 3)], imputed_value_int64s=[7],
       replaced_value_int64=1, dynamic=True, **ML)
f.case("Imputer", [ints(0, 3, 4, 3)], imputed_value_int64s=[7, 8, 9],
       replaced_value_int64=1, **ML)
for dtype in NUMBERS:
    f.case("ArrayFeatureExtractor", [ints(0, 9, 3, 4, dtype=dtype),
                                     np.array([3, 0, 3])], **ML)
f.case("ArrayFeatureExtractor", [n(5), np.array([[4, 1]])], **ML)
f.case("ArrayFeatureExtractor", [n(2, 3, 4), np.array([[2]])], dynamic=True, **ML)
f.case("FeatureVectorizer", [n(3, 2), n(3, 4)], inputdimensions=[2, 4], **ML)
f.case("FeatureVectorizer", [n(3, 2), n(3, 4)], inputdimensions=[3, 1],
       dynamic=True, **ML)
f.case("FeatureVectorizer", [n(4), n(3)], inputdimensions=[4, 3], **ML)
x = n(4), n(4)
f.case("FeatureVectorizer", list(x), inputdimensions=[1, 1],
       want=[np.stack(x, 1)], **ML)
f.case("FeatureVectorizer", [n(2, 3, 2), n(2, 4)], inputdimensions=[6, 4], **ML)
for shape in (3, 2), (5,), (0,):
    for dtype in np.int64, np.float32, np.float64:
        f.case("OneHotEncoder", [ints(0, 4, *shape, dtype=dtype)],
               cats_int64s=[2, 0, 5], dynamic=True, **ML)
f.case("OneHotEncoder", [n(4, 2) * 3], cats_int64s=[-2, -1, 0, 1, 2], **ML)
f.case("OneHotEncoder", [ints(1, 3, 5)], cats_int64s=[1, 2], zeros=0, **ML)
text = np.array([["a", "bee", ""], ["Gr\u00f6\u00dfe", "b", "a"]], object)
for x in text, text[0]:
    f.case("OneHotEncoder", [x], cats_strings=["bee", "Gr\u00f6\u00dfe", "a"],
           dynamic=True, **ML)
f.case("ArrayFeatureExtractor", [text, np.array([2, 0])], **ML)
f.refused("OneHotEncoder", [text], cats_int64s=[1, 2], **ML)
f.refused("OneHotEncoder", [ints(1, 4, 50)], cats_int64s=[1, 2], zeros=0,
          run_time=True, **ML)
text = np.array(["", "a", "ß", "日本", "A"], object)
for shape in (3, 2), (5,), (0,):
    f.case("OneHotEncoder", [text[ints(0, 5, *shape)]], dynamic=True,
           cats_strings=["ß", "", "zz"], **ML)
f.refused("OneHotEncoder", [text], cats_strings=["ß", ""], zeros=0,
          run_time=True, **ML)
f.case("LabelEncoder", [ints(0, 6, 3, 4)], keys_int64s=[5, 1, 3],
       values_floats=flat(3), default_float=0.5, dynamic=True, version=2, **ML)
f.case("LabelEncoder", [ints(0, 6, 7).astype(np.float32)],
       keys_floats=[5.0, 1.0], values_int64s=[50, 10], version=2, **ML)
x = n(4, 3)
f.refused("Imputer", [x], replaced_value_float=1.0, **ML)
f.refused("Normalizer", [x], norm="L3", **ML)
f.refused("Scaler", [x], offset=[0.5, 1.0], scale=[2.0, 1.0], **ML)
f.refused("FeatureVectorizer", [n(3, 2), n(3, 4)], inputdimensions=[3], **ML)
f.done()
