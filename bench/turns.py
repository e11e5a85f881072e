"""Runtimes that are measured in turns, each in its own process."""
import ctypes
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np

import models


class Failed(Exception):
    """What a runtime could not do with a model."""


class Worker:
    """A process of worker.py; `log` gets what its libraries print."""

    def __init__(self, peer, threads, limit):
        self.peer, self.threads, self.limit = peer, threads, limit
        self.log = tempfile.TemporaryFile()
        self.process = None

    def _start(self):
        self.process = subprocess.Popen(
            [sys.executable, f"{models.HERE}/worker.py", self.peer],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log,
            text=True, cwd=models.HERE)

    def ask(self, **command):
        if not self.process or self.process.poll() is not None:
            self._start()
        print(json.dumps(command), file=self.process.stdin, flush=True)
        timer = _Timer(self.process, self.limit)
        line = self.process.stdout.readline()
        if timer.stop():
            raise Failed(f"took more than {self.limit} s")
        if not line:
            self.process.wait()
            raise Failed(f"died ({self.process.returncode}): {self._last()}")
        reply = json.loads(line)
        if "error" in reply:
            raise Failed(reply["error"])
        return reply

    def _last(self):
        self.log.seek(0)
        lines = self.log.read().decode(errors="replace").split("\n")
        return next((x for x in reversed(lines) if x.strip()), "no message")

    def load(self, name):
        self.ask(do="load", path=models.find(name)[0], name=name,
                 threads=self.threads)

    def outputs(self):
        with tempfile.NamedTemporaryFile(suffix=".npz") as file:
            self.ask(do="outputs", file=file.name)
            with np.load(file.name) as arrays:
                return [arrays[str(i)] for i in range(len(arrays.files))]

    def time(self, runs, cold=False):
        """(seconds, processor seconds) of a run"""
        reply = self.ask(do="time", runs=runs, cold=cold)
        return reply["seconds"], reply["cpu"]

    def drop(self):
        if self.process and self.process.poll() is None:
            self.ask(do="drop")

    def close(self):
        if self.process:
            self.process.stdin.close()
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


class _Timer:
    """Ends a process that does not answer."""

    def __init__(self, process, limit):
        import threading
        self.late = False

        def end():
            self.late = True
            process.kill()
        self.timer = threading.Timer(limit, end)
        self.timer.start()

    def stop(self):
        self.timer.cancel()
        return self.late


class Loop:
    """Multiply-adds on several threads at once: what the cores give."""

    def __init__(self, threads):
        library = ctypes.CDLL(os.path.join(models.BUILD, "bench", "peak.so"))
        library.peak_seconds.restype = ctypes.c_double
        self.library, self.threads = library, threads

    def time(self, runs, cold=False):
        seconds = min(self.library.peak_seconds(self.threads)
                      for _ in range(runs))
        return seconds, seconds * self.threads


SLOW = 1.0  # seconds of a run that is measured in few rounds, not in all
FEW = 2


def interleave(runners, seconds, turn=0.02, rounds=7):
    """([runner]: array [round][seconds, processor seconds], {runner: why not}).

    A turn is about `turn` seconds or one run; every second round goes
    backwards, so that nobody always follows the same one. The pause lets the
    threads of the one before fall asleep. The first rounds have all runners,
    the others those whose run takes less than a second or that are among the
    first two (Ferrule, ONNX Runtime).
    """
    once, failed = [], {}
    for i, runner in enumerate(runners):
        try:
            first = runner.time(1, cold=True)[0]
            once.append(first if first > 0.1 else runner.time(2)[0])
        except Failed as failure:
            once.append(0)
            failed[i] = str(failure)
    counts = [max(1, min(1000, int(turn / max(t, 1e-7)))) for t in once]
    times = [[] for _ in runners]
    end = time.perf_counter() + seconds
    done = 0
    while time.perf_counter() < end or done < rounds:
        order = list(range(len(runners)))
        if done % 2:
            order.reverse()
        for i in order:
            if i in failed:
                continue
            if done < FEW or once[i] < SLOW or i < 2:
                time.sleep(0.002)
                times[i].append(runners[i].time(counts[i], once[i] > 0.1))
        done += 1
    return [np.array(t) for t in times], failed
