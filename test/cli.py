"""usage: cli.py [TEST...]

The command line: help, exit codes, phases and their dumps, artifacts.

Numbers are compared with the models' reference outputs by `run --verify`, whose
own judgement is tested with outputs that are wrong on purpose.
"""
import filecmp
import os
import pty
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile

import numpy as np
import onnx

BUILD, SOURCE = os.environ["FERRULE_BUILD"], os.environ["FERRULE_SOURCE"]
FERRULE = f"{BUILD}/bin/ferrule"
MODELS = f"{SOURCE}/models"
MNIST, FACE, VOICE = (f"{MODELS}/{m}/model.onnx" for m in
                      ("mnist8", "blazeface_front", "silero_vad_v6"))
COMMANDS = ["compile", "run", "bench", "info", "profile", "tune", "operators",
            "opt", "dialect"]
PHASES = ["import", "optimize", "lower", "group", "schedule", "plan"]
OK, REFUSED, USAGE, INTERNAL = 0, 1, 2, 3


def ferrule(*words, code=OK, err=None, out=None, env=None, cwd=None):
    """Runs the program; checks exit code and what its output has in it."""
    r = subprocess.run([FERRULE, *words], capture_output=True, text=True,
                       cwd=cwd,
                       env=dict(os.environ, **env) if env else None)
    what = f"ferrule {' '.join(words)}: exit {r.returncode}\n{r.stderr}"
    assert r.returncode == code, f"{what}\nwanted: exit {code}"
    assert err is None or re.search(err, r.stderr), f"{what}\nwanted: {err}"
    assert out is None or re.search(out, r.stdout), \
        f"{what}{r.stdout}\nwanted: {out}"
    if code in (REFUSED, USAGE):
        assert r.stderr and "internal" not in r.stderr, what
    return r.stdout


def test_help():
    text = ferrule("--help")
    for command in COMMANDS:
        assert f"  {command}" in text
        page = ferrule(command, "--help", out=r"Usage: ferrule.*\n(.*\n)*"
                                              r"Examples?:\n  ferrule")
        assert page == ferrule("help", command)
        assert all(len(line) <= 80 for line in page.splitlines()), page
    assert re.findall(r"^  (\w+) +\w", text.split("\n\n'")[0], re.M) == COMMANDS
    ferrule("--version", out=r"^ferrule \d+\.\d+\.\d+\n$")
    assert "\x1b" not in text


def test_usage(scratch):
    so = scratch + "/x.so"
    for words, err in [
            ([], None), (["bogus"], "no command 'bogus'"),
            (["help", "bogus"], "no command 'bogus'"),
            (["compile"], "one model is wanted"),
            (["compile", MNIST], "-o OUT"),
            (["compile", MNIST, "more", "-o", so], "one model is wanted"),
            (["compile", MNIST, "--bogus"], "unknown option '--bogus'"),
            (["compile", MNIST, "-o"], "wants a value"),
            (["compile", MNIST, "-o", so, "--time=3"], "takes no value"),
            (["compile", MNIST, "-o", scratch + "/x.exe"], r"\.so, \.o"),
            (["compile", MNIST, "--stop-after=bogus"], "import, optimize"),
            (["compile", MNIST, "-o", so, "-O9"], "1 to 3"),
            (["compile", MNIST, "-o", so, "--target=pdp11"], "x86-64-v3"),
            (["compile", MNIST, "-o", so, "--target=pdp11"], "cortex-a76"),
            (["compile", MNIST, "-o", so, "--dim", "batch"], "NAME=N"),
            (["compile", MNIST, "-o", so, "--dim", "a=-1"], "NAME=N"),
            (["compile", MNIST, "-o", so, "--prefix=1a"], "letters"),
            (["compile", MNIST, "-o", so, "--weights=nowhere"], "beside"),
            (["compile", MNIST, "-o", so, "--prepack=never"], "compile run"),
            (["compile", MNIST, "-o", so, "--precision=f8"], "f32 bf16 strict"),
            (["run", MNIST, "--random", "--target=aarch64"], "cannot run"),
            (["bench", MNIST, "--target=aarch64"], "cannot run"),
            (["run", MNIST], "--random"),
            (["run", MNIST, "--input", "bogus=x.npy"], "no input 'bogus'"),
            (["run", MNIST, "--rtol", "x"], "not a number"),
            (["bench", MNIST, "--vs", "bogus"], "onnxruntime"),
            (["bench", MNIST, "--threads", "0"], "positive"),
            (["info"], "one model"), (["profile"], "one model"),
            (["tune"], "one model"),
            (["operators", "a", "b"], "one name"),
            (["opt", MNIST], "--passes"), (["dialect", "bogus"], "krnl"),
            (["dialect"], "krnl")]:
        ferrule(*words, code=USAGE, err=err)
    assert not os.listdir(scratch)


def test_refused(scratch):
    so, missing = scratch + "/x.so", scratch + "/missing.onnx"
    text = f"{SOURCE}/README.md"
    for command in ["run", "bench", "info", "profile"]:
        ferrule(command, missing, code=REFUSED, err="missing.onnx: error:")
        ferrule(command, text, code=REFUSED, err="not an ONNX model")
    ferrule("compile", missing, "-o", so, code=REFUSED, err="cannot open")
    ferrule("compile", text, "-o", so, code=REFUSED, err="not an ONNX model")
    ferrule("compile", MNIST, "-o", so, "--dim", "bogus=1", code=REFUSED,
            err="no input has a dimension called 'bogus'")
    ferrule("compile", MNIST, "-o", missing + "/x.so", code=REFUSED)
    ferrule("run", so, code=REFUSED, err="x.so")
    ferrule("run", MNIST, "--input", "Input3=x.npy", code=REFUSED, err="x.npy")
    ferrule("run", MNIST, "--verify", f"{MODELS}/blazeface_front",
            code=REFUSED,
            err=r"'Input3' is to be float32\[1,1,28,28\], not "
                r"float32\[1,128,128,3\]")
    ferrule("operators", "Bogus", code=REFUSED, err="not supported")
    ferrule("opt", MNIST, "--passes=lower", code=REFUSED)
    with open(MNIST, "rb") as f:
        half = f.read()[:13000]
    cut = scratch + "/cut.onnx"
    with open(cut, "wb") as f:
        f.write(half)
    ferrule("compile", cut, "-o", so, code=REFUSED, err="cut off")
    assert os.listdir(scratch) == ["cut.onnx"], "something was left behind"


def test_verify(scratch):
    """What compares has to find differences."""
    good, bad = f"{MODELS}/mnist8", scratch + "/bad"
    ferrule("run", MNIST, "--verify", good, out="matches")
    shutil.copytree(good, bad)
    want = np.load(f"{good}/output_0.npy")
    for value in (want[0, 3] * 1.01, np.nan):
        wrong = want.copy()
        wrong[0, 3] = value
        np.save(f"{bad}/output_0.npy", wrong)
        ferrule("run", MNIST, "--verify", bad, code=REFUSED,
                out="differs in 1 of 10 elements; worst at 3")
    wrong = want.copy()
    wrong[0, 3] *= 1.01
    np.save(f"{bad}/output_0.npy", wrong)
    ferrule("run", MNIST, "--verify", bad, "--rtol", "0.1")
    np.save(f"{bad}/output_0.npy", want[:, :9])
    ferrule("run", MNIST, "--verify", bad, code=REFUSED, out="should be")
    ferrule("run", MNIST, "--input", f"Input3={good}/input_0.npy", "--output",
            bad + "/new")
    np.testing.assert_allclose(np.load(f"{bad}/new/Plus214_Output_0.npy"),
                               want, 1e-3, 1e-4)


def test_phases(scratch):
    """Every phase's text, read back, gives the model; mlir-opt reads it."""
    irdl = []
    for dialect in ("onnx", "krnl"):
        file = f"{scratch}/{dialect}.irdl.mlir"
        with open(file, "w") as f:
            f.write(ferrule("dialect", dialect))
        irdl.append(f"--irdl-file={file}")
    mlir_opt = shutil.which("mlir-opt-22")
    for name in ("mnist8", "silero_vad_v6"):
        model = f"{MODELS}/{name}/model.onnx"
        for phase in PHASES:
            dump, again, so = (f"{scratch}/{f}" for f in
                               ("dump.mlir", "again.mlir", "dump.so"))
            ferrule("compile", model, f"--stop-after={phase}", "-o", dump)
            with open(dump) as f:
                text = f.read()
            assert f'ferrule.phase = "{phase}"' in text
            ferrule("compile", model, f"--stop-after={phase}", "-o", dump)
            with open(dump) as f:
                assert f.read() == text, f"{phase} of {name} changes"
            ferrule("compile", dump, "-o", so)
            ferrule("run", so, "--verify", f"{MODELS}/{name}", out="matches")
            ferrule("compile", dump, f"--stop-after={phase}", "-o", again)
            if mlir_opt:
                subprocess.run([mlir_opt, *irdl, "--allow-unregistered-dialect",
                                dump, "-o", "/dev/null"], check=True)
    ferrule("compile", dump, "--stop-after=lower", code=USAGE, err="past")
    for phase in ("lower", "plan"):
        screen = ferrule("compile", MNIST, f"--stop-after={phase}")
        with open(dump, "w") as f:
            f.write(screen)
        ferrule("compile", dump, "-o", so, code=REFUSED, err="is not there")
    with open(dump, "w") as f:
        f.write(screen.replace('"plan"', '"bogus"'))
    ferrule("compile", dump, "-o", so, code=REFUSED, err="import, optimize")
    ferrule("compile", MNIST, "--stop-after=import", "-o", dump)
    one = ferrule("opt", dump, "--passes=canonicalize,fold", out="onnx.conv")
    assert "onnx.reshape" in one
    ferrule("opt", dump, "--passes=bogus", code=USAGE, err="--help")


def test_defect(scratch):
    """A kernel of a kind that nobody makes stands for a defect."""
    dump, again = scratch + "/dump.mlir", scratch + "/ferrule-reproducer.mlir"
    ferrule("compile", MNIST, "--stop-after=group", "-o", dump)
    with open(dump) as f:
        text = f.read()
    with open(dump, "w") as f:
        f.write(text.replace('krnl.root = "pool"', 'krnl.root = "bogus"'))
    so = scratch + "/x.so"
    ferrule("compile", dump, "-o", so, code=INTERNAL, cwd=scratch,
            err="internal error: .*bogus(.*\n)+.*before the phase 'schedule'")
    os.remove(dump)
    ferrule("compile", again, "-o", so, code=INTERNAL, cwd=scratch, err="bogus")
    assert not os.path.exists(so)


def same(a, b):
    return filecmp.cmp(a, b, shallow=False)


def test_artifacts(scratch):
    """Equal bytes each time, with any number of threads; libc and libm only."""
    for model in (MNIST, VOICE):
        for ending in ("so", "o", "a", "ll", "s"):
            file, first = f"{scratch}/x.{ending}", f"{scratch}/first.{ending}"
            ferrule("compile", model, "-o", file)
            shutil.move(file, first)
            ferrule("compile", model, "-o", file, "--jobs", "1")
            assert same(file, first), f"{ending} differs"
    so = scratch + "/x.so"
    for what, model in (("mnist8", MNIST), ("silero_vad_v6", VOICE)):
        for target in ("native", "x86-64-v2", "x86-64-v3"):
            ferrule("compile", model, "-o", so, f"--target={target}")
            ferrule("run", so, "--verify", f"{MODELS}/{what}", out="matches")
            text = subprocess.run(["readelf", "-d", so], capture_output=True,
                                  text=True, check=True).stdout
            needed = set(re.findall(r"NEEDED.*\[(.*)\]", text))
            assert needed <= {"libc.so.6", "libm.so.6"}, needed
    for level in "1", "2", "3":
        ferrule("compile", MNIST, "-o", so, f"-O{level}")
        ferrule("run", so, "--verify", f"{MODELS}/mnist8", out="matches")
    ferrule("run", so, "--verify", f"{MODELS}/mnist8", "--cpu=x86-64-v2",
            code=REFUSED, err="is not for x86-64-v2, but for")
    for name in "haswell", "broadwell":  # as every x86-64-v3 machine runs
        ferrule("compile", MNIST, "-o", so, f"--cpu={name}")
        ferrule("info", so, out=f"processor  {name}")
    ferrule("compile", MNIST, "-o", scratch + "/other.so", "--target=aarch64")
    with open(scratch + "/other.so", "rb") as f:
        assert f.read(20)[18] == 183  # EM_AARCH64


def test_beside(scratch):
    """The weights in a library that is found from anywhere."""
    ferrule("compile", MNIST, "-o", scratch + "/x.so", "--weights=beside")
    assert os.path.exists(scratch + "/x.weights.so")
    ferrule("run", scratch + "/x.so", "--verify", f"{MODELS}/mnist8",
            out="matches")


def test_precision(scratch):
    """bf16 halves the weights; several levels hold them, and they are run."""
    model, so = scratch + "/x.onnx", scratch + "/x.so"
    b = np.random.default_rng(1).standard_normal((600, 1000)).astype("f4")
    a = np.random.default_rng(2).standard_normal((20, 600)).astype("f4")
    helper = onnx.helper
    onnx.save(helper.make_model(helper.make_graph(
        [helper.make_node("MatMul", ["a", "b"], ["y"])], "product",
        [helper.make_tensor_value_info("a", 1, ["n", 600])],
        [helper.make_tensor_value_info("y", 1, ["n", 1000])],
        [onnx.numpy_helper.from_array(b, "b")]), ir_version=10,
        opset_imports=[helper.make_opsetid("", 20)]), model)
    np.save(scratch + "/a.npy", a)
    size = {}
    for precision in "f32", "bf16":
        ferrule("compile", model, "-o", so, f"--precision={precision}")
        size[precision] = os.path.getsize(so)
    assert 1.1e6 < size["f32"] - size["bf16"] < 1.3e6, size
    for precision in "f32", "strict":
        ferrule("compile", model, "-o", so, f"--precision={precision}",
                "--dim", "n=2", "--cpu=x86-64-v3")
        size[precision] = os.path.getsize(so)
    assert 0.5e6 < size["strict"] - size["f32"] < 0.7e6, size
    ferrule("compile", model, "-o", so, "--precision=bf16", "--cpu=multi")
    os.mkdir(scratch + "/out")
    for what in (so,), (model, "--precision", "bf16"):
        ferrule("run", *what, f"--input=a={scratch}/a.npy", "--output",
                scratch + "/out")
        y = np.load(f"{scratch}/out/y.npy")
        error = np.max(np.abs(y - a.astype("f8") @ b)) / np.max(np.abs(y))
        assert 1e-4 < error < 1e-2, error


def test_dims(scratch):
    so = scratch + "/x.so"
    ferrule("info", VOICE, out=r"input.*input: float\[input.dim0,input.dim1\]")
    ferrule("info", VOICE, "--dim", "input.dim0=1",
            out=r"input.*input: float\[1,input.dim1\]")
    ferrule("compile", VOICE, "-o", so, "--dim", "input.dim0=1", "--dim",
            "input.dim1=576")
    ferrule("run", so, "--verify", f"{MODELS}/silero_vad_v6", out="matches")
    x = np.zeros((2, 576), np.float32)
    np.save(scratch + "/x.npy", x)
    ferrule("run", so, "--input", f"input={scratch}/x.npy", "--random",
            code=REFUSED, err=r"'input' is to be float32\[1,576\]")
    np.save(scratch + "/state.npy", np.zeros((2, 2, 128), np.float32))
    np.save(scratch + "/sr.npy", np.array(16000))
    ferrule("run", VOICE, *(f"--input={n}={scratch}/{f}.npy" for n, f in
                            (("input", "x"), ("state", "state"), ("sr", "sr"))),
            out=r"output: float32\[2,1\]")


def test_open_dims(scratch):
    """Sizes that the model fixes are left open."""
    ferrule("info", MNIST, "--dim", "*.dim0=batch", out=r"float\[batch,1,28,28\]")
    ferrule("info", MNIST, "--dynamic", out=r"Input3.dim0,Input3.dim1,")
    ferrule("info", MNIST, "--dynamic", "--dim", "*.dim1=1",
            out=r"Input3.dim0,1,Input3.dim2,")


def test_sizes(scratch):
    """Sizes that cannot be: the message names the node, however it is run."""
    one = onnx.numpy_helper.from_array(np.ones(1, np.float32), "one")
    kernel = onnx.numpy_helper.from_array(np.ones((1, 1, 5, 5), np.float32),
                                          "kernel")
    image = onnx.helper.make_tensor_value_info("x", 1, [1, 1, "h", "w"])
    shape = onnx.helper.make_tensor_value_info("shape", 7, [2])
    small, bad, huge = (f"{scratch}/{n}.npy" for n in ("small", "bad", "huge"))
    np.save(small, np.zeros((1, 1, 3, 3), np.float32))
    np.save(bad, np.array([3, -2]))
    np.save(huge, np.array([2**40, 2**40]))
    for op, inputs, value, files, options in (
            ("Conv", ["x", "kernel"], image, [small], {}),
            ("MaxPool", ["x"], image, [small], {"kernel_shape": [5, 5]}),
            ("AveragePool", ["x"], image, [small], {"kernel_shape": [4, 4]}),
            ("Pad", ["x", "pads"], image, [small], {}),
            ("Expand", ["one", "shape"], shape, [bad, huge], {}),
            ("ConstantOfShape", ["shape"], shape, [bad, huge], {})):
        pads = onnx.numpy_helper.from_array(
            np.array([0, 0, -2, 0, 0, 0, -2, 0]), "pads")
        graph = onnx.helper.make_graph(
            # the result is also used within the model: in memory of its own
            [onnx.helper.make_node(op, inputs, ["t"], "culprit", **options),
             onnx.helper.make_node("Softmax", ["t"], ["s"], "innocent"),
             onnx.helper.make_node("Softmax", ["s"], ["y"], axis=0)],
            "sizes", [value],
            [onnx.helper.make_empty_tensor_value_info("y")],
            [c for c in (one, kernel, pads) if c.name in inputs])
        model, so = f"{scratch}/{op}.onnx", f"{scratch}/{op}.so"
        onnx.save(onnx.helper.make_model(
            graph, opset_imports=[onnx.helper.make_opsetid("", 17)],
            ir_version=9), model)
        ferrule("compile", "-q", model, "-o", so)
        for file in files:
            for path in (model, so):
                ferrule("run", path, "--input", f"{value.name}={file}",
                        code=REFUSED, err="'culprit'")


def test_compiled(scratch):
    """What info says of a compiled model, and one that is not whole."""
    so, weights = scratch + "/v.so", scratch + "/v.weights.so"
    ferrule("compile", VOICE, "-o", so, "--weights=beside",
            "--target=x86-64-v2")
    # the model's own description, by way of another reader of it
    page = ferrule("info", so, out=r"processor +x86-64-v2\n")
    voice = onnx.load(VOICE, load_external_data=False).graph
    for what, values in (("input", voice.input), ("output", voice.output)):
        names = re.findall(rf"^{what} +(.*): ", page, re.M)
        assert names == [v.name for v in values], page
    version = ferrule("--version").strip()
    assert f"compiler   {version}\n" in page and "interface version" in page
    size = float(re.search(r"weights +([\d.]+) MB", page)[1]) * 1e6
    assert size < os.path.getsize(weights) < size + 50000
    assert "depends on the open dimensions" in page
    dims = [f"--dim={d}=2" for d in re.findall(r"^open +(.*)", page, re.M)]
    ferrule("info", so, *dims, out=r"memory +[\d.]+ MB of arena")
    for command in (["info"], ["run", "--random"]):
        ferrule(*command, so, "--dim=bogus=1", code=REFUSED,
                err="no .* dimension called 'bogus'")
    ferrule("run", so, *dims, "--verify", f"{MODELS}/silero_vad_v6",
            code=REFUSED, err=r"=2, but the inputs have 1 there")
    for file in (weights, so):
        with open(file, "rb") as f:
            whole = f.read()
        n = len(whole)
        for cut in (0, 1, 63, 64, 200, 5000, n // 3, n // 2, n - 4096, n - 1):
            with open(file, "wb") as f:
                f.write(whole[:cut])
            for command in (["info"], ["run", "--random"]):
                ferrule(*command, so, code=REFUSED, err="cut off|empty|not a "
                        "shared library")
        # one bit changed, anywhere; half of them where the loader looks first
        draw = random.Random(7)
        for k in range(24):
            at = draw.randrange(n if k % 2 else min(n, 4096))
            with open(file, "wb") as f:
                f.write(whole[:at] + bytes([whole[at] ^ 1 << draw.randrange(8)])
                        + whole[at + 1:])
            for command in (["info"], ["run", "--random"]):
                ferrule(*command, so, code=REFUSED, err="damaged")
        with open(file, "wb") as f:
            f.write(whole)
    ferrule("run", so, "--verify", f"{MODELS}/silero_vad_v6", out="matches")
    # programs that rightly change it
    for file in (so, weights):
        subprocess.run(["strip", file], check=True)
    ferrule("run", so, "--verify", f"{MODELS}/silero_vad_v6", out="matches")
    ferrule("compile", MNIST, "-o", scratch + "/m.o")
    subprocess.run(["cc", "-shared", "m.o", "-lm", "-o", "m.so"], check=True,
                   cwd=scratch)
    ferrule("run", scratch + "/m.so", "--verify", f"{MODELS}/mnist8",
            out="matches")
    os.remove(weights)
    ferrule("info", so, code=REFUSED, err="v.so: its weights .* are missing")
    ferrule("compile", MNIST, "-o", so, "--target=aarch64")
    ferrule("info", so, code=REFUSED, err="another kind of processor")
    with open(so, "w") as f:
        f.write("text that is longer than the header of such a file " * 2)
    ferrule("info", so, code=REFUSED, err="not a shared library")


def test_signals(scratch):
    """What is interrupted leaves nothing, however far it has come."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        for ending in ("so", "a", "ll"):
            process = subprocess.Popen(
                [FERRULE, "compile", "-q", MNIST, "-o",
                 f"{scratch}/x.{ending}", "--weights=beside"])
            # first the test whether the folder can be written to, then files
            wait = {"so": 2, "a": 3, "ll": 1}[ending]
            seen = set()
            while process.poll() is None and len(seen) < wait:
                seen.update(os.listdir(scratch))
            process.send_signal(number)
            code = process.wait()
            left = sorted(os.listdir(scratch))
            whole = sorted({f"x.{ending}", f"x.weights."
                            f"{'so' if ending == 'so' else 'o'}"})
            # it may have been done already
            assert code in (0, -number) and \
                left in ([], whole) and (code or left), (code, left)
            for file in left:
                os.remove(f"{scratch}/{file}")


def test_same_output(scratch):
    """Many at once, to one file: one of them, whole, is there in the end."""
    so = scratch + "/x.so"
    runs = [subprocess.Popen([FERRULE, "compile", "-q", MNIST, "-o", so,
                              "--weights=beside"]) for _ in range(4)]
    assert not any(process.wait() for process in runs)
    assert sorted(os.listdir(scratch)) == ["x.so", "x.weights.so"]
    ferrule("run", so, "--verify", f"{MODELS}/mnist8", out="matches")


def test_output_files(scratch):
    """One file for each output, whatever the outputs are called."""
    names = ["a/b", "a:b", "a_b", "a_b.1", "a_b.2", "..", "x" * 300,
             "x" * 299 + "y", "\u00e9", "\u00e8", "/"]
    nodes = [onnx.helper.make_node("Add", ["x", f"c{i}"], [name])
             for i, name in enumerate(names)]
    values = [onnx.helper.make_tensor(f"c{i}", 1, [], [i])
              for i in range(len(names))]
    graph = onnx.helper.make_graph(
        nodes, "names",
        [onnx.helper.make_tensor_value_info("x", 1, [1])],
        [onnx.helper.make_tensor_value_info(name, 1, [1]) for name in names],
        values)
    model, folder = scratch + "/names.onnx", scratch + "/out"
    onnx.save(onnx.helper.make_model(graph), model)
    np.save(scratch + "/x.npy", np.zeros(1, np.float32))
    said = ferrule("run", model, "--input", f"x={scratch}/x.npy", "-o", folder)
    written = re.findall(r"wrote (.*)", said)
    assert sorted(written) == sorted(f"{folder}/{f}"
                                     for f in os.listdir(folder))
    assert [float(np.load(file)[0]) for file in written] == \
        [float(i) for i in range(len(names))], said


PROGRAM = """
#include "digit.h"
#include "face.h"
#include <stdio.h>
int main(void) {
  printf("%s %u, %s %u\\n", digit_model.inputs[0].name, digit_model.n_outputs,
         face_model.inputs[0].name, face_model.n_outputs);
  return 0;
}
"""


def test_prefix(scratch):
    """Two models in one program, with the headers that come with them."""
    for prefix, model, ending in (("digit", MNIST, "o"), ("face", FACE, "a")):
        ferrule("compile", model, "-o", f"{scratch}/{prefix}.{ending}",
                f"--prefix={prefix}", f"--header={scratch}/{prefix}.h")
    with open(scratch + "/two.c", "w") as f:
        f.write(PROGRAM)
    subprocess.run(["cc", "-std=c17", "-Wall", "-Wextra", "-Werror",
                    f"-I{SOURCE}/include", "two.c", "digit.o", "face.a", "-lm",
                    "-o", "two"], check=True, cwd=scratch)
    text = subprocess.run([scratch + "/two"], check=True, text=True,
                          capture_output=True).stdout
    assert text == "Input3 1, input:0 4\n", text
    so = scratch + "/x.so"
    ferrule("compile", MNIST, "-o", so, "--prefix=digit")
    ferrule("run", so, "--random", code=REFUSED, err="prefix")
    ferrule("run", so, "--random", "--prefix=digit")


def on_terminal(*words, **env):
    """Standard error of the program when that is a terminal."""
    master, slave = pty.openpty()
    process = subprocess.Popen([FERRULE, *words], stdout=subprocess.DEVNULL,
                               stderr=slave,
                               env=dict(os.environ, TERM="xterm", **env))
    os.close(slave)
    text = b""
    try:
        while part := os.read(master, 4096):
            text += part
    except OSError:  # the other side is closed
        pass
    process.wait()
    os.close(master)
    return text.decode()


def test_colours():
    ferrule("info", "missing", code=REFUSED, err=r"^missing: error: ")
    try:
        os.close(pty.openpty()[0])
    except OSError:
        print("no pseudo terminals on this system: not tried on one")
        return
    assert "\x1b[1;31merror:" in on_terminal("info", "missing")
    assert "\x1b" not in on_terminal("info", "missing", NO_COLOR="1")


def test_tools(scratch):
    ferrule("compile", MNIST, "--explain", out="(?s)for .*conv.*contract")
    ferrule("compile", MNIST, "-o", scratch + "/x.so", "--time",
            err="(?s)import.*optimize.*emit.*total")
    ferrule("profile", MNIST, out="conv")
    ferrule("operators", "Conv", out="Conv +ai.onnx +1+")
    ferrule("bench", MNIST, "--seconds", "0.1", out="Ferrule +median")
    ferrule("bench", MNIST, "--seconds", "0.1", "--threads", "2",
            out="2 threads")
    ferrule("info", MNIST, out="(?s)Conv.*supported.*parameters 5994")


def test_readme(scratch):
    """The tour in README.md."""
    with open(f"{SOURCE}/README.md") as f:
        tour = f.read().split("## A quick tour")[1]
    commands = re.findall(r"```sh\n(.*?)```", tour, re.S)[0]
    os.symlink(MODELS, scratch + "/models")
    os.symlink(BUILD, scratch + "/build")
    lines = [line for line in commands.splitlines() if line != "make"]
    assert len(lines) > 10
    for line in lines:
        subprocess.run(line, shell=True, check=True, cwd=scratch,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def main():
    for name, test in list(globals().items()):
        if not name.startswith("test_") or \
                (sys.argv[1:] and name[5:] not in sys.argv[1:]):
            continue
        with tempfile.TemporaryDirectory() as scratch:
            if test.__code__.co_argcount:
                test(scratch)
            else:
                test()
        print(f"{name}: ok", flush=True)


if __name__ == "__main__":
    main()
