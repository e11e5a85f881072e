"""Optimizers: one step over one or more tensors."""
import numpy as np

DOMAIN = "ai.onnx.preview.training"


def optimizer(states, **attributes):
    """states: for each tensor, the domains of values of what is kept of it."""

    def generate(d):
        t = d.type("T3")
        rate, step = d.type("T1"), d.type("T2")
        count = d.integer(1, 3)
        shapes = [d.shape(min_rank=1, max_rank=3, largest=100) for _ in range(count)]
        inputs = [d.tensor(rate, d.pick([], [1]), .01, .5),
                  d.given(np.array(d.integer(0, 5)).reshape(d.pick((), (1,))),
                          step)]
        for low, high in [(-2, 2), (-2, 2)] + states:
            inputs += [d.tensor(t, s, low, high) for s in shapes]
        given = {k: draw(d) for k, draw in attributes.items()
                 if d.chance(.7) or d.attributes[k].required}
        return d.node(inputs, outputs=count * (1 + len(states)), spread="sum",
                      **given)
    return generate


number = lambda low, high: lambda d: d.number(low, high)
OPS = {
    "Adagrad": optimizer([(0, 2)], decay_factor=number(0, .3),
                         epsilon=number(.001, .1),
                         norm_coefficient=number(0, .2)),
    "Adam": optimizer([(-1, 1), (0, 2)], alpha=number(.5, .95),
                      beta=number(.8, .999), epsilon=number(.001, .1),
                      norm_coefficient=number(0, .2),
                      norm_coefficient_post=number(0, .2)),
    "Momentum": optimizer([(-1, 1)], alpha=number(.5, .95),
                          beta=number(.5, 1), norm_coefficient=number(0, .2),
                          mode=lambda d: d.pick("standard", "nesterov")),
}
