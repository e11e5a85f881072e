"""examples/embed.c: two models in one program, from a .o and a .a, linked by
cc with libm alone, running without an allocation; results against references.
"""
import os
import subprocess
import tempfile

import numpy as np

import ferrule

SOURCE = os.environ["FERRULE_SOURCE"]
WRAPPED = ["malloc", "calloc", "realloc", "free", "aligned_alloc",
           "posix_memalign"]
MODELS = ["mnist8", "blazeface_front"]


def main():
    folders = [f"{SOURCE}/models/{m}" for m in MODELS]
    with tempfile.TemporaryDirectory() as scratch:
        files = [scratch + "/mnist.o", scratch + "/face.a"]
        for folder, file, prefix in zip(folders, files, [b"mnist", b"face"]):
            ferrule.compile(f"{folder}/model.onnx", file, prefix=prefix)
        program = scratch + "/embed"
        subprocess.run(
            ["cc", "-std=c17", "-Wall", "-Wextra", "-Werror",
             f"-I{SOURCE}/include", f"{SOURCE}/examples/embed.c",
             f"{SOURCE}/test/no_malloc.c", *files, "-lm", "-o", program,
             *(f"-Wl,--wrap={name}" for name in WRAPPED)], check=True)
        text = subprocess.run(
            [program, *(f"{f}/input_0.npy" for f in folders)],
            check=True, capture_output=True, text=True).stdout
    got = np.array([float(line) for line in text.split()], np.float32)
    want = np.concatenate([np.load(f"{folder}/output_{i}.npy").ravel()
                           for folder, n in zip(folders, [1, 4])
                           for i in range(n)])
    np.testing.assert_allclose(got, want, 1e-3, 1e-4)
    print(f"{len(got)} values: ok")


if __name__ == "__main__":
    main()
