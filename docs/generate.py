#!/usr/bin/env python3
"""usage: docs/generate.py [--check]

Writes what ferrule itself prints: docs/operators.md, docs/walkthrough.md and
man/ferrule.1. With --check nothing is written: exit code 1 when one is stale.

Environment: FERRULE_BUILD, the build folder (default: build).
"""
import difflib
import os
import re
import subprocess
import sys
import tempfile
import textwrap

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FERRULE = os.path.join(os.environ.get("FERRULE_BUILD", f"{ROOT}/build"),
                       "bin", "ferrule")
MODEL = "models/mnist8/model.onnx"
TARGET = "--target=x86-64-v3"  # the same text on every machine


def ferrule(*words):
    return subprocess.run([FERRULE, *words], cwd=ROOT, check=True,
                          capture_output=True, text=True).stdout


#===-- docs/operators.md -----------------------------------------------------#

OPERATORS = """\
# Operators

Printed from the operator table (`docs/generate.py`, `ferrule operators`).

- *opsets*: from the first that has the operator; all forms that it had since
  are brought into the newest when a model is read.
- *signature*: inputs and outputs with their type variables, as in the
  standard; `?` may be absent, `*` any number.
- *types*: element types per variable. `float` is f16, bf16, f32, f64; `int`
  all integers of 8 to 64 bits, `sint` and `uint` the signed and unsigned ones;
  `real` is `float` and `int`; `numeric` also complex numbers; `float8` those
  with a sign; `small` these, f8e8m0 and everything of less than 8 bits; `all` every element type; `any` also
  what is no tensor. A type here is one that the standard admits and the
  importer accepts.
- *limits*: what is refused, with a message, although the standard allows it.
- *tests*: programs in `test/` that compare the operator with ONNX Runtime or
  the reference of the `onnx` package; the official cases (`make conformance`)
  and random cases of every operator (`make differential`) come on top.

"""


def tests_of(name, sources):
    word = re.compile(rf"[\"'.]{name}[\"'(]")
    tests = [test for test, text in sources if word.search(text)]
    random = name.startswith("Random") or name == "Multinomial"
    return ", ".join(tests) or ("" if random else "official cases")


def operators():
    folders = [f"{ROOT}/test", f"{ROOT}/test/ops"]
    sources = []
    for folder in folders:
        for file in sorted(os.listdir(folder)):
            if file.endswith(".py") and file not in ("harness.py", "cli.py"):
                with open(f"{folder}/{file}") as f:
                    sources.append((file[:-3], f.read()))
    lines = ferrule("operators", "--markdown").splitlines()
    rows = [lines[0] + " tests |", lines[1] + "---|"]
    rows += [f"{line} {tests_of(line.split(' ')[1], sources)} |"
             for line in lines[2:]]
    count = len({line.split(" ")[1] for line in lines[2:]})
    return (OPERATORS + f"{count} operators.\n\n" + "\n".join(rows) + "\n")


#===-- docs/walkthrough.md ---------------------------------------------------#

def shorten(line):
    """Long lists of numbers are cut, long lines broken before their types."""
    line = re.sub(r"dense<\[.{60,}?\]> :", "dense<[...]> :", line)
    if len(line) <= 96:
        return line
    indent = " " * (len(line) - len(line.lstrip()) + 6)
    return "\n".join(textwrap.wrap(
        line, 96, subsequent_indent=indent, break_long_words=False,
        break_on_hyphens=False))


def tidy(text):
    """For reading: constants of type index as numbers, nothing twice."""
    value = {}
    out = []
    for line in text.splitlines():
        m = re.match(r" *(%\S+) = arith\.constant (-?\d+) : (index|i64|i32)$",
                     line)
        if m:
            value[m[1]] = m[2]
            continue
        out.append(re.sub(r"%[\w#]+", lambda x: value.get(x[0], x[0]), line))
    return "\n".join(out)


def between(text, first, last):
    """Lines from the one matching `first` to the next one matching `last`."""
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if re.search(first, line))
    end = next(i for i in range(start + 1, len(lines))
               if re.search(last, lines[i]))
    return "\n".join(lines[start:end + 1])


def loop(text, first, last, mark):
    """The first stretch from a line matching `first` to one matching `last`,
    shortest, that has `mark` in it."""
    lines = text.splitlines()
    for i, line in enumerate(lines):
        if not re.search(first, line):
            continue
        for k in range(i + 1, len(lines)):
            if re.search(first, lines[k]):
                break
            if re.search(last, lines[k]):
                part = "\n".join(lines[i:k + 1])
                if mark in part:
                    return part
                break
    raise ValueError(f"no {mark} between {first} and {last}")


def block(text, language="mlir"):
    body = "\n".join(shorten(line.rstrip()) for line in textwrap.dedent(text)
                     .splitlines())
    return f"```{language}\n{body}\n```\n"


def phases():
    return {p: ferrule("compile", MODEL, f"--stop-after={p}", TARGET)
            for p in ("import", "optimize", "lower", "group", "schedule",
                      "plan")}


def native(ending):
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/mnist8{ending}"
        ferrule("compile", MODEL, "-o", path, TARGET)
        with open(path) as f:
            return f.read()


def kernel(text, root):
    """Name of the last kernel made from that root."""
    return re.findall(rf"callee = @({root}\.\d+)", text)[-1]


def walkthrough():
    p = phases()
    conv = re.search(r"callee = @(conv\.\d+)", p["group"])[1]
    product = kernel(p["group"], "contract")
    info = "\n".join(line for line in ferrule("info", MODEL, TARGET)
                     .splitlines())
    product_ir = tidy(between(p["schedule"], rf"func private @{product}\(",
                              r"^  }$"))
    plan_main = tidy(between(p["plan"], r"func\.func @main", r"^  }$"))
    llvm, assembly = native(".ll"), native(".s")
    llvm_kernel = between(llvm, rf"^define .*@ferrule\.{product}\(", "^}")
    label = re.compile(r"^(\d+|[.\w]+):")
    parts = [f"""\
# One model through every phase

What becomes of `{MODEL}`, which reads a handwritten digit, written by
`docs/generate.py` from what the tool prints; a test keeps it true. Long lists
of numbers are cut. To follow along, or to see all of it:

```sh
ferrule compile {MODEL} --stop-after=PHASE {TARGET}
```

Every such text can be written to a file (`-o x.mlir`), edited, and compiled
further (`ferrule compile x.mlir -o x.so`). What each form may contain is in
[architecture.md](architecture.md).

## The model

`ferrule info` lists what it takes, gives and is made of:

""", block(info, "text"), """
## import

The protobuf is read into the `onnx` dialect: one op per node in the form of
the newest opset (the file has opset 8), every attribute present with its
default, types inferred by Ferrule and not taken from the file. Absent inputs
are `onnx.none`. Large constants stay where they lie in the file: `blob` names
them. `MaxPool` has its second result, declared as the standard does, though
nobody asks for it.

""", block(between(p["import"], r"func\.func @main", r"^  }$")), """
## optimize

Constants are folded (the reshaped `Parameter193`), bias additions become the
bias of the convolution, equal and dead ops go. The last pass chooses layouts:
a tensor of convolutions is stored in blocks of channels, as many as a vector
has lanes: `1x8x28x28` becomes `1x1x28x28x8`. `krnl.conv` reads the plain image
directly, `krnl.unpack` brings back the plain layout before the matrix product;
the weights were put in the order in which the kernel reads them (`weights`).

""", block(between(p["optimize"], r"func\.func @main", r"^  }$")), """
## lower

`onnx` is gone. Elementwise computation is `linalg.generic`, the rest are
`krnl` ops for which a generator exists, each with its destination
(`tensor.empty`) as last operand. The first convolution and its Relu:

""", block(tidy(between(p["lower"], r'= "krnl\.conv"',
                        r"\} -> tensor"))), """
The weights of the matrix product were put into panels of two vectors, padded
with zeros (256x10 became 1x256x16):

""", block(tidy(between(p["lower"], r'= "krnl\.contract"',
                        r"\} -> tensor"))), """
## group

What belongs together becomes one function: a kernel. Relu follows its
convolution and the addition its product as *epilogues*, computed on the
registers before anything is stored. `main` is only calls now.

""", block(tidy(between(p["group"], r"func\.func @main", r"^  }$"))),
        "\nThe first kernel, in tensor form:\n\n",
        block(between(p["group"], rf"func private @{conv}\(", r"^  }$")), f"""
## schedule

The generators of `src/kernel` write each kernel as loops over memory with
vector operations, from the description of the target. `krnl.extent` says how
many items may be computed at the same time, and what one costs: kernels above
a threshold are spread over threads. The matrix product `@{product}`, whole,
for 8 lanes; constants of the loops are written in place here:

""", block(product_ir), """
One element of the row times two vectors of weights per step, sums in
registers; the last two of ten columns with a mask; the bias added before the
only store.

## plan

`main` no longer has tensors, but addresses: weights are offsets into
`@weights`, intermediate results offsets into the arena (`%arg2`) found by
liveness, so that results share memory when they are not alive together; the
last one goes straight into the caller's buffer. Every call is a record of
pointers and a number of items for the runtime's parallel-for. The first call:

""", block(between(plan_main, r"func\.func @main",
                   r"call @fe_rt_parallel")), """
How large the arena is:

""", block(tidy(between(p["plan"], r"func\.func @arena_size",
                        r"^  }$"))), """
## emit

MLIR's lowerings and LLVM's optimizer do the rest: the product's loop as LLVM
IR (`-o mnist8.ll`)

""", block(loop(llvm_kernel, r"^(\d+|[.\w]+):", r"^  br i1", "fmuladd"),
           "llvm"), """
and as machine code (`-o mnist8.s`):

""", block(loop(between(assembly, rf"^ferrule\.{product}:", r"^\.Lfunc_end"),
                r"^\.L\w+:", r"^\tj", "vfmadd231ps").expandtabs(8),
           "asm"), """
The linker, lld inside of the compiler, makes the `.so`; the weights are
appended to it without passing through compiler or linker.
`include/ferrule/model.h` is all that a caller needs to run it; `ferrule run`
does:

```sh
ferrule compile models/mnist8/model.onnx -o mnist8.so
ferrule run mnist8.so --verify models/mnist8
```
"""]
    return "".join(parts)


#===-- All -------------------------------------------------------------------#

PAGES = {"docs/operators.md": operators, "docs/walkthrough.md": walkthrough,
         "man/ferrule.1": lambda: ferrule("help", "--man")}


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__)
    stale = False
    for name, make in PAGES.items():
        path, text = os.path.join(ROOT, name), make()
        old = ""
        if os.path.exists(path):
            with open(path) as f:
                old = f.read()
        if old == text:
            continue
        if sys.argv[1:]:
            stale = True
            diff = difflib.unified_diff(old.splitlines(), text.splitlines(),
                                        name, "as printed now", n=1,
                                        lineterm="")
            print("\n".join(list(diff)[:40]))
        else:
            with open(path, "w") as f:
                f.write(text)
            print(f"wrote {name}")
    if stale:
        sys.exit("stale: run docs/generate.py (make docs)")


if __name__ == "__main__":
    main()
