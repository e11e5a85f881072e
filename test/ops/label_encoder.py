"""LabelEncoder and CategoryMapper against ONNX Runtime."""
import numpy as np
from harness import Family, helper, numpy_helper

f = Family("label_encoder")
WORDS = ["", "a", "A", "é", "日本", "b", "ab"]


def words(*shape):
    n = int(np.prod(shape))
    return np.array([WORDS[int(i)] for i in f.integers(0, len(WORDS), n)],
                    object).reshape(shape)


ML = {"domain": "ai.onnx.ml"}
keys, names = ["a", "é", "", "a", "日本"], ["one", "", "ß", "four", "five"]
for shape in (), (0,), (7,), (2, 3):
    for dynamic in {len(shape) != 1, True}:
        x, i = words(*shape), f.integers(0, 7, *shape)
        old = dict(dynamic=dynamic, version=1, **ML)
        f.case("LabelEncoder", [x], classes_strings=["a", "A", ""],
               default_int64=-7, **old)
        f.case("LabelEncoder", [i], classes_strings=["a", "A", ""], **old)
        f.case("CategoryMapper", [x], cats_int64s=[5, 3, 4, 9, 1],
               cats_strings=keys, default_int64=-2, **old)
        f.case("CategoryMapper", [i], cats_int64s=[5, 3, 4, 3, 1],
               cats_strings=names, default_string="??", **old)
        for version in 2, 4:
            new = dict(dynamic=dynamic, version=version, **ML)
            f.case("LabelEncoder", [x], keys_strings=keys,
                   values_int64s=[1, 2, 3, 4, 5], default_int64=77, **new)
            f.case("LabelEncoder", [x], keys_strings=keys, values_strings=names,
                   **new)
            f.case("LabelEncoder", [x], keys_strings=keys,
                   values_floats=[1.5, 2.0, 3.0, 4.0, 5.0], **new)
            f.case("LabelEncoder", [i], keys_int64s=[3, 1, 3, 0, 5],
                   values_strings=names, default_string="none", **new)
            f.case("LabelEncoder", [np.asarray(i / 2, np.float32)],
                   keys_floats=[1.5, 0.5, 0.0, 1.0, 3.0],
                   values_strings=names, **new)
text = helper.make_tensor("t", 8, [2], ["a".encode(), "ß".encode()])
number = helper.make_tensor("t", 11, [2], [0.5, 1.5])
for k, v, d in ((text, text, helper.make_tensor("d", 8, [1], [b"?"])),
                (text, number, helper.make_tensor("d", 11, [1], [9.5])),
                (number, text, helper.make_tensor("d", 8, [1], [b"?"]))):
    x = np.array(["a", "b", "ß"], object) if k is text else \
        np.array([1.5, 2.5, 0.5])
    f.case("LabelEncoder", [x], keys_tensor=k, values_tensor=v, default_tensor=d,
           version=4, dynamic=True, **ML)
# Many keys are searched, whatever their type and order; of equal ones the first
# counts.
for size in 1, 2, 3, 7, 8, 9, 1000:
    table = f.integers(-700, 700, size)
    for dtype in np.float32, np.float64, np.int64, np.int32, np.int16:
        scale = 2 if np.dtype(dtype).kind == "f" else 1
        k = table.astype(dtype) / dtype(scale) if scale == 2 else \
            table.astype(dtype)
        if scale == 2 and size > 2:
            k[1] = np.nan
        numbers = np.arange(size)
        same = lambda v, k: (k == v) | (np.isnan(k) & np.isnan(v))
        x = np.concatenate([k[::3], k[-1:], f.integers(-900, 900, 40).astype(
            dtype), np.array([np.nan, np.inf, -np.inf, -0.] if scale == 2 else
                             [np.iinfo(dtype).max, np.iinfo(dtype).min],
                             dtype)])
        want = np.array([next(iter(numbers[same(v, k)]), -1) for v in x])
        f.case("LabelEncoder", [x.reshape(1, -1)], want=[want.reshape(1, -1)],
               keys_tensor=numpy_helper.from_array(k),
               values_tensor=numpy_helper.from_array(numbers),
               default_tensor=numpy_helper.from_array(np.array([-1])),
               version=4, dynamic=size % 2 == 1, **ML)
f.refused("LabelEncoder", [words(3)], keys_strings=["a", "b"],
          values_int64s=[1], version=2, **ML)
f.refused("LabelEncoder", [words(3)], keys_int64s=[1], values_strings=["a"],
          version=2, **ML)
f.refused("CategoryMapper", [words(3)], cats_strings=["a"], cats_int64s=[1, 2],
          version=1, **ML)
f.done()
