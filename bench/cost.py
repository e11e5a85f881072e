"""usage: cost.py [--json FILE] [--repeat N] [MODEL ...]

What models cost besides running: seconds (and processor seconds of all threads)
and peak memory of `ferrule compile` as a whole process (least of N), size of the code, and milliseconds from dlopen
until the model can be run, in fresh processes (median and least of 15; the file
is in the page cache). Limits: memory at most 1.5 times the weights and 200 MB,
opened in less than 2 ms; ResNet-50 and BERT-base compiled in 2.5 s.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

import machine
import models

SECONDS = {"resnet50": 2.5, "bert_base_s128": 2.5, "bert_base_s16": 2.5}
LOAD_MS = 2.0


def compiled(path, library):
    """(seconds, processor seconds, peak bytes) of the compiler."""
    start = time.perf_counter()
    process = subprocess.Popen(
        [f"{models.BUILD}/bin/ferrule", "compile", path, "-q", "-o", library],
        stderr=subprocess.PIPE, text=True)
    text = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(text.strip().splitlines()[0])
    return (time.perf_counter() - start, usage.ru_utime + usage.ru_stime,
            usage.ru_maxrss * 1024)


def loaded(library):
    """(milliseconds of 15 processes, page faults, bytes of weights)"""
    found = [subprocess.run([f"{models.SCRATCH}/load", library], check=True,
                            capture_output=True, text=True).stdout.split()
             for _ in range(16)][1:]
    return (sorted(int(f[0]) / 1e6 for f in found), int(found[0][1]),
            int(found[0][2]))


def measure(name, repeat):
    path, _ = models.find(name)
    library = f"{models.SCRATCH}/{models.label(name)}.cost.so"
    costs = [compiled(path, library) for _ in range(repeat)]
    times, faults, weights = loaded(library)
    # The light networks' weights, all equal, are not in their files.
    given = os.path.getsize(models.find(f"{name}_random")[0]
                            if name.startswith("light_") else path)
    memory = min(m for _, _, m in costs)
    row = {"model": models.label(name), "compile_s": min(s for s, _, _ in costs),
           "compile_cpu_s": min(c for _, c, _ in costs),
           "memory": memory, "memory_limit": 1.5 * given + 200e6,
           "weight_bytes": weights, "model_bytes": given,
           "code_bytes": os.path.getsize(library) - weights,
           "load_ms": statistics.median(times), "least_load_ms": times[0],
           "faults": faults}
    os.remove(library)
    missed = []
    if row["compile_s"] > SECONDS.get(row["model"], float("inf")):
        missed.append("compile")
    if memory > row["memory_limit"]:
        missed.append("memory")
    if row["least_load_ms"] >= LOAD_MS:
        missed.append("load")
    return {**row, "missed": missed}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--json", default=f"{models.BUILD}/bench.cost.json")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("models", nargs="*")
    args = parser.parse_args()
    os.makedirs(models.SCRATCH, exist_ok=True)
    about = machine.describe()
    print(f"{about['cpu']}, {about['cores']} cores, {about['date']}, load "
          f"{about['load']} at the start\n")
    print("| model | compile s (processor s) | peak MB (allowed) | code KB | load ms, least "
          "(median) | page faults | missed |\n|" + "---|" * 7)
    rows = []
    for name in args.models or [r["model"] for r in models.targets()]:
        try:
            row = measure(name, args.repeat)
        except (models.Missing, RuntimeError) as error:
            print(f"| {models.label(name)} | {error} |" + " |" * 5, flush=True)
            continue
        rows.append(row)
        print(f"| {row['model']} | {row['compile_s']:.2f} "
              f"({row['compile_cpu_s']:.2f}) | "
              f"{row['memory'] / 1e6:.0f} ({row['memory_limit'] / 1e6:.0f}) | "
              f"{row['code_bytes'] / 1024:.0f} | {row['least_load_ms']:.2f} "
              f"({row['load_ms']:.2f}) | {row['faults']} | "
              f"{', '.join(row['missed']) or '-'} |", flush=True)
    with open(args.json, "w") as file:
        json.dump({"machine": about, "rows": rows}, file, indent=1)
    return 1 if any(r["missed"] for r in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
