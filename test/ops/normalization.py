"""Layer, RMS and Lp normalization against ONNX Runtime or the reference."""
import numpy as np
from harness import Family

f = Family("normalization")
n = f.normal
MS = "com.microsoft"
for shape, axis in ((2, 7), -1), ((3, 4, 5), 1), ((3, 4, 65), -1), \
        ((2, 3, 4, 5), -2), ((4, 1), -1), ((0, 5), -1):
    tail = shape[axis:]
    dynamic = len(shape) == 3
    for options in ({}, {"outputs": 3}):
        f.case("LayerNormalization", [n(*shape) + 3, n(*tail), n(*tail)],
               axis=axis, dynamic=dynamic, **options)
    f.case("LayerNormalization", [n(*shape), n(*tail)], axis=axis,
           constants=[1], epsilon=0.1)
    f.case("RMSNormalization", [n(*shape), n(*tail)], axis=axis, opset=23,
           reference="onnx", dynamic=dynamic)
    f.case("SimplifiedLayerNormalization", [n(*shape), n(*tail)], axis=axis,
           dynamic=dynamic)
for t in np.float16, np.float64:
    f.case("LayerNormalization", [n(3, 8, dtype=t), n(8, dtype=t),
                                  n(8, dtype=t)])
# Mean and deviation have the stash type, f32 unless it is given.
x, scale, shift = (n(*s, dtype=np.float64) for s in ((3, 8), (8,), (8,)))
mean = x.mean(1, keepdims=True)
inverse = 1 / np.sqrt(x.var(1, keepdims=True) + 1e-5)
f.case("LayerNormalization", [x, scale, shift], outputs=3,
       want=[(x - mean) * inverse * scale + shift, mean.astype(np.float32),
             inverse.astype(np.float32)])
# Parameters that are broadcast.
f.case("LayerNormalization", [n(3, 4, 8), n(1), n(4, 1)], axis=1,
       reference="onnx")
f.case("LayerNormalization", [n(3, 4, 8), n(8), n(8)], axis=1,
       reference="onnx")
f.case("SkipLayerNormalization", [n(2, 3, 8), n(2, 3, 8), n(8), n(8), n(8)],
       domain=MS)
f.case("SkipLayerNormalization", [n(2, 3, 8), n(2, 3, 8), n(8)], domain=MS)
f.case("SkipSimplifiedLayerNormalization", [n(2, 3, 8), n(2, 3, 8), n(8)],
       domain=MS)
for p in 1, 2:
    x = n(3, 4, 5)
    x[1] = 0
    f.case("LpNormalization", [x], p=p, axis=1, dynamic=p == 1)
f.refused("LayerNormalization", [n(3, 4), n(5)])
f.done()
