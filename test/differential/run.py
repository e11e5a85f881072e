#!/usr/bin/env python3
"""Ferrule against ONNX Runtime and onnx's reference, at random.

Draws cases of every operator (attributes, shapes, types, opsets, optional
inputs, constants, symbolic dims), runs them by both and compares. The same
seed gives the same cases, however many are run.

    run.py                       200 cases of every operator
    run.py --op Slice --count 1000 --seed 7
    run.py --op Slice --case 123     one case again
    run.py --seconds 90          of every operator in turn, as far as it gets

Exit status 1 when anything differs, crashes or is refused that explained.py
does not explain. Environment: FERRULE_BUILD, the build folder.
"""
import argparse
import collections
import json
import os
import queue
import random
import subprocess
import sys
import threading
import time

import onnx

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..")]
import families  # noqa: E402
from draw import CONTRIB, GROUP, key  # noqa: E402

BUILD = os.environ.get("FERRULE_BUILD", os.path.join(HERE, "../../build"))
os.environ["FERRULE_BUILD"] = BUILD = os.path.abspath(BUILD)
DOMAINS = "", "ai.onnx.preview", "ai.onnx.preview.training", "ai.onnx.ml"
PATIENCE = 120
BAD = "refused", "differing", "crashed"
COLUMNS = ("equal", "explained", "refused", "differing", "crashed",
           "unreferenced")


def operators():
    """Keys of the standard's operators, those that become others included,
    and of those of ONNX Runtime that the operator table has."""
    standard = {s.name for s in onnx.defs.get_all_schemas_with_history()
                if s.domain in DOMAINS}
    text = subprocess.run([os.path.join(BUILD, "bin", "ferrule"), "operators"],
                          capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in text.splitlines()]
    return sorted(standard | {key(r[1], r[0]) for r in rows if len(r) > 1
                              and r[1] == CONTRIB})


class Process:
    """A worker, which may die: then `do` gives what it was about to do."""

    def __init__(self):
        self.process = None

    def do(self, task, receive):
        if not self.process:
            self.process = subprocess.Popen(
                [sys.executable, os.path.join(HERE, "worker.py")],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True)
        process, stage = self.process, {"stage": "start", "case": -1}
        process.stdin.write(json.dumps(task) + "\n")
        process.stdin.flush()
        while True:
            slow = []
            timer = threading.Timer(
                PATIENCE, lambda: (slow.append(1), process.kill()))
            timer.start()
            line = process.stdout.readline()
            timer.cancel()
            if not line:
                self.process = None
                code = process.wait()
                stage["why"] = (f"longer than {PATIENCE} s" if slow
                                else f"ended with {code}")
                return stage
            what = json.loads(line)
            if "finished" in what:
                return None
            if "done" in what:
                receive(what)
            else:
                stage = what

    def end(self):
        if self.process:
            self.process.stdin.close()
            self.process.wait()


class Run:
    def __init__(self, options):
        self.options = options
        self.tasks = queue.Queue()
        self.lock = threading.Lock()
        self.results = collections.defaultdict(dict)
        self.until = time.time() + options.seconds if options.seconds else None

    def receive(self, op, what):
        with self.lock:
            self.results[op][what["done"]] = what
            if self.options.verbose or what["status"] in BAD:
                print(f"{what['status']:12} {op} --case {what['done']}: "
                      f"{what['text']}\n    {what.get('message', '')}",
                      flush=True)

    def work(self):
        process = Process()
        while True:
            try:
                op, indices = self.tasks.get_nowait()
            except queue.Empty:
                break
            if self.until and time.time() > self.until:
                continue
            self.group(process, op, indices)
        process.end()

    def group(self, process, op, indices):
        apart, without = self.options.case is not None, {}
        while indices:
            task = dict(do="group", op=op, seed=self.options.seed,
                        indices=indices, apart=apart, without=without)
            died = process.do(task, lambda what: self.receive(op, what))
            indices = [i for i in indices if i not in self.results[op]]
            if not died:
                break
            case, stage = died["case"], died["stage"]
            if stage == "together":
                apart = True
            elif stage == "reference":
                skip = without.setdefault(str(case), [])
                skip.append("ONNX Runtime" if not skip else "onnx")
                if len(skip) > 2:
                    self.crash(op, case, "a reference, " + died["why"],
                               "unreferenced")
            else:
                self.crash(op, case, f"{stage}: {died['why']}")
                apart = True
            indices = [i for i in indices if i not in self.results[op]]

    def crash(self, op, case, why, status="crashed"):
        self.receive(op, dict(done=case, status=status, message=why, text=""))

    def reports(self):
        """Saves what is wrong, made small."""
        process = Process()
        for op, cases in sorted(self.results.items()):
            bad = [w for w in cases.values() if w["status"] in BAD]
            for what in bad[:self.options.reports]:
                folder = os.path.join(BUILD, "differential",
                                      f"{op}-{self.options.seed}-{what['done']}")
                small = []
                died = process.do(dict(do="report", op=op,
                                       seed=self.options.seed,
                                       index=what["done"], folder=folder),
                                  small.append)
                print(f"{what['status']} {op}: {folder}\n    {what['text']}\n"
                      f"    {what.get('message', '')}")
                if small and what["status"] == "differing":
                    print(f"    smallest: {small[0]['text']}")
                if died:
                    print(f"    {died['stage']} {died['why']}")
        process.end()

    def table(self, without):
        total = collections.Counter()
        print(f"{'':32}" + "".join(f"{c:>13}" for c in COLUMNS))
        for op in sorted(self.results):
            count = collections.Counter(
                w["status"] for w in self.results[op].values())
            total.update(count)
            print(f"{op:32}" + "".join(f"{count[c] or '':>13}"
                                       for c in COLUMNS))
        print(f"{'all':32}" + "".join(f"{total[c]:>13}" for c in COLUMNS))
        if without:
            print("without a generator:", ", ".join(without))
        return sum(total[c] for c in BAD)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--op", action="append", help="only this one")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=200,
                        help="cases of each operator")
    parser.add_argument("--case", type=int, help="only this one")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--reports", type=int, default=1,
                        help="save this many of each operator, made small")
    parser.add_argument("--seconds", type=float, help="not longer than this")
    parser.add_argument("--verbose", action="store_true",
                        help="print every case")
    options = parser.parse_args()
    known = set(families.GENERATORS)
    wanted = [op for op in operators() if not options.op
              or op in options.op or op.split(".")[-1] in options.op]
    run = Run(options)
    cases = [options.case] if options.case is not None \
        else range(options.count)
    groups = [list(g) for g in _groups(cases)]
    for group in groups:
        some = [op for op in wanted if op in known]
        if options.seconds:  # whatever is reached is a part of all
            random.Random(f"{options.seed} {group}").shuffle(some)
        for op in some:
            run.tasks.put((op, group))
    threads = [threading.Thread(target=run.work)
               for _ in range(min(options.jobs, run.tasks.qsize()))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    run.reports()
    bad = run.table([op for op in wanted if op not in known])
    folder = os.path.join(BUILD, "differential")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "results.json"), "w") as f:
        json.dump(run.results, f, indent=1)
    return 1 if bad else 0


def _groups(cases):
    for i in range(0, len(cases), GROUP):
        yield cases[i:i + GROUP]


if __name__ == "__main__":
    sys.exit(main())
