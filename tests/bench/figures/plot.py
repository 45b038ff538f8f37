#!/usr/bin/python3
"""Draws how fast models train, by where their batches come from.

    tests/bench/figures/plot.py tests/bench/figures/*.json -o tests/bench/figures/training.png

Each file is what `python -m penstock bench --train … --json FILE` wrote. Needs matplotlib.
"""
import argparse
import json

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

COLOURS = {"synthetic": "#c9d1d9", "Penstock": "#1f6feb", "DataLoader": "#8b6f47"}
MODELS = {"resnet18": "ResNet-18", "resnet50": "ResNet-50"}


def title_of(report):
    gpus = report["machine"].get("gpu", "CPU").replace("NVIDIA ", "")
    count = "one" if report["ranks"] == 1 else f"{report['ranks']} ×"
    return f"{MODELS[report['model']]}\n{count} {gpus}, {report['machine']['cores']} cores"


def name_of(feed):
    return "DataLoader" if feed.startswith("DataLoader") else feed


def draw(reports, path):
    figure, axes = pyplot.subplots(figsize=(1.6 + 2.6 * len(reports), 3.6), layout="constrained")
    names = list(COLOURS)
    for group, report in enumerate(reports):
        for feed, found in report["feeds"].items():
            name = name_of(feed)
            place = group + (names.index(name) - 1) * 0.27
            bar = axes.bar(place, found["ratio"], width=0.25, color=COLOURS[name], label=None if group else name)
            axes.bar_label(bar, [f"{found['median']:,.0f}"], fontsize=9, padding=2)
    axes.set_xticks(range(len(reports)), [title_of(report) for report in reports])
    axes.set_ylabel("of the speed on synthetic batches")
    axes.set_ylim(0, 1.15)
    axes.set_title("images/s while training", fontsize=11)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=3, frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=110)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("reports", nargs="+", help="files of bench --train --json")
    parser.add_argument("-o", "--output", required=True, help="the picture")
    asked = parser.parse_args()
    reports = []
    for path in asked.reports:
        with open(path, encoding="utf-8") as file:
            reports.append(json.load(file))
    draw(reports, asked.output)


if __name__ == "__main__":
    main()
