"""What these benchmarks share: a daemon that serves many photographs, loaders that decode them on the GPU, a training loop."""
import argparse
import contextlib
import os
import pathlib
import shutil
import tempfile
import time

import penstock  # before CUDA is used: it asks for more connections
import penstock.torch
import torch
from PIL import Image

from penstock.bench import daemon, machine
from penstock.bench.side import MEAN, STD
from penstock.bench.train import loop, ranks

SIDE = 224
# As PIL names the samplings that the engines take: factors of the first component.
SAMPLINGS = {(1, 1), (2, 1), (2, 2)}
MOST_BYTES = 384 << 10  # of a file that a loader takes as it is, unless asked for more


def parser(what, images=12000):
    made = argparse.ArgumentParser(description=what)
    made.add_argument("--data", required=True, help="a folder of photographs, one sub-folder for each class")
    made.add_argument("--images", type=int, default=images, help="as many copies of them are served")
    made.add_argument("--workers", type=int, default=max(1, machine.cores() - 1), help="of the daemon")
    made.add_argument("--batch-size", type=int, default=256)
    made.add_argument("--seconds", type=float, default=6.0, help="that each measurement takes")
    return made


@contextlib.contextmanager
def served(asked, engines_alone=False):
    """Yields the daemon's address and process, which serves copies of the photographs as "photographs".

    `engines_alone`: only files that the engines decode, so that none goes the workers' way.
    """
    with tempfile.TemporaryDirectory(prefix="penstock-engines-") as folder:
        _copy(asked.data, folder, asked.images, engines_alone)
        with daemon.running(folder, asked.workers) as running:
            yield running


def photographs(data, engines_alone):
    files = sorted(path for path in pathlib.Path(data).rglob("*") if path.suffix.lower() in (".jpeg", ".jpg"))
    if engines_alone:
        files = [path for path in files if _is_for_engines(path)]
    if not files:
        raise SystemExit(f"no photographs in {data}")
    return files


def size_of(path):
    """(width, height)"""
    with Image.open(path) as image:
        return image.size


def _copy(data, folder, count, engines_alone):
    files = photographs(data, engines_alone)
    for number in range(count):
        source = files[number % len(files)]
        target = pathlib.Path(folder, source.parent.name)
        target.mkdir(exist_ok=True)
        shutil.copyfile(source, target / f"{number:06}{source.suffix}")


def _is_for_engines(path):
    if path.stat().st_size > MOST_BYTES:
        return False
    with Image.open(path) as image:
        if image.mode != "RGB" or image.info.get("progressive"):
            return False
        return tuple(image.layer[0][1:3]) in SAMPLINGS


def loader(served, asked, dtype="bfloat16", **more):
    """Random crops: normalised and channels_last, or as they are if `dtype` is "uint8"."""
    crop = [penstock.RandomResizedCrop(SIDE), penstock.HorizontalFlip()]
    if dtype != "uint8":
        crop.append(penstock.Normalize(MEAN, STD))
        more["memory_format"] = torch.channels_last
    return penstock.torch.DataLoader("photographs", asked.batch_size, shuffle=True, drop_last=True, device="cuda",
                                     address=served["address"], dtype=dtype, transform=crop, **more)


def forever(loader):
    while True:
        yield from loader


class Training:
    """A loop that trains `name` on one batch that is on the GPU already, on a stream of `priority`."""

    def __init__(self, name, batch_size=256, priority=0):
        self._batch_size, self._stream = batch_size, torch.cuda.Stream(priority=priority) if priority else None
        model, _ = loop.model_of(name, 1000)
        self._loop = loop.Loop(model, ranks.Ranks("cuda"), False)
        images = torch.randn(batch_size, 3, SIDE, SIDE, device="cuda").to(torch.bfloat16, memory_format=torch.channels_last)
        self._batch = images, torch.randint(1000, (batch_size,), device="cuda")

    def rate(self, seconds):
        """images/s over `seconds`."""
        with torch.cuda.stream(self._stream):
            return self._loop.train(iter(lambda: self._batch, None), seconds) * self._batch_size


def taken_in(batches, seconds):
    """Takes batches for `seconds`. Returns how many, and the seconds it took."""
    count, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < seconds:
        next(batches)
        count += 1
    torch.cuda.synchronize()
    return count, time.perf_counter() - begin


def machine_line():
    cores = len(os.sched_getaffinity(0))
    return f"{torch.cuda.get_device_name()}, {cores} cores, torch {torch.__version__}, penstock {penstock.__version__}"
