"""IREE: its ONNX importer, llvm-cpu for this processor, sizes fixed.

What was compiled is kept beside the other files of the benchmark and used
again; several threads are IREE's local-task with that many workers.
"""
import os
import subprocess
import sys
import time

import onnx

import models
from fixed import fixed

TITLE = "IREE"
PACKAGES = ["iree-base-compiler", "iree-base-runtime"]
MODULES = ["iree.compiler", "iree.runtime"]


def version():
    import iree.compiler.version as v
    return v.VERSION


def compile(path, name, inputs):
    from iree.compiler import tools

    base = f"{models.SCRATCH}/{models.label(name)}.iree"
    target = f"{base}.{version()}.vmfb"
    if os.path.exists(target) and \
            os.path.getmtime(target) > os.path.getmtime(path):
        return target
    onnx.save(fixed(path, inputs, 17), f"{base}.onnx")
    done = subprocess.run(
        [sys.executable, "-m", "iree.compiler.tools.import_onnx",
         f"{base}.onnx", "-o", f"{base}.mlir"], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    tools.compile_file(
        f"{base}.mlir", input_type="onnx", output_file=f"{target}.part",
        extra_args=["--iree-hal-target-device=local",
                    "--iree-hal-local-target-device-backends=llvm-cpu",
                    "--iree-llvmcpu-target-cpu=host", "--iree-opt-level=O3"])
    os.replace(f"{target}.part", target)
    for kind in ("onnx", "mlir"):
        os.remove(f"{base}.{kind}")
    return target


class Session:
    def __init__(self, path, name, inputs, threads):
        from iree import runtime

        program = compile(path, name, inputs)
        if threads > 1:
            runtime.flags.parse_flags(
                f"--task_topology_group_count={threads}")
        config = runtime.Config("local-task" if threads > 1 else "local-sync")
        context = runtime.SystemContext(config=config)
        module = runtime.VmModule.mmap(config.vm_instance, program)
        context.add_vm_module(module)
        bound = getattr(context.modules, module.name)
        names = [n for n in module.function_names
                 if not n.startswith("__") and not n.endswith("$async")]
        self.function = bound[names[0]]
        self.inputs = [runtime.asdevicearray(config.device, a)
                       for a in inputs.values()]

    def run(self):
        results = self.function(*self.inputs)
        if not isinstance(results, (tuple, list)):
            results = [results]
        return [r.to_host() for r in results]

    def time(self):
        start = time.perf_counter()
        self.function(*self.inputs)
        return time.perf_counter() - start
