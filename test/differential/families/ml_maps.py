"""ai.onnx.ml: maps."""
import numpy as np
from onnx import helper

from draw import T, WORDS, map_proto
from families.ml import labels

DOMAIN = "ai.onnx.ml"


def zip_map(d):
    """A sequence of maps, one for each row."""
    count = d.integer(1, 6)
    names = labels(d, count, "classlabels_int64s")
    keys = T.STRING if "classlabels_strings" in names else T.INT64
    shape = [count] if d.chance(.1) else [d.pick(0, 1, 2, 7), count]
    return d.node([d.tensor(T.FLOAT, shape)], spread="exact", **names,
                  declared=[helper.make_sequence_type_proto(
                      map_proto(keys, T.FLOAT))])


def keys_of(d, t, count):
    if t == T.STRING:
        return [str(w) for w in d.rng.permutation(WORDS)[:count]]
    return [int(k) - 6 for k in d.rng.permutation(20)[:count]]


def values_of(d, t, count):
    if t == T.STRING:
        return [str(d.pick(*WORDS)) for _ in range(count)]
    return [d.integer(-99, 99) if t == T.INT64 else d.number(-99, 99)
            for _ in range(count)]


def vectorizer(d):
    keys = d.pick(T.INT64, T.STRING)
    # Those that ONNX Runtime has: from the one kind to the others.
    t = d.pick(T.FLOAT, T.DOUBLE, T.STRING if keys == T.INT64 else T.INT64)
    d.types["T2"] = t
    count = d.integer(1, 9)
    vocabulary = keys_of(d, keys, d.integer(1, 9))
    held = dict(zip(keys_of(d, keys, count), values_of(d, t, count)))
    absent = "" if t == T.STRING else 0
    given = {"string_vocabulary" if keys == T.STRING else "int64_vocabulary":
             vocabulary}
    kind = object if t == T.STRING else {T.FLOAT: np.float32, T.DOUBLE:
                                         np.float64, T.INT64: np.int64}[t]
    return d.node([d.map(held, keys, t)], spread="exact", **given,
                  known=lambda held: [np.array([[held.get(k, absent)
                                                 for k in vocabulary]], kind)])


def cast_map(d):
    t = d.pick(T.FLOAT, T.STRING)
    to, name = d.pick((T.FLOAT, "TO_FLOAT"), (T.INT64, "TO_INT64"),
                      (T.STRING, "TO_STRING"))
    sparse, count = d.chance(.5), d.integer(1, 9)
    d.types["T2"] = to
    keys = [int(k) for k in d.rng.permutation(14)[:count]]
    if not sparse and d.chance(.5):
        keys = [k - 6 for k in keys]
    values = values_of(d, T.FLOAT, count)
    if t == T.STRING:
        values = [str(round(v) if to == T.INT64 else v) for v in values]
    size = d.integer(max(keys) + 1, 16) if sparse else 1
    kind = {T.FLOAT: np.float32, T.INT64: np.int64, T.STRING: object}[to]

    def known(held):
        text = str if t == T.STRING else lambda v: "%f" % v
        turn = {T.FLOAT: float, T.STRING: text, T.INT64: lambda v: int(float(v))}
        some = range(size) if sparse else sorted(held)
        absent = "0.f" if to == T.STRING else 0
        return [np.array([[turn[to](held[k]) if k in held else absent
                           for k in some]], kind)]
    return d.node([d.map(dict(zip(keys, values)), T.INT64, t)], spread="exact",
                  cast_to=name, map_form="SPARSE" if sparse else d.pick(
                      None, "DENSE"), max_map=size if sparse else None,
                  known=known)


OPS = {"ZipMap": zip_map, "DictVectorizer": vectorizer, "CastMap": cast_map}
