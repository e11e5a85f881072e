"""Resize where one of the dims keeps its size, against ONNX Runtime: every
transformation of coordinates leaves it as it is, whatever the rounding."""
import numpy as np
from harness import Family

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
f.done()
