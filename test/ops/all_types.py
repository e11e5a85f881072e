"""Types that an operator has besides those that all its neighbours have: bits
of one type as another, what is not a number, samples of an image of integers
and of strings, statistics of f64."""
import ml_dtypes as ml
import numpy as np
from harness import Family, helper, type_of
from sampling import grid_sample

f = Family("all_types")
FLOAT8S = [ml.float8_e4m3fn, ml.float8_e4m3fnuz, ml.float8_e5m2,
           ml.float8_e5m2fnuz]

# Every value of a float of 8 bits.
for t in FLOAT8S:
    x = np.arange(256).astype(np.uint8).view(t).reshape(2, 128)
    wide = x.astype(np.float32)
    for dynamic in False, True:
        f.case("IsNaN", [x], dynamic=dynamic, want=[np.isnan(wide)])
        for up, down in (1, 1), (0, 1), (1, 0), (0, 0):
            inf = np.isinf(wide) & (up * (wide > 0) + down * (wide < 0) > 0)
            f.case("IsInf", [x], dynamic=dynamic, want=[inf],
                   detect_positive=up, detect_negative=down)
        f.case("Dropout", [x, None], outputs=2, dynamic=dynamic,
               want=[x, np.ones(x.shape, bool)])
    some = x[~np.isnan(wide)][:100]
    f.case("Dropout", [some, np.array(0, t), np.array(True)], outputs=2,
           want=[some, np.ones(some.shape, bool)])

# BitCast: what the bits are, by number of bits.
BITS = {2: (ml.int2, ml.uint2), 4: (ml.int4, ml.uint4, ml.float4_e2m1fn),
        8: (np.int8, np.uint8, ml.float8_e8m0fnu, *FLOAT8S),
        16: (np.int16, np.uint16, np.float16, ml.bfloat16),
        32: (np.int32, np.uint32, np.float32),
        64: (np.int64, np.uint64, np.float64, np.complex64),
        128: (np.complex128,)}


def bits_as(codes, n, t):
    """Numbers of n bits, in whole bytes, as type t."""
    if n < 8 and np.dtype(t).name.startswith("int"):
        codes = ((codes << (8 - n)).astype(np.int8) >> (8 - n)).view(np.uint8)
    return codes.view(t)


for n, types in BITS.items():
    codes = f.random.integers(0, min(2**n, 256), 48 if n < 8 else 6 * n,
                              np.uint8)
    for a in types:
        for b in types:
            x = bits_as(codes, n, a)
            for dynamic in False, True:
                f.case("BitCast", [x], opset=26, dynamic=dynamic,
                       to=helper.np_dtype_to_tensor_dtype(np.dtype(b)),
                       want=[bits_as(codes, n, b)], rtol=0, atol=0)
yes = np.array([0, 1, 1, 0], np.uint8)
f.case("BitCast", [yes], opset=26, to=type_of(yes.view(bool)),
       want=[yes.view(bool)])
f.case("BitCast", [yes.view(bool)], opset=26, to=type_of(yes), want=[yes])
for t in BITS[8]:
    for dynamic in False, True:
        f.case("BitCast", [yes.view(t)], opset=26, to=type_of(yes.view(bool)),
               want=[yes.view(bool)], dynamic=dynamic)
        f.case("BitCast", [yes.view(bool)], opset=26, want=[yes.view(t)],
               to=type_of(yes.view(t)), dynamic=dynamic, rtol=0, atol=0)
f.refused("BitCast", [yes], opset=26, to=type_of(np.zeros(1, ml.int4)))
f.refused("BitCast", [yes], opset=26, to=8)

# Strings that are not empty.
text = np.array([["", "a", ""], ["b c", "", "日本"]], object)
for dynamic in False, True:
    f.case("NonZero", [text], dynamic=dynamic,
           want=[np.array(np.nonzero(text))])
    f.case("NonZero", [np.zeros((0, 3), object)], dynamic=dynamic,
           want=[np.zeros((2, 0), np.int64)])

# GridSample of integers: sums in f64, rounded and limited to the type; bool is
# 0 and 1.
grid = f.random.uniform(-1.2, 1.2, (2, 4, 5, 2))
for t in (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32,
          np.int64, np.uint64, np.bool_):
    info = np.iinfo(t) if t != np.bool_ else None
    high = 2**40 if info and info.max > 2**40 else info.max if info else 1
    low = max(-high, info.min) if info else 0
    x = f.random.integers(low, high, (2, 2, 5, 6), np.int64, endpoint=True)
    for mode in "linear", "cubic", "nearest":
        for padding in "zeros", "border":
            how = dict(mode=mode, padding_mode=padding)
            exact = grid_sample(x.astype(np.float64), grid, mode, padding)
            if info:
                end = np.nextafter(float(info.max), 0) \
                    if info.max > 2**40 else info.max
                want = np.rint(np.clip(exact, info.min, end)).astype(t)
            else:
                want = exact > .5
            for dynamic in False, True:
                f.case("GridSample", [x.astype(t), grid], dynamic=dynamic,
                       want=[want], **how)
words = np.array(["", "a", "zebra", "b"], object)[f.integers(0, 4, 2, 2, 5, 6)]
for padding in "zeros", "border", "reflection":
    number = np.arange(words.size, dtype=np.float64).reshape(words.shape) + 1
    at = grid_sample(number, grid, "nearest", padding)
    flat = np.array([""] + list(words.ravel()), object)
    for dynamic in False, True:
        f.case("GridSample", [words, grid], dynamic=dynamic, mode="nearest",
               padding_mode=padding, want=[flat[at.astype(int)]])
f.refused("GridSample", [words, grid], mode="linear")

# Mean and deviation have the type that stash_type says.
x = f.normal(3, 5, 7, dtype=np.float64)
mean = x.mean(-1, keepdims=True)
deviation = 1 / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
y = (x - mean) * deviation
one = np.ones(7)
for stash, t in (None, np.float32), (1, np.float32), (16, ml.bfloat16), \
        (11, np.float64):
    given = {"stash_type": stash} if stash else {}
    for dynamic in False, True:
        f.case("LayerNormalization", [x, one], outputs=3, dynamic=dynamic,
               want=[y, mean.astype(t), deviation.astype(t)],
               **given)
f.done()
