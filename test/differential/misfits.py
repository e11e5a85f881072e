#!/usr/bin/env python3
"""Inputs whose sizes do not fit each other: an error, never memory that is not
theirs.

Takes the random cases of run.py and gives one tensor another size along one dim:
as the model declares it, and with all dims open, as only the run can see it.
Inputs end where the memory that may be read ends. Allowed are a refusal, an
error of the run, and results that are the reference's (there may be operators
that take it so). Results where no reference has any are counted, and shown with
--verbose.

    misfits.py                     24 cases of every operator
    misfits.py --op RotaryEmbedding --count 200 --verbose
"""
import argparse
import collections
import ctypes
import dataclasses
import json
import mmap
import os
import random
import resource
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..")]
import numpy as np  # noqa: E402
import onnx  # noqa: E402

import families  # noqa: E402
import ferrule  # noqa: E402
import reference  # noqa: E402
from model import model_of  # noqa: E402
from run import operators  # noqa: E402
from worker import MEMORY, Worker, case_of, typed  # noqa: E402

PAGE = mmap.PAGESIZE
libc = ctypes.CDLL(None)


def guarded(a):
    """A copy at whose end no memory can be read, as far as its alignment
    allows."""
    if a.dtype.kind in "OUS" or not a.size:
        return a
    room = (a.nbytes + PAGE - 1) // PAGE * PAGE
    pages = mmap.mmap(-1, room + PAGE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(pages))
    libc.mprotect(ctypes.c_void_p(start + room), ctypes.c_size_t(PAGE), 0)
    out = np.frombuffer(pages, np.uint8)[room - a.nbytes:room]
    out = out.view(a.dtype).reshape(a.shape)
    out[...] = a
    return out


def resized(a, dim, size):
    if not a.shape[dim]:
        return np.zeros(a.shape[:dim] + (size,) + a.shape[dim + 1:], a.dtype)
    return np.take(a, np.arange(size) % a.shape[dim], dim)


def misfits(op, seed, index):
    """The case with a size changed, in both ways; what was changed."""
    case = case_of(op, seed, index)
    draw = random.Random(f"{op} {seed} {index}")
    places = [(i, k) for i, v in enumerate(case.values if case else [])
              if v.dims is not None and not v.of and v.array.ndim
              for k in range(v.array.ndim)]
    if len([v for v in case.values if not v.of] if case else []) < 2 \
            or not places:
        return
    i, k = draw.choice(places)
    was = case.values[i].array.shape[k]
    size = draw.choice([s for s in {0, 1, was - 1, was + 1, 2 * was, was + 16}
                        if s >= 0 and s != was])
    array = resized(case.values[i].array, k, size)
    if array.size > 1 << 20:
        return
    for open_dims in False, True:
        values = []
        for n, v in enumerate(case.values):
            a = array if n == i else v.array
            dims = v.dims
            if dims is not None and not v.of:
                dims = [f"{v.name}_{d}" if open_dims and d not in v.static
                        and not v.shape_fixed else s
                        for d, s in enumerate(a.shape)]
            values.append(dataclasses.replace(v, array=a, dims=dims))
        yield (dataclasses.replace(case, values=values, stand_in=None),
               f"{case.text()}: input {i} dim {k} {was} -> {size}, "
               f"{'open' if open_dims else 'declared'}")


def outcome(case, folder, referring):
    path = os.path.join(folder, "model.onnx")
    onnx.save(model_of([case]), path)
    try:
        model = ferrule.load(path)
    except ferrule.Error as e:
        text = str(e)
        internal = "not valid after" in text or "internal" in text \
            or "see current operation" in text
        return ("internal", text) if internal else ("refused", text)
    feeds = {n: guarded(a) if isinstance(a, np.ndarray) else a
             for n, a in case.feeds().items()}
    try:
        found = typed(model, model.run(feeds))
    except ferrule.Error as e:
        return "ended", str(e)
    referring()
    try:
        program, want = reference.results(case)
    except Exception as e:  # of a formula for sizes that fit
        program, want = None, repr(e)
    if not program:
        return "alone", want
    judged = Worker(open(os.devnull, "w")).judge(case, program, want, found)
    return judged["status"], judged.get("message", "")


def child(out, op, seed, indices):
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)

    def say(*what):
        os.write(out, (json.dumps(what) + "\n").encode())

    with tempfile.TemporaryDirectory() as folder:
        for i in indices:
            say("begin", i, "")
            try:
                for case, text in misfits(op, seed, i):
                    say("begin", i, text)
                    say(*outcome(case, folder,
                                 lambda: say("refer", i, text)), text)
            except Exception as e:  # a reference that cannot even begin
                say("unusable", repr(e), "")
    say("end", 0, "")


BAD = "crashed", "internal", "differing"


def run(op, options, count):
    indices = list(range(options.count))
    while indices:
        get, put = os.pipe()
        pid = os.fork()
        if not pid:
            os.close(get)
            child(put, op, options.seed, indices)
            os._exit(0)
        os.close(put)
        at, text, stage = indices[0], "", "begin"
        for line in os.fdopen(get):
            what, more, text_now = json.loads(line)
            if what == "end":
                indices = []
            elif what in ("begin", "refer"):
                at, text, stage = more, text_now, what
            else:
                count[what] += 1
                if what in BAD or options.verbose and what == "alone":
                    print(f"{what} {op} {at}: {text_now}\n    {more}",
                          flush=True)
        status = os.waitpid(pid, 0)[1]
        if indices:
            count["crashed" if stage == "begin" else "alone"] += 1
            if stage == "begin":
                print(f"crashed {op} {at}: {text} (status {status})",
                      flush=True)
            indices = [i for i in indices if i > at]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--op", action="append")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=24)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    total = collections.Counter()
    for op in operators():
        if op in families.GENERATORS and (
                not options.op or op in options.op
                or op.split(".")[-1] in options.op):
            run(op, options, total)
    print("misfits:", ", ".join(f"{n} {k}" for k, n in sorted(total.items())))
    return 1 if any(total[k] for k in BAD) else 0


if __name__ == "__main__":
    sys.exit(main())
