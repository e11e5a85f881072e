"""torch.compile (inductor), the model brought into PyTorch by onnx2torch.

Weights are frozen, which lets inductor pack them, and it searches among its own
kernels (max-autotune). Layers that onnx2torch lacks leave a model out.
"""
import os
import time

import models
from fixed import fixed

TITLE = "torch.compile"
PACKAGES = ["torch", "torchvision", "onnx2torch"]
MODULES = ["torch", "onnx2torch"]


def version():
    import torch
    return torch.__version__


class Session:
    def __init__(self, path, name, inputs, threads):
        os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR",
                              f"{models.SCRATCH}/inductor")
        import onnx2torch
        import torch
        import torch._inductor.config as inductor

        torch.set_num_threads(threads)
        torch._dynamo.reset()
        inductor.freezing = True
        inductor.max_autotune = True
        module = onnx2torch.convert(fixed(path, inputs, 9)).eval()
        self.module = torch.compile(module)
        self.inputs = [torch.from_numpy(a.copy()) for a in inputs.values()]
        with torch.no_grad():
            self.results = self.module(*self.inputs)

    def run(self):
        results = self.results
        if not isinstance(results, (list, tuple)):
            results = [results]
        return [r.numpy() for r in results]

    def time(self):
        import torch

        with torch.no_grad():
            start = time.perf_counter()
            self.module(*self.inputs)
            return time.perf_counter() - start
