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
# What training saves: before opset 14 the batch's mean and variance, too.
for opset in 7, 9:
    for shape in (4, 3, 5), (6, 2), (2, 3, 4, 5):
        for t in np.float32, np.float64:
            x = f.normal(*shape).astype(t)
            scale, bias, old = (f.normal(shape[1]).astype(t) for _ in range(3))
            axes = tuple(k for k in range(len(shape)) if k != 1)
            mean, variance = x.mean(axes), x.var(axes)
            wide = [-1 if k == 1 else 1 for k in range(len(shape))]
            part = lambda v: v.reshape(wide)
            y = (x - part(mean)) / np.sqrt(part(variance) + 1e-5) * \
                part(scale) + part(bias)
            for dynamic in False, True:
                f.case("BatchNormalization",
                       [x, scale, bias, old, np.abs(old) + 1], opset=opset,
                       outputs=5, momentum=.7, dynamic=dynamic,
                       want=[y, old * .7 + mean * .3,
                             (np.abs(old) + 1) * .7 + variance * .3, mean,
                             variance])
# One number has no variance: what is left is the bias, with all its digits.
for shape in (1, 16), (1, 16, 1, 1):
    x, scale, bias, old = (f.normal(*s) for s in (shape, *[(16,)] * 3))
    for dynamic in False, True:
        f.case("BatchNormalization", [x, scale, bias, old, np.abs(old)],
               opset=15, outputs=3, training_mode=1, rtol=1e-6, atol=1e-6,
               momentum=.7, dynamic=dynamic,
               want=[bias.reshape(shape), old * .7 + x.reshape(16) * .3,
                     np.abs(old) * .7])
x = f.normal(2, 3, 4)
f.refused("BatchNormalization", [x, *(np.ones(3, np.float32),) * 4], opset=15,
          outputs=5, training_mode=1)
f.done()
