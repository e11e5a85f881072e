"""Normalizations, and Dropout, which does nothing."""
import numpy as np

from draw import T


def batch(d):
    t = d.type()
    u = d.type("T1") if "T1" in d.constraints else \
        d.type("U") if "U" in d.constraints else t
    v = d.type("T2") if "T2" in d.constraints else u
    shape = d.shape(min_rank=2, max_rank=5, empty=.02)
    c = [shape[1]]
    x = d.tensor(t, shape, special=0)
    parameters = [d.tensor(u, c, .5, 2), d.tensor(u, c, -1, 1),
                  d.tensor(v, c, -1, 1), d.tensor(v, c, .3, 2)]
    training = d.version >= 14 and d.chance(.3) and x.array.size
    test = {"is_test": 1} if d.version < 7 else {}
    return d.node([x, *parameters], spread="sum", epsilon=d.pick(None, 1e-3),
                  outputs=3 if training else 1,
                  momentum=d.pick(None, .7), training_mode=1 if training else
                  None, consumed_inputs=[0, 0, 0, 1, 1] if d.version < 6
                  else None, **test)


def instance(d):
    t = d.type()
    shape = d.shape(min_rank=3, max_rank=5, empty=0)
    c = [shape[1]]
    return d.node([d.tensor(t, shape, special=0), d.tensor(t, c, .5, 2),
                   d.tensor(t, c, -1, 1)], spread="sum",
                  epsilon=d.pick(None, 1e-3))


def normalized(x, axes, epsilon):
    """Exactly; epsilon: an attribute, None: 1e-5."""
    x = x.astype(np.longdouble)
    x = x - x.mean(axes, keepdims=True)
    epsilon = np.float32(1e-5 if epsilon is None else epsilon)
    return x / np.sqrt((x * x).mean(axes, keepdims=True) + epsilon)


def group(d):
    t = d.type()
    groups, each = d.integer(1, 4), d.integer(1, 4)
    rest = d.shape(max_rank=3, min_rank=1, empty=0, largest=200)
    c = groups if d.version < 21 else groups * each
    x = d.tensor(t, [d.integer(1, 3), groups * each] + rest, special=0)
    given = {}
    if d.version >= 21 and t != T.DOUBLE:
        given["stash_type"] = d.pick(None, 1)
    epsilon = d.pick(None, 1e-3)

    def formula(x, scale, bias):
        parts = x.reshape(x.shape[0], groups, -1)
        y = normalized(parts, 2, epsilon).reshape(x.shape)
        scale, bias = (np.repeat(v, x.shape[1] // c)[(...,) + (None,) * len(
            rest)] for v in (scale, bias))
        return (y * scale + bias).astype(np.float64)
    return d.node([x, d.tensor(t, [c], .5, 2), d.tensor(t, [c], -1, 1)],
                  spread="sum", num_groups=groups, epsilon=epsilon,
                  formula=formula if t == T.DOUBLE else None, **given)


def layer(d):
    t = d.type()
    shape = d.shape(min_rank=1, empty=.02)
    axis = d.axis(len(shape)) if d.chance(.6) else -1
    part = shape[axis:]
    if d.chance(.2):
        part = d.broadcast(part)
    x = d.tensor(t, shape, special=0)
    u = d.type("V") if d.op == "RMSNormalization" else t
    scale = d.tensor(u, part, .5, 2)
    b = d.tensor(t, part, -1, 1) if d.chance(.6) and \
        d.op == "LayerNormalization" else None
    more = d.op == "LayerNormalization" and d.chance(.3)
    epsilon = d.pick(None, 1e-3)

    def formula(x, scale, bias=0):
        axes = tuple(range(axis % x.ndim, x.ndim))
        y = normalized(x, axes, epsilon) * scale + bias
        return y.astype(np.float64)
    exact = d.op == "LayerNormalization" and t == T.DOUBLE and not more
    return d.node([x, scale, b], spread="sum", outputs=3 if more else 1,
                  axis=None if axis == -1 else axis, epsilon=epsilon,
                  formula=formula if exact else None)


def local(d):
    t = d.type()
    shape = d.shape(min_rank=4, max_rank=4 if d.chance(.7) else 5, empty=0)
    given = dict(size=d.pick(1, 3, 5, 7, 2), alpha=d.pick(None, .01),
                 beta=d.pick(None, .5), bias=d.pick(None, 2.0))

    def formula(x):
        size, alpha, beta, bias = (
            float(np.float32(given[k] if given[k] is not None else default))
            for k, default in (("size", 1), ("alpha", 1e-4), ("beta", .75),
                               ("bias", 1)))
        low, high = int(size - 1) // 2, int(size) // 2
        near = [(x[:, max(0, k - low):k + high + 1]**2).sum(1)
                for k in range(x.shape[1])]
        return x / (bias + alpha / size * np.stack(near, 1))**beta
    return d.node([d.tensor(t, shape, special=0)], spread="sum",
                  formula=formula, **given)


def mean_variance(d):
    shape = d.shape(min_rank=4, max_rank=4, empty=0)
    return d.node([d.tensor(d.type(), shape, special=0)], spread="sum",
                  axes=d.pick(None, d.axes(4, 1) if d.version >= 13 else
                              [0, 2, 3]))


def dropout(d):
    t = d.type()
    x = d.tensor(t, d.shape())
    both = 1 + d.chance(.4)
    if d.version < 12:
        test = {"is_test": 1} if d.version < 7 else {}
        return d.node([x], outputs=both, spread="exact",
                      ratio=d.pick(None, .3), **test)
    u = d.type("T1")
    ratio = d.given(np.array(.3), u) if d.chance(.5) else None
    mode = d.given(np.array(False)) if d.chance(.4) else None
    return d.node([x, ratio, mode], outputs=both, spread="exact",
                  seed=d.pick(None, 7))


OPS = {"BatchNormalization": batch, "InstanceNormalization": instance,
       "GroupNormalization": group, "LayerNormalization": layer,
       "RMSNormalization": layer, "LRN": local,
       "MeanVarianceNormalization": mean_variance, "Dropout": dropout}
