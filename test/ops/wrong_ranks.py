"""Inputs of the wrong rank are refused, whether known before the run or not."""
import numpy as np
from harness import Family

f = Family("wrong ranks")


def one(*shape):
    return np.ones(shape, np.float32)


def byte(*shape):
    return np.ones(shape, np.uint8)


def number(*values):
    return np.array(values, np.int64)


x = one(4, 6, 5)
SLICE = [x, number(0), number(2), number(0), number(1)]
ROTARY = [one(1, 2, 3, 4), one(8, 2), one(8, 2), np.zeros((1, 3), np.int64)]
LINEAR = [byte(1, 1, 4, 4), one(), byte(), byte(2, 1, 3, 3), one(2), byte(2),
          one(), byte(), np.zeros(2, np.int32)]
# Inputs, by number, and shapes that they cannot have.
for op, inputs, wrong in [
        ("Slice", SLICE, {k: [(), (1, 1)] for k in (1, 2, 3, 4)}),
        ("ReduceSum", [x, number(0)], {1: [(1, 1)]}),
        ("ReduceMax", [x, number(0)], {1: [(1, 1)]}),
        ("RotaryEmbedding", ROTARY, {3: [(3,), (1, 1, 3)]}),
        ("QLinearConv", LINEAR,
         {k: [(1, 1)] if k not in (4, 5) else [(1, 2), (2, 1)]
          for k in (1, 2, 4, 5, 6, 7)}),
        ("LayerNormalization", [one(4, 6, 1), one(1)], {1: [(5,), (6, 5)]})]:
    f.case(op, inputs, opset=23)
    for k, shapes in wrong.items():
        for shape in shapes:
            bad = list(inputs)
            bad[k] = np.resize(inputs[k], shape)
            for constants in ((), (k,)):
                f.refused(op, bad, opset=23, constants=constants)
            if op != "LayerNormalization":  # of which sizes are, not ranks
                f.refused(op, bad, opset=23, dynamic=True)
for shape in ((1, 1), (1, 1, 1)):
    for constants in ((), (1,)):
        f.refused("TopK", [x, np.ones(shape, np.int64)], outputs=2,
                  constants=constants)
f.done()
