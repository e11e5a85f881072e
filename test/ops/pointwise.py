"""Functions of single elements, where other tests do not reach."""
import numpy as np
from harness import Family

f = Family("pointwise")

# Shifts of signed integers, by more than the width and by less than nothing.
for t in np.int8, np.int16, np.int32, np.int64:
    bits, info = np.dtype(t).itemsize * 8, np.iinfo(t)
    x = np.array([[info.min], [-77], [-1], [0], [1], [info.max]], t)
    by = np.array([0, 1, bits - 1, bits, info.max, -1, info.min], t)
    fits = (by >= 0) & (by < bits)
    right = x >> np.where(fits, by, bits - 1)
    left = np.where(fits, x << np.where(fits, by, 0), 0).astype(t)
    for direction, want in ("LEFT", left), ("RIGHT", right):
        for dynamic in False, True:
            f.case("BitShift", [x, by], direction=direction, want=[want],
                   dynamic=dynamic, opset=28)

# Unsigned numbers with the highest bit set are not negative.
for t in np.uint32, np.uint64:
    x = np.array([0, 1, np.iinfo(t).max, np.iinfo(t).max // 2 + 1], t)
    f.case("PRelu", [x, f.integers(2, 9, 4, dtype=t)], want=[x])

# Erf of integers is cut off: onnx computes it in single precision.
for t in (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16,
          np.uint32, np.uint64):
    info = np.iinfo(t)
    x = np.array([info.min, 0, 1, 3, 4, 5, info.max // 2 + 1, info.max], t)
    if info.min:
        x = np.concatenate([x, -x[1:]])
    for dynamic in False, True:
        f.case("Erf", [x], reference="onnx", dynamic=dynamic, opset=13)

# A limit that is not given is the type's largest number, from opset 6 on.
for t, largest in (np.float16, 65504), (np.float32, 3.4028234663852886e38), \
        (np.float64, np.finfo(np.float64).max):
    x = np.array([-np.inf, -3, np.nan, 0, 3, np.inf, largest], t)
    for low, high in (None, None), (-1, None), (None, 1), (-np.inf, np.inf):
        bounds = [None if b is None else np.array(b, t) for b in (low, high)]
        want = np.clip(x, -largest if low is None else low,
                       largest if high is None else high).astype(t)
        for dynamic in False, [0]:
            f.case("Clip", [x, *bounds], dynamic=dynamic, want=[want])
    limits = {} if t == np.float16 else {"min": -1.}
    want = np.clip(x, -1 if limits else -np.inf,
                   np.inf if t == np.float16 else 3.4028234663852886e38)
    f.case("Clip", [x], opset=6, want=[want.astype(t)], **limits)

# Sums of halves are rounded once.
for op in "Sum", "Mean":
    for count in 1, 2, 3, 5:
        x = [f.normal(40, 30, dtype=np.float16) for _ in range(count)]
        if count > 2:  # most of it goes away again
            x[0] *= np.float16(500)
            x[-1] = -x[0]
        want = sum(a.astype(np.float32) for a in x)
        if op == "Mean":
            want /= np.float32(count)
        for dynamic in False, True:
            f.case(op, x, want=[want.astype(np.float16)], dynamic=dynamic)

for mode in "DCR", "CRD":
    for shape, b in ((2, 3, 4, 6), 2), ((1, 2, 9, 3), 3), ((0, 1, 2, 2), 2):
        n, c, h, w = shape
        x = f.normal(*shape)
        parts = x.reshape(n, c, h // b, b, w // b, b)
        to = (0, 3, 5, 1, 2, 4) if mode == "DCR" else (0, 1, 3, 5, 2, 4)
        want = parts.transpose(to).reshape(n, c * b * b, h // b, w // b)
        for dynamic in False, True:
            f.case("SpaceToDepth", [x], mode=mode, blocksize=b, opset=28,
                   want=[want], dynamic=dynamic)
f.refused("SpaceToDepth", [x], mode="BLOCKS", blocksize=2, opset=28)
f.done()
