"""What a benchmark ran on."""
import datetime
import os
import platform
import re


def describe():
    """{cpu, cores, date, load}: load is that of other programs at the start."""
    cpu = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo") as file:
            cpu = re.search(r"model name\s*: (.*)", file.read())[1]
    except (OSError, TypeError):
        pass
    return {"cpu": cpu, "cores": len(os.sched_getaffinity(0)),
            "date": datetime.date.today().isoformat(),
            "load": round(os.getloadavg()[0], 2)}
