"""usage: worker.py PEER

One runtime in a process of its own, so that libraries that do not get on with
each other can be measured in turns. Reads commands as lines of JSON from
standard input and answers each with a line:

  {"do": "load", "path": .., "name": .., "threads": n}  inputs from models.py
  {"do": "outputs", "file": F}                 writes F, an .npz: 0, 1, ...
  {"do": "time", "runs": n}     {"seconds": median of a run, "cpu": processor time
                                of a run}, after one untimed unless that is long
  {"do": "drop"}                               forgets the model

What fails is answered by {"error": text}.
"""
import importlib
import json
import os
import statistics
import sys
import time

import numpy as np

import models


def answer(session, command):
    """(session, what is answered)"""
    kind = command["do"]
    if kind == "load":
        return command["peer"].Session(
            command["path"], command["name"], models.inputs(command["name"]),
            command["threads"]), {}
    if kind == "drop":
        return None, {}
    if kind == "outputs":
        arrays = session.run()
        np.savez(command["file"], **{str(i): a for i, a in enumerate(arrays)})
        return session, {}
    first = time.process_time()
    if not command.get("cold"):
        session.time()
        first = time.process_time()
    runs = [session.time() for _ in range(command["runs"])]
    return session, {"seconds": statistics.median(runs), "cpu": (
        time.process_time() - first) / len(runs)}


def main():
    # Libraries may print: what they say goes to standard error.
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    peer, session = importlib.import_module(f"peers.{sys.argv[1]}"), None
    for line in sys.stdin:
        command = {**json.loads(line), "peer": peer}
        try:
            session, reply = answer(session, command)
        except Exception as error:  # whatever a library raises
            session = None
            text = f"{type(error).__name__}: {error}"
            reply = {"error": text[:2000]}
        print(json.dumps(reply), file=replies, flush=True)


if __name__ == "__main__":
    main()
