"""When two results are equal: the tolerances, all of them.

A result is off by |got - want|, in units of the type's epsilon times the
larger of |want| and the scale:

| spread     | units | scale                                          |
|------------|-------|------------------------------------------------|
| `exact`    |     0 |                                                |
| `function` |     8 | 1/64: near zero the error is an absolute one   |
| `cancel`   |     8 | 1: a difference of numbers near one            |
| `sum`      |    32 | the largest number of the inputs and the result, |
|            |       | sqrt(n) / 16 of it where an input has n elements |
|            |       | and more than 256: partial sums are larger      |
| `slope`    |    32 | the same; the reference has 28 bits            |

Halves are the single-precision result rounded once: two units of theirs.
Integers and bool are equal; with `cut` an integer may be one off, as it is a
real number computed in single precision and cut off. NaN equals NaN; zeros are equal whatever the sign.
"""
import ml_dtypes
import numpy as np
from onnx import TensorProto as T

EPSILON = {T.FLOAT: 2.0**-23, T.DOUBLE: 2.0**-52, T.FLOAT16: 2.0**-10,
           T.BFLOAT16: 2.0**-7, T.FLOAT8E4M3FN: 2.0**-3,
           T.FLOAT8E4M3FNUZ: 2.0**-3, T.FLOAT8E5M2: 2.0**-2,
           T.FLOAT8E5M2FNUZ: 2.0**-2, T.FLOAT8E8M0: 1., T.FLOAT6E2M3: 2.0**-3,
           T.FLOAT6E3M2: 2.0**-2, T.COMPLEX64: 2.0**-23,
           T.COMPLEX128: 2.0**-52}
SINGLE = T.FLOAT, T.DOUBLE, T.COMPLEX64, T.COMPLEX128
UNITS = {"exact": 0, "function": 8, "cancel": 8, "sum": 32, "slope": 32, "cut": 32}
HALF_UNITS = {"exact": 0, "function": 2, "cancel": 2, "sum": 2, "slope": 2, "cut": 2}


COMPLEX = T.COMPLEX64, T.COMPLEX128


def _parts(x):
    """Real and imaginary ones."""
    return np.stack([x.real, x.imag], -1)


def tolerance(number, spread, want, largest_input):
    units = (UNITS if number in SINGLE else HALF_UNITS)[spread]
    finite = np.abs(want[np.isfinite(want)])
    scale = 1 if spread == "cancel" else 1 / 64
    if spread in ("sum", "slope"):
        scale = max(finite.max(initial=0), largest_input)
    epsilon = EPSILON[number]
    if spread == "slope":
        epsilon = max(epsilon, 2.0**-28)
    return units * epsilon * np.maximum(np.abs(want), scale)


def difference(got, want, number, spread, largest_input=0.):
    """None, or what differs: a text."""
    if got.shape != want.shape:
        return f"shape {list(got.shape)}, not {list(want.shape)}"
    if number not in EPSILON and number not in COMPLEX:
        wrong = np.asarray(got != want, bool)
        if spread == "cut" and got.dtype.kind in "iu":
            wrong &= np.abs(got.astype(np.int64) - want.astype(np.int64)) > 1
    else:
        if number in COMPLEX:
            real = T.FLOAT if number == T.COMPLEX64 else T.DOUBLE
            return difference(_parts(got), _parts(want), real, spread,
                              largest_input)
        with np.errstate(all="ignore"):
            wide = np.complex128 if want.dtype.kind == "c" else np.float64
            w, g = want.astype(wide), got.astype(wide)
            off = np.abs(g - w)
            near = off <= tolerance(number, spread, w, largest_input)
            wrong = ~(near | (g == w) | (np.isnan(g) & np.isnan(w)))
    if not wrong.any():
        return None
    at = tuple(np.argwhere(wrong)[0]) if wrong.ndim else ()
    return (f"[{','.join(map(str, at))}] is {got[at]}, not {want[at]}"
            f" ({int(wrong.sum())} of {wrong.size} differ)")
