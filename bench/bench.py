"""usage: bench.py [--threads N] [--seconds S] [--json FILE] [MODEL ...]

Ferrule and ONNX Runtime on the same models, interleaved in one process: rounds
of one runtime and then the other, so that both meet the same machine. Reports
the median time of a run and their ratio (above 1: Ferrule is faster). With
several threads Ferrule on one thread takes part too, as do both numbers of
threads of a loop that only multiplies and adds: `scaling` is how many times
faster than one thread the model is, `limit` the same of the loop, which is what
the machine's cores gave meanwhile; `best` is the scaling of the fastest rounds.

MODEL: a name of make_models.py, a folder of models/, one of the official light
networks (light_NAME), or an .onnx file. Without any, the standard list. Models are made in BUILD/bench and compiled for this
processor. Needs: numpy, onnx, onnxruntime.
"""
import argparse
import ctypes
import json
import os
import subprocess
import sys
import time

import numpy as np
import onnxruntime

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
sys.path.insert(0, os.path.join(ROOT, "test"))
import ferrule  # noqa: E402

LIST = ["mnist8", "blazeface_front", "silero_vad_v6", "ppocr2_cls",
        "ppocr4_det", "resnet50", "mobilenetv2", "bert_base_s128",
        "light_squeezenet", "light_densenet121", "mm_1024_1024_1024", "cv_64_56_64_3_1_1",
        "nbits_1_4096_4096_4", "nbits_128_4096_4096_4",
        "trees_100_6_1", "trees_100_6_1000", "trees_1000_8_1000",
        "forest_100_12_1000"]
TYPES = {"tensor(float)": np.float32, "tensor(int64)": np.int64,
         "tensor(int32)": np.int32, "tensor(double)": np.float64,
         "tensor(uint8)": np.uint8, "tensor(int8)": np.int8,
         "tensor(bool)": np.bool_, "tensor(float16)": np.float16}


def find(name, scratch):
    """Path of the .onnx file, and the folder with its inputs or None."""
    if name.endswith(".onnx"):
        return name, None
    for folder in (f"{ROOT}/models/{name}", f"{ROOT}/../shared/models/{name}"):
        if os.path.isdir(folder):
            return f"{folder}/model.onnx", folder
    if name.startswith("light_"):
        data = subprocess.run([f"{ROOT}/test/conformance/data.sh"],
                              capture_output=True, text=True).stdout.strip()
        return f"{data}/light/{name}.onnx", None
    path = f"{scratch}/{name}.onnx"
    if not os.path.exists(path):
        subprocess.run([sys.executable, f"{HERE}/make_models.py", scratch,
                        name], check=True, stdout=subprocess.DEVNULL)
    return path, None


def make_inputs(session, folder):
    random = np.random.default_rng(0)
    inputs = {}
    for i, value in enumerate(session.get_inputs()):
        if folder:
            inputs[value.name] = np.load(f"{folder}/input_{i}.npy")
            continue
        shape = [d if isinstance(d, int) and d > 0 else 1 for d in value.shape]
        dtype = TYPES[value.type]
        inputs[value.name] = (
            random.standard_normal(shape).astype(dtype)
            if np.issubdtype(dtype, np.floating)
            else random.integers(0, 256, shape).astype(dtype)
            if dtype in (np.uint8, np.int8)
            else random.integers(0, 2, shape).astype(dtype))
    return inputs


def ort_session(path, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(path, options,
                                        providers=["CPUExecutionProvider"])


def ort_runner(session, inputs):
    """A function that times one run, without copies (I/O binding)."""
    binding = session.io_binding()
    for name, array in inputs.items():
        binding.bind_cpu_input(name, array)
    for value in session.get_outputs():
        binding.bind_output(value.name)

    def run():
        start = time.perf_counter()
        session.run_with_iobinding(binding)
        return time.perf_counter() - start
    return run


def interleave(runners, seconds):
    """Seconds of each in rounds of about 20 ms or one run: [runner][round]."""
    once = [min(r() for _ in range(3)) for r in runners]
    counts = [max(1, int(0.02 / t)) for t in once]
    times = [[] for _ in runners]
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times[0]) < 5:
        for run, count, out in zip(runners, counts, times):
            out.append(float(np.median([run() for _ in range(count)])))
    return np.array(times)


def peak_runner(threads):
    library = ctypes.CDLL(os.path.join(ferrule.BUILD, "bench", "peak.so"))
    library.peak_seconds.restype = ctypes.c_double
    return lambda: library.peak_seconds(threads)


def measure(name, scratch, threads, seconds):
    path, folder = find(name, scratch)
    if not os.path.exists(path):
        raise FileNotFoundError(2, "missing", path)
    session = ort_session(path, threads)
    inputs = make_inputs(session, folder)
    library = f"{scratch}/{os.path.basename(name)}.so"
    start = time.perf_counter()
    ferrule.compile(path, library)
    compile_seconds = time.perf_counter() - start
    model = ferrule.open(library)
    model.set_threads(threads)
    got = model.run(inputs)
    want = session.run(list(got), inputs)
    error = max(float(np.max(np.abs(g.astype(np.float64) - w) /
                             (1e-2 + np.abs(w)), initial=0))
                for g, w in zip(got.values(), want))
    prepared = model.prepare(inputs)
    model.run_prepared(prepared)
    runners = [lambda: model.time_prepared(prepared),
               ort_runner(session, inputs)]
    if threads > 1:
        single = ferrule.open(library)
        alone = single.prepare(inputs)
        single.run_prepared(alone)
        runners += [lambda: single.time_prepared(alone),
                    peak_runner(1), peak_runner(threads)]
    times = interleave(runners, seconds)
    ours, theirs = (float(np.median(t)) for t in times[:2])
    several = {}
    if threads > 1:
        # Every thread of the loop does what the one does.
        limit = threads * float(np.median(times[3]) / np.median(times[4]))
        several = {"scaling": float(np.median(times[2])) / ours,
                   "best": float(times[2].min() / times[0].min()),
                   "limit": limit}
    return {**several, "model": name, "threads": threads, "ferrule_ms": ours * 1e3,
            "onnxruntime_ms": theirs * 1e3, "ratio": theirs / ours,
            "error": error, "compile_s": compile_seconds,
            "artifact_bytes": os.path.getsize(library),
            "weight_bytes": model.struct.weight_bytes}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--json")
    parser.add_argument("models", nargs="*")
    args = parser.parse_args()
    scratch = os.path.join(ferrule.BUILD, "bench")
    os.makedirs(scratch, exist_ok=True)
    print(f"ONNX Runtime {onnxruntime.__version__}, {args.threads} thread(s)")
    print(f"{'model':24}{'Ferrule':>12}{'ORT':>12}{'ratio':>8}{'error':>10}"
          f"{'compile':>10}{'code':>10}" +
          (f"{'scaling':>9}{'best':>6}{'limit':>7}" if args.threads > 1 else ""))
    rows, refused = [], 0
    for name in args.models or LIST:
        try:
            row = measure(name, scratch, args.threads, args.seconds)
        except ferrule.Error as error:
            first = str(error).splitlines()[0] if str(error) else "no message"
            print(f"{name:24}refused: {first}")
            rows.append({"model": name, "refused": str(error)})
            refused += 1
            continue
        except FileNotFoundError as error:
            print(f"{name:24}not here: {error.filename}")
            continue
        rows.append(row)
        code = (row["artifact_bytes"] - row["weight_bytes"]) / 1024
        print(f"{name:24}{row['ferrule_ms']:9.4f} ms{row['onnxruntime_ms']:9.4f}"
              f" ms{row['ratio']:8.2f}{row['error']:10.1e}"
              f"{row['compile_s']:8.2f} s{code:7.0f} KB" +
              (f"{row['scaling']:9.2f}{row['best']:6.2f}{row['limit']:7.2f}"
               if args.threads > 1 else ""), flush=True)
    if args.json:
        with open(args.json, "w") as f:
            json.dump({"onnxruntime": onnxruntime.__version__, "rows": rows},
                      f, indent=1)
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
