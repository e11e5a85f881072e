"""OpenVINO, CPU, f32 throughout, one stream, sizes fixed to those of the run."""
import time

TITLE, PACKAGES, MODULES = "OpenVINO", ["openvino"], ["openvino"]


def version():
    import openvino
    return openvino.__version__.split("-")[0]


class Session:
    def __init__(self, path, name, inputs, threads):
        import openvino
        from openvino import properties
        from openvino.properties import hint

        core = openvino.Core()
        model = core.read_model(path)
        model.reshape({key: list(a.shape) for key, a in inputs.items()})
        compiled = core.compile_model(model, "CPU", {
            hint.inference_precision: openvino.Type.f32,
            hint.performance_mode: hint.PerformanceMode.LATENCY,
            hint.execution_mode: hint.ExecutionMode.ACCURACY,
            properties.num_streams: 1,
            properties.inference_num_threads: threads,
            hint.enable_cpu_pinning: False})
        self.request = compiled.create_infer_request()
        for key, array in inputs.items():
            self.request.set_tensor(key, openvino.Tensor(array))
        self.outputs = compiled.outputs

    def run(self):
        self.time()
        return [self.request.get_tensor(o).data.copy() for o in self.outputs]

    def time(self):
        start = time.perf_counter()
        self.request.start_async()
        self.request.wait()
        return time.perf_counter() - start
