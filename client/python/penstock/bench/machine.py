"""The machine and the libraries that figures were measured with."""
import contextlib
import os
import platform
from importlib import metadata


def cores():
    return len(os.sched_getaffinity(0))


def describe(libraries):
    """Processor, cores, load, and the versions of Python and of those `libraries` that are installed."""
    return {"processor": _processor(), "cores": cores(), "load": os.getloadavg()[0],
            "python": platform.python_version(), "libraries": _versions(libraries)}


def in_words(machine):
    libraries = ", ".join(f"{name} {version}" for name, version in machine["libraries"].items())
    return (f"{machine['processor']}, {machine['cores']} cores, load {machine['load']:.1f}; Python {machine['python']}, "
            f"{libraries}")


def _versions(libraries):
    found = {}
    for name in libraries:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def _processor():
    with contextlib.suppress(OSError, StopIteration), open("/proc/cpuinfo", encoding="utf-8") as file:
        return next(line.partition(":")[2].strip() for line in file if line.startswith("model name"))
    return platform.machine()
