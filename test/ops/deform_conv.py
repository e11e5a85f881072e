"""DeformConv of one to five dimensions against sampling written out."""
import math

import numpy as np
from harness import Family

from sampling import deform_conv

f = Family("deform_conv")


def case(size, kernel, channels=2, filters=2, batch=1, group=1, fields=1,
         bias=True, masked=True, dtype=np.float32, opset=22, **how):
    n = len(size)
    p, s = how.get("pads", [0] * 2 * n), how.get("strides", [1] * n)
    far = how.get("dilations", [1] * n)
    places = [(size[d] + p[d] + p[n + d] - (kernel[d] - 1) * far[d] - 1)
              // s[d] + 1 for d in range(n)]
    taps = math.prod(kernel)
    inputs = [f.normal(batch, channels, *size),
              f.normal(filters, channels // group, *kernel),
              f.normal(batch, fields * taps * n, *places) * 1.5,
              f.normal(filters) if bias else None,
              f.normal(batch, fields * taps, *places) if masked else None]
    inputs = [a if a is None else a.astype(dtype) for a in inputs]
    while inputs[-1] is None:
        inputs.pop()
    how = dict(how, group=group)
    want = deform_conv(*[a if a is None else a.astype(np.float64)
                         for a in inputs], offset_group=fields, **how)
    for dynamic in False, True:
        f.case("DeformConv", inputs, want=[want.astype(dtype)], opset=opset,
               dynamic=dynamic, offset_group=fields, **how)


case([9], [3])
case([9], [3], channels=4, filters=6, group=2, fields=2, batch=2,
     strides=[2], pads=[1, 2])
case([8], [2], masked=False, bias=False, dilations=[3], opset=19)
case([5, 6], [3, 2], channels=4, filters=2, group=2, fields=4,
     dilations=[1, 2], pads=[1, 0, 0, 1])
case([4, 5, 3], [2, 3, 2], bias=False)
case([4, 4, 5], [2, 1, 3], channels=4, filters=4, group=2, fields=2,
     strides=[2, 1, 1], pads=[1, 0, 1, 0, 1, 1], masked=False)
case([3, 4, 3], [2, 2, 2], dtype=np.float64, dilations=[1, 2, 1], opset=19)
case([2, 3, 2, 3], [2, 1, 2, 2], dtype=np.float16)
case([2, 2, 3, 2, 2], [1, 2, 2, 1, 2], channels=1, filters=1)
x, w = f.normal(1, 2, 5, 4, 3), f.normal(2, 2, 2, 2, 2)
f.refused("DeformConv", [x, w, f.normal(1, 23, 4, 3, 2)])
f.refused("DeformConv", [x, w, f.normal(1, 24, 4, 3, 3)])
f.refused("DeformConv", [x, w, f.normal(1, 24, 4, 3)])
f.refused("DeformConv", [x, w, f.normal(1, 24, 4, 3, 2), None,
                         f.normal(1, 7, 4, 3, 2)])
f.refused("DeformConv", [x, w, f.normal(1, 24, 4, 3, 3)], dynamic=True,
          run_time=True)
f.done()
