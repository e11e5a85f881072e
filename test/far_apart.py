"""usage: far_apart.py

Models in a process whose free memory lies in pieces far apart, as in one that
has run for long: the parts of their code reach each other over any distance.
"""
import ctypes as c
import glob
import os
import sys

import numpy as np

import ferrule

GB, PAGE = 1 << 30, 4096
libc = c.CDLL(None)
libc.mmap.restype = c.c_void_p
libc.mmap.argtypes = [c.c_void_p, c.c_size_t] + [c.c_int] * 3 + [c.c_long]
libc.munmap.argtypes = [c.c_void_p, c.c_size_t]
MAP_PRIVATE, MAP_ANONYMOUS, MAP_NORESERVE = 2, 32, 0x4000


def reserve(size):
    at = libc.mmap(None, size, 0, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0)
    if at in (None, c.c_void_p(-1).value):
        sys.exit(77)  # not on this system
    return at


def zeros(info):
    shape = [max(info.dims[i], 1) for i in range(info.rank)]
    return np.zeros(shape, ferrule.DTYPES[info.dtype])


def run(path):
    model = ferrule.load(path, threads=1, opt_level=1)
    return model.run({n: zeros(model.struct.inputs[i])
                      for i, n in enumerate(model.inputs)})


def main():
    models = [os.path.join(os.environ.get("FERRULE_SOURCE", "."), "models", m,
                           "model.onnx") for m in ("mnist8", "blazeface_front")]
    want = [run(m) for m in models]
    # Small gaps every 3 GB, taken first; what needs more lies beyond.
    size = 48 * GB
    start = reserve(size)
    for part in [1 << k for k in range(30, 11, -1)]:
        while (at := reserve(part)) > start:  # the gaps that are there
            pass
        libc.munmap(at, part)
    for i in range(1, 16):
        libc.munmap(start + size - i * 3 * GB, (1 + i % 4) * PAGE)
    for path, expected in zip(models, want):
        for name, value in run(path).items():
            if value.tobytes() != expected[name].tobytes():
                sys.exit(f"{path}: {name} differs")


if __name__ == "__main__":
    main()
