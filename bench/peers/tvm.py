"""TVM: relax with its default pipeline for LLVM, sizes fixed, not tuned.

A search for schedules (MetaSchedule) takes hours for each model and is left
out; what TVM does without it is what its importer and pipeline give.
"""
import os
import time

import models
from fixed import fixed

TITLE, PACKAGES, MODULES = "TVM", ["apache-tvm"], ["tvm"]


def version():
    import tvm
    return tvm.__version__


def compile(path, name, inputs):
    import tvm
    from tvm import relax
    from tvm.relax.frontend.onnx import from_onnx
    from tvm.target import Target, codegen

    target = f"{models.SCRATCH}/{models.label(name)}.tvm.{version()}.so"
    if os.path.exists(target) and \
            os.path.getmtime(target) > os.path.getmtime(path):
        return target
    module = from_onnx(fixed(path, inputs, 13))
    module = relax.transform.DecomposeOpsForInference()(module)
    cpu = codegen.llvm_get_system_cpu()
    built = relax.build(module, Target({"kind": "llvm", "mcpu": cpu}))
    built.export_library(f"{target}.part.so")
    os.replace(f"{target}.part.so", target)
    return target


class Session:
    def __init__(self, path, name, inputs, threads):
        os.environ["TVM_NUM_THREADS"] = str(threads)
        import tvm
        from tvm import relax

        library = tvm.runtime.load_module(compile(path, name, inputs))
        machine = relax.VirtualMachine(library, tvm.cpu())
        machine.set_input("main", *[tvm.runtime.tensor(a)
                                    for a in inputs.values()])
        self.machine = machine

    def run(self):
        self.machine.invoke_stateful("main")
        results = self.machine.get_outputs("main")
        if not isinstance(results, (list, tuple)):
            results = [results]
        return [r.numpy() for r in results]

    def time(self):
        start = time.perf_counter()
        self.machine.invoke_stateful("main")
        return time.perf_counter() - start
