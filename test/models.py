"""usage: models.py FOLDER

A real model as .so, as .o in a C program and in this process, against the
reference outputs that lie beside it; at a second size against ONNX Runtime when
it has symbolic dims; compiled twice to the same bytes; needing libc and libm
only.
"""
import filecmp
import json
import os
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnxruntime

import ferrule

RTOL, ATOL = 1e-3, 1e-4
# Sizes other than the reference's, by model: dims of each input.
OTHER_SIZES = {
    "silero_vad_v6": {"input": (3, 576), "state": (2, 3, 128), "sr": ()},
    "ppocr4_det": {"x": (1, 3, 96, 320)},
    "ppocr2_cls": {"x": (2, 3, 48, 100)},
}


def compare(what, got, want):
    assert got.keys() == want.keys(), (what, got.keys(), want.keys())
    for name, w in want.items():
        g = got[name]
        assert g.shape == w.shape and g.dtype == w.dtype, \
            f"{what}: {name} is {g.dtype} {g.shape}, not {w.dtype} {w.shape}"
        np.testing.assert_allclose(g, w, RTOL, ATOL, err_msg=f"{what}: {name}")
    print(f"{what}: ok")


def other_inputs(name, inputs):
    """Random inputs of the other size; scalars and integers stay."""
    random = np.random.default_rng(0)
    return {n: inputs[n] if shape == () else
            random.uniform(-1, 1, shape).astype(inputs[n].dtype)
            for n, shape in OTHER_SIZES[name].items()}


def run_object(scratch, inputs, outputs):
    """The outputs of model.o in scratch, run by test/run_model.c."""
    program, source = f"{scratch}/program", os.environ["FERRULE_SOURCE"]
    if not os.path.exists(program):
        subprocess.run(
            ["cc", "-std=c17", "-Wall", "-Wextra", "-Werror",
             *os.environ.get("CFLAGS", "").split(), f"-I{source}/include",
             f"{source}/test/run_model.c", f"{scratch}/model.o", "-lm", "-o",
             program], check=True)
    with open(f"{scratch}/in", "wb") as f:
        for a in inputs.values():
            f.write(np.array([ferrule.NUMBERS[a.dtype], a.ndim, *a.shape],
                             np.int64).tobytes() + a.tobytes())
    subprocess.run([program, f"{scratch}/in", f"{scratch}/out"], check=True)
    with open(f"{scratch}/out", "rb") as f:
        data = f.read()
    results, at = {}, 0
    for name in outputs:
        number, rank = np.frombuffer(data, np.int64, 2, at)
        shape = np.frombuffer(data, np.int64, rank, at + 16)
        at += 16 + 8 * int(rank)
        dtype = np.dtype(ferrule.DTYPES[int(number)])
        n = int(np.prod(shape, dtype=np.int64))
        results[name] = np.frombuffer(data, dtype, n, at).reshape(shape)
        at += n * dtype.itemsize
    assert at == len(data)
    return results


def main(folder):
    name = os.path.basename(os.path.abspath(folder))
    path = os.path.join(folder, "model.onnx")
    with open(os.path.join(folder, "io.json")) as f:
        io = json.load(f)
    inputs = {n: np.load(f"{folder}/input_{i}.npy")
              for i, n in enumerate(io["inputs"])}
    outputs = {n: np.load(f"{folder}/output_{i}.npy")
               for i, n in enumerate(io["outputs"])}
    with tempfile.TemporaryDirectory() as scratch:
        first, second = scratch + "/model.so", scratch + "/again/model.so"
        os.mkdir(scratch + "/again")
        ferrule.compile(path, first)
        library = ferrule.open(first)
        compare(".so", library.run(inputs), outputs)
        compare("again", library.run(inputs), outputs)
        library.set_threads(2)
        compare("two threads", library.run(inputs), outputs)
        library.set_threads(1)

        ferrule.compile(path, second, name=b"model")
        ferrule.compile(path, first, name=b"model")
        assert filecmp.cmp(first, second, False), "two compilations differ"
        needed = re.findall(r"NEEDED.*\[(.*)\]", subprocess.run(
            ["readelf", "-d", first], capture_output=True, text=True,
            check=True).stdout)
        assert set(needed) <= {"libc.so.6", "libm.so.6"}, needed

        ferrule.compile(path, scratch + "/model.o", prefix=b"model")
        compare(".o in a C program", run_object(scratch, inputs, outputs),
                outputs)

        jit = ferrule.load(path)
        compare("in process", jit.run(inputs), outputs)
        if name in OTHER_SIZES:
            other = other_inputs(name, inputs)
            session = onnxruntime.InferenceSession(path)
            want = dict(zip(io["outputs"], session.run(io["outputs"], other)))
            compare("other size, .so", library.run(other), want)
            compare("other size, in process", jit.run(other), want)
            compare("other size, .o", run_object(scratch, other, outputs), want)
            compare("first size again", library.run(inputs), outputs)


if __name__ == "__main__":
    main(sys.argv[1])
