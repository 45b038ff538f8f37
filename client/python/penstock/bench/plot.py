"""A plot of the results."""
import sys


def draw(report, path):
    """Bars of images/s, with every run as a point. Without matplotlib, prints why there is no plot."""
    try:
        import matplotlib
        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:
        print(f"penstock: no plot: matplotlib is not installed ({path} was not written)", file=sys.stderr)
        return
    names = [f"DataLoader\n{report['dataloader_workers']} workers", "Penstock"]
    sides = [report["torch"], report["penstock"]]
    figure, axes = pyplot.subplots(figsize=(6, 4.2), layout="constrained")
    bars = axes.bar(names, [side["median"] for side in sides], width=0.55, color=["#9aa5b1", "#1f6feb"])
    axes.bar_label(bars, [f"{side['median']:,.0f}" for side in sides], label_type="center", color="white",
                   fontsize=13, fontweight="bold")
    for place, side in enumerate(sides):
        runs = side["images_per_second"]
        axes.plot([place] * len(runs), runs, "o", color="black", markersize=4, alpha=0.6)
    axes.set_ylabel("images/s")
    axes.set_ylim(0, max(max(side["images_per_second"]) for side in sides) * 1.15)
    axes.set_title(f"{report['ratio']:.2f} × as many images, {report['memory_ratio']:.2f} × the memory\n"
                   f"{report['transform']}; batches of {report['batch_size']}, {report['cores']} cores, "
                   f"{report['device']}", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150)
    print(f"wrote the plot to {path}", file=sys.stderr)


def draw_file(report_path, path):
    import json
    with open(report_path, encoding="utf-8") as file:
        draw(json.load(file), path)
