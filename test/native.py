"""Models with packaged libraries, or with parts of the runtime, in every kind of
artifact: they need the C library only, and others do not grow."""
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "ops"))
from harness import ferrule, model_of  # noqa: E402

PROGRAM = os.path.join(ferrule.BUILD, "bin", "ferrule")
folder = tempfile.TemporaryDirectory()
place = lambda name: os.path.join(folder.name, name)
text = np.array(["a 1", "Ä", ""], object)
bitmap = np.frombuffer(b"P6 2 1 255\n\1\2\3\4\5\6", np.uint8)
MODELS = {
    "image": model_of("ImageDecoder", [bitmap], pixel_format="BGR"),
    "split": model_of("StringSplit", [text], outputs=2),
    "case": model_of("StringNormalizer", [text], case_change_action="UPPER",
                     stopwords=["a 1"]),
    "match": model_of("RegexFullMatch", [text], pattern="[a-z] .|"),
    "print": model_of("Cast", [np.ones(2, np.float32)], to=8),
    "parse": model_of("Cast", [text], to=1),
    "unique": model_of("Unique", [text], outputs=4),
    "relu": model_of("Relu", [np.ones(2, np.float32)]),
}
INPUTS = {"image": bitmap, "print": np.array([1.5, -np.inf], np.float32),
          "parse": np.array(["1", "2.5", "NaN"], object),
          "relu": np.array([-1, 2], np.float32)}
WANT = {"image": [[[3, 2, 1], [6, 5, 4]]],
        "split": [["a", "1"], ["Ä", ""], ["", ""]], "case": ["Ä", ""],
        "match": [True, False, True], "print": ["1.5", "-INF"],
        "parse": [1, 2.5, np.nan], "unique": ["", "a 1", "Ä"],
        "relu": [0, 2]}
ALLOWED = {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2",
           "ld-linux-aarch64.so.1"}
failed = 0


def check(what, ok, why=""):
    global failed
    if not ok:
        failed += 1
        print(f"FAILED {what} {why}")


def run(*command):
    p = subprocess.run(command, capture_output=True, text=True)
    return p.returncode, p.stdout + p.stderr


sizes = {}
for name, model in MODELS.items():
    onnx.save(model, place("m.onnx"))
    for kind in "so", "o", "a":
        what, file = f"{name} .{kind}", place(f"{name}.{kind}")
        status, output = run(PROGRAM, "compile", place("m.onnx"), "-o", file)
        if name == "image" and "without the libraries" in output:
            print("no libraries for images: left out")
            break
        check(what, status == 0, output)
        library = file
        if kind != "so":
            library = place(f"{name}.{kind}.so")
            status, output = run(
                os.environ.get("CC", "cc"), "-shared", "-o", library,
                "-Wl,--whole-archive", file, "-Wl,--no-whole-archive", "-lm")
            check(what + " linked", status == 0, output)
        else:
            sizes[name] = os.path.getsize(file)
            needed = {line.split("[")[1].split("]")[0]
                      for line in run("readelf", "-d", file)[1].splitlines()
                      if "NEEDED" in line}
            check(what, needed <= ALLOWED, needed)
        if status == 0:
            model_so = ferrule.open(library)
            got = list(model_so.run({"in0": INPUTS.get(name, text)}).values())
            want = np.array(WANT[name])
            same = got[0].tolist() == want.tolist() if want.dtype.kind in "UOb" \
                else np.array_equal(got[0], want, equal_nan=name == "parse")
            check(what, same, got[0])
check("models without images are small",
      all(size < 200000 for name, size in sizes.items() if name != "image"),
      sizes)
print(f"{len(MODELS)} models, {failed} failed")
sys.exit(failed != 0)
