"""usage: multi.py [TEST...]

One artifact for several levels of x86-64: right at every level that this
machine has, the same bytes each time, weights shared, refusals. Compared with
the models' reference outputs, by `run --verify` and by programs in C.
"""
import filecmp
import os
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

BUILD, SOURCE = os.environ["FERRULE_BUILD"], os.environ["FERRULE_SOURCE"]
FERRULE = f"{BUILD}/bin/ferrule"
MNIST = f"{SOURCE}/models/mnist8"
LEVELS = ["x86-64-v2", "x86-64-v3", "x86-64-v4"]
ALL = ",".join(LEVELS)
OK, REFUSED, USAGE = 0, 1, 2


def ferrule(*words, code=OK, err=None, out=None):
    r = subprocess.run([FERRULE, *words], capture_output=True, text=True)
    what = f"ferrule {' '.join(words)}: exit {r.returncode}\n{r.stderr}"
    assert r.returncode == code, f"{what}\nwanted: exit {code}"
    assert err is None or re.search(err, r.stderr), f"{what}\nwanted: {err}"
    assert out is None or re.search(out, r.stdout), \
        f"{what}{r.stdout}\nwanted: {out}"
    assert code == OK or "internal" not in r.stderr, what
    return r.stdout


def levels_here():
    """By another reader of the machine: the system's list of its flags."""
    with open("/proc/cpuinfo") as f:
        flags = set(re.search(r"^flags\s*:(.*)", f.read(), re.M)[1].split())
    needs = [{"cx16", "lahf_lm", "popcnt", "pni", "sse4_1", "sse4_2", "ssse3"},
             {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"},
             {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}]
    n = 0
    while n < len(needs) and needs[n] <= flags:
        n += 1
    return LEVELS[:n]


def test_levels(scratch):
    """Each level that this machine has; the best is taken by itself."""
    here, so = levels_here(), scratch + "/m.so"
    ferrule("compile", f"{MNIST}/model.onnx", "-o", so, "--cpu=multi")
    page = ferrule("info", so, out=f"processor +{ALL}\n")
    assert re.findall(r"level +(\S+):", page) == LEVELS, page
    assert re.findall(r"(\S+): .*, taken here", page) == here[-1:], page
    ferrule("run", so, "--verify", MNIST, out="matches")
    for level in LEVELS:
        if level in here:
            ferrule("run", so, "--verify", MNIST, f"--cpu={level}",
                    out="matches")
        else:
            ferrule("run", so, "--verify", MNIST, f"--cpu={level}",
                    code=REFUSED, err="has more than this one")
    ferrule("run", so, "--random", "--cpu=aarch64", code=REFUSED,
            err=f"is not for aarch64, but for {ALL}")
    text = subprocess.run(["readelf", "-Wd", "--dyn-syms", so], check=True,
                          capture_output=True, text=True).stdout
    assert set(re.findall(r"NEEDED.*\[(.*)\]", text)) <= \
        {"libc.so.6", "libm.so.6"}, text
    defined = re.findall(r"(?:GLOBAL|WEAK) +DEFAULT +\d+ (\S+)", text)
    assert defined == ["ferrule_model"], text
    assert "IFUNC" not in text and "INIT_ARRAY" not in text, text
    # in this process: the best
    ferrule("run", f"{MNIST}/model.onnx", "--verify", MNIST, "--cpu=multi",
            out="matches")


def test_bytes(scratch):
    """Equal each time, with any number of threads, in any order of the list."""
    for ending in ("so", "o", "a"):
        first, again = f"{scratch}/first.{ending}", f"{scratch}/m.{ending}"
        ferrule("compile", f"{MNIST}/model.onnx", "-o", again, "--cpu=multi")
        os.rename(again, first)
        ferrule("compile", f"{MNIST}/model.onnx", "-o", again, "-j1",
                "--cpu=x86-64-v4,x86-64-v2,x86-64-v3,x86-64-v2")
        assert filecmp.cmp(first, again, shallow=False), ending
    # a list of one is that one
    one, same = scratch + "/one.o", scratch + "/same.o"
    ferrule("compile", f"{MNIST}/model.onnx", "-o", one, "--cpu=x86-64-v3",
            "--prefix=m")
    ferrule("compile", f"{MNIST}/model.onnx", "-o", same, "--prefix=m",
            "--cpu=x86-64-v3,x86-64-v3")
    assert filecmp.cmp(one, same, shallow=False)


def test_weights(scratch):
    """What lies the same at all levels is there once."""
    table = np.random.default_rng(1).standard_normal((2048, 257), np.float32)
    graph = helper.make_graph(
        [helper.make_node("Gather", ["table", "i"], ["a"]),
         helper.make_node("Gather", ["again", "i"], ["b"]),
         helper.make_node("Add", ["a", "b"], ["y"])],
        "shared", [helper.make_tensor_value_info("i", TensorProto.INT64, ["n"])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 257])],
        [numpy_helper.from_array(table, "table"),
         numpy_helper.from_array(table, "again")])
    model, so = scratch + "/t.onnx", scratch + "/t.so"
    onnx.save(helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), model)
    folder = scratch + "/io"
    os.mkdir(folder)
    i = np.array([0, 2047, 5])
    np.save(f"{folder}/input_0.npy", i)
    np.save(f"{folder}/output_0.npy", 2 * table[i])
    ferrule("compile", model, "-o", so, "--cpu=multi")
    size = os.path.getsize(so)
    assert table.nbytes < size < table.nbytes + 400000, size
    for level in levels_here():
        ferrule("run", so, "--verify", folder, f"--cpu={level}", out="matches")
    page = ferrule("compile", model, "--explain", "--cpu=multi")
    for level in LEVELS:
        assert re.search(rf"^for {level}[ :]", page, re.M), page
    shared = re.findall(r"([\d.]+) MB are those of levels before", page)
    assert [float(s) for s in shared] == [round(table.nbytes / 1e6, 2)] * 2, page


def test_large(scratch):
    """While compiling the weights of one level are in memory, not of all."""
    n, k = 4, 2048
    draw = np.random.default_rng(5)
    w = [draw.standard_normal((k, k), np.float32) for _ in range(n)]
    names = ["x"] + [f"y{i}" for i in range(n)]
    graph = helper.make_graph(
        [helper.make_node("MatMul", [names[i], f"w{i}"], [names[i + 1]])
         for i in range(n)],
        "large", [helper.make_tensor_value_info("x", 1, ["n", k])],
        [helper.make_tensor_value_info(names[n], 1, ["n", k])],
        [numpy_helper.from_array(w[i], f"w{i}") for i in range(n)])
    folder, out = scratch + "/io", scratch + "/out"
    model, so, again = (f"{out}/{f}" for f in ("m.onnx", "m.so", "again.so"))
    os.mkdir(folder)
    os.mkdir(out)
    onnx.save(helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), model)
    x = draw.standard_normal((3, k), np.float32)
    y = x.astype(np.float64)
    for matrix in w:
        y = y @ matrix
    np.save(f"{folder}/input_0.npy", x)
    np.save(f"{folder}/output_0.npy", y.astype(np.float32))
    peak = {}
    for cpu in ("x86-64-v3", "multi"):
        # from a small process: a child's peak begins with that of its parent
        r = subprocess.run(["sh", "-c", '"$@"; exit $?', "sh", FERRULE,
                            "compile", "-q", model, "-o", so, "--time",
                            f"--cpu={cpu}"],
                           capture_output=True, text=True)
        assert r.returncode == 0, r.stderr
        peak[cpu] = float(re.search(r"memory +([\d.]+) MB", r.stderr)[1])
    mb = n * k * k * 4 / 2**20
    if "ASAN_OPTIONS" not in os.environ:
        assert peak["multi"] < peak["x86-64-v3"] + 1.5 * mb, peak
    os.rename(so, again)
    ferrule("compile", model, "-o", so, "--cpu=multi", "-j1")
    assert filecmp.cmp(so, again, shallow=False)
    assert sorted(os.listdir(out)) == ["again.so", "m.onnx", "m.so"]
    for level in levels_here():
        ferrule("run", so, "--verify", folder, f"--cpu={level}",
                f"--atol={1e-5 * abs(y).max()}", out="matches")


def test_beside(scratch):
    so = scratch + "/m.so"
    ferrule("compile", f"{MNIST}/model.onnx", "-o", so, "--weights=beside",
            f"--cpu={LEVELS[0]},{LEVELS[2]}")
    assert os.path.exists(scratch + "/m.weights.so")
    for level in levels_here():
        if level != LEVELS[1]:
            ferrule("run", so, "--verify", MNIST, f"--cpu={level}",
                    out="matches")
    ferrule("run", so, "--random", f"--cpu={LEVELS[1]}", code=REFUSED,
            err="is not for x86-64-v3")


PROGRAM = """
#include "a.h"
#include "b.h"
#include <stdio.h>
#include <stdlib.h>
static int run(const ferrule_model *m, const float *x, const float *want) {
  static _Alignas(64) char arena[A_ARENA_BYTES + 64];
  float y[10];
  ferrule_tensor in = {.data = (void *)x, .dtype = FERRULE_F32, .rank = 4,
                       .dims = {1, 1, 28, 28}};
  ferrule_tensor out = {.data = y, .capacity = sizeof y};
  if (m->arena_size(NULL) > A_ARENA_BYTES ||
      ferrule_model_run(m, &in, &out, arena, NULL))
    return 1;
  for (int i = 0; i < 10; i++)
    if (y[i] - want[i] > 1e-2f || want[i] - y[i] > 1e-2f)
      return 1;
  return 0;
}
int main(int argc, char **argv) {
  static float x[784], want[10];
  FILE *f = fopen("x.bin", "rb"), *g = fopen("y.bin", "rb");
  if (!f || !g || fread(x, 4, 784, f) != 784 || fread(want, 4, 10, g) != 10)
    return 2;
  int levels = atoi(argv[argc - 1]);
  if (a_model.n_levels != 3 || b_model.n_levels != 2 || run(&a_model, x, want)
      || run(&b_model, x, want))
    return 3;
  for (int i = 0; i < levels; i++)
    if (run(a_model.levels[i], x, want))
      return 4;
  puts(a_model.cpu);
  return 0;
}
"""


def test_static(scratch):
    """Two models in one program that has no loader."""
    for prefix, cpu, ending in (("a", "multi", "a"),
                                ("b", "x86-64-v2,x86-64-v3", "o")):
        ferrule("compile", f"{MNIST}/model.onnx", "-o",
                f"{scratch}/{prefix}.{ending}", f"--prefix={prefix}",
                f"--header={scratch}/{prefix}.h", f"--cpu={cpu}")
    np.load(f"{MNIST}/input_0.npy").tofile(scratch + "/x.bin")
    np.load(f"{MNIST}/output_0.npy").tofile(scratch + "/y.bin")
    with open(scratch + "/two.c", "w") as f:
        f.write(PROGRAM)
    for options in (["-static"], []):
        subprocess.run(["cc", "-std=c17", "-Wall", "-Wextra", "-Werror",
                        f"-I{SOURCE}/include", "two.c", "a.a", "b.o", *options,
                        "-lm", "-o", "two"], check=True, cwd=scratch)
        text = subprocess.run([scratch + "/two", str(len(levels_here()))],
                              text=True, capture_output=True, cwd=scratch)
        assert (text.returncode, text.stdout) == (0, ALL + "\n"), text


MACHINES = """
#define _GNU_SOURCE
#include "a.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
enum { SET_CPUID = 0x1012 }; // of arch_prctl: cpuid is a fault from now on
static unsigned ecx1, ebx7, ecx_extended;
/* The processor that cpuid tells of. */
static void answer(int number, siginfo_t *info, void *context) {
  (void)number, (void)info;
  greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
  if (memcmp((void *)r[REG_RIP], "\\x0f\\xa2", 2))
    _exit(9);
  unsigned leaf = (unsigned)r[REG_RAX];
  r[REG_RAX] = leaf == 0 ? 7 : leaf == 0x80000000 ? 0x80000001 : 0;
  r[REG_RBX] = leaf == 7 ? ebx7 : 0;
  r[REG_RCX] = leaf == 1 ? ecx1 : leaf == 0x80000001 ? ecx_extended : 0;
  r[REG_RDX] = 0;
  r[REG_RIP] += 2;
}
static float x[784];
static int run(const ferrule_model *m, float *y) {
  static _Alignas(64) char arena[A_ARENA_BYTES + 64];
  ferrule_tensor in = {.data = x, .dtype = FERRULE_F32, .rank = 4,
                       .dims = {1, 1, 28, 28}};
  ferrule_tensor out = {.data = y, .capacity = 40};
  return ferrule_model_run(m, &in, &out, arena, NULL);
}
int main(int argc, char **argv) {
  float y[10], level[3][10] = {0};
  FILE *f = fopen("x.bin", "rb");
  if (!f || fread(x, 4, 784, f) != 784 || argc != 5)
    return 2;
  for (int i = 0; i < atoi(argv[1]); i++)
    if (run(a_model.levels[i], level[i]))
      return 3;
  struct sigaction a = {.sa_sigaction = answer, .sa_flags = SA_SIGINFO};
  sigaction(SIGSEGV, &a, NULL);
  ecx1 = (unsigned)strtoul(argv[2], NULL, 16);
  ebx7 = (unsigned)strtoul(argv[3], NULL, 16);
  ecx_extended = (unsigned)strtoul(argv[4], NULL, 16);
  if (syscall(SYS_arch_prctl, SET_CPUID, 0))
    return 77;
  int64_t size = a_model.arena_size(NULL);
  int status = run(&a_model, y);
  syscall(SYS_arch_prctl, SET_CPUID, 1);
  if (status) {
    printf("%d %s\\n", size == INT64_MAX, ferrule_model_message(&a_model, status));
    return 0;
  }
  for (int i = 0; i < 3; i++)
    if (!memcmp(y, level[i], sizeof y) &&
        size == a_model.levels[i]->arena_size(NULL))
      printf("%s ", a_model.levels[i]->cpu);
  return 0;
}
"""


def test_machines(scratch):
    """Other processors, as far as cpuid can be made to tell of them."""
    ferrule("compile", f"{MNIST}/model.onnx", "-o", scratch + "/a.a",
            "--prefix=a", f"--header={scratch}/a.h", "--cpu=multi")
    np.load(f"{MNIST}/input_0.npy").tofile(scratch + "/x.bin")
    with open(scratch + "/machines.c", "w") as f:
        f.write(MACHINES)
    subprocess.run(["cc", "-std=c17", "-Wall", "-Wextra", "-Werror", "-static",
                    f"-I{SOURCE}/include", "machines.c", "a.a", "-lm", "-o",
                    "machines"], check=True, cwd=scratch)
    here = levels_here()
    for words, level in ((["0e3bd", "0", "1"], None),  # no sse4.2, popcnt
                         (["29ee3ff", "0", "1"], 0),
                         (["7ffafbff", "27ab", "21"], 1),
                         (["7ffefbff", "d39ffffb", "121"], 2),
                         (["7ffefbff", "139ffffb", "121"], 1)):
        if level is not None and level >= len(here):
            continue  # the system here does not save its registers
        r = subprocess.run([scratch + "/machines", str(len(here)), *words],
                           cwd=scratch, capture_output=True, text=True)
        if r.returncode == 77:
            print("cpuid cannot be made to tell of others here: not tried")
            return
        assert r.returncode == 0, (words, r)
        if level is None:
            assert r.stdout.startswith("1 this machine's processor lacks "
                                       "what x86-64-v2 has"), r.stdout
        else:  # neighbours may give the same numbers
            assert LEVELS[level] in r.stdout.split(), (words, r.stdout)


def test_messages(scratch):
    """A run that a check ends says why, at every level."""
    shape = helper.make_tensor_value_info("shape", TensorProto.INT64, [2])
    graph = helper.make_graph(
        [helper.make_node("ConstantOfShape", ["shape"], ["y"], "culprit")],
        "sizes", [shape], [helper.make_empty_tensor_value_info("y")])
    model, so, bad = (f"{scratch}/{n}" for n in ("s.onnx", "s.so", "bad.npy"))
    onnx.save(helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), model)
    np.save(bad, np.array([3, -2]))
    ferrule("compile", model, "-o", so, "--cpu=multi")
    for words in [[f"--cpu={level}"] for level in levels_here()] + [[]]:
        ferrule("run", so, "--input", f"shape={bad}", *words, code=REFUSED,
                err="'culprit'")


def test_half(scratch):
    """Conversions of float16 and bfloat16, which the lowest level has no
    instructions for."""
    value = helper.make_tensor_value_info
    nodes, outputs = [], []
    for name, dtype in (("f16", TensorProto.FLOAT16),
                        ("bf16", TensorProto.BFLOAT16)):
        nodes += [helper.make_node("Cast", ["x"], [name], to=dtype),
                  helper.make_node("Add", [name, name], [name + "2"]),
                  helper.make_node("Cast", [name + "2"], [name + "y"], to=1)]
        outputs.append(value(name + "y", TensorProto.FLOAT, ["n"]))
    graph = helper.make_graph(nodes, "half",
                              [value("x", TensorProto.FLOAT, ["n"])], outputs)
    model, so, folder = (f"{scratch}/{n}" for n in ("h.onnx", "h.so", "io"))
    onnx.save(helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), model)
    os.mkdir(folder)
    x = np.random.default_rng(3).standard_normal(1003, np.float32)
    np.save(f"{folder}/input_0.npy", x)
    np.save(f"{folder}/output_0.npy",
            (x.astype(np.float16) * np.float16(2)).astype(np.float32))
    bits = x.view(np.uint32)
    rounded = (bits + 0x7fff + (bits >> 16 & 1)) & np.uint32(0xffff0000)
    np.save(f"{folder}/output_1.npy", rounded.view(np.float32) * 2)
    ferrule("compile", model, "-o", so, "--cpu=multi")
    for level in levels_here():
        ferrule("run", so, "--verify", folder, f"--cpu={level}", "--rtol=0",
                "--atol=0", out="matches")


def test_refused(scratch):
    model, so = f"{MNIST}/model.onnx", scratch + "/m.so"
    for cpu, err in (("x86-64-v2,x86-64-v9", "no target called 'x86-64-v9'"),
                     ("x86-64-v2,", "no target called ''"),
                     ("x86-64-v2,aarch64", "'aarch64' cannot be one of"),
                     ("native,x86-64-v2", "'native' cannot be one of"),
                     ("multi,x86-64-v2", "no target called 'multi'")):
        ferrule("compile", model, "-o", so, f"--cpu={cpu}", code=USAGE,
                err=f"{err}(.*\n)*.*x86-64-v2, x86-64-v3, x86-64-v4")
    for ending in ("ll", "s"):
        ferrule("compile", model, "-o", f"{scratch}/m.{ending}", "--cpu=multi",
                code=USAGE, err="name one level")
    ferrule("compile", model, "--stop-after=plan", "-o", scratch + "/m.mlir",
            "--cpu=multi", code=USAGE, err="name one level")
    ferrule("compile", model, "-o", scratch + "/none/m.so", "--cpu=multi",
            code=REFUSED, err="none/m.so")
    assert not os.listdir(scratch)


def main():
    if os.uname().machine != "x86_64":
        sys.exit(77)
    for name, test in list(globals().items()):
        if not name.startswith("test_") or \
                (sys.argv[1:] and name[5:] not in sys.argv[1:]):
            continue
        with tempfile.TemporaryDirectory() as scratch:
            test(scratch)
        print(f"{name}: ok", flush=True)


if __name__ == "__main__":
    main()
