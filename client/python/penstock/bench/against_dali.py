"""python -m penstock bench --against dali: Penstock's and DALI's CPU pipelines, by CPU time and images/s.

Both read the same folder, draw random resized crops in the same way, flip, and give bytes as decoded (uint8, NHWC) or
normalised floats (float32, NCHW) in host memory. DALI has as many threads as Penstock has workers. Each measurement is a
process of its own; the two alternate, and their medians are compared.
"""
import json
import os
import statistics
import subprocess
import sys

from . import daemon as daemons
from . import machine

LIMIT = 0.32  # CPU time, of DALI's
SIDES = ("dali", "penstock")
OUTPUTS = ("uint8", "float32")


def run(arguments):
    try:
        from nvidia import dali
    except ImportError as error:
        print(f"penstock: --against dali needs nvidia.dali, which cannot be imported ({error}); install the wheel for your CUDA: "
              "pip install nvidia-dali-cuda120, or nvidia-dali-cuda130", file=sys.stderr)
        return 2
    if not os.path.isdir(arguments.data or ""):
        print(f"penstock: --data is {arguments.data!r}, which is not a folder; give a folder of photographs, one sub-folder for "
              "each class", file=sys.stderr)
        return 2
    asked = {"data": os.path.abspath(arguments.data), "size": arguments.size, "batch_size": arguments.batch_size or 64,
             "seconds": arguments.seconds, "workers": (arguments.workers or [machine.cores()])[0]}
    where = machine.describe(("penstock", "numpy"))
    where["libraries"]["DALI"] = dali.__version__
    report = {"machine": where, **asked, "runs": arguments.runs, "outputs": {}}
    _print_head(report)
    with daemons.running(asked["data"], asked["workers"]) as daemon:
        for output in OUTPUTS:
            report["outputs"][output] = _compared(arguments.runs, {**asked, **daemon, "dtype": output})
            _print(output, report["outputs"][output])
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(report, file, indent=1)
    return 0


def _compared(runs, asked):
    found = {side: [] for side in SIDES}
    for turn in range(runs):
        for side in SIDES if turn % 2 == 0 else SIDES[::-1]:
            found[side].append(_measure(side, asked))
    medians = {side: {what: statistics.median(each[what] for each in found[side]) for what in found[side][0]} for side in SIDES}
    return {"runs": found, "medians": medians,
            "ratios": {what: medians["penstock"][what] / value for what, value in medians["dali"].items()}}


def _measure(side, asked):
    done = subprocess.run([sys.executable, "-m", "penstock.bench.dali_side", side, json.dumps(asked)],
                          stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"penstock: measuring {side} failed with exit code {done.returncode}; see above")
    return json.loads(done.stdout.splitlines()[-1])


def _print_head(report):
    print(machine.in_words(report["machine"]))
    print(f"RandomResizedCrop({report['size']}), flip, batches of {report['batch_size']}, {report['workers']} DALI threads or "
          f"Penstock workers, medians of {report['runs']} runs")
    print(f"{'':30} {'ms of CPU time an image':>30} {'median':>8} {'images/s':>9}")


def _print(output, result):
    for side, name in (("dali", "DALI"), ("penstock", "Penstock")):
        each = " ".join(f"{run['cpu_ms_per_image']:.3f}" for run in result["runs"][side])
        medians = result["medians"][side]
        print(f"{f'{name}, {output}':30} {each:>30} {medians['cpu_ms_per_image']:8.3f} {medians['images_per_second']:9.0f}")
    ratios = result["ratios"]
    holds = "holds" if ratios["cpu_ms_per_image"] <= LIMIT else "does not hold"
    print(f"{'ratio':30} {'':30} {ratios['cpu_ms_per_image']:8.3f} {ratios['images_per_second']:9.2f}  "
          f"limit of CPU time: ≤ {LIMIT} {holds}", flush=True)
