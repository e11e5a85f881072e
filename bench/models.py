"""The models of the benchmarks: where they are, their inputs, what is wanted.

A name is one of make_models.py, a folder of models/, one of the official light
networks (light_NAME; light_NAME_random has other weights, see
random_weights.py), or the path of an .onnx file. targets.tsv lists them in
the order of the reports.
"""
import os
import re
import subprocess
import sys

import numpy as np
import onnx

from random_weights import randomize

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
BUILD = os.path.abspath(os.environ.get("FERRULE_BUILD", f"{ROOT}/build"))
SCRATCH = f"{BUILD}/bench"

# Models whose sizes are open, at a size of interest: (model, input shapes). The
# model's own input is repeated to fill it.
SIZED = {"ppocr4_det_640": ("ppocr4_det", {"x": (1, 3, 640, 640)})}


# Random integers are below these, or 100.
TOP = {np.dtype(np.bool_): 2, np.dtype(np.uint8): 256, np.dtype(np.int8): 256}


class Missing(Exception):
    """A model that is not here."""


def targets():
    """Rows of targets.tsv as dicts: model, ratio (float or None), kind."""
    rows = []
    with open(f"{HERE}/targets.tsv") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                model, kind, ratio = line.split()
                rows.append({"model": model, "kind": kind,
                             "ratio": None if ratio == "-" else float(ratio)})
    return rows


def _light(name):
    data = subprocess.run([f"{ROOT}/test/conformance/data.sh"],
                          capture_output=True, text=True).stdout.strip()
    plain = name.removesuffix("_random")
    path = f"{data}/light/{plain}.onnx"
    if plain != name and os.path.exists(path):
        target = f"{SCRATCH}/{name}.onnx"
        if not os.path.exists(target) or os.path.getmtime(target) < \
                os.path.getmtime(f"{HERE}/random_weights.py"):
            os.makedirs(SCRATCH, exist_ok=True)
            randomize(path, target)
        return target
    return path


def find(name):
    """(path of the .onnx file, folder with its inputs or None)"""
    name = SIZED.get(name, (name,))[0]
    if name.endswith(".onnx"):
        path, folder = name, None
    elif name.startswith("light_"):
        path, folder = _light(name), None
    else:
        for folder in (f"{ROOT}/models/{name}",
                       f"{ROOT}/../shared/models/{name}"):
            if os.path.isdir(folder):
                return os.path.abspath(f"{folder}/model.onnx"), folder
        path, folder = f"{SCRATCH}/{name}.onnx", None
        if not os.path.exists(path):
            os.makedirs(SCRATCH, exist_ok=True)
            made = subprocess.run(
                [sys.executable, f"{HERE}/make_models.py", SCRATCH, name],
                capture_output=True, text=True)
            if made.returncode:
                raise Missing((made.stderr.splitlines() or ["no reason"])[-1])
    if not os.path.exists(path):
        raise Missing(path)
    return path, folder


def label(name):
    """The name for tables and files."""
    return os.path.basename(name).removesuffix(".onnx")


def _symbols(name):
    """Sizes of named dims: gpt2_decode_512 has a past of 512."""
    decode = re.fullmatch(r"gpt2_decode_(\d+)", name)
    return {"past": int(decode[1])} if decode else {}


def inputs(name):
    """{input name: array}, the same each time."""
    path, folder = find(name)
    shapes, symbols = SIZED.get(name, (name, {}))[1], _symbols(name)
    graph = onnx.load(path, load_external_data=False).graph
    given = {i.name for i in graph.initializer}
    random = np.random.default_rng(0)
    arrays = {}
    for i, value in enumerate(v for v in graph.input if v.name not in given):
        stored = f"{folder}/input_{i}.npy"
        if folder and os.path.exists(stored):
            array = np.load(stored)
            shape = shapes.get(value.name, array.shape)
            times = [-(-a // b) for a, b in zip(shape, array.shape)]
            part = tuple(slice(0, d) for d in shape)
            arrays[value.name] = np.array(np.tile(array, times)[part])
            continue
        tensor = value.type.tensor_type
        shape = [d.dim_value or symbols.get(d.dim_param, 1)
                 for d in tensor.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        arrays[value.name] = (
            random.standard_normal(shape).astype(dtype)
            if np.issubdtype(dtype, np.floating)
            else random.integers(0, TOP.get(dtype, 100), shape).astype(dtype))
    return arrays


def output_names(path):
    return [v.name for v in onnx.load(path, load_external_data=False)
            .graph.output]


def difference(got, want):
    """Largest difference of two lists of arrays, by the largest value.

    inf where shapes differ or one is NaN alone. Of integers of more than 8 bits and of
    bools the share of elements that differ.
    """
    worst = 0.0
    for a, b in zip(got, want, strict=True):
        a, b = np.asarray(a), np.asarray(b)
        if a.shape != b.shape:
            return float("inf")
        if not b.size:
            continue
        if b.dtype == np.bool_ or (np.issubdtype(b.dtype, np.integer) and
                                   b.dtype.itemsize > 1):
            worst = max(worst, float(np.mean(a != b)))
            continue
        a, b = a.astype(np.float64), b.astype(np.float64)
        known = np.isfinite(b)
        if not np.array_equal(known, np.isfinite(a)):
            return float("inf")
        top = np.max(np.abs(b), where=known, initial=0)
        gap = np.max(np.abs(a - b), where=known, initial=0)
        worst = max(worst, float(gap / top if top else gap))
    return worst
