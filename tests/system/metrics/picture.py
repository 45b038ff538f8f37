"""Plots the dashboard from a real Prometheus: picture.py SOURCE PROGRAMS FILE.png [SECONDS].

Not a test: it runs a real daemon through several events for some minutes. Needs python3-matplotlib."""
import os
import pathlib
import signal
import sys
import time

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plot  # noqa: E402
from PIL import Image  # noqa: E402

import node  # noqa: E402

COLUMNS = 3
LEFT_OUT = "_gpu_"  # the machine has no GPU
UNITS = {"percentunit": (100, " (%)"), "bytes": (1 / 2**20, " (MiB)"), "s": (1, " (s)")}


def happen(there, seconds):
    """Runs one trainer, then two on one feed, then a slow one that never waits for batches, then one with faults."""
    step = seconds / 4
    for count in (1, 2):
        trainers = [there.trainer("--batch", 16) for _ in range(count)]
        time.sleep(step)
        for trainer in trainers:
            there.end(trainer)
    slow = there.trainer("--batch", 16)
    end = time.monotonic() + step
    while time.monotonic() < end:  # a trainer that computes most of the time
        os.kill(slow.pid, signal.SIGSTOP)
        time.sleep(0.9)
        os.kill(slow.pid, signal.SIGCONT)
        time.sleep(0.1)
    there.end(slow)  # a feed whose files change fails
    node.spoil(there.photographs, 12)
    last = there.trainer("--batch", 16)
    time.sleep(step / 3)
    children = pathlib.Path(f"/proc/{there.daemon.pid}/task/").glob("*/children")
    worker = next(int(word) for file in children for word in file.read_text().split())
    os.kill(worker, signal.SIGKILL)
    time.sleep(step * 2 / 3)
    there.end(last)


def label(template, metric):
    for name, value in metric.items():
        template = template.replace("{{%s}}" % name, "node" if name == "instance" else value)
    return template.replace("{{dataset}}: {{reason}}", "none")


def draw(axes, panel, there, span):
    defaults = panel["fieldConfig"]["defaults"]
    factor, unit = UNITS.get(defaults["unit"], (1, ""))
    lines, labels = [], []
    for target in panel["targets"]:
        query = node.expression(target["expr"], "5s", f"127.0.0.1:{there.port}")
        for series in there.ask("query_range", query=query, start=span[0], end=span[1], step="1")["result"]:
            values = {float(at): float(value) * factor for at, value in series["values"]}
            lines.append([values.get(at) for at in range(int(span[0]), int(span[1]) + 1)])
            labels.append(label(target["legendFormat"], series["metric"]))
    if len(lines) > 4:  # drops states without sessions
        labels = [name for name, line in zip(labels, lines) if any(line)]
        lines = [line for line in lines if any(line)]
    times = range(len(lines[0])) if lines else []
    if defaults.get("custom", {}).get("stacking", {}).get("mode") == "normal":
        axes.stackplot(times, *[[v or 0 for v in line] for line in lines], labels=labels, alpha=0.8)
    else:
        for line, name in zip(lines, labels):
            axes.plot(times, [float("nan") if v is None else v for v in line], label=name, linewidth=1)
    axes.set_title(panel["title"] + unit, fontsize=8)
    axes.set_ylim(0, 1.3 * axes.get_ylim()[1])  # space for the legend
    axes.tick_params(labelsize=6)
    axes.grid(alpha=0.3)
    if any(labels):
        axes.legend(fontsize=5, loc="upper left")


def main():
    source, programs, file = sys.argv[1:4]
    seconds = float(sys.argv[4]) if len(sys.argv) > 4 else 240
    dashboard = pathlib.Path(source, "deploy/grafana/penstock.json")
    panels = [panel for panel in node.panels(dashboard)
              if panel["type"] == "timeseries" and LEFT_OUT not in panel["targets"][0]["expr"]]
    with node.Node(programs, photographs=400, config="workers: {count: 2}") as there:
        began = int(time.time())
        happen(there, seconds)
        span = (began, int(time.time()))
        rows = -(-len(panels) // COLUMNS)
        figure, grid = plot.subplots(rows, COLUMNS, figsize=(11, 1.9 * rows), layout="constrained")
        for axes in grid.flat:
            axes.axis("off")
        for axes, panel in zip(grid.flat, panels):
            axes.axis("on")
            draw(axes, panel, there, span)
        figure.savefig(file, dpi=90)
    Image.open(file).convert("RGB").quantize(64).save(file, optimize=True)
    print(f"{file}: {len(panels)} panels, {os.path.getsize(file) / 1024:.0f} KiB")


if __name__ == "__main__":
    main()
