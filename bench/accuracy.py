"""usage: accuracy.py [--json FILE] [MODEL ...]

The largest error of a model's results, relative to the largest value of each,
against the same model in float64 (reference64.py), beside ONNX Runtime's. At
most 5e-6 is demanded of f32 networks; without MODEL, of all of targets.tsv,
light networks with random weights.
What the reference takes minutes for is kept in BUILD/bench/NAME.f64.npz.
"""
import argparse
import json
import os
import sys

import numpy as np

import machine
import models
import reference64
from peers import ferrule, onnxruntime

LIMIT = 5e-6


def reference(name, path, inputs):
    kept = f"{models.SCRATCH}/{models.label(name)}.f64.npz"
    sources = [path, reference64.__file__, models.__file__]
    if not os.path.exists(kept) or any(
            os.path.getmtime(s) > os.path.getmtime(kept) for s in sources):
        arrays = reference64.run(path, inputs)
        np.savez(kept, **{str(i): a for i, a in enumerate(arrays)})
    with np.load(kept) as arrays:
        return [arrays[str(i)] for i in range(len(arrays.files))]


def measure(name):
    path, _ = models.find(name)
    inputs = models.inputs(name)
    want = reference(name, path, inputs)
    ours = ferrule.Session(path, name, inputs, 1).run()
    theirs = onnxruntime.Session(path, name, inputs, 1).run()
    return {"model": models.label(name),
            "ferrule": models.difference(ours, want),
            "onnxruntime": models.difference(theirs, want)}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--json", default=f"{models.BUILD}/bench.accuracy.json")
    parser.add_argument("models", nargs="*")
    args = parser.parse_args()
    os.makedirs(models.SCRATCH, exist_ok=True)
    print("| model | Ferrule | ONNX Runtime | at most 5e-6 |\n" + "|---" * 4 +
          "|", flush=True)
    rows = []
    for name in args.models or [
            r["model"] + "_random" * r["model"].startswith("light_")
            for r in models.targets() if r["kind"] == "f32"]:
        try:
            row = measure(name)
        except models.Missing as missing:
            print(f"| {name} | not here: {missing} | | |")
            continue
        rows.append(row)
        met = "yes" if row["ferrule"] <= LIMIT else "no"
        print(f"| {row['model']} | {row['ferrule']:.1e} | "
              f"{row['onnxruntime']:.1e} | {met} |", flush=True)
    with open(args.json, "w") as file:
        json.dump({"machine": machine.describe(), "rows": rows}, file,
                  indent=1)
    return 1 if any(r["ferrule"] > LIMIT for r in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
