"""The runtimes, one file each. A file has

TITLE     its name in tables
PACKAGES  what pip installs it from; none: it is always there
version() as text
Session(path, name, inputs, threads): a model; .run() gives its outputs as a
          list of arrays, .time() the seconds of one run with inputs and outputs
          in place
"""
import importlib
import importlib.util

PEERS = ["onnxruntime", "openvino", "iree", "torch_inductor", "tvm",
         "ferrule_f32"]


def load(name):
    """The module, or the text that says how to install what it lacks."""
    module = importlib.import_module(f"peers.{name}")
    lacking = [m for m in module.MODULES if not _is_there(m)]
    if lacking:
        return (f"{module.TITLE} is left out: no module {lacking[0]} "
                f"(scripts/setup.sh bench, or pip install "
                f"{' '.join(module.PACKAGES)})")
    return module


def _is_there(module):
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False
