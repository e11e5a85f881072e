"""Many cases of one node each as one model, compiled with their sizes and again
with symbols for all of them."""
import numpy as np
import onnx
from onnx import helper

from harness import IR_VERSION, ferrule, type_of

SYMBOLS = 60  # of a model


class Batch:
    """fixed: numbers of inputs whose sizes are always known, as those that say
    how many dims are meant."""

    def __init__(self, family, what, opset=23, fixed=(), rtol=0, atol=None,
                 most=60):
        self.family, self.what, self.opset = family, what, opset
        self.fixed, self.most = fixed, most
        self.rtol, self.atol = rtol, rtol if atol is None else atol
        self.cases = []

    def add(self, op, inputs, want, constants=(), fixed=(), **attributes):
        self.cases.append((op, inputs, want, constants,
                           set(fixed) | set(self.fixed), attributes))

    def run(self):
        for dynamic in False, True:
            part, symbols = [], {}
            for case in self.cases:
                free = {id(a): a.ndim for i, a in enumerate(case[1])
                        if a is not None and i not in case[3]
                        and i not in case[4]}
                if part and (len(part) == self.most or dynamic and sum(
                        (symbols | free).values()) > SYMBOLS):
                    self._part(part, dynamic)
                    part, symbols = [], {}
                part.append(case)
                symbols |= free
            self._part(part, dynamic)
        self.cases = []

    def _part(self, cases, dynamic):
        nodes, infos, constants, outputs = [], [], [], []
        feeds, about, had = {}, [], {}
        for k, (op, inputs, want, fixed, known, attributes) in enumerate(cases):
            names = []
            for i, a in enumerate(inputs):
                key = (id(a), i in fixed, i in known)
                names.append(had.setdefault(key, f"c{k}_{i}")
                             if a is not None else "")
                name = f"c{k}_{i}"
                if names[-1] != name:  # absent, or there already
                    continue
                if i in fixed:
                    constants.append(onnx.numpy_helper.from_array(a, name))
                    continue
                shape = [f"{name}_{n}" for n in range(a.ndim)] \
                    if dynamic and i not in known else a.shape
                infos.append(helper.make_tensor_value_info(name, type_of(a),
                                                           shape))
                feeds[name] = a
            made = [f"y{k}_{i}" for i in range(len(want))]
            nodes.append(helper.make_node(op, names, made, **attributes))
            outputs += made
            shown = [a.tolist() if a is not None and a.size < 4
                     else a is not None and a.shape for a in inputs]
            about += [(f"{self.what}: {op} {shown} {attributes}"
                       + (" with symbols" if dynamic else ""), w) for w in want]
        graph = helper.make_graph(
            nodes, "batch", infos,
            [helper.make_empty_tensor_value_info(o) for o in outputs], constants)
        model = helper.make_model(graph, ir_version=IR_VERSION, opset_imports=[
            helper.make_opsetid("", self.opset)])
        try:
            onnx.save(model, self.family.path)
            got = ferrule.load(self.family.path).run(feeds)
        except ferrule.Error as e:
            self.family.fail(f"{self.what}, all of {len(cases)}", e)
            return
        for (what, want), name in zip(about, outputs):
            if self.family.agree(what, [np.asarray(want)], {name: got[name]},
                                 self.rtol, self.atol):
                self.family.passed += 1
