"""python -m penstock bench|doctor|info"""
import argparse
import os
import shutil
import subprocess
import sys

from . import __version__


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
    from .bench import run
    return run(arguments)


def _parser():
    parser = argparse.ArgumentParser(prog="python -m penstock", description=__doc__)
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("doctor", help=doctor.__doc__).set_defaults(run=doctor)
    commands.add_parser("info", help=info.__doc__).set_defaults(run=info)
    against = commands.add_parser(
        "bench", help="compare images/s with another loader, on the same photographs, transform and cores")
    against.add_argument("--against", choices=["torch"], default="torch")
    against.add_argument("--data", required=True, help="folder of photographs, one sub-folder for each class")
    against.add_argument("--device", default="cpu", help="where batches go: cpu or cuda (default: cpu)")
    against.add_argument("--batch-size", type=int, default=64, help="rows in a batch (default: 64)")
    against.add_argument("--size", type=int, default=224, help="height and width of the crops in pixels (default: 224)")
    against.add_argument("--seconds", type=float, default=8, help="seconds for each run (default: 8)")
    against.add_argument("--runs", type=int, default=3, help="runs of each loader, alternating (default: 3)")
    against.add_argument("--workers", type=int, nargs="+",
                         help="numbers of DataLoader workers to try (default: a few near the number of cores)")
    against.add_argument("--json", metavar="FILE", help="write the figures to FILE")
    against.add_argument("--plot", metavar="FILE", default="penstock-bench.png",
                         help="write a plot of images/s to FILE (default: penstock-bench.png; needs matplotlib)")
    against.set_defaults(run=bench)
    return parser


def main():
    arguments = _parser().parse_args()
    sys.exit(arguments.run(arguments))


if __name__ == "__main__":
    main()
