"""usage: foreign.py [--all] [--target NAME] [CASE ...]

Code for a processor that this machine is not, in an emulator: compiled models
and official cases, compared with their expected results. Without --all the
models and every twentieth case.

Needs: qemu-user, a C library of that architecture (libc6-dev-arm64-cross,
libgcc-12-dev-arm64-cross), clang-22, numpy, onnx. Skipped without the first two.
Environment: FERRULE_BUILD, FERRULE_SOURCE.
"""
import argparse
import concurrent.futures
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import numpy_helper

import ferrule
import models as models_test

SOURCE = os.environ.get("FERRULE_SOURCE", os.path.join(
    os.path.dirname(os.path.abspath(__file__)), ".."))
TOLERANCES, SKIPPED = (1e-3, 1e-7), 77  # of the official cases
#: target: (emulator, triple for clang, root of the C library)
MACHINES = {"aarch64": ("qemu-aarch64", "aarch64-linux-gnu",
                        "/usr/aarch64-linux-gnu")}


class Machine:
    def __init__(self, target, scratch):
        self.target, self.scratch = target, scratch
        emulator, triple, self.root = MACHINES[target]
        self.program = os.path.join(scratch, "run_model")
        subprocess.run(
            ["clang-22", f"--target={triple}", "-std=gnu17", "-fuse-ld=lld",
             f"-I{SOURCE}/include", f"-I{self.root}/include",
             f"-B{self.root}/lib", f"-L{self.root}/lib",
             f"{SOURCE}/test/run_model.c", f"{SOURCE}/runtime/model.c",
             "-o", self.program, "-lm"],
            check=True)
        self.command = [emulator, "-L", self.root, self.program]

    def run(self, model, inputs, outputs, name, tolerances):
        base = os.path.join(self.scratch, name)
        ferrule.compile(model, base + ".so", target=self.target.encode())
        with open(base + ".in", "wb") as f:
            for a in inputs:
                f.write(np.array([ferrule.NUMBERS[a.dtype], a.ndim, *a.shape],
                                 np.int64).tobytes())
                f.write(np.ascontiguousarray(a).tobytes())
        subprocess.run([*self.command, base + ".in", base + ".out",
                        base + ".so"], check=True, timeout=600,
                       capture_output=True, text=True)
        with open(base + ".out", "rb") as f:
            data = f.read()
        for end in ".so", ".in", ".out":
            os.remove(base + end)
        at = 0
        for want in outputs:
            number, rank = np.frombuffer(data, np.int64, 2, at)
            shape = np.frombuffer(data, np.int64, int(rank), at + 16)
            at += 16 + 8 * int(rank)
            dtype = np.dtype(ferrule.DTYPES[int(number)])
            n = int(np.prod(shape, dtype=np.int64))
            got = np.frombuffer(data, dtype, n, at).reshape(shape)
            at += n * dtype.itemsize
            assert got.shape == want.shape, f"{got.shape}, not {want.shape}"
            if want.dtype != dtype:  # a type that only one of both can name
                want = want.view(dtype)
            if dtype.kind in "fc" or "float" in dtype.name:
                wide = complex if dtype.kind == "c" else float
                np.testing.assert_allclose(
                    got.astype(wide), want.astype(wide),
                    *(tolerances if dtype.itemsize > 2 else (2e-2, 1e-2)))
            else:
                np.testing.assert_array_equal(got, want)
        assert at == len(data)


def tensor(path):
    t = onnx.TensorProto()
    with open(path, "rb") as f:
        t.ParseFromString(f.read())
    return numpy_helper.to_array(t)


def numbered(folder, what):
    n = len(glob.glob(f"{folder}/{what}_*.pb"))
    return [tensor(f"{folder}/{what}_{i}.pb") for i in range(n)]


def usable(folder):
    """The inputs and outputs of a case of plain tensors of a byte and more."""
    try:
        case = f"{folder}/test_data_set_0"
        arrays = numbered(case, "input"), numbered(case, "output")
    except Exception:  # a sequence, an optional
        return None
    plain = all(a.dtype in ferrule.NUMBERS and ferrule.NUMBERS[a.dtype] <= 20
                and a.dtype.kind not in "OSU" for side in arrays for a in side)
    return arrays if plain and arrays[1] else None


def models():
    found = {os.path.basename(os.path.dirname(path)): os.path.dirname(path)
             for root in (f"{SOURCE}/../shared/models", f"{SOURCE}/models")
             for path in glob.glob(f"{root}/*/io.json")}
    for folder in sorted(found.values()):
        with open(f"{folder}/io.json") as f:
            io = json.load(f)
        yield (f"{folder}/model.onnx",
               [np.load(f"{folder}/input_{i}.npy")
                for i in range(len(io["inputs"]))],
               [np.load(f"{folder}/output_{i}.npy")
                for i in range(len(io["outputs"]))],
               os.path.basename(folder), (models_test.RTOL, models_test.ATOL))


def largest_sums(scratch):
    """Convolutions of bytes whose sums are as large as there are."""
    for channels, group in (2048, 1), (64, 32), (40, 40):
        x = np.full((1, channels, 5, 6), 255, np.uint8)
        x[..., 2:] = 0
        w = np.full((channels, channels // group, 1, 3), -128, np.int8)
        w[::2] = 127
        node = onnx.helper.make_node("ConvInteger", ["x", "w", "zero"], ["y"],
                                     group=group)
        zero = np.array(255, np.uint8)
        info = onnx.helper.make_tensor_value_info("x", 2, x.shape)
        path = f"{scratch}/sums_{channels}_{group}.onnx"
        onnx.save(onnx.helper.make_model(onnx.helper.make_graph(
            [node], "sums", [info],
            [onnx.helper.make_empty_tensor_value_info("y")],
            [numpy_helper.from_array(w, "w"),
             numpy_helper.from_array(zero, "zero")]), ir_version=8), path)
        row = x[0, 0].astype(np.int64) - 255
        row = row[:, :-2] + row[:, 1:-1] + row[:, 2:]
        y = w[:, :, 0, 0].astype(np.int64).sum(1)[:, None, None] * row
        yield (path, [x], [y[None].astype(np.int32)],
               os.path.basename(path), TOLERANCES)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--target", default="aarch64")
    parser.add_argument("case", nargs="*")
    options = parser.parse_args()
    emulator, _, root = MACHINES[options.target]
    if not shutil.which(emulator) or not os.path.isdir(root + "/lib"):
        print(f"skipped: no {emulator} or no {root}")
        return SKIPPED
    data = subprocess.run([f"{SOURCE}/test/conformance/data.sh"],
                          capture_output=True, text=True,
                          check=True).stdout.strip()
    known = set()
    with open(f"{SOURCE}/test/conformance/known.txt") as f:
        known = {line.strip() for line in f}
    folders = sorted(os.path.dirname(p) for p in glob.glob(
        f"{data}/*/*/model.onnx") if "/real/" not in p)
    folders = [f for f in folders if "bernoulli" not in f
               and "image_decoder" not in f and not
               {os.path.basename(f), "/".join(f.split("/")[-2:])} & known]
    chosen = folders[::1 if options.all else 20]
    if options.case:
        chosen = [f for f in folders if os.path.basename(f) in options.case]
    failed, count = [], 0
    with tempfile.TemporaryDirectory() as scratch:
        machine = Machine(options.target, scratch)

        def run(work):
            try:
                machine.run(*work)
            except subprocess.CalledProcessError as e:
                return work[3], f"exit {e.returncode}: {e.stderr[-300:]}"
            except (AssertionError, ferrule.Error,
                    subprocess.TimeoutExpired) as e:
                return work[3], str(e)[:600]
            return None

        works = [] if options.case else [*models(), *largest_sums(scratch)]
        for folder in chosen:
            arrays = usable(folder)
            if arrays:
                works.append((f"{folder}/model.onnx", *arrays,
                              os.path.basename(folder), TOLERANCES))
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for result in pool.map(run, works):
                count += 1
                if result:
                    failed.append(result)
                    print(f"{result[0]}: {result[1]}", flush=True)
    print(f"{options.target}: {count} run, {len(failed)} failed")
    assert count > 20 or options.case
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
