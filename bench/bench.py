"""usage: bench.py [--threads 1,2] [--peers NAME,..] [--seconds S] [--json FILE]
                [--plot FILE] [--markdown FILE] [--precision TYPE] [MODEL ...]

Ferrule and its peers on the same models, each in its own process, in turns:
rounds of about 20 ms of one and then the next, for all numbers of threads in
the same rounds, so that all meet the same machine. Reports the median time of
a run and the median of the rounds' ratios to Ferrule (above 1: Ferrule is
faster), and compares all results. On one thread the ratios are of processor
time, which is the time of a run where the machine has nothing else to do, and
does not count what other programs took where it has. With several threads two loops that only
multiply and add take part: `limit` is how many times more they did than one,
which is what the machine's cores gave meanwhile.

With --precision bf16 that is what Ferrule compiles for, and its own f32 is a
peer: its ratio is how many times faster bf16 is.

MODEL: see models.py; without any, those of targets.tsv. Peers that are not
installed are left out with a message; `--peers onnxruntime` is quickest.
Models are made and compiled in BUILD/bench. Exit code 1 when Ferrule refuses a
model or its results differ from ONNX Runtime's.
"""
import argparse
import json
import os
import sys

import numpy as np

import machine
import models
import peers
import report
from peers import ferrule
from turns import Failed, Loop, Worker, interleave



def tolerance(kind, results):
    """What differs by more, relative to the largest value, is wrong."""
    if kind == "int8" or ferrule.PRECISION != "f32":
        return 0.1
    return 0.02 if any(r.dtype.itemsize == 1 for r in results) else 1e-4


def start(workers, name, row):
    """Loads the model everywhere; {(peer, threads): outputs} of those that can."""
    outputs = {}
    for key, worker in workers.items():
        if key[0] in row["failed"]:
            continue
        try:
            worker.load(name)
            outputs[key] = worker.outputs()
        except Failed as failure:
            row["failed"][key[0]] = str(failure)
            for other in [k for k in outputs if k[0] == key[0]]:
                del outputs[other]
                workers[other].drop()
    return outputs


def measure(name, kind, workers, args):
    """One row of the report: model, failed {peer: why}, threads {n: ...}."""
    models.find(name)
    row = {"model": models.label(name), "kind": kind, "failed": {},
           "threads": {}}
    outputs = start(workers, name, row)
    if "ferrule" not in row["failed"]:
        numbers = sorted({t for _, t in outputs})
        loops = [1, *[t for t in numbers if t > 1]] if numbers[-1] > 1 else []
        keys = list(outputs)
        times, failed = interleave([workers[k] for k in keys] +
                                   [Loop(t) for t in loops], args.seconds)
        row["failed"] |= {keys[i][0]: why for i, why in failed.items()}
        by_key = {k: t for k, t in zip(
            keys + [("loop", t) for t in loops], times) if len(t)}
        for t in numbers:
            row["threads"][t] = compared(t, by_key, outputs, kind)
    for key in outputs:
        if key[0] not in row["failed"]:
            workers[key].drop()
    return row


def paired(theirs, ours):
    """Median of the rounds' ratios: [wall, processor]."""
    n = min(len(theirs), len(ours))
    return [float(r) for r in np.median(theirs[:n] / ours[:n], axis=0)]


def compared(threads, times, outputs, kind):
    """{peer: {ms, cpu_ms, least_ms, ratio, cpu_ratio, difference, ...}}"""
    columns = {}
    ours, results = times["ferrule", threads], outputs["ferrule", threads]
    for (peer, t), theirs in times.items():
        if t != threads or peer == "loop":
            continue
        median = np.median(theirs, axis=0) * 1e3
        columns[peer] = {"ms": float(median[0]), "cpu_ms": float(median[1]),
                         "least_ms": float(theirs[:, 0].min()) * 1e3,
                         "rounds": len(theirs)}
        if peer == "ferrule":
            continue
        gap = models.difference(results, outputs[peer, t])
        ratio, cpu_ratio = paired(theirs, ours)
        columns[peer] |= {
            "ratio": ratio, "cpu_ratio": cpu_ratio,
            "least_ratio": float(theirs[:, 0].min() / ours[:, 0].min()),
            "difference": gap, "same": gap <= tolerance(kind, results)}
    if threads > 1 and ("ferrule", 1) in times:
        columns["ferrule"] |= {
            "scaling": paired(times["ferrule", 1], ours)[0],
            "limit": threads * paired(times["loop", 1],
                                      times["loop", threads])[0]}
    return columns


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--precision", default="f32", choices=["f32", "bf16"])
    parser.add_argument("--peers", default=None,
                        help=f"of {', '.join(peers.PEERS)}")
    parser.add_argument("--seconds", type=float, default=6,
                        help="of each model, all runtimes together; at least "
                        "7 rounds")
    parser.add_argument("--limit", type=float, default=600,
                        help="seconds that a peer may take to compile a model")
    parser.add_argument("--json")
    parser.add_argument("--markdown")
    parser.add_argument("--plot", help="an .svg or .png")
    parser.add_argument("models", nargs="*")
    args = parser.parse_args()
    # for the workers, and for what was read here before
    os.environ["BENCH_PRECISION"] = ferrule.PRECISION = args.precision
    rounded = args.precision != "f32"
    if args.peers is None:
        args.peers = ",".join(p for p in peers.PEERS
                              if rounded or p != "ferrule_f32")
    numbers = [int(t) for t in args.threads.split(",")]
    known = {r["model"]: r for r in models.targets()}
    os.makedirs(models.SCRATCH, exist_ok=True)

    versions = {"ferrule": ferrule.version()}
    for name in [p for p in args.peers.split(",") if p]:
        module = peers.load(name)
        if isinstance(module, str):
            print(module)
        else:
            versions[name] = module.version()
    workers = {(peer, t): Worker(peer, t, args.limit)
               for peer in versions for t in numbers}
    result = {"machine": machine.describe(), "versions": versions, "rows": []}
    print(report.heading(result), flush=True)
    wrong = False
    for name in args.models or known:
        target = known.get(models.label(name), {"kind": "f32", "ratio": None})
        try:
            row = measure(name, target["kind"], workers, args)
        except models.Missing as missing:
            print(f"{name}: not here: {missing}", flush=True)
            continue
        row["target"] = target["ratio"]
        result["rows"].append(row)
        print(report.line(row), flush=True)
        wrong |= "ferrule" in row["failed"] or any(
            not c["onnxruntime"]["same"] for c in row["threads"].values()
            if "onnxruntime" in c)
        if args.json:  # after each model: a run may be ended early
            with open(args.json, "w") as file:
                json.dump(result, file, indent=1)
    for worker in workers.values():
        worker.close()
    if args.markdown:
        with open(args.markdown, "w") as file:
            file.write(report.markdown(result))
    if args.plot:
        print(report.plot(result, args.plot))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
