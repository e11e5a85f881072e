"""Single operators against ONNX Runtime, or the reference of the onnx package.

    from harness import Family
    f = Family("matmul")
    f.case("MatMul", [a, b])                       # static sizes
    f.case("MatMul", [a, b], dynamic=True)         # every dim a symbol
    f.case("Gemm", [a, b, c], constants=[1], transB=1)
    f.case("TopK", [x, k], outputs=2)
    f.refused("MatMul", [a, wrong])
    f.done()

An input that is None is absent. Shows every case that fails, with what is
needed to repeat it.
"""
import os
import sys
import tempfile
import traceback

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import ferrule  # noqa: E402

onnxruntime.set_default_logger_severity(4)
IR_VERSION = 10


def type_of(array):
    if array.dtype.kind in "OU":
        return TensorProto.STRING
    return helper.np_dtype_to_tensor_dtype(array.dtype)


def model_of(op, inputs, outputs=1, opset=22, domain="", dynamic=False,
             constants=(), version=1, result_types=None, more=None,
             **attributes):
    """A model of one node. `dynamic`: True, or a list of numbers of inputs;
    version: opset of the domain; result_types: where ONNX Runtime cannot tell
    them, arrays' dtypes; more: attributes with names of parameters here."""
    names = [f"in{i}" if a is not None else "" for i, a in enumerate(inputs)]
    out = [f"out{i}" for i in range(outputs)]
    node = helper.make_node(op, names, out, domain=domain, **attributes,
                            **(more or {}))
    infos, initializers = [], []
    for i, (name, a) in enumerate(zip(names, inputs)):
        if a is None:
            continue
        if i in constants:
            initializers.append(numpy_helper.from_array(a, name))
            continue
        free = dynamic is True or (dynamic and i in dynamic)
        shape = [f"{name}_{k}" if free else n for k, n in enumerate(a.shape)]
        infos.append(helper.make_tensor_value_info(name, type_of(a), shape))
    results = [helper.make_empty_tensor_value_info(o) for o in out]
    if result_types:
        results = [helper.make_tensor_value_info(
            o, helper.np_dtype_to_tensor_dtype(np.dtype(t)), None)
            for o, t in zip(out, result_types)]
    graph = helper.make_graph([node], "test", infos, results, initializers)
    opsets = [helper.make_opsetid("", opset)]
    if domain:
        opsets.append(helper.make_opsetid(domain, version))
    return helper.make_model(graph, opset_imports=opsets,
                             ir_version=IR_VERSION)


def by_runtime(model, feeds):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = \
        onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def by_reference(model, feeds):
    from onnx.reference import ReferenceEvaluator
    return ReferenceEvaluator(model).run(None, feeds)


def alike(got, want, rtol=1e-3, atol=1e-4):
    """Whether two arrays, or two lists of them, have the same types and shapes,
    never one spread over the other, NaN at the same places and numbers as near
    as said."""
    if isinstance(want, (list, tuple)):
        return len(got) == len(want) and all(
            alike(g, w, rtol, atol) for g, w in zip(got, want))
    return got.dtype == want.dtype and got.shape == want.shape and \
        np.allclose(got, want, rtol, atol, equal_nan=True)


def runs_here(target):
    """Whether this machine runs code for a processor or a level."""
    a = np.zeros(1, np.float32)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "neg.onnx")
        onnx.save(model_of("Neg", [a]), path)
        try:
            ferrule.load(path, target=target)
        except ferrule.Error:
            return False
    return True


class Family:
    """targets: `case` and `runs` compile for each of them that runs here."""

    def __init__(self, name, rtol=1e-4, atol=1e-5, targets=(b"native",)):
        self.name, self.rtol, self.atol = name, rtol, atol
        self.targets = [t for t in targets if t == b"native" or runs_here(t)]
        self.passed = self.failed = 0
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "model.onnx")
        self.random = np.random.default_rng(1)

    def normal(self, *shape, dtype=np.float32):
        return self.random.standard_normal(shape).astype(dtype)

    def integers(self, low, high, *shape, dtype=np.int64):
        return self.random.integers(low, high, shape).astype(dtype)

    def fail(self, what, why):
        self.failed += 1
        print(f"FAILED {what}\n    {why}")

    def case(self, op, inputs, reference=None, rtol=None, atol=None, want=None,
             **options):
        """reference: "onnx", or by default ONNX Runtime; want: the results."""
        shapes = [None if a is None else f"{a.dtype}{list(a.shape)}"
                  for a in inputs]
        what = f"{op} {shapes} {options}"
        constants = options.get("constants", ())
        inputs = [a.astype(object) if a is not None and a.dtype.kind == "U"
                  else a for a in inputs]
        feeds = {f"in{i}": a for i, a in enumerate(inputs)
                 if a is not None and i not in constants}
        try:
            model = model_of(op, inputs, **options)
            if want is None:
                run = by_reference if reference == "onnx" else by_runtime
                want = run(model, feeds)
            onnx.save(model, self.path)
            got = [ferrule.load(self.path, target=t).run(feeds)
                   for t in self.targets]
        except Exception as e:  # a failure of either side fails the case
            self.fail(what, traceback.format_exc(limit=-1).strip())
            return
        for target, g in zip(self.targets, got):
            if self.agree(f"{target.decode()}: {what}", want, g, rtol, atol):
                self.passed += 1

    def graph(self, what, nodes, feeds, want, opset=22, rtol=None, atol=None,
              dynamic=False):
        """A model of several nodes; feeds and want: arrays by name."""
        infos = [helper.make_tensor_value_info(
            n, type_of(a), [f"{n}_{k}" for k in range(a.ndim)] if dynamic
            else a.shape) for n, a in feeds.items()]
        results = [helper.make_empty_tensor_value_info(n) for n in want]
        try:
            onnx.save(helper.make_model(
                helper.make_graph(nodes, "test", infos, results),
                opset_imports=[helper.make_opsetid("", opset)],
                ir_version=IR_VERSION), self.path)
            got = ferrule.load(self.path).run(feeds)
        except Exception:
            self.fail(what, traceback.format_exc(limit=-1).strip())
            return
        if self.agree(what, want.values(), got, rtol, atol):
            self.passed += 1

    def agree(self, what, want, got, rtol=None, atol=None):
        """Whether results (by name) are the wanted ones (a list), all."""
        want = list(want)
        if len(want) != len(got):
            self.fail(what, f"{len(got)} results ({', '.join(got)}), not "
                            f"{len(want)}")
            return False
        for w, (name, g) in zip(want, got.items()):
            w = np.asarray(w)
            if w.dtype.kind == "U":
                w = w.astype(object)
            if w.dtype.name == "bfloat16" and g.dtype == np.uint16:
                g = g.view(w.dtype)
            if w.shape != g.shape or w.dtype != g.dtype:
                self.fail(what, f"{name} is {g.dtype}{list(g.shape)}, not "
                                f"{w.dtype}{list(w.shape)}")
                return False
            r = self.rtol if rtol is None else rtol
            a = self.atol if atol is None else atol
            if w.dtype == np.float16:
                r, a = max(r, 2e-3), max(a, 2e-3)
            if w.dtype.kind not in "biufcO":  # those of ml_dtypes
                if w.dtype.name != "bfloat16":
                    r = a = 0
                w, g = w.astype(np.float32), g.astype(np.float32)
                ok = np.allclose(g, w, r, a, equal_nan=True)
            elif w.dtype.kind in "fc":
                ok = np.allclose(g, w, r, a, equal_nan=True)
            else:
                ok = np.array_equal(g, w)
            if not ok and w.dtype.kind == "O":
                self.fail(what, f"{name} is {g.tolist()}, not {w.tolist()}")
                return False
            if not ok:
                wide = np.complex128 if w.dtype.kind == "c" else np.float64
                bad = g != w if w.dtype.kind in "biu" else ~np.isclose(
                    g.astype(wide), w.astype(wide), r, a, equal_nan=True)
                bad = np.argwhere(bad)[0] if w.size else []
                at = tuple(bad)
                self.fail(what, f"{name}{list(at)} is {g[at]}, not {w[at]}")
                return False
        return True

    def sizes(self, op, sets, fixed=(), reference=None, rtol=None, atol=None,
              want=None, **options):
        """One compiled model with open dims, run with several sets of inputs;
        fixed: numbers of inputs whose dims stay; want: function of a set."""
        first = sets[0]
        free = [i for i in range(len(first)) if i not in fixed]
        model = model_of(op, first, dynamic=free, **options)
        constants = options.get("constants", ())
        self.runs(f"{op} {options}", model,
                  [{f"in{i}": a for i, a in enumerate(s)
                    if a is not None and i not in constants} for s in sets],
                  reference, rtol, atol,
                  want and [want(*s) for s in sets])

    def runs(self, what, model, feeds, reference=None, rtol=None, atol=None,
             want=None, dims=()):
        """The model, compiled once, with each of several feeds."""
        try:
            onnx.save(model, self.path)
            compiled = {t: ferrule.load(self.path, dims, target=t)
                        for t in self.targets}
        except Exception as e:
            self.fail(what, e)
            return
        run = by_reference if reference == "onnx" else by_runtime
        for i, feed in enumerate(feeds):
            shapes = {n: f"{a.dtype}{list(a.shape)}" for n, a in feed.items()}
            try:
                w = want[i] if want else run(model, feed)
                got = {t: c.run(feed) for t, c in compiled.items()}
            except Exception:
                self.fail(f"{what} {shapes}",
                          traceback.format_exc(limit=-1).strip())
                continue
            for t, g in got.items():
                if self.agree(f"{t.decode()}: {what} {shapes}", w, g, rtol,
                              atol):
                    self.passed += 1

    def refused(self, op, inputs, run_time=False, **options):
        """Must be refused with a message, when compiling or when run."""
        what = f"refused: {op} {options}"
        constants = options.get("constants", ())
        feeds = {f"in{i}": a for i, a in enumerate(inputs)
                 if a is not None and i not in constants}
        onnx.save(model_of(op, inputs, **options), self.path)
        try:
            model = ferrule.load(self.path)
        except ferrule.Error as e:
            if run_time or not str(e) or "Ferrule" in str(e):
                self.fail(what, str(e))
            else:
                self.passed += 1
            return
        try:
            model.run(feeds)
            self.fail(what, "was accepted")
        except ferrule.Error as e:
            if run_time:
                self.passed += 1
            else:
                self.fail(what, f"only at run time: {e}")

    def done(self):
        print(f"{self.name}: {self.passed} passed, {self.failed} failed")
        sys.exit(self.failed != 0)
