"""python -m penstock bench --against torch --cases …: Python datasets, beside torch's DataLoader with as many workers.

Each measurement is a process of its own, with a private daemon of its own. The loaders alternate, and their medians are
compared.
"""
import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from . import cases as table
from . import machine, usage

SIDES = ("torch", "penstock")


def run(arguments):
    try:
        names = table.chosen(arguments.cases)
    except ValueError as error:
        print(f"penstock: {error}", file=sys.stderr)
        return 2
    photographs = [name for name in names if table.CASES[name].needs_photographs]
    if photographs and not os.path.isdir(arguments.data or ""):
        if arguments.data or "all" not in arguments.cases:
            print(f"penstock: --data is {arguments.data!r}, which is not a folder; the cases {', '.join(photographs)} need "
                  "a folder of photographs, one sub-folder for each class", file=sys.stderr)
            return 2
        names = [name for name in names if name not in photographs]
    asked = {"data": arguments.data and os.path.abspath(arguments.data), "seconds": arguments.seconds,
             "workers": (arguments.workers or [2])[0], "quick": arguments.quick}
    report = {"machine": machine.describe(("torch", "numpy", "torchvision", "Pillow")), "workers": asked["workers"],
              "runs": arguments.runs, "cases": {}}
    _print_head(report)
    for name in names:
        report["cases"][name] = _case(name, arguments.runs, asked)
        _print(name, report["cases"][name])
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(report, file, indent=1)
    return 0


def _case(name, runs, asked):
    case, found = table.CASES[name], {side: [] for side in SIDES}
    for turn in range(runs):
        for side in SIDES if turn % 2 == 0 else SIDES[::-1]:
            found[side].append(_measure(name, case, side, asked))
    medians = {side: statistics.median(each["value"] for each in found[side]) for side in SIDES}
    result = {"what": case.what, "unit": case.unit, "limit": case.limit,
              "holds": bool(case.holds(medians["penstock"], medians["torch"])),
              "ratio": medians["penstock"] / medians["torch"] if medians["torch"] else None}
    for side in SIDES:
        result[side] = {"values": [each["value"] for each in found[side]], "median": medians[side]}
        if "cpu" in found[side][0]:
            result[side]["cpu_seconds"] = statistics.median(each["cpu"] for each in found[side])
    return result


def _measure(name, case, side, asked):
    if name == "sharing":  # beside one trainer alone, in the same minute
        with _Trainers(name, side, asked, 1) as one:
            alone = one.measure()[0]["value"]
        with _Trainers(name, side, asked, case.trainers) as four:
            return {"value": sum(each["value"] for each in four.measure()) / alone}
    with _Trainers(name, side, asked, case.trainers) as trainers:
        before = trainers.memory()
        measured = trainers.measure()
        if case.unit == "MiB":
            time.sleep(0.5)  # workers make what the window holds
            return {"value": trainers.memory() - before}
        return measured[0]


class _Trainers:
    """Trainers of one user, with a folder of their own for a private daemon."""

    def __init__(self, name, side, asked, count):
        self._asked = [sys.executable, "-m", "penstock.bench.trainer", name, side, json.dumps(asked)]
        self._count, self._trainers = count, []

    def __enter__(self):
        self._folder = tempfile.mkdtemp(prefix="penstock-bench-")
        known = {name: value for name, value in os.environ.items() if name != "PENSTOCK_ADDRESS"}
        for _ in range(self._count):
            self._trainers.append(subprocess.Popen(
                self._asked, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                env={**known, "XDG_RUNTIME_DIR": self._folder}))
        for trainer in self._trainers:
            self._line(trainer)
        return self

    def measure(self):
        for trainer in self._trainers:
            trainer.stdin.write("measure\n")
            trainer.stdin.flush()
        return [json.loads(self._line(trainer)) for trainer in self._trainers]

    def memory(self):
        return usage.memory_mib([trainer.pid for trainer in self._trainers], self._folder)

    @staticmethod
    def _line(trainer):
        line = trainer.stdout.readline()
        if not line:
            raise SystemExit(f"penstock: {' '.join(trainer.args[3:5])} failed with exit code {trainer.wait()}; see above")
        return line

    def __exit__(self, *_):
        for trainer in self._trainers:
            with contextlib.suppress(BrokenPipeError):
                trainer.stdin.close()
        for trainer in self._trainers:
            trainer.wait()
            trainer.stdout.close()
        daemon = usage.daemon_in(self._folder)
        if daemon is not None:
            os.kill(daemon, signal.SIGTERM)
            while usage.daemon_in(self._folder) is not None:
                time.sleep(0.01)
        _remove(self._folder)


def _remove(folder):
    import shutil
    shutil.rmtree(folder, ignore_errors=True)


def _print_head(report):
    print(f"{machine.in_words(report['machine'])}; {report['workers']} workers, {report['runs']} runs of each, medians")
    print(f"{'case':14} {'torch':>9} {'Penstock':>9} {'ratio':>6}  {'CPU':>5}  {'':14} {'limit':12}")


def _print(name, result):
    torch, penstock = result["torch"], result["penstock"]
    ratio = "" if result["ratio"] is None else f"{result['ratio']:.2f}"
    cpu = f"{penstock['cpu_seconds'] / torch['cpu_seconds']:.2f}" if torch.get("cpu_seconds") else ""
    holds = "holds" if result["holds"] else "does not hold"
    print(f"{name:14} {torch['median']:9.4g} {penstock['median']:9.4g} {ratio:>6}  {cpu:>5}  {result['unit']:14} "
          f"{result['limit']:12} {holds}; {result['what']}", flush=True)
