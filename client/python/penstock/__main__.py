"""python -m penstock bench|doctor|info|show"""
import argparse
import os
import shutil
import subprocess
import sys

from . import __version__
from .errors import Error, InvalidArgument


def _program(name):
    """Path of a program of Penstock: beside the package, beside $PENSTOCK_DAEMON, or in $PATH; else None."""
    here = os.path.dirname(os.path.abspath(__file__))
    folders = [os.path.join(here, "bin"), os.path.join(here, "..", "..", "bin"),
               os.path.dirname(os.environ.get("PENSTOCK_DAEMON", ""))]
    for folder in filter(None, folders):
        path = os.path.join(folder, name)
        if os.access(path, os.X_OK):
            return path
    return shutil.which(name)


def doctor(_):
    """Reports what would keep this machine from serving, and the remedies (penstockctl check)."""
    path = _program("penstockctl")
    if path is None:
        print("penstock: penstockctl was not found beside this package or in $PATH; install Penstock's programs",
              file=sys.stderr)
        return 2
    return subprocess.run([path, "check"]).returncode


def info(_):
    """Prints versions, the daemon that would be used, and frameworks with their devices."""
    from . import _penstock as native
    from .errors import Error
    lines = [("penstock", __version__), ("package", os.path.dirname(os.path.abspath(__file__))),
             ("python", sys.version.split()[0])]
    try:
        client = native.Client.connect(name="python -m penstock info")
        lines.append(("daemon", client.address + (" (private)" if client.is_private else "")))
    except Error as error:
        program = _program("penstockd")
        private = f"none answers; loaders would start a private one ({program})" if program else str(error)
        lines.append(("daemon", str(error) if "PENSTOCK_ADDRESS" in os.environ else private))
    lines += [(name, _framework(name)) for name in ("numpy", "torch", "torchvision", "jax", "cupy")]
    for name, value in lines:
        print(f"{name:12} {value}")
    return 0


def _framework(name):
    try:
        module = __import__(name)
    except ImportError:
        return "not installed"
    version = getattr(module, "__version__", "unknown version")
    if name != "torch":
        return version
    if not module.cuda.is_available():
        return f"{version}, no GPU"
    names = [module.cuda.get_device_name(index) for index in range(module.cuda.device_count())]
    return f"{version}, " + ", ".join(f"cuda:{index} {device}" for index, device in enumerate(names))


def bench(arguments):
    if arguments.against == "dali" and (arguments.cases or arguments.train):
        print("penstock: --against dali compares the decoding of photographs; leave --cases and --train out", file=sys.stderr)
        return 2
    if arguments.train:
        from .bench.train import run
    elif arguments.cases:
        from .bench.python_datasets import run
    elif arguments.against == "dali":
        from .bench.against_dali import run
    else:
        from .bench import run
    return run(arguments)


def show(arguments):
    """Draws what a loader delivers, to look at an augmentation before training with it."""
    from .show import run
    return run(arguments)


def _parser():
    parser = argparse.ArgumentParser(prog="python -m penstock", description=__doc__)
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("doctor", help=doctor.__doc__).set_defaults(run=doctor)
    commands.add_parser("info", help=info.__doc__).set_defaults(run=info)
    _add_bench(commands)
    look = commands.add_parser("show", help=show.__doc__)
    look.add_argument("dataset", help="a dataset's name or path")
    look.add_argument("--transform", default="RandomResizedCrop(224), HorizontalFlip()",
                      help="the steps, as in a program (default: %(default)s)")
    look.add_argument("--fields", metavar="FIELDS", help="masks, boxes and points to draw over the images, as in a program (default: those "
                      "that the dataset knows): \"Boxes('boxes', max=50), WithBoxes('labels', max=50), Mask('mask')\"")
    look.add_argument("--every", action="store_true", help="one photograph through every transform, instead")
    look.add_argument("--sample", type=int, help="draw this sample anew in each cell, instead of a shuffled batch")
    look.add_argument("--rows", type=int, default=4, help="rows of images (default: 4)")
    look.add_argument("--columns", type=int, default=8, help="columns of images (default: 8)")
    look.add_argument("--seed", type=int, default=0, help="of order and draws (default: 0)")
    look.add_argument("--address", default="", help="the daemon's socket (default: as loaders find it)")
    look.add_argument("--output", "-o", metavar="FILE", default="penstock-show.png", help="the picture (default: %(default)s)")
    look.set_defaults(run=show)
    return parser


def _add_bench(commands):
    against = commands.add_parser(
        "bench", help="compare images/s with another loader, on the same photographs, transform and cores")
    against.add_argument("--against", choices=["torch", "dali"], default="torch",
                         help="the other loader: torch's DataLoader (default), or NVIDIA DALI's CPU pipeline, also in CPU time")
    against.add_argument("--data", help="folder of photographs, one sub-folder for each class")
    instead = against.add_mutually_exclusive_group()
    instead.add_argument("--train", choices=["resnet18", "resnet50"],
                         help="train this model instead, and compare with batches that are already on the GPU; under torchrun "
                         "on several GPUs")
    instead.add_argument("--cases", metavar="NAME,…", help="compare Python datasets instead: all, or some of tiny, photos, "
                         "native, arrays, handoff, overhead, start, memory, sharing; only photos and native need --data")
    against.add_argument("--compile", action="store_true", help="with --train: compile the model by torch.compile")
    against.add_argument("--decode", choices=["cpu", "gpu", "auto"], nargs="+", default=["cpu"],
                         help="with --train: where Penstock decodes (default: cpu); several are compared")
    against.add_argument("--gpu-share", type=float, metavar="SHARE", help="with --decode gpu: of the samples, those that the GPU decodes")
    against.add_argument("--quick", action="store_true", help="with --cases: few samples, to see that the cases run")
    against.add_argument("--device", help="where batches go: cpu or cuda (default: cpu; with --train cuda if there is a GPU)")
    against.add_argument("--batch-size", type=int,
                         help="rows in a batch (default: 64; with --train 256 for each GPU, 4 without one)")
    against.add_argument("--size", type=int, default=224, help="height and width of the crops in pixels (default: 224)")
    against.add_argument("--seconds", type=float, default=8, help="seconds for each run (default: 8)")
    against.add_argument("--runs", type=int, default=3, help="runs of each loader, alternating (default: 3)")
    against.add_argument("--workers", type=int, nargs="+",
                         help="numbers of DataLoader workers to try (default: a few near the number of cores); with --train 0 leaves it out; with --cases "
                         "the number of both (default: 2); with --against dali the number of Penstock's workers and of DALI's "
                         "threads (default: the number of cores)")
    against.add_argument("--json", metavar="FILE", help="write the figures to FILE")
    against.add_argument("--plot", metavar="FILE", default="penstock-bench.png",
                         help="write a plot of images/s to FILE, without --train, --cases and DALI (default: penstock-bench.png; "
                         "needs matplotlib)")
    against.set_defaults(run=bench)


def main():
    arguments = _parser().parse_args()
    try:
        sys.exit(arguments.run(arguments))
    except Error as error:
        print(f"penstock: {error}", file=sys.stderr)
        sys.exit(2 if isinstance(error, InvalidArgument) else 1)


if __name__ == "__main__":
    main()
