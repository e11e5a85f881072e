"""What bench.py found: lines while it runs, a page of Markdown, a plot."""
import math

import peers

KEEPS = 0.9  # of the ratio on one thread, with several


def title(peer):
    import importlib
    return importlib.import_module(f"peers.{peer}").TITLE


def heading(result):
    m = result["machine"]
    versions = ", ".join(f"{title(p)} {v.removeprefix('ferrule ')}"
                         for p, v in result["versions"].items())
    return (f"{m['cpu']}, {m['cores']} cores, {m['date']}, load {m['load']} at "
            f"the start. {versions}.")


def ratio(column, threads):
    """Of processor time on one thread, of time on several."""
    return column["cpu_ratio" if threads == 1 else "ratio"]


def verdicts(row):
    """[(what was asked, whether it is met)] of a row's ONNX Runtime ratios."""
    known = {t: c["onnxruntime"] for t, c in row["threads"].items()
             if "onnxruntime" in c}
    ratios = {t: c["ratio"] for t, c in known.items()}
    found = []
    if row.get("target") and 1 in ratios:
        found.append((f">= {row['target']}",
                      ratio(known[1], 1) >= row["target"]))
    if 1 in ratios and row.get("target"):
        found += [(f"{t} threads >= {KEEPS} of one's",
                   r >= KEEPS * ratios[1]) for t, r in ratios.items() if t > 1]
    return found


def faster(row):
    """[(peer, threads)] of the other peers that are not slower than Ferrule."""
    return [(p, t) for t, c in row["threads"].items() for p, v in c.items()
            if p not in ("ferrule", "onnxruntime") and ratio(v, t) <= 1]


def line(row):
    """One model for the terminal."""
    parts = [f"{row['model']:22}"]
    for t, columns in row["threads"].items():
        ours = columns["ferrule"]
        ms = ours["cpu_ms"] if t == 1 else ours["ms"]
        parts.append(f"{t}: {ms:.4g} ms")
        parts += [f"{p} {ratio(v, t):.2f}" +
                  ("" if v["same"] else f" DIFFERS by {v['difference']:.1e}")
                  for p, v in columns.items() if p != "ferrule"]
        if ours.get("scaling"):
            parts.append(f"(scaling {ours['scaling']:.2f} of "
                         f"{ours['limit']:.2f})")
    parts += [f"{asked}: {'met' if met else 'NOT met'}"
              for asked, met in verdicts(row)]
    parts += [f"{p} failed: {why.splitlines()[0][:90]}"
              for p, why in row["failed"].items() if why]
    return " | ".join(parts)


def _number(value, digits=3):
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.{digits}g}"


def markdown(result):
    numbers = sorted({t for r in result["rows"] for t in r["threads"]})
    seen = [p for p in peers.PEERS if p in result["versions"]]
    head = ["model"]
    for t in numbers:
        head.append(f"ms, {t}T")
        head += [f"{title(p)}, {t}T" for p in seen]
    head += ["wanted", "met", "largest difference"]
    if numbers and numbers[-1] > 1:
        head.insert(-3, "scaling (limit)")
    rows = []
    for row in result["rows"]:
        cells, gaps = [row["model"]], []
        for t in numbers:
            columns = row["threads"].get(t, {})
            ours = columns.get("ferrule")
            cells.append(_number(ours["cpu_ms" if t == 1 else "ms"]) if ours
                         else "refused")
            for p in seen:
                value = columns.get(p)
                cells.append(f"{ratio(value, t):.2f}" if value else "-")
                gaps += [value["difference"]] if value else []
        if numbers[-1] > 1:
            ours = row["threads"].get(numbers[-1], {}).get("ferrule", {})
            cells.append(f"{ours['scaling']:.2f} ({ours['limit']:.2f})"
                         if ours.get("scaling") else "-")
        found = verdicts(row)
        cells.append(f"{row['target']}" if row.get("target") else "-")
        cells.append("-" if not found else "yes" if all(m for _, m in found)
                     else "no: " + "; ".join(a for a, m in found if not m))
        cells.append(f"{max(gaps):.1e}" if gaps else "-")
        rows.append(cells)
    text = [heading(result), "", "| " + " | ".join(head) + " |",
            "|" + "---|" * len(head)]
    text += ["| " + " | ".join(c) + " |" for c in rows]
    text += ["", *_notes(result)]
    return "\n".join(text) + "\n"


def _notes(result):
    """Misses and failures by name."""
    notes = []
    asked = [(r, v) for r in result["rows"] for v in [verdicts(r)] if v]
    missed = [f"{r['model']} ({'; '.join(a for a, m in v if not m)})"
              for r, v in asked if not all(m for _, m in v)]
    notes.append(f"{len(asked) - len(missed)} of {len(asked)} targets met" +
                 (": not " + ", ".join(missed) if missed else "") + ".")
    for p in [p for p in peers.PEERS if p in result["versions"]]:
        if p != "onnxruntime":
            where = [f"{r['model']} ({t}T)" for r in result["rows"]
                     for q, t in faster(r) if q == p]
            notes.append(f"{title(p)}: " + (
                "faster than Ferrule on " + ", ".join(where) if where else
                "slower than Ferrule on all that it runs") + ".")
    for r in result["rows"]:
        for p, why in r["failed"].items():
            first = why.strip().splitlines()[0][:160] if why.strip() else "?"
            notes.append(f"{r['model']}, {title(p)}: {first}".replace("|", "/"))
    return [f"- {n}" for n in notes]


def plot(result, path):
    """Bars of the ratios; returns what to tell."""
    try:
        import matplotlib
    except ModuleNotFoundError:
        return "no plot: no module matplotlib (scripts/setup.sh bench)"
    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "ferrule"
    import matplotlib.pyplot as plt

    numbers = sorted({t for r in result["rows"] for t in r["threads"]})
    rows = [r for r in result["rows"] if r["threads"]]
    seen = [p for p in peers.PEERS if p in result["versions"]]
    figure, axes = plt.subplots(
        1, len(numbers), figsize=(6 * len(numbers), 1 + 0.5 * len(rows)),
        sharey=True, squeeze=False)
    for axis, t in zip(axes[0], numbers):
        for i, p in enumerate(seen):
            bars = [(y + 0.8 * (i + 0.5) / len(seen) - 0.4,
                     ratio(r["threads"][t][p], t))
                    for y, r in enumerate(rows)
                    if p in r["threads"].get(t, {})]
            bars = [(y, x) for y, x in bars if math.isfinite(x)]
            axis.barh([y for y, _ in bars], [x for _, x in bars],
                      0.8 / len(seen), label=title(p))
        for y, r in enumerate(rows):
            if r.get("target"):
                axis.plot([r["target"]] * 2, [y - 0.45, y + 0.45], "k:",
                          linewidth=1)
        axis.axvline(1, color="black", linewidth=0.8)
        axis.set_xscale("log")
        axis.set_title(f"time of peer / time of Ferrule, {t} thread(s)")
        axis.set_yticks(range(len(rows)), [r["model"] for r in rows])
    axes[0][0].invert_yaxis()
    axes[0][-1].legend()
    figure.text(0.01, 0.005, heading(result) + " Dotted: wanted against ONNX "
                "Runtime on one thread.", fontsize=6)
    figure.tight_layout(rect=(0, 0.02, 1, 1))
    figure.savefig(path)
    return f"plot: {path}"
