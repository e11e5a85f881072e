"""libferrule and compiled models from Python, for tests and benchmarks.

    # into this process; dims as for the program's --dim
    model = ferrule.load("model.onnx", ["batch=1", "x.dim1=?"])
    ferrule.compile("model.onnx", "model.so")
    model = ferrule.open("model.so")
    outputs = model.run({"x": array})           # arrays by name

Strings are arrays of str (object or 'U'); sequences are lists, optionals the
value or None, maps dicts from str or int to number or str.

Environment: FERRULE_BUILD, the build folder. Needs: numpy.
"""
import ctypes as c
import os
import time
import weakref

import numpy as np

BUILD = os.environ.get("FERRULE_BUILD",
                       os.path.join(os.path.dirname(__file__), "..", "build"))
MAX_RANK, MAX_SYMBOLS, ALIGN, UNKNOWN = 16, 64, 64, -2**63

# ferrule_dtype; numpy has no bfloat16, which is shown as its bits. The types
# of 8 bits and less that it lacks are those of ml_dtypes, or bits without it.
DTYPES = {1: np.float32, 2: np.uint8, 3: np.int8, 4: np.uint16, 5: np.int16,
          6: np.int32, 7: np.int64, 9: np.bool_, 10: np.float16,
          11: np.float64, 12: np.uint32, 13: np.uint64, 14: np.complex64,
          15: np.complex128, 16: np.uint16}
SMALL = {17: "float8_e4m3fn", 18: "float8_e4m3fnuz", 19: "float8_e5m2",
         20: "float8_e5m2fnuz", 21: "uint4", 22: "int4", 23: "float4_e2m1fn",
         24: "float8_e8m0fnu", 25: "uint2", 26: "int2", 27: "float6_e2m3fn",
         28: "float6_e3m2fn"}
try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None
DTYPES |= {n: getattr(ml_dtypes, t, np.uint8) for n, t in SMALL.items()}
NUMBERS = {np.dtype(t): n for n, t in reversed(DTYPES.items())}
if ml_dtypes:
    NUMBERS[np.dtype(ml_dtypes.bfloat16)] = 16
STRING, SEQUENCE, OPTIONAL, MAP = 8, 1000, 1001, 1002


class Tensor(c.Structure):
    _fields_ = [("data", c.c_void_p), ("capacity", c.c_int64),
                ("dtype", c.c_int32), ("rank", c.c_int32),
                ("dims", c.c_int64 * MAX_RANK)]


class String(c.Structure):
    _fields_ = [("data", c.c_void_p), ("size", c.c_int64)]


class Sequence(c.Structure):
    _fields_ = [("count", c.c_int64), ("items", c.POINTER(Tensor))]


class Map(c.Structure):
    _fields_ = [("keys", Tensor), ("values", Tensor)]


class ValueInfo(c.Structure):
    pass


ValueInfo._fields_ = [("name", c.c_char_p), ("dtype", c.c_int32),
                      ("rank", c.c_int32), ("dims", c.POINTER(c.c_int64)),
                      ("element", c.POINTER(ValueInfo))]


ALLOCATE = c.CFUNCTYPE(c.c_void_p, c.c_void_p, c.c_size_t)
RELEASE = c.CFUNCTYPE(None, c.c_void_p, c.c_void_p)


class RunOptions(c.Structure):
    _fields_ = [("parallel_for", c.c_void_p), ("allocate", c.c_void_p),
                ("release", c.c_void_p), ("user", c.c_void_p),
                ("threads", c.c_int32)]


class ModelStruct(c.Structure):
    _fields_ = [("abi_version", c.c_uint32), ("name", c.c_char_p),
                ("compiler", c.c_char_p), ("cpu", c.c_char_p),
                ("n_inputs", c.c_uint32), ("n_outputs", c.c_uint32),
                ("n_symbols", c.c_uint32), ("n_messages", c.c_uint32),
                ("inputs", c.POINTER(ValueInfo)),
                ("outputs", c.POINTER(ValueInfo)),
                ("symbols", c.POINTER(c.c_char_p)),
                ("messages", c.POINTER(c.c_char_p)),
                ("weight_bytes", c.c_uint64),
                ("arena_size", c.CFUNCTYPE(c.c_int64, c.POINTER(c.c_int64))),
                ("run", c.c_void_p), ("levels", c.c_void_p),
                ("n_levels", c.c_uint32)]


class Diagnostic(c.Structure):
    _fields_ = [("severity", c.c_int), ("file", c.c_char_p),
                ("node", c.c_char_p), ("op", c.c_char_p),
                ("attribute", c.c_char_p), ("message", c.c_char_p),
                ("hint", c.c_char_p)]


class Dim(c.Structure):
    _fields_ = [("name", c.c_char_p), ("value", c.c_int64)]


class OpenDim(c.Structure):
    _fields_ = [("name", c.c_char_p), ("symbol", c.c_char_p)]


DIAGNOSTIC = c.CFUNCTYPE(None, c.c_void_p, c.POINTER(Diagnostic))


class Options(c.Structure):
    _fields_ = [("target", c.c_char_p), ("prefix", c.c_char_p),
                ("name", c.c_char_p), ("opt_level", c.c_int),
                ("threads", c.c_int), ("dims", c.POINTER(Dim)),
                ("n_dims", c.c_size_t), ("weights_beside", c.c_bool),
                ("profile", c.c_bool), ("diagnostic", DIAGNOSTIC),
                ("progress", c.c_void_p), ("user", c.c_void_p),
                ("header", c.c_char_p),
                ("open_dims", c.POINTER(OpenDim)),
                ("n_open_dims", c.c_size_t),
                ("schedule", c.c_char_p), ("prepack", c.c_char_p),
                ("precision", c.c_char_p)]


class Error(Exception):
    """A model that was refused; .status is the ferrule_status."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


def _library():
    lib = c.CDLL(os.path.join(BUILD, "lib", "libferrule.so"))
    model, tensors = c.POINTER(ModelStruct), c.POINTER(Tensor)
    lib.ferrule_model_symbols.argtypes = [model, tensors, c.POINTER(c.c_int64)]
    lib.ferrule_model_run.argtypes = [model, tensors, tensors, c.c_void_p,
                                      c.POINTER(RunOptions)]
    lib.ferrule_model_message.argtypes = [model, c.c_int]
    lib.ferrule_model_message.restype = c.c_char_p
    lib.ferrule_program_model.argtypes = [c.c_void_p]
    lib.ferrule_program_model.restype = model
    lib.ferrule_program_destroy.argtypes = [c.c_void_p]
    lib.ferrule_pool_create.restype = c.c_void_p
    lib.ferrule_pool_destroy.argtypes = [c.c_void_p]
    lib.ferrule_pool_options.argtypes = [c.c_void_p]
    lib.ferrule_pool_options.restype = RunOptions
    return lib


_lib = _library()
_libc = c.CDLL(None)
_libc.free.argtypes = [c.c_void_p]
_libc.aligned_alloc.argtypes = [c.c_size_t, c.c_size_t]
_libc.aligned_alloc.restype = c.c_void_p
live = 0  # blocks that runs have taken and nobody has given back


def _take(_, size):
    global live
    live += 1
    return _libc.aligned_alloc(ALIGN, (size // ALIGN + 1) * ALIGN)


def _give(_, block):
    global live
    live -= 1
    _libc.free(block)


_allocate, _release = ALLOCATE(_take), RELEASE(_give)


def _call(function, path, output, dims=(), **options):
    messages = []

    def receive(_, diagnostic):
        d = diagnostic.contents
        parts = [d.op, d.node, d.attribute, d.message, d.hint]
        messages.append(": ".join(p.decode() for p in parts if p))

    o = Options(diagnostic=DIAGNOSTIC(receive), **options)
    pairs = [d.split("=") for d in dims]
    fixed = [(n.encode(), int(v)) for n, v in pairs if v.isdigit()]
    opened = [(n.encode(), None if v == "?" else v.encode())
              for n, v in pairs if not v.isdigit()]
    o.dims, o.n_dims = (Dim * len(fixed))(*fixed), len(fixed)
    o.open_dims = (OpenDim * len(opened))(*opened)
    o.n_open_dims = len(opened)
    if isinstance(output, str):
        status = function(path.encode(), output.encode(), c.byref(o))
    else:
        status = function(path.encode(), c.byref(o), output)
    if status:
        raise Error(status, "\n".join(messages))


def compile(path, output, dims=(), **options):
    """Compiles to .so, .o, .a, .ll or .s. Options as in compiler.h."""
    _call(_lib.ferrule_compile, path, output, dims, **options)


def load(path, dims=(), **options):
    """Compiles into this process."""
    program = c.c_void_p()
    _call(_lib.ferrule_load, path, c.byref(program), dims, **options)
    model = Model(_lib.ferrule_program_model(program).contents)
    weakref.finalize(model, _lib.ferrule_program_destroy, program)
    return model


def open(path, prefix="ferrule"):
    """A compiled .so."""
    library = c.CDLL(os.path.abspath(path), mode=os.RTLD_LOCAL)
    return Model(ModelStruct.in_dll(library, prefix + "_model"), library)


def _pointer(t, dtype, object_, keep):
    """Value t that is no tensor, with the address of what it is."""
    place = c.c_void_p(c.addressof(object_) if object_ is not None else None)
    keep.extend([place, object_])
    t.data, t.dtype, t.rank = c.addressof(place), dtype, 0


def _fill(t, value, info, keep):
    """Makes t the value, which has the type of `info`."""
    if info.dtype == SEQUENCE:
        items = (Tensor * max(1, len(value)))()
        for item, v in zip(items, value):
            _fill(item, v, info.element[0], keep)
        keep.append(items)
        _pointer(t, SEQUENCE, Sequence(len(value), items), keep)
        return
    if info.dtype == OPTIONAL:
        held = None
        if value is not None:
            held = Tensor()
            _fill(held, value, info.element[0], keep)
        _pointer(t, OPTIONAL, held, keep)
        return
    if info.dtype == MAP:
        m = Map()
        for part, v, e in ((m.keys, value.keys(), info.element[0]),
                           (m.values, value.values(), info.element[1])):
            kind = object if e.dtype == STRING else DTYPES[e.dtype]
            _fill(part, np.array(list(v), kind), e, keep)
        _pointer(t, MAP, m, keep)
        return
    a = np.asarray(value)
    t.rank = a.ndim
    t.dims[:a.ndim] = a.shape
    if a.dtype.kind in "OUS":
        texts = [x if isinstance(x, bytes) else str(x).encode()
                 for x in a.reshape(-1)]
        memory = (c.c_char * (16 * len(texts) + 16))()
        start = -c.addressof(memory) % 16
        strings = (String * len(texts)).from_buffer(memory, start)
        for s, text in zip(strings, texts):
            s.data = c.cast(c.c_char_p(text), c.c_void_p)
            s.size = len(text)
        keep.extend([memory, strings, texts])
        t.data, t.dtype = c.addressof(memory) + start, STRING
        return
    a = np.ascontiguousarray(a).reshape(a.shape)
    keep.append(a)
    t.data, t.dtype = a.ctypes.data, NUMBERS[a.dtype]
    bits = {16: np.uint16}.get(info.dtype, np.uint8)
    if 16 <= info.dtype < SEQUENCE and a.dtype == bits:
        t.dtype = info.dtype


def _value(t):
    """What t is, copied."""
    if t.dtype >= SEQUENCE:
        address = c.c_void_p.from_address(t.data).value
        if t.dtype == SEQUENCE:
            s = Sequence.from_address(address)
            return [_value(s.items[i]) for i in range(s.count)]
        if t.dtype == OPTIONAL:
            return None if address is None else _value(
                Tensor.from_address(address))
        m = Map.from_address(address)
        return dict(zip(_value(m.keys).tolist(), _value(m.values).tolist()))
    shape = tuple(t.dims[:t.rank])
    n = int(np.prod(shape, dtype=np.int64))
    if t.dtype == STRING:
        a = np.empty(n, object)
        for i in range(n):
            s = String.from_address(t.data + 16 * i)
            a[i] = c.string_at(s.data, s.size).decode() if s.size else ""
        return a.reshape(shape)
    dtype = np.dtype(DTYPES[t.dtype])
    data = c.string_at(t.data, dtype.itemsize * n) if n else b""
    return np.frombuffer(data, dtype).reshape(shape)


class Model:
    def __init__(self, struct, library=None, threads=1):
        self.struct, self.library = struct, library
        self.inputs = [struct.inputs[i].name.decode()
                       for i in range(struct.n_inputs)]
        self.outputs = [struct.outputs[i].name.decode()
                        for i in range(struct.n_outputs)]
        self.set_threads(threads)

    def set_threads(self, threads):
        self.options = RunOptions()
        if threads > 1:
            pool = c.c_void_p(_lib.ferrule_pool_create(threads))
            weakref.finalize(self, _lib.ferrule_pool_destroy, pool)
            self.options = _lib.ferrule_pool_options(pool)
        self.options.allocate = c.cast(_allocate, c.c_void_p)
        self.options.release = c.cast(_release, c.c_void_p)

    def prepare(self, arrays):
        """Everything that a run needs; for repeated runs of run_prepared."""
        s = self.struct
        run = _Run()
        run.keep = []
        run.inputs = (Tensor * max(1, s.n_inputs))()
        for i, name in enumerate(self.inputs):
            _fill(run.inputs[i], arrays[name], s.inputs[i], run.keep)
        run.outputs = (Tensor * max(1, s.n_outputs))()
        symbols = (c.c_int64 * MAX_SYMBOLS)()
        self._check(_lib.ferrule_model_symbols(c.byref(s), run.inputs, symbols))
        size = s.arena_size(symbols)
        if size == 2**63 - 1:
            self._check(_lib.ferrule_model_run(
                c.byref(s), run.inputs, run.outputs, None, None))
        memory = np.zeros(size + ALIGN, np.uint8)
        run.memory = memory
        run.arena = (memory.ctypes.data + ALIGN - 1) // ALIGN * ALIGN
        return run

    def run_prepared(self, run):
        """Only the run. The first one allocates the outputs, others reuse."""
        self._check(_lib.ferrule_model_run(
            c.byref(self.struct), run.inputs, run.outputs, run.arena,
            c.byref(self.options)))

    def time_prepared(self, run):
        """Seconds of one run after run_prepared, whose outputs it reuses. With
        libc's allocator: calls back into Python take longer than small models.
        """
        call, model = _lib.ferrule_model_run, c.byref(self.struct)
        plain = RunOptions.from_buffer_copy(self.options)
        plain.allocate = plain.release = None
        options = c.byref(plain)
        start = time.perf_counter()
        status = call(model, run.inputs, run.outputs, run.arena, options)
        seconds = time.perf_counter() - start
        self._check(status)
        return seconds

    def run(self, arrays):
        run = self.prepare(arrays)
        self.run_prepared(run)
        results = {}
        for i, name in enumerate(self.outputs):
            t = run.outputs[i]
            results[name] = _value(t)
            if t.data:
                _give(None, t.data)
        return results

    def _check(self, status):
        if status:
            text = _lib.ferrule_model_message(c.byref(self.struct), status)
            raise Error(status, text.decode())


class _Run:
    pass
