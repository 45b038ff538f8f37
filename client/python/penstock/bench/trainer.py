"""A trainer of one case: python -m penstock.bench.trainer CASE torch|penstock JSON.

Prints a line when it is ready, measures when it reads a line, prints what it measured, and ends with its standard input.
"""
import json
import os
import statistics
import sys
import time

import numpy
import torch

from .side import MEAN, STD, _end_workers
from .usage import cpu_seconds


class Tiny(torch.utils.data.Dataset):
    def __init__(self, count):
        self.images = torch.randint(0, 255, (count, 28, 28), dtype=torch.uint8)
        self.labels = torch.randint(0, 10, (count,)).tolist()

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        return self.images[index].unsqueeze(0).float().div(255), self.labels[index]


class Arrays(torch.utils.data.Dataset):
    def __init__(self, count):
        self.count, self.base = count, numpy.full((512, 512), 0.5, "float32")

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return self.base + numpy.float32(index)


class Numbers(torch.utils.data.Dataset):
    """Numbers, each of which takes some seconds of computing."""

    def __init__(self, count, seconds=0.0):
        self.count, self.seconds = count, seconds

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        if self.seconds:
            end = time.perf_counter() + self.seconds
            while time.perf_counter() < end:
                pass
        return index


class ManyArrays(torch.utils.data.Dataset):
    """Reference counts of objects are written when they are read, so a worker copies the pages of those that it read."""

    def __init__(self, count):
        self.rows = [numpy.full(1000, row, "float32") for row in range(count)]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return self.rows[index]


def large(samples):
    return torch.full((64, 3, 224, 224), float(samples[0]))


class Trainer:
    """`asked`: data, workers, seconds, quick."""

    def __init__(self, side, asked):
        self._side, self._asked = side, asked
        self._quick = asked["quick"]

    def loader(self, dataset, batch_size, workers=None, native="never", **more):
        workers = workers or self._asked["workers"]
        if self._side == "torch":
            from torch.utils.data import DataLoader
        else:
            from ..torch import DataLoader
            more["native"] = native
        return DataLoader(dataset, batch_size, num_workers=workers, persistent_workers=True, **more)

    def _few(self, count):
        return max(64, count // 20) if self._quick else count

    # Samples in a second.

    def _rate(self, loader, amount):
        def measure():
            epochs, begin, cpu = 0, time.perf_counter(), cpu_seconds()
            while epochs == 0 or time.perf_counter() - begin < self._asked["seconds"]:
                epochs += bool(_epoch(loader))
            done = epochs * amount
            return {"value": done / (time.perf_counter() - begin), "cpu": (cpu_seconds() - cpu) / done}
        _epoch(loader)
        return measure

    def tiny(self):
        count = self._few(10_000)
        return self._rate(self.loader(Tiny(count), 64, shuffle=True), count)

    def arrays(self):
        count = self._few(640)
        return self._rate(self.loader(Arrays(count), 16), count * 1.048576)

    def photos(self, native="never"):
        from . import folder
        dataset, _ = folder.dataset(self._asked["data"], 224, MEAN, STD)
        return self._rate(self.loader(dataset, 32, shuffle=True, native=native), len(dataset))

    def native(self):
        return self.photos("require")

    def sharing(self):
        count = self._few(1600)
        return self._rate(self.loader(Numbers(count, 0.001), 16), count)

    # Others.

    def handoff(self):
        count = 4 if self._quick else 14
        loader = self.loader(Numbers(16 * count), 16, collate_fn=large)
        _epoch(loader)

        def measure():
            batches, times = iter(loader), []
            for _ in range(count - 2):
                time.sleep(0.05 if self._quick else 0.25)  # the next batch is made by then
                begin = time.perf_counter()
                batch = next(batches)
                times.append((time.perf_counter() - begin) * 1e3)
                del batch
            return {"value": statistics.median(times)}
        return measure

    def overhead_tiny(self):
        measure = self._overhead(Numbers(self._few(51_200)), 64)
        return lambda: {"value": 1e6 * (lambda bare, whole: whole - bare)(*measure())}

    def overhead_1ms(self):
        measure = self._overhead(Numbers(self._few(800), 0.001), 16)
        return lambda: {"value": 100 * (lambda bare, whole: whole / bare - 1)(*measure())}

    def _overhead(self, dataset, batch_size):
        """Seconds a sample of a bare loop and of the loader: the fastest of each."""
        loader = self.loader(dataset, batch_size, 1, collate_fn=list)
        _epoch(loader)

        def measure():
            bare, whole, begin = [], [], time.perf_counter()
            while not whole or time.perf_counter() - begin < self._asked["seconds"]:
                start = time.perf_counter()
                for index in range(len(dataset)):
                    dataset[index]
                bare.append(time.perf_counter() - start)
                whole.append(_epoch(loader))
            return min(bare) / len(dataset), min(whole) / len(dataset)
        return measure

    def start(self):
        dataset = Tiny(self._few(10_000))
        if self._side == "penstock":
            from .. import torch as _  # noqa: F401  (as torch is, imported before)

        def measure():
            begin = time.perf_counter()
            self._kept = iter(self.loader(dataset, 64, shuffle=True))
            next(self._kept)
            return {"value": (time.perf_counter() - begin) * 1e3}
        return measure

    def start_again(self):
        measure = self.start()
        self._first = iter(self.loader(Numbers(640), 64))
        next(self._first)
        return measure

    def start_epoch(self):
        loader = self.loader(Tiny(self._few(10_000)), 64, shuffle=True)
        _epoch(loader)

        def measure():
            begin = time.perf_counter()
            self._kept = iter(loader)
            next(self._kept)
            return {"value": (time.perf_counter() - begin) * 1e3}
        return measure

    def memory(self):
        dataset = ManyArrays(self._few(50_000))

        def measure():
            self._kept = iter(self.loader(dataset, 64, shuffle=True))
            for _ in range(min(30, len(dataset) // 64)):
                self._batch = next(self._kept)
            return {}  # the parent looks
        return measure

    memory_four = memory


def _epoch(loader):
    begin = time.perf_counter()
    for _ in loader:
        pass
    return time.perf_counter() - begin


def main():
    case, side, asked = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # nothing else is printed there
    measure = getattr(Trainer(side, asked), case)()
    print("ready", file=out, flush=True)
    sys.stdin.readline()
    print(json.dumps(measure()), file=out, flush=True)
    sys.stdin.readline()
    _end_workers()
    os._exit(0)


if __name__ == "__main__":
    main()
