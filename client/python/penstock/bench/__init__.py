"""python -m penstock bench: compares Penstock with torch's DataLoader in one run.

Each measurement is a process of its own: it warms up, then counts images for some seconds. The two loaders alternate, and
their medians are compared. torch's DataLoader gets the best of several numbers of workers, found first. Penstock gets a
daemon of its own with a worker for each core.
"""
import json
import os
import statistics
import subprocess
import sys

from . import daemon as daemons
from . import plot as plotting
from .machine import cores


def run(arguments):
    if arguments.data is None:
        print("penstock: --data is missing; give a folder of photographs, or --cases", file=sys.stderr)
        return 2
    arguments.data = os.path.abspath(arguments.data)
    if not os.path.isdir(arguments.data):
        print(f"penstock: {arguments.data} is not a folder; give a folder of photographs, one sub-folder for each class", file=sys.stderr)
        return 2
    arguments.device, arguments.batch_size = arguments.device or "cpu", arguments.batch_size or 64
    workers, tried = _best_workers(arguments)
    runs = {"torch": [], "penstock": []}
    with daemons.running(arguments.data, cores()) as daemon:
        for turn in range(arguments.runs):
            runs["torch"].append(_measure("torch", arguments, workers=workers))
            runs["penstock"].append(_measure("penstock", arguments, **daemon))
            _progress(f"run {turn + 1} of {arguments.runs}")
    idle = _measure("idle", arguments)
    report = _report(arguments, workers, tried, runs, idle)
    _print(report)
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(report, file, indent=1)
    plotting.draw(report, arguments.plot)
    return 0


def _best_workers(arguments):
    """The number of workers with which the DataLoader was fastest, and the result of each."""
    count = cores()
    candidates = arguments.workers or sorted({max(1, count // 2), max(1, count - 1), count, count + count // 2})
    tried = {}
    for workers in candidates:
        tried[workers] = _measure("torch", arguments, workers=workers)["images_per_second"]
        _progress(f"DataLoader with {workers} workers: {tried[workers]:.0f} images/s")
    return max(tried, key=tried.get), tried


def _measure(side, arguments, **more):
    asked = {"data": arguments.data, "device": arguments.device, "batch_size": arguments.batch_size,
             "size": arguments.size, "seconds": arguments.seconds, **more}
    done = subprocess.run([sys.executable, "-m", "penstock.bench.side", side, json.dumps(asked)],
                          stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"penstock: measuring {side} failed with exit code {done.returncode}; see above")
    return json.loads(done.stdout.splitlines()[-1])


def _report(arguments, workers, tried, runs, idle):
    def side(name):
        each = [run["images_per_second"] for run in runs[name]]
        # Subtracts the memory of a program that only imports torch.
        memory = statistics.median(run["memory_bytes"] for run in runs[name]) - idle["memory_bytes"]
        return {"images_per_second": each, "median": statistics.median(each), "memory_bytes": memory}

    torch, penstock = side("torch"), side("penstock")
    return {
        "transform": f"RandomResizedCrop({arguments.size}), flip, normalize",
        "batch_size": arguments.batch_size,
        "device": arguments.device,
        "cores": cores(),
        "pipeline": runs["torch"][0]["pipeline"],
        "dataloader_workers": workers,
        "dataloader_workers_tried": tried,
        "torch": torch,
        "penstock": penstock,
        "ratio": penstock["median"] / torch["median"],
        "memory_ratio": penstock["memory_bytes"] / torch["memory_bytes"],
    }


def _print(report):
    print(f"images/s: {report['transform']}, float32 NCHW on {report['device']}, batches of {report['batch_size']}, "
          f"{report['cores']} cores")
    print(f"{'':30} {'each run':>24} {'median':>9} {'memory':>9}")
    names = {"torch": f"DataLoader, {report['dataloader_workers']} workers", "penstock": "Penstock"}
    for side, name in names.items():
        figures = report[side]
        each = " ".join(f"{value:.0f}" for value in figures["images_per_second"])
        print(f"{name:30} {each:>24} {figures['median']:9.0f} {figures['memory_bytes'] / 2**20:5.0f} MiB")
    print(f"{'ratio':30} {'':24} {report['ratio']:9.2f} {report['memory_ratio']:9.2f}")
    print(f"DataLoader: ImageFolder with {report['pipeline']}; memory beyond that of a program that imports torch")


def _progress(words):
    print(words, file=sys.stderr)
