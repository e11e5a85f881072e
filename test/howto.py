"""The pages docs/adding-*.md, done word for word.

In a copy of the source tree every piece of code of the pages is put where the
page says, then the page's commands are run. What the pages say in words only
(where a piece belongs) is in PLACES.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = os.environ["FERRULE_SOURCE"]
PARTS = ["CMakeLists.txt", "Makefile", "LICENSE", "README.md", "bench", "cmake",
         "docs", "examples", "include", "man", "models", "runtime", "scripts",
         "src", "test"]

# By page: for each block that is not a command, the file, and the line before
# which the block is put; None: the block is the whole file.
PLACES = {
    "adding-an-operator.md": [
        ("src/op/onnx/soft_clip.c", None),
        ("test/ops/soft_clip.py", None),
        ("src/op/onnx/mirror_rows.c", None),
        ("test/ops/mirror_rows.py", None)],
    "adding-a-pass.md": [
        ("src/pass/patterns_basic.c", "const fe_pattern fe_patterns_basic[]"),
        ("src/pass/patterns_basic.c", "    {0}};"),
        ("test/ir/canonicalize/neg.mlir", None),
        ("src/pass/count_ops.c", None),
        ("src/pass/pass.h", "fe_status fe_pass_"),
        ("src/pass/pipeline.c", "    {0}};")],
    "adding-a-target.md": [
        ("src/target/target.c", "const fe_target *const fe_targets[]")],
}
# All quick tests are run by themselves.
LEFT_OUT = "ctest --test-dir build -L quick"


def blocks(page):
    with open(f"{SOURCE}/docs/{page}") as f:
        return re.findall(r"```(\w+)\n(.*?)```", f.read(), re.S)


def put(tree, path, before, text):
    file = f"{tree}/{path}"
    if before is None:
        assert not os.path.exists(file), f"{path} is not new"
        whole = text
    else:
        with open(file) as f:
            old = f.read()
        at = re.search("^" + re.escape(before), old, re.M)
        assert at, f"{path} has no '{before}'"
        whole = old[:at.start()] + text + old[at.start():]
    with open(file, "w") as f:
        f.write(whole)


def run(tree, command):
    r = subprocess.run(["sh", "-ec", command], cwd=tree, text=True,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       env=dict(os.environ, SETUP=":", CMAKE_FLAGS=FLAGS))
    print(f"$ {command}\n{r.stdout[-3000:]}", flush=True)
    assert r.returncode == 0, f"exit {r.returncode}"
    assert "No tests were found" not in r.stdout


def main():
    tree = tempfile.mkdtemp()
    for part in PARTS:
        whole = f"{SOURCE}/{part}"
        copy = shutil.copytree if os.path.isdir(whole) else shutil.copy
        copy(whole, f"{tree}/{part}")
    # the Python that this test runs in has the packages
    os.makedirs(f"{tree}/build")
    os.symlink(sys.prefix, f"{tree}/build/venv")
    commands = []
    for page, places in PLACES.items():
        pieces = [text for language, text in blocks(page) if language != "sh"]
        assert len(pieces) == len(places), f"{page} has other pieces"
        for place, text in zip(places, pieces):
            put(tree, *place, text)
        commands += [line for language, text in blocks(page)
                     if language == "sh" for line in text.splitlines()
                     if line != LEFT_OUT]
    file = f"{tree}/src/target/target.c"
    with open(file) as f:
        text = f.read()
    text, n = re.subn(r"(fe_targets\[\] = {[^}]*)NULL}",
                      r"\1&x86_64_v3_server, NULL}", text)
    assert n == 1, "target.c has no table that ends with NULL"
    with open(file, "w") as f:
        f.write(text)
    for command in dict.fromkeys(commands):
        run(tree, command)
    shutil.rmtree(tree)


# Not optimized: it is built in half the time.
FLAGS = "-DCMAKE_BUILD_TYPE=Debug"

if __name__ == "__main__":
    main()
