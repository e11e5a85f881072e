"""Ferrule: compiled for this processor with default settings, or for what
bench.py --precision says."""
import os
import subprocess
import sys

import models

sys.path.append(os.path.join(models.ROOT, "test"))

TITLE, PACKAGES, MODULES = "Ferrule", [], []
PRECISION = os.environ.get("BENCH_PRECISION", "f32")


def version():
    return subprocess.run([f"{models.BUILD}/bin/ferrule", "--version"],
                          capture_output=True, text=True).stdout.strip()


class Session:
    def __init__(self, path, name, inputs, threads, precision=PRECISION):
        import ferrule  # loads the library

        library = (f"{models.SCRATCH}/{models.label(name)}.{threads}"
                   f"{precision.replace('f32', '')}.so")
        ferrule.compile(path, library, precision=precision.encode())
        self.model = ferrule.open(library)
        self.model.set_threads(threads)
        self.names = models.output_names(path)
        results = self.model.run(inputs)
        self.results = [results[n] for n in self.names]
        self.prepared = self.model.prepare(inputs)
        self.model.run_prepared(self.prepared)

    def run(self):
        return self.results

    def time(self):
        return self.model.time_prepared(self.prepared)
