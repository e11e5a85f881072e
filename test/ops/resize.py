"""Resize where one of the dims keeps its size, against ONNX Runtime: every
transformation of coordinates leaves it as it is, whatever the rounding."""
import numpy as np
from harness import Family, by_runtime, model_of

f = Family("resize")
roi = np.zeros(0, np.float32)
for transform in "half_pixel", "asymmetric", "align_corners", \
        "pytorch_half_pixel", "tf_half_pixel_for_nn":
    for mode in "round_prefer_floor", "round_prefer_ceil", "floor", "ceil":
        for scales in (1, 2), (1, 1), (1.5, 1):
            x = f.normal(4, 5)
            scales = np.array(scales, np.float32)
            f.case("Resize", [x, roi, scales], opset=11, mode="nearest",
                   coordinate_transformation_mode=transform,
                   nearest_mode=mode, constants=[1, 2],
                   dynamic=[0] if mode == "ceil" else False)
            if mode == "ceil" and transform.startswith("tf"):
                f.case("Resize", [x, roi, scales], opset=11, mode="linear",
                       coordinate_transformation_mode=transform)

# Strings go where their numbers go.
words = np.array([f"word {i}" for i in range(20)], object).reshape(4, 5)
numbers = np.arange(20, dtype=np.float32).reshape(4, 5)
for scales in (2, 3), (.5, 1.4):
    options = dict(opset=19, mode="nearest", constants=[2])
    scales = np.array(scales, np.float32)
    model = model_of("Resize", [numbers, None, scales], **options)
    at = by_runtime(model, {"in0": numbers})[0].astype(np.int64)
    for dynamic in False, [0]:
        f.case("Resize", [words, None, scales], dynamic=dynamic,
               want=[words.ravel()[at]], **options)
f.refused("Resize", [words, None, scales], mode="linear", opset=19)
f.case("RandomUniformLike", [words], dtype=1, low=3.0, high=3.0,
       want=[np.full((4, 5), 3, np.float32)])
f.done()
