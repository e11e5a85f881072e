"""Functions of f64 near where they vanish: as exact as f64 is."""
import numpy as np

from harness import Family

f = Family("doubles")
small = np.concatenate([[0., -0.], np.logspace(-300, 0, 40)])
x = np.concatenate([small, -small, np.linspace(-745, 700, 60),
                    [np.inf, -np.inf]])
with np.errstate(all="ignore"):
    softplus = np.logaddexp(0, x)
    elu = np.where(x > 0, x, np.expm1(np.minimum(x, 0)))
    mish = x * np.tanh(softplus)
ends = slice(0, -1)  # Mish of -inf is not defined alike by all
for dynamic in False, True:
    f.case("Softplus", [x], want=[softplus], rtol=4e-15, atol=0,
           dynamic=dynamic)
    f.case("Elu", [x], want=[elu], rtol=4e-15, atol=0, alpha=1.,
           dynamic=dynamic)
    f.case("Mish", [x[ends]], want=[mish[ends]], rtol=4e-15, atol=1e-300,
           dynamic=dynamic)
f.done()
