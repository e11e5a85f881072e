"""Random cases of one operator: what its schema says, drawn at random.

A generator is a function of a Draw. It asks for types, shapes and tensors and
ends with `return d.node([x, y], axis=1)`; what the schema knows (types allowed,
attributes of this opset, which of them must be there) is not said again:

    def generate(d):
        x = d.tensor(d.type("T"), d.shape(min_rank=1))
        return d.node([x], axis=d.axis(x))
"""
import collections
import dataclasses
import functools
import re
import typing
import zlib

import ml_dtypes
import numpy as np
from onnx import TensorProto, TypeProto, defs, helper

T = TensorProto
# The standard's names of element types, as numbers and as numpy types.
NUMBERS = {"float": T.FLOAT, "double": T.DOUBLE, "float16": T.FLOAT16,
           "bfloat16": T.BFLOAT16, "int8": T.INT8, "int16": T.INT16,
           "int32": T.INT32, "int64": T.INT64, "uint8": T.UINT8,
           "uint16": T.UINT16, "uint32": T.UINT32, "uint64": T.UINT64,
           "bool": T.BOOL, "float8e4m3fn": T.FLOAT8E4M3FN,
           "float8e4m3fnuz": T.FLOAT8E4M3FNUZ, "float8e5m2": T.FLOAT8E5M2,
           "float8e5m2fnuz": T.FLOAT8E5M2FNUZ, "int4": T.INT4,
           "uint4": T.UINT4, "int2": T.INT2, "uint2": T.UINT2,
           "float4e2m1": T.FLOAT4E2M1, "float8e8m0": T.FLOAT8E8M0,
           "float6e2m3": T.FLOAT6E2M3, "float6e3m2": T.FLOAT6E3M2,
           "complex64": T.COMPLEX64, "complex128": T.COMPLEX128,
           "string": T.STRING}
NAMES = {number: name for name, number in NUMBERS.items()}
FLOATS = (T.FLOAT, T.DOUBLE, T.FLOAT16, T.BFLOAT16)
BYTES = T.FLOAT8E4M3FN, T.FLOAT8E4M3FNUZ, T.FLOAT8E5M2, T.FLOAT8E5M2FNUZ
SMALL = (*BYTES, T.INT4, T.UINT4, T.INT2, T.UINT2, T.FLOAT4E2M1, T.FLOAT8E8M0,
         T.FLOAT6E2M3, T.FLOAT6E3M2)
COMPLEX = T.COMPLEX64, T.COMPLEX128
# Types that an input or a constant of a case may have now.
TESTED = {*SMALL, *COMPLEX, T.FLOAT, T.DOUBLE, T.FLOAT16, T.BFLOAT16, T.INT8, T.INT16, T.INT32,
          T.INT64, T.UINT8, T.UINT16, T.UINT32, T.UINT64, T.BOOL, T.STRING}
WORDS = ("", "a", "b", "ab", "A", "zebra", "Straße", "日本", "two words", "-1", "0")
UNRANKED = "any shape"
WRAP = {"sequence": helper.make_sequence_type_proto,
        "optional": helper.make_optional_type_proto}
CONTRIB = "com.microsoft"  # ONNX Runtime's own operators
GROUP = 8  # cases of one opset, compiled together
LARGEST = 4000  # elements of a tensor
SIZES = (2, 3, 4, 5, 7, 8, 11, 13, 16, 17, 33)


def numpy_type(number):
    return helper.tensor_dtype_to_np_dtype(number)


def leaves(held):
    """The arrays of a tensor, a sequence (a list), an optional (or None), the
    keys and values of a map (a dict)."""
    if isinstance(held, dict):
        held = arrays_of(held)
    if isinstance(held, list):
        return [a for item in held for a in leaves(item)]
    return [] if held is None else [held]


def arrays_of(held):
    """A map's keys in order and their values."""
    keys = sorted(held)
    text = lambda some: np.array(some, object if any(
        isinstance(v, str) for v in some) else None)
    return [text(keys), text([held[k] for k in keys])]


def mapped(held, function):
    """As `held`, with the function's result for each array; of maps nothing
    changes."""
    if isinstance(held, dict):
        return held
    if isinstance(held, list):
        return [mapped(item, function) for item in held]
    return None if held is None else function(held)


def map_proto(keys, values):
    found = TypeProto()
    found.map_type.key_type = keys
    found.map_type.value_type.tensor_type.elem_type = values
    found.map_type.value_type.tensor_type.shape.SetInParent()
    return found


@dataclasses.dataclass
class Value:
    """An input of a model. `dims`: what the model declares, numbers or names
    of symbols; None: it is a constant."""
    name: str
    type: int
    array: np.ndarray
    dims: list = None
    shape_fixed: bool = False  # its shape must be known when compiling
    static: tuple = ()         # of these dims the size must be
    constant: bool = False     # it must be a constant
    # What it is, if not a tensor: of "sequence" and "optional" the outer first;
    # "map": of keys of type `keys` and single values.
    # `dims` are then those of the tensors: numbers, None for those that are open;
    # UNRANKED: their number is open too.
    of: tuple = ()
    free: bool = False         # nothing is said of the shapes in it
    rank: int = None           # of what is in it, where nothing is
    keys: int = None

    def proto(self):
        """The type that the model declares."""
        found = helper.make_tensor_type_proto(
            self.type, None if self.dims == UNRANKED else self.dims)
        for what in reversed(self.of):
            found = map_proto(self.keys, self.type) if what == "map" \
                else WRAP[what](found)
        return found

    def text(self):
        if self.of:
            shapes = ["x".join(map(str, a.shape)) for a in leaves(self.array)]
            return (f"{' of '.join(self.of)} {NAMES[self.type]}{shapes}"
                    f" as {self.dims}")
        shown = "x".join(map(str, self.dims if self.dims is not None
                             else self.array.shape))
        return (f"{NAMES[self.type]}[{shown}]"
                + ("=const" if self.dims is None else ""))


@dataclasses.dataclass
class Case:
    op: str
    domain: str
    opset: int
    index: int
    nodes: list
    values: list      # of Value
    outputs: list     # names
    types: dict       # type variables as drawn
    spread: str = "function"  # how far results may be off; see compare.py
    wide: bool = True         # f16, bf16 may be computed in f32 and rounded
    by_parts: bool = False    # complex numbers: linear in them
    random: bool = False      # only types and shapes are compared
    # Another case with the same results, for references that lack the opset.
    stand_in: "Case" = None
    formula: typing.Callable = None  # the results in f64, of the inputs' arrays
    known: typing.Callable = None  # or of these arrays as they are
    declared: dict = dataclasses.field(default_factory=dict)  # results' types

    @property
    def key(self):
        return key(self.domain, self.op)

    def attributes(self):
        return {a.name: helper.get_attribute_value(a)
                for a in self.nodes[0].attribute}

    def feeds(self):
        return {v.name: v.array for v in self.values if v.dims is not None}

    def text(self):
        parts = [v.text() for v in self.values]
        given = [f"{k}={v}" for k, v in self.attributes().items()]
        return (f"{self.op}-{self.opset}({', '.join(parts)}; "
                f"{', '.join(map(str, given))})")[:400]


def key(domain, op):
    """An operator's name in the tables: some of `CONTRIB` have the names of
    the standard's."""
    return f"{domain}.{op}" if domain == CONTRIB else op


Parameter = collections.namedtuple("Parameter", "type_str types")
Schema = collections.namedtuple("Schema",
                                "since_version inputs outputs attributes")


@functools.cache
def _contrib():
    """Schemas of ONNX Runtime's own operators, which it knows itself."""
    from onnxruntime.capi import onnxruntime_pybind11_state as runtime
    found = {}
    for s in runtime.get_all_operator_schema():
        if s.domain == CONTRIB:
            allowed = {c.type_param_str: c.allowed_type_strs
                       for c in s.type_constraints}
            inputs, outputs = (
                [Parameter(p.typeStr, allowed.get(p.typeStr, [p.typeStr]))
                 for p in some] for some in (s.inputs, s.outputs))
            found[s.name] = Schema(s.since_version, inputs, outputs,
                                   s.attributes)
    return found


def schema_of(op, opset, domain):
    return _contrib()[op] if domain == CONTRIB else \
        defs.get_schema(op, opset, domain)


@functools.cache
def _history():
    found = {(CONTRIB, op): {s.since_version: False}
             for op, s in _contrib().items()}
    for s in defs.get_all_schemas_with_history():
        found.setdefault((s.domain, s.name), {})[s.since_version] = s.deprecated
    return found


def versions(op, domain=""):
    """First opsets of the versions of an operator, newest first."""
    return sorted((v for v, gone in _history()[domain, op].items() if not gone),
                  reverse=True)


def choose_opset(op, seed, group, domain=""):
    """All versions in turn, each in its first or a later opset."""
    rng = np.random.default_rng([seed, zlib.crc32(op.encode()), group, 1])
    all_versions = versions(op, domain)
    since = all_versions[group % len(all_versions)]
    newest = defs.onnx_opset_version() if not domain else all_versions[0]
    ends = [v for v in _history()[domain, op] if v > since]
    return int(rng.integers(since, min([newest + 1] + ends)))


class Draw:
    def __init__(self, op, seed, index, opset, domain=""):
        self.op, self.opset, self.domain, self.index = op, opset, domain, index
        self.rng = np.random.default_rng([seed, zlib.crc32(op.encode()), index])
        self.schema = schema_of(op, opset, domain)
        self.version = self.schema.since_version
        self.attributes = self.schema.attributes
        self.types, self.values, self.made = {}, [], 0
        self.constraints = {}
        for p in list(self.schema.inputs) + list(self.schema.outputs):
            self.constraints.setdefault(p.type_str, p.types)

    # Single decisions.
    def chance(self, p):
        return bool(self.rng.random() < p)

    def integer(self, low, high):
        """From low to high, both included."""
        return int(self.rng.integers(low, high + 1))

    def number(self, low, high, digits=3):
        return float(np.float32(round(self.rng.uniform(low, high), digits)))

    def pick(self, *choices):
        return choices[self.integer(0, len(choices) - 1)]

    def name(self, stem):
        self.made += 1
        return f"k{self.index}_{stem}{self.made}"

    # Types.
    def allowed(self, variable):
        texts = sorted(self.constraints.get(variable, [variable]))
        tensors = [t for t in texts if t.startswith("tensor(")]
        found = {NUMBERS.get(re.search(r"tensor\((\w+)\)", t)[1])
                 for t in tensors or texts if "tensor(" in t}
        return [n for n in NUMBERS.values() if n in found and n in TESTED]

    def type(self, variable="T", among=None):
        """The type that the variable has in this case."""
        if variable not in self.types:
            some = [t for t in self.allowed(variable)
                    if among is None or t in among]
            if not some:
                raise Impossible(f"no tested type for {variable}")
            common = [t for t in some if t in (T.FLOAT,)]
            self.types[variable] = int(
                self.rng.choice(common if common and self.chance(.4) else some))
        return self.types[variable]

    # Shapes.
    def size(self):
        return 1 if self.chance(.15) else int(self.rng.choice(SIZES))

    def shape(self, min_rank=0, max_rank=5, empty=.04, largest=LARGEST):
        rank = self.integer(min_rank, max_rank)
        shape = [self.size() for _ in range(rank)]
        if rank and self.chance(empty):
            shape[self.integer(0, rank - 1)] = 0
        while np.prod(shape) > largest:
            at = int(np.argmax(shape))
            shape[at] = max(1, shape[at] // 2)
        return shape

    def broadcast(self, shape, direction=None):
        """A shape that broadcasts to `shape`."""
        part = list(shape)[self.integer(0, len(shape)) if self.chance(.4) else 0:]
        return [1 if self.chance(.2) else n for n in part]

    def broadcasts(self, count, **options):
        """Shapes that broadcast with one another."""
        whole = self.shape(**options)
        return [whole if self.chance(.4) else self.broadcast(whole)
                for _ in range(count)]

    def axis(self, rank):
        """One in [-rank, rank)."""
        return self.integer(-rank, rank - 1)

    def axes(self, rank, least=0):
        """Different ones, in any order, some counted from the end."""
        count = self.integer(min(least, rank), rank)
        some = self.rng.permutation(rank)[:count]
        return [int(a) - (rank if self.chance(.3) else 0) for a in some]

    # Contents.
    def array(self, number, shape, low=None, high=None, special=.1):
        """Numbers in [low, high]; without a domain of values, some cases have
        infinities, NaN and the type's ends."""
        kind, free = numpy_type(number), low is None and high is None
        if number == T.STRING:
            return self.rng.choice(np.array(WORDS, object), shape)
        if number == T.BOOL:
            return self.rng.random(shape) < .5
        if number in COMPLEX:
            real = numpy_type(T.DOUBLE if number == T.COMPLEX128 else T.FLOAT)
            low, high = (-9, 9) if free else (low, high)
            x, y = (self.rng.uniform(low, high, shape).astype(real)
                    for _ in range(2))
            return np.asarray(x + 1j * y, kind)
        if number == T.FLOAT8E8M0:  # powers of two
            return np.exp2(self.rng.integers(-6, 7, shape)).astype(kind)
        if number in FLOATS or "float" in NAMES[number]:
            if free:
                scale = float(self.rng.choice([1, 1, 1, 10, .1]))
                x = self.rng.standard_normal(shape) * scale
            else:
                x = self.rng.uniform(low, high, shape)
            x = np.asarray(x)
            if free and number in FLOATS and self.chance(special):
                odd = np.array([0., -0., np.inf, -np.inf, np.nan, 1., -1., 3e4])
                mask = self.rng.random(shape) < .2
                x = np.where(mask, self.rng.choice(odd, shape), x)
            with np.errstate(over="ignore"):
                return x.astype(kind)
        info = ml_dtypes.iinfo(kind)
        if free:
            low, high = (info.min, info.max) if self.chance(.1) else (-10, 10)
        low, high = max(int(low), int(info.min)), min(int(high), int(info.max))
        if low < -2**63 or high > 2**63 - 1:
            return self.rng.integers(low, high, shape, np.uint64, endpoint=True)
        return self.rng.integers(low, high, shape, np.int64,
                                 endpoint=True).astype(kind)

    def tensor(self, number, shape, low=None, high=None, **options):
        keep = {k: options.pop(k) for k in ("shape_fixed", "constant", "static")
                if k in options}
        return self.given(self.array(number, tuple(shape), low, high,
                                     **options), number, **keep)

    def given(self, array, number=None, **options):
        """A tensor of these contents."""
        array = np.asarray(array)
        if number is None:
            number = helper.np_dtype_to_tensor_dtype(array.dtype)
        value = Value(self.name("in"), number,
                      array.astype(numpy_type(number)), **options)
        self.values.append(value)
        return value

    def integers(self, numbers, number=T.INT64, **options):
        """A tensor that says sizes, axes, bounds: of known shape."""
        return self.given(np.array(numbers, np.int64), number,
                          shape_fixed=True, **options)

    def held(self, array, number, *of, free=False, rank=None):
        """A sequence or an optional of these contents."""
        array = mapped(array, lambda a: a.astype(numpy_type(number)))
        value = Value(self.name("in"), number, array, of=of, free=free,
                      rank=rank)
        self.values.append(value)
        return value

    def map(self, held, keys, number):
        """A map of these contents."""
        value = Value(self.name("in"), number, held, of=("map",), keys=keys)
        self.values.append(value)
        return value

    def held_dims(self, v):
        """Dims that are declared for the tensors in a value."""
        if "map" in v.of:
            return []
        low, high = (0, 3) if v.rank is None else (v.rank, v.rank)
        shapes = [a.shape for a in leaves(v.array)] or [self.shape(low, high)]
        if len({len(s) for s in shapes}) > 1 or v.free:
            return UNRANKED
        return [n[0] if len(set(n)) == 1 and self.chance(.5) else None
                for n in zip(*shapes)]

    # The case.
    def node(self, inputs, outputs=None, spread="function", wide=True,
             random=False, formula=None, known=None, declared=(), **attributes):
        """The one node of the case. None: absent, an input or an attribute.
        Attributes that this opset does not have are left out. `outputs`: which
        to ask for, True or False each, or how many; `declared`: types of the
        first of them, where the model must say it."""
        given = {k: v for k, v in attributes.items()
                 if k in self.attributes and v is not None}
        names = [v.name if v is not None else "" for v in inputs]
        while names and not names[-1]:
            names.pop()
        if outputs is None:
            outputs = 1
        wanted = [True] * outputs if isinstance(outputs, int) else outputs
        results = [self.name("out") if w else "" for w in wanted]
        while not results[-1]:
            results.pop()
        node = helper.make_node(self.op, names, results, domain=self.domain,
                                name=f"k{self.index}_{self.op}", **given)
        used = [v for v in self.values if v.name in names]
        return self.case([node], used, [r for r in results if r],
                         spread=spread, wide=wide, random=random,
                         formula=formula, known=known, declared=dict(zip(results, declared)))

    def case(self, nodes, values, outputs, **how):
        self._declare(values)
        return Case(self.op, self.domain, self.opset, self.index, nodes,
                    values, outputs, dict(self.types), **how)

    def _declare(self, values):
        """Constants or inputs; of the inputs, which dims are symbols."""
        constants = self.rng.choice([0, 0, 0, .5, 1])
        symbols = self.rng.choice([0, 0, 1, 1, .5])
        shared = self.chance(.2)  # equal sizes have one name
        for v in values:
            if v.of:
                v.dims = self.held_dims(v)
                continue
            fixed = range(v.array.ndim) if v.shape_fixed else \
                [k % v.array.ndim for k in v.static]
            if v.constant or self.chance(constants):
                v.dims = None
                continue
            stem = f"k{self.index}_n" if shared else f"{v.name}_d"
            v.dims = [f"{stem}{n if shared else k}"
                      if self.chance(symbols) and k not in fixed else n
                      for k, n in enumerate(v.array.shape)]


class Impossible(Exception):
    """This opset has nothing that can be tested."""
