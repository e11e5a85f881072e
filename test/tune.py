"""usage: tune.py [TEST...]

What --explain says, schedule files, and `ferrule tune`.

Whatever a schedule chooses, results are those of ONNX Runtime or the file is
refused, with its line. Nothing is said about speed.
"""
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import ferrule as library  # noqa: E402

FERRULE = f"{os.environ['FERRULE_BUILD']}/bin/ferrule"
OK, REFUSED, USAGE = 0, 1, 2
HEAD = "ferrule schedule 1\n"
# Ranges of all knobs, and some values beyond them.
RANGES = {"rows": (1, 32), "row_block": (1, 1 << 20), "k_block": (0, 1 << 16),
          "order": (0, 2), "prefetch": (0, 1), "tiles_of_part": (1, 64),
          "rows_of_part": (1, 64), "algorithm": (0, 4), "panel": (1, 14),
          "panels": (1, 64), "pixels": (1, 32)}


def ferrule(*words, code=OK, err=None):
    r = subprocess.run([FERRULE, *words], capture_output=True, text=True)
    what = f"ferrule {' '.join(words)}: exit {r.returncode}\n{r.stderr}"
    assert r.returncode == code, f"{what}\nwanted: exit {code}"
    assert err is None or re.search(err, r.stderr), f"{what}\nwanted: {err}"
    return r.stdout


class Net:
    """A model with all that a schedule has something to say of: direct,
    Winograd and depthwise convolutions, of plain and packed images, pools, and
    products with packed and with computed second operands."""

    def __init__(self, folder, dynamic=False):
        r = np.random.default_rng(7)
        batch = "n" if dynamic else 3
        weights = {"w0": (32, 3, 5, 5), "w1": (64, 32, 3, 3),
                   "w2": (32, 64, 1, 1), "w3": (32, 32, 3, 3),
                   "wd": (32, 1, 3, 3),
                   "fc": (32, 70), "k": (70, 130)}
        init = [numpy_helper.from_array(
                    (r.standard_normal(s) / np.sqrt(np.prod(s[1:]) or 1))
                    .astype(np.float32), n) for n, s in weights.items()]

        def node(text, **attrs):
            op, name, *inputs = text.split()
            return helper.make_node(op, inputs, [name], name=name, **attrs)

        nodes = [node("Conv c0 x w0", pads=[2] * 4, strides=[2] * 2),
                 node("Conv c1 c0 w1", pads=[1] * 4),
                 node("Relu r1 c1"), node("Conv c2 r1 w2"),
                 node("Conv dw c2 wd", pads=[1] * 4, group=32),
                 node("MaxPool pool dw", kernel_shape=[3, 3], pads=[1] * 4),
                 node("Conv c3 pool w3", pads=[1] * 4),
                 node("ReduceMean mean c3", axes=[2, 3], keepdims=0),
                 node("MatMul fc_out mean fc"), node("MatMul ab a b"),
                 node("MatMul abk ab k")]
        value = helper.make_tensor_value_info
        graph = helper.make_graph(
            nodes, "net",
            [value("x", TensorProto.FLOAT, [batch, 3, 34, 30]),
             value("a", TensorProto.FLOAT, ["m" if dynamic else 37, 50]),
             value("b", TensorProto.FLOAT, [50, 70])],
            [value("fc_out", TensorProto.FLOAT, None),
             value("c3", TensorProto.FLOAT, None),
             value("abk", TensorProto.FLOAT, None)], init)
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
        self.path = f"{folder}/net{'_dynamic' if dynamic else ''}.onnx"
        onnx.save(onnx.shape_inference.infer_shapes(model), self.path)
        self.feed = {"x": r.standard_normal((3, 3, 34, 30)),
                     "a": r.standard_normal((37, 50)),
                     "b": r.standard_normal((50, 70))}
        self.feed = {n: a.astype(np.float32) for n, a in self.feed.items()}
        session = onnxruntime.InferenceSession(
            self.path, providers=["CPUExecutionProvider"])
        names = [o.name for o in session.get_outputs()]
        self.want = dict(zip(names, session.run(None, self.feed)))

    def explain(self, *words):
        return json.loads(ferrule("compile", self.path, "--explain", "--json",
                                  *words))

    def check(self, model):
        got = model.run(self.feed)
        assert got.keys() == self.want.keys(), list(got)
        for name, want in self.want.items():
            assert got[name].shape == want.shape, name
            error = np.abs(got[name] - want).max() / np.abs(want).max()
            assert error < 1e-5, f"{name}: {error}"


def line(cpu, choice, knobs):
    return " ".join([cpu, choice["root"], choice["key"]]
                    + [f"{k}={v}" for k, v in sorted(knobs.items())])


def write(path, *lines):
    with open(path, "w") as f:
        f.write(HEAD + "".join(text + "\n" for text in lines))
    return path


def test_explain(folder):
    net = Net(folder)
    e = net.explain()
    assert e["target"]["operations_per_cycle"] > 0
    for layer in e["layers"]:
        assert layer["expected"]["cycles"] >= 0, layer
        assert 0 <= layer["expected"]["share"] <= 1, layer
    named = {n for layer in e["layers"] for n in layer["nodes"]}
    assert {"c0", "c1", "c2", "c3", "ab", "abk"} <= named, named
    algorithms = {layer["algorithm"] for layer in e["layers"]}
    assert "direct" in algorithms and "outer products" in algorithms
    # More work takes more cycles, in the same kernel.
    first = {n: layer for layer in e["layers"] for n in layer["nodes"]}
    assert first["c1"]["operations"] > first["c2"]["operations"]
    assert first["c1"]["expected"]["cycles"] > first["c2"]["expected"]["cycles"]
    e = net.explain("--measure")
    assert e["gflops"] > 0
    measured = [x for x in e["layers"] if "measured" in x]
    assert len(measured) == len(e["layers"])
    assert all(x["measured"]["ms"] > 0 for x in measured)
    text = ferrule("compile", net.path, "--explain", "--measure")
    assert re.search(r"took ms +peak +nodes", text) and "direct" in text, text
    # Sizes that only a run knows: no guess, unless it is run or they are fixed.
    net = Net(folder, dynamic=True)
    unknown = [x for x in net.explain()["layers"] if "expected" not in x]
    assert unknown
    assert all("expected" in x for x in net.explain("--measure")["layers"])
    fixed = net.explain("--dim", "n=3", "--dim", "m=37")["layers"]
    assert all("expected" in x for x in fixed)
    several = net.explain("--target=x86-64-v2,x86-64-v3")
    assert [x["target"]["cpu"] for x in several] == ["x86-64-v2", "x86-64-v3"]
    ferrule("compile", net.path, "--explain", "--measure", "--target=multi",
            code=USAGE, err="one level")
    for words in (["--measure"], ["--json"]):
        ferrule("compile", net.path, "-o", f"{folder}/x.so", *words, code=USAGE,
                err="belong to --explain")


def plans(e):
    return {n: (x["algorithm"], x["plan"]) for x in e["layers"]
            for n in x["nodes"] if x["plan"]}


def test_used(folder):
    """What a file says is what kernels do; the numbers stay."""
    net = Net(folder)
    before = net.explain()
    cpu = before["target"]["cpu"]
    change = {"contract": {"rows": 3, "k_block": 32, "row_block": 9},
              "conv": {"order": 1, "rows_of_part": 3},
              "winograd": {"order": 1, "prefetch": 0},
              "depthwise": {"pixels": 5, "rows": 3},
              "pool": {"pixels": 4, "rows": 5}}
    path = f"{folder}/a.schedule"
    lines = [line(cpu, c, change[c["root"]]) for c in before["choices"]
             if c["root"] in change]
    lines += [f"{cpu} conv 0123456789abcdef order=1",
              f"other-cpu conv {before['choices'][0]['key']} order=1"]
    write(path, "# a comment", "", *lines)
    after = net.explain("--schedule", path)
    old, new = plans(before), plans(after)
    assert all(old[n] != new[n]
               for n in ("c0", "c2", "dw", "pool", "ab", "abk"))
    assert "register tile 3x" in new["ab"][1]
    assert "K in blocks of 32" in new["abk"][1]
    assert after["schedule"] == {"lines": len(lines), "unused": 2}
    for c in after["choices"]:
        want = change.get(c["root"], {})
        assert {k: c["schedule"][k] for k in want} == want, c
    ferrule_text = ferrule("compile", net.path, "--explain", "--schedule", path)
    assert f"{len(lines) - 2} of {len(lines)} lines" in ferrule_text
    net.check(library.load(net.path, schedule=path.encode()))
    so = f"{folder}/net.so"
    ferrule("compile", net.path, "-o", so, "--schedule", path)
    net.check(library.open(so))
    # How convolutions are done.
    direct = [line(cpu, c, {"algorithm": 0, "panel": 1})
              for c in before["choices"] if c["root"] == "convolution"]
    for tile in (0, 2, 4):
        lines = [x if c["node"] != "c1" else
                 line(cpu, c, {"algorithm": tile}) for x, c in zip(
                     direct, [c for c in before["choices"]
                              if c["root"] == "convolution"])]
        write(path, *lines)
        shown = plans(net.explain("--schedule", path))
        want = f"Winograd F({tile}x{tile})" if tile else "direct"
        assert shown["c1"][0] == want, shown["c1"]
        assert shown["c3"][0] == "direct"
        net.check(library.load(net.path, schedule=path.encode()))
    # A dump carries the choices on.
    ferrule("compile", net.path, "--stop-after=schedule", "-o",
            f"{folder}/d.mlir", "--schedule", path)
    ferrule("compile", f"{folder}/d.mlir", "-o", so)
    net.check(library.open(so))


def test_refused(folder):
    net = Net(folder)
    e = net.explain()
    cpu, path = e["target"]["cpu"], f"{folder}/bad.schedule"
    of = {c["root"]: c for c in e["choices"]}
    node = {c["node"]: c for c in e["choices"] if c["node"]}
    key = "0123456789abcdef"
    hostile = [
        (b"", 1), (b"\0\1\2", 1), (b"hello\n", 1),
        (b"ferrule schedule 2\n", 1), (b"\xff\xfe", 1),
        (HEAD + "x", 2), (HEAD + "x contract", 2),
        (HEAD + f"x contract {key}", 2),
        (HEAD + f"x gemm {key} rows=1", 2),
        (HEAD + f"x contract {key}0 rows=1", 2),
        (HEAD + f"x contract {key[1:]} rows=1", 2),
        (HEAD + f"x contract {key.upper()} rows=1", 2),
        (HEAD + f"\n\nx contract {key} rows", 4),
        (HEAD + f"x contract {key} rows=", 2),
        (HEAD + f"x contract {key} rows=0", 2),
        (HEAD + f"x contract {key} rows=33", 2),
        (HEAD + f"x contract {key} rows=-1", 2),
        (HEAD + f"x contract {key} rows=+1", 2),
        (HEAD + f"x contract {key} rows=1.5", 2),
        (HEAD + f"x contract {key} rows={'9' * 400}", 2),
        (HEAD + f"x contract {key} rows=1 rows=2", 2),
        (HEAD + f"x contract {key} panel=1", 2),
        (HEAD + f"x contract {key} {'r' * 100000}=1", 2),
        (HEAD + f"x contract {key} {'rows=1 ' * 50}", 2),
        (HEAD + f"x convolution {key} algorithm=3", 2),
        (HEAD + f"x contract {key} rows=1\nx contract {key} rows=1", 3),
        # Of kernels that are there: what they cannot do.
        (HEAD + line(cpu, of["conv"], {"prefetch": 1})
         if of["conv"]["kernel"] == "conv.0" else b"", None),
        (HEAD + line(cpu, node["c0"], {"algorithm": 4}), 2),
        (HEAD + line(cpu, node["c1"], {"panel": 14}), 2),
    ]
    for text, number in hostile:
        if number is None:
            continue
        data = text if isinstance(text, bytes) else text.encode()
        with open(path, "wb") as f:
            f.write(data)
        so = f"{folder}/x.so"
        ferrule("compile", net.path, "-o", so, "--schedule", path,
                code=REFUSED, err=re.escape(f"{path}:{number}: "))
        assert not os.path.exists(so), text
        try:
            library.load(net.path, schedule=path.encode())
            assert False, text
        except library.Error as error:
            assert error.status == REFUSED
    ferrule("compile", net.path, "-o", so, "--schedule", folder, code=REFUSED)
    ferrule("compile", net.path, "-o", so, "--schedule", f"{folder}/none",
            code=REFUSED, err="none")
    # Blocks that no stack would hold.
    dynamic = Net(folder, dynamic=True)
    big = [line(cpu, c, {"rows": 32, "row_block": 1 << 20, "k_block": 1 << 16})
           for c in dynamic.explain()["choices"] if c["root"] == "contract"]
    write(path, *big)
    ferrule("compile", dynamic.path, "-o", so, "--schedule", path,
            code=REFUSED, err=re.escape(path) + r":\d+: .*stack")


def test_random(folder):
    """Any numbers at all: refused, or right."""
    rng, path = random.Random(3), f"{folder}/r.schedule"
    refused = 0
    for round_ in range(10):
        net = Net(folder, dynamic=round_ % 2 == 1)
        e = net.explain()
        cpu = e["target"]["cpu"]
        # Those of kernels are for the kernels that convolutions become.
        roots = {"convolution"} if round_ % 3 == 0 else {"contract", "conv",
                                                          "winograd"}
        lines = []
        for c in e["choices"]:
            if c["root"] not in roots or rng.random() < 0.2:
                continue
            small = rng.random() < 0.7
            knobs = {}
            for k in c["schedule"]:
                low, high = RANGES[k]
                top = min(high, max(low + 1, 12)) if small else high
                v = rng.randint(low, top)
                knobs[k] = v - v % 2 if k == "algorithm" else v
            if c["root"] == "winograd":
                knobs["order"] %= 2
            lines.append(line(cpu, c, knobs))
        write(path, *lines)
        # Lines that are refused go; the others are tried again.
        while lines:
            r = subprocess.run([FERRULE, "compile", net.path, "-o",
                                f"{folder}/r.so", "--schedule", path],
                               capture_output=True, text=True)
            if r.returncode == OK:
                break
            assert r.returncode == REFUSED, r.stderr
            bad = {int(n) - 2 for n in
                   re.findall(re.escape(path) + r":(\d+): ", r.stderr)}
            assert bad, r.stderr
            refused += len(bad)
            lines = [x for i, x in enumerate(lines) if i not in bad]
            write(path, *lines)
        if lines:
            net.check(library.open(f"{folder}/r.so"))
            os.remove(f"{folder}/r.so")
    print(f"  {refused} lines refused")


def test_tune(folder):
    net, path = Net(folder), f"{folder}/t.schedule"
    ferrule("tune", net.path, "-o", path, "--seconds", "3", "-q")
    text = open(path).read()
    lines = text.splitlines()[1:]
    assert text.startswith(HEAD) and lines == sorted(lines), text
    e = net.explain("--schedule", path)
    assert e["schedule"] == {"lines": len(lines), "unused": 0}, (e, text)
    net.check(library.load(net.path, schedule=path.encode()))
    # It goes on from a file, and leaves what is for others alone.
    other = "x contract 0123456789abcdef rows=1"
    write(path, other)
    ferrule("tune", net.path, "-o", path, "--seconds", "0.1", "--schedule",
            path)
    assert other in open(path).read()
    for words, err in ((["tune", net.path], "-o FILE"),
                       (["tune", "-o", path], "one model"),
                       (["tune", net.path, "-o", net.path], "place of"),
                       (["tune", net.path, "-o", path, "--seconds", "x"],
                        "not a number"),
                       (["tune", net.path, "-o", path, "--target=multi"],
                        "one processor"),
                       (["tune", "x.so", "-o", path], "compiled from")):
        ferrule(*words, code=USAGE, err=err)
    ferrule("tune", net.path, "-o", f"{folder}/no/t", "--seconds", "1",
            code=REFUSED)
    write(path, "x contract")
    ferrule("tune", net.path, "-o", f"{folder}/u", "--schedule", path,
            code=REFUSED, err=":2: ")


def test_stopped(folder):
    net, path = Net(folder), f"{folder}/s.schedule"
    p = subprocess.Popen([FERRULE, "tune", net.path, "-o", path, "--seconds",
                          "600"], stdout=subprocess.PIPE, text=True)
    for _ in range(600):
        if os.path.exists(path):
            break
        time.sleep(0.1)
    time.sleep(1)
    p.send_signal(signal.SIGINT)
    text, _ = p.communicate(timeout=120)
    assert p.returncode == OK and "stopped" in text, (p.returncode, text)
    assert open(path).read().startswith(HEAD)
    net.check(library.load(net.path, schedule=path.encode()))
    assert [f for f in os.listdir(folder) if f.startswith("s.schedule")] == \
        ["s.schedule"]


def main(wanted):
    tests = {n[5:]: f for n, f in globals().items() if n.startswith("test_")}
    for name in wanted or tests:
        with tempfile.TemporaryDirectory() as folder:
            tests[name](folder)
        print("ok", name)


if __name__ == "__main__":
    main(sys.argv[1:])
