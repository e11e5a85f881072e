"""usage: layers.py [--json FILE] [MODEL ...]

A table of the classes of layers of a network, from `ferrule compile --explain
--measure --json`: what each takes, its share of the measured peak, what the
cost model expects, and what the prototypes of these kernels reached
(layers.tsv), as shares of the peak too, since the machines differ. Convolutions
by Winograd's method count the products of a direct one, so their shares may
exceed 100 %. Default: resnet50 bert_base_s128.
"""
import argparse
import json
import re
import subprocess
import sys

import onnx

import machine
import models


def prototypes():
    """[(pattern of the class, share of the peak or None, scheme)]"""
    rows = []
    with open(f"{models.HERE}/layers.tsv") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                pattern, share, text = line.rstrip("\n").split(None, 2)
                rows.append((re.compile(pattern),
                             None if share == "-" else float(share), text))
    return rows


def explained(path):
    text = subprocess.run(
        [f"{models.BUILD}/bin/ferrule", "compile", path, "--explain",
         "--measure", "--json"], capture_output=True, text=True, check=True)
    return json.loads(text.stdout)


def shapes(path):
    """{tensor: dims} of all of a model's tensors that are known"""
    graph = onnx.shape_inference.infer_shapes(onnx.load(path)).graph
    known = {i.name: list(i.dims) for i in graph.initializer}
    for v in [*graph.input, *graph.value_info, *graph.output]:
        known.setdefault(v.name, [d.dim_value
                                  for d in v.type.tensor_type.shape.dim])
    return graph, known


def classes(path):
    """{node or output name: (class, multiply-adds of a direct computation)}"""
    graph, known = shapes(path)
    found = {}
    for node in graph.node:
        out = known.get(node.output[0], [])
        what, work = node.op_type, 0
        if node.op_type == "Conv":
            o, c, *kernel = known[node.input[1]]
            strides = {a.name: a.ints for a in node.attribute}.get("strides",
                                                                   [1])
            group = {a.name: a.i for a in node.attribute}.get("group", 1)
            what = (f"{'x'.join(map(str, kernel))} s{strides[0]} "
                    f"{c * group}->{o}@{out[-1]}" +
                    (f" /{group}" if group > 1 else ""))
            work = c * o
            for d in [*kernel, *out[2:], *out[:1]]:
                work *= d
        elif node.op_type in ("MatMul", "Gemm"):
            a, b = (known.get(i, []) for i in node.input[:2])
            if a and b:
                work = a[-1]
                for d in out:
                    work *= d
                what = (f"{'x'.join(map(str, a[-2:]))} * "
                        f"{'x'.join(map(str, b[-2:]))}" +
                        (" attention" if len(a) > 3 else ""))
        for name in (node.name, *node.output):
            if name:
                found[name] = what, work
    return found


def table(name):
    """Rows: class, number, ms of all, share, expected, prototype."""
    path, _ = models.find(name)
    data, known = explained(path), classes(path)
    groups, counted = {}, set()
    for layer in data["layers"]:
        kernel = layer["kernel"].split(".")[0]
        heavy = [n for n in layer["nodes"] if known.get(n, ("", 0))[1]]
        takes = [known[n] for n in layer["nodes"] if n in known]
        if kernel == "attention":
            what, work = "attention", layer["operations"]
        elif heavy:
            what = " + ".join(dict.fromkeys(known[n][0] for n in heavy))
            work = 2 * sum(known[n][1] for n in heavy if n not in counted)
        else:
            what, work = takes[0][0] if takes else kernel, 0
        group = groups.setdefault(what, {"n": 0, "ms": 0, "work": 0,
                                         "expected": 0, "how": {}})
        # A convolution may be several kernels.
        group["n"] += not heavy or not counted.issuperset(heavy)
        counted.update(heavy)
        ms = layer["measured"]["ms"] or 0
        group["ms"] += ms
        group["work"] += work
        group["expected"] += layer["expected"]["cycles"] or 0
        how = layer["algorithm"] or kernel
        group["how"][how] = group["how"].get(how, 0) + ms
    rows, peak = [], data["gflops"]
    cycles = data["target"]["operations_per_cycle"]
    for what, g in sorted(groups.items(), key=lambda x: -x[1]["ms"]):
        share = g["work"] / (g["ms"] * 1e6 * peak) if g["ms"] else 0
        expected = g["work"] / (g["expected"] * cycles) if g["expected"] else 0
        proto = next(((s, t) for p, s, t in prototypes() if p.search(what.replace(" ", "_"))),
                     (None, "-")) if g["work"] else (None, "-")
        how = max(g["how"], key=g["how"].get)
        rows.append({"class": what, "algorithm": how, "number": g["n"], "ms": g["ms"],
                     "share": share, "expected": expected,
                     "prototype": proto[0], "scheme": proto[1]})
    return {"model": models.label(name), "peak": peak,
            "cpu": data["target"]["cpu"], "rows": rows}


def markdown(found):
    total = sum(r["ms"] for r in found["rows"])
    lines = [f"### {found['model']}", "",
             f"{found['cpu']}, peak {found['peak']:.0f} GFLOP/s; all kernels "
             f"{total:.1f} ms. Shares of the peak, in %.", "",
             "| layers | how | number | ms | share | cost model | prototype | of the "
             "prototype | scheme of the prototype |", "|" + "---|" * 9]
    for r in found["rows"]:
        if r["ms"] < total / 500:
            continue
        works = r["share"] > 0
        lines.append(
            f"| {r['class']} | {r['algorithm']} | {r['number']} | {r['ms']:.3f} | " +
            (f"{100 * r['share']:.0f} | {100 * r['expected']:.0f}" if works
             else f"{100 * r['ms'] / total:.1f} of the time | -") + " | " +
            (f"{100 * r['prototype']:.0f} | "
             f"{100 * r['share'] / r['prototype']:.0f}"
             if r["prototype"] else "- | -") + f" | {r['scheme']} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--json", default=f"{models.BUILD}/bench.layers.json")
    parser.add_argument("models", nargs="*",
                        default=["resnet50", "bert_base_s128"])
    args = parser.parse_args()
    found = [table(name) for name in args.models]
    for f in found:
        print(markdown(f))
    with open(args.json, "w") as file:
        json.dump({"machine": machine.describe(), "models": found}, file,
                  indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
