"""ONNX Runtime, CPU provider, all optimizations (its default)."""
import time

TITLE, PACKAGES, MODULES = "ONNX Runtime", ["onnxruntime"], ["onnxruntime"]


def version():
    import onnxruntime
    return onnxruntime.__version__


def session(path, threads):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(path, options,
                                        providers=["CPUExecutionProvider"])


class Session:
    def __init__(self, path, name, inputs, threads):
        self.session = session(path, threads)
        self.inputs = inputs
        self.binding = self.session.io_binding()
        for key, array in inputs.items():
            self.binding.bind_cpu_input(key, array)
        for value in self.session.get_outputs():
            self.binding.bind_output(value.name)

    def run(self):
        return self.session.run(None, self.inputs)

    def time(self):
        start = time.perf_counter()
        self.session.run_with_iobinding(self.binding)
        return time.perf_counter() - start
