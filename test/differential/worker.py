"""Runs cases for run.py, as a process that may crash.

Reads a line of JSON per task and answers in lines: what is about to happen, so
that a crash has an author, and the outcome of each case.
"""
import dataclasses
import json
import os
import resource
import sys
import tempfile

os.environ.setdefault("OMP_NUM_THREADS", "1")
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..")]
import ml_dtypes  # noqa: E402, F401
import numpy as np  # noqa: E402
import onnx  # noqa: E402

import ferrule  # noqa: E402
import families  # noqa: E402
import reference  # noqa: E402
import shrink  # noqa: E402
from compare import difference  # noqa: E402
from draw import (GROUP, Draw, Impossible, arrays_of,  # noqa: E402
                  choose_opset, leaves, mapped, numpy_type)
from explained import explained  # noqa: E402
from model import model_of, save  # noqa: E402

MEMORY = 16 << 30
SINGLE = {onnx.TensorProto.DOUBLE: onnx.TensorProto.FLOAT,
          onnx.TensorProto.COMPLEX128: onnx.TensorProto.COMPLEX64}


def case_of(op, seed, index):
    """Case `index` of an operator; None: its opset has nothing to test."""
    domain = families.DOMAINS[op]
    name = op.removeprefix(f"{domain}.")
    opset = choose_opset(name, seed, index // GROUP, domain)
    try:
        return families.GENERATORS[op](Draw(name, seed, index, opset, domain))
    except Impossible:
        return None


class Refused(Exception):
    pass


def by_ferrule(cases, folder):
    """Results by name, of all the cases as one model."""
    path = os.path.join(folder, "model.onnx")
    onnx.save(model_of(cases), path)
    feeds = {}
    for case in cases:
        feeds.update(case.feeds())
    try:
        model = ferrule.load(path)
        found = model.run(feeds)
    except ferrule.Error as e:
        # A refusal says why, and is not the fault of Ferrule.
        raise Refused(str(e) or "refused without a message")
    return typed(model, found)


def typed(model, found):
    """The results in numpy's types for theirs."""
    for i, name in enumerate(model.outputs):
        info = model.struct.outputs[i]
        while info.dtype >= ferrule.SEQUENCE:
            info = info.element[0]
        kind = np.dtype(numpy_type(info.dtype))
        found[name] = mapped(found[name], lambda a: a if a.dtype == kind
                             else a.view(kind))
    return found


def compared(case, want, found, single=False):
    """None, or how the results of a case differ from what they should be;
    single: f64 as if it were f32."""
    largest = 0.
    for a in [a for v in case.values for a in leaves(v.array)]:
        kind = np.dtype(a.dtype).kind
        if kind in "fVc" and a.size:
            with np.errstate(all="ignore"):
                x = np.abs(a if kind == "c" else a.astype(np.float64))
            most = x[np.isfinite(x)].max(initial=0)
            largest = max(largest, most * max(1, a.size**.5 / 16))

    def differ(g, w):
        if isinstance(w, list) or w is None or g is None:
            if type(g) is not type(w) or w and len(g) != len(w):
                return f" is {_kind(g)}, not {_kind(w)}"
            for k, (a, b) in enumerate(zip(g or [], w or [])):
                text = differ(a, b)
                if text:
                    return f" item {k}{text}"
            return None
        if isinstance(w, dict) or isinstance(g, dict):
            if type(g) is not type(w) or g.keys() != w.keys():
                return f" is {_kind(g)}, not {_kind(w)}"
            g, w = arrays_of(g)[1], arrays_of(w)[1]
            w = w.astype(g.dtype)
        if isinstance(g, list) or g.dtype != w.dtype:
            return f" is {_kind(g)}, not {_kind(w)}"
        if case.random:
            return None if g.shape == w.shape else f": shape {g.shape}"
        number = onnx.helper.np_dtype_to_tensor_dtype(w.dtype)
        if single:
            number = SINGLE.get(number, number)
        text = difference(g, w, number, case.spread, largest)
        return text and f": {text}"

    for i, (name, w) in enumerate(zip(case.outputs, want)):
        text = differ(found[name], w)
        if text:
            return f"output {i}{text}"
    return None


def _kind(held):
    """A word for what a value is."""
    if isinstance(held, list):
        return f"a sequence of {len(held)}"
    if isinstance(held, dict):
        return f"a map of {list(held)}"
    return "nothing" if held is None else str(held.dtype)


class Worker:
    def __init__(self, out):
        self.out = out
        self.folder = tempfile.TemporaryDirectory()

    def say(self, **what):
        self.out.write(json.dumps(what) + "\n")
        self.out.flush()

    def judge(self, case, program, want, found):
        """The status of a case that has results of both sides."""
        text = compared(case, want, found)
        if not text:
            return {"status": "equal"}
        text, agree = f"{text}, says {program}", []
        self.say(stage="another reference", case=case.index)
        for other, second in reference.others(case):
            if not compared(case, second, found):
                agree.append(other)
        if not compared(case, want, found, single=True):
            agree.append("the first, as f32,")
        if not compared(dataclasses.replace(case, spread="cut"), want, found):
            agree.append("the first, but for one,")
        if agree:
            text += f"; {', '.join(agree)} with Ferrule"
        reason = explained(case, text, agree)
        return {"status": "explained" if reason else "differing",
                "message": reason or text}

    def single(self, case, program, want):
        self.say(stage="ferrule", case=case.index)
        try:
            found = by_ferrule([case], self.folder.name)
        except Refused as e:
            if not program:
                return {"status": "unreferenced", "message": want}
            reason = explained(case, str(e), [])
            return {"status": "explained" if reason else "refused",
                    "message": reason or str(e)}
        if not program:
            return {"status": "unreferenced", "message": want}
        return self.judge(case, program, want, found)

    def answer(self, case, program, outcome):
        self.say(done=case.index, text=case.text(), program=program, **outcome)

    def group(self, op, seed, indices, apart, without):
        """All cases of a group; `apart`: compile each by itself; `without`:
        cases that crash the program named."""
        ready = []
        for i in indices:
            self.say(stage="generate", case=i)
            case = case_of(op, seed, i)
            if not case:
                self.say(done=i, text="", program=None, status="impossible")
                continue
            self.say(stage="reference", case=i)
            programs = [p for p in reference.PROGRAMS
                        if p not in without.get(str(i), [])]
            ready.append((case, *reference.results(case, programs)))
        together = [r for r in ready if r[1]]
        if not apart and len(together) > 1:
            self.say(stage="together", case=-1)
            try:
                found = by_ferrule([c for c, _, _ in together],
                                   self.folder.name)
            except Refused:
                found = None
            if found is not None:
                for r in list(together):
                    if not compared(r[0], r[2], found):
                        self.answer(r[0], r[1], {"status": "equal"})
                        ready.remove(r)
        for case, program, want in ready:
            outcome = self.single(case, program, want)
            if outcome["status"] == "equal" and not apart \
                    and len(together) > 1 and found is not None:
                outcome = {"status": "differing",
                           "message": "only together with the others of its "
                                      f"group: {[c.index for c, _, _ in together]}"}
            self.answer(case, program, outcome)

    def report(self, op, seed, index, folder):
        """Saves the case, and the smallest one like it."""
        case = case_of(op, seed, index)
        self.say(stage="report", case=index)
        program, want = reference.results(case)
        save(case, want if program else None, folder)
        small, program, want = shrink.smaller(
            case, lambda c: self.fails(c))
        save(small, want, os.path.join(folder, "small"))
        self.say(done=index, text=small.text(), program=program)

    def fails(self, case):
        """(program, want) when Ferrule's results are not the reference's."""
        program, want = reference.results(case)
        if not program:
            return None
        try:
            found = by_ferrule([case], self.folder.name)
        except Refused:
            return None
        return (program, want) if compared(case, want, found) else None


def main():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    # What libraries print does not disturb the answers.
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    worker = Worker(out)
    for line in sys.stdin:
        task = json.loads(line)
        getattr(worker, task.pop("do"))(**task)
        worker.say(finished=True)


if __name__ == "__main__":
    main()
