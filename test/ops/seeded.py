"""Operators of random numbers with a seed: those of numpy, to the bit."""
import numpy as np
from harness import Family, by_reference, helper, model_of

import ferrule
import onnx

f = Family("seeded", rtol=0, atol=0)
SEEDS = 0., 1., 5., 4294967040.
TYPES = {1: np.float32, 10: np.float16, 11: np.float64}


def exact(op, inputs, want, **options):
    """Harness tolerances of halves do not count here."""
    model = model_of(op, inputs, **options)
    onnx.save(model, f.path)
    got = ferrule.load(f.path).run(
        {f"in{i}": a for i, a in enumerate(inputs)})
    for w, g in zip(want, got.values(), strict=True):
        if w.dtype != g.dtype or w.shape != g.shape or \
                w.tobytes() != g.tobytes():
            f.fail(f"{op} {options}", f"{g} should be {w}")
            return
    f.passed += 1


# The reference of the operators below is random.RandomState(seed) of numpy; the
# package's own classes are asked where they can be.
for seed in SEEDS:
    for shape in (1,), (3,), (700,), (2, 3, 5), (0,):
        for number, t in TYPES.items():
            for op, own in (("RandomUniform", {"low": -1.5, "high": 2.7}),
                            ("RandomNormal", {"mean": 3.1, "scale": .3})):
                if shape != (700,) and number != 1:
                    continue
                options = dict(seed=seed, dtype=number, **own)
                want = by_reference(model_of(op, [], shape=shape, **options),
                                    {})
                exact(op, [], want, shape=shape, **options)
                x = np.zeros(shape, t)
                exact(op + "Like", [x], want, dynamic=True, **options)
    p = np.concatenate([[0, 1, .5, 0, 0], f.random.random(700)])
    for t in np.float32, np.float64, np.float16:
        x = p.astype(t)
        want = by_reference(model_of("Bernoulli", [x], seed=seed),
                            {"in0": x})
        exact("Bernoulli", [x], want, seed=seed)
        exact("Bernoulli", [x], [want[0].astype(np.int32)], seed=seed, dtype=6,
              dynamic=True)
for seed in 0, 7, 123456:
    x = f.normal(4, 30)
    for ratio in .1, .5, .75:
        inputs = [x, np.array(ratio, np.float32), np.array(True)]
        for options in {}, {"dynamic": [0]}, {"constants": [1, 2]}:
            f.case("Dropout", inputs, "onnx", outputs=2, seed=seed, rtol=1e-6,
                   **options)
    # Each row's classes have the frequencies of its probabilities.
    weights = np.log(np.array([[.1, .2, .7], [.5, .25, .25]], np.float32))
    model = model_of("Multinomial", [weights], seed=float(seed),
                     sample_size=4000)
    onnx.save(model, f.path)
    got = list(ferrule.load(f.path).run({"in0": weights}).values())[0]
    u = np.random.RandomState(seed).random_sample(8000).reshape(2, 4000)
    want = np.stack([np.searchsorted(np.cumsum(np.exp(w.astype(np.float64))), r,
                                     side="right")
                     for w, r in zip(weights, u)])
    if np.mean(got == want) < .999:  # but where a sum is rounded
        f.fail("Multinomial", f"{got} should be {want}")
    else:
        f.passed += 1
f.done()
