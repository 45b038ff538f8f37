"""python -m penstock bench --train resnet18|resnet50: images/s of a training loop, by where its batches come from.

One process trains one model on synthetic batches that are already on the device, on Penstock's, and on those of torch's
DataLoader, in rounds of some seconds each that alternate; medians are compared. The DataLoader has the best of several
numbers of workers, found first. Under torchrun each rank trains on its own GPU by DistributedDataParallel, and rank 0
prints.
"""
import contextlib
import json
import os
import statistics
import sys

from .. import machine
from . import report as reports

WARM_UP_SECONDS = 2  # Penstock's daemon has all its workers by then
SETTLING_SECONDS = 30  # at most


def run(arguments):
    try:
        import torch
    except ImportError as error:
        return _refused(f"--train needs torch, which cannot be imported ({error}); install it")
    if not os.path.isdir(arguments.data or ""):
        return _refused(f"--data is {arguments.data!r}, which is not a folder; give a folder of photographs, one sub-folder for "
                        "each class")
    if arguments.gpu_share is not None and "gpu" not in arguments.decode:
        return _refused(f"--gpu-share is {arguments.gpu_share:g}, but --decode is {' '.join(arguments.decode)}; give --decode gpu, or "
                        "leave --gpu-share out")
    if arguments.compile and not hasattr(torch, "compile"):
        return _refused(f"--compile needs torch 2.0 or newer: got {torch.__version__}; leave it out")
    from .ranks import Ranks
    _complete(arguments, torch.cuda.is_available())
    ranks = Ranks(arguments.device)
    try:
        report = _measured(arguments, ranks)
    finally:
        ranks.end()
    if ranks.is_first:
        reports.show(report)
        if arguments.json:
            with open(arguments.json, "w", encoding="utf-8") as file:
                json.dump(report, file, indent=1)
    return 0


def _refused(why):
    print(f"penstock: {why}", file=sys.stderr)
    return 2


def _complete(arguments, has_gpu):
    """Sets what depends on the machine and on the data."""
    arguments.data = os.path.abspath(arguments.data)
    arguments.device = arguments.device or ("cuda" if has_gpu else "cpu")
    arguments.batch_size = arguments.batch_size or (4 if arguments.device == "cpu" else 256)
    arguments.classes = max(1000, sum(entry.is_dir() for entry in os.scandir(arguments.data)))  # 1000: ImageNet's


def _measured(arguments, ranks):
    from . import feeds, loop
    synthetic = feeds.synthetic(arguments, ranks.device)
    loaders = [feeds.loader_of(arguments, ranks.device, decode) for decode in arguments.decode]
    with contextlib.ExitStack() as open_loaders:
        for loader in loaders:
            open_loaders.enter_context(contextlib.closing(loader))
        model, source = loop.model_of(arguments.train, arguments.classes)
        rounds = _Rounds(loop.Loop(model, ranks, arguments.compile), ranks, arguments)
        rounds.once(synthetic)  # the GPU's algorithms are chosen, and the model is compiled
        others, tried = _dataloader(arguments, ranks, rounds)
        ours = [feeds.of_loader(loader, decode) for loader, decode in zip(loaders, arguments.decode)]
        found = rounds.alternating([synthetic, *ours, *others])
        stats = {feed.name: loader.stats() for feed, loader in zip(ours, loaders)}
    medians = {name: statistics.median(each) for name, each in found.items()}
    return {"model": arguments.train, "model_source": source, "machine": reports.machine_of(ranks), "ranks": ranks.count,
            "batch_size": arguments.batch_size, "size": arguments.size, "compiled": arguments.compile,
            "dataloader_workers_tried": tried, "stats": stats, "limit": reports.LIMITS[arguments.train],
            "feeds": {name: {"images_per_second": each, "median": medians[name], "ratio": medians[name] / medians["synthetic"]}
                      for name, each in found.items()}}


def _dataloader(arguments, ranks, rounds):
    """([torch's DataLoader with the number of workers that was fastest], the result of each number)"""
    from . import feeds
    count = max(1, machine.cores() // ranks.on_node)
    if arguments.workers == [0]:
        return [], {}
    candidates = arguments.workers or sorted({min(count, 16), max(1, count // 2)})
    try:
        loaders = {workers: feeds.dataloader(arguments, ranks.device, workers) for workers in candidates}
    except ImportError as error:
        rounds.say(f"torch's DataLoader is left out: it needs torchvision or Pillow ({error})")
        return [], {}
    tried = {}
    if len(loaders) > 1:
        tried = {workers: rounds.once(loader) for workers, loader in loaders.items()}
    return [loaders[max(tried, key=tried.__getitem__, default=candidates[0])]], tried


class _Rounds:
    def __init__(self, loop, ranks, arguments):
        self._loop, self._ranks, self._asked = loop, ranks, arguments

    def alternating(self, feeds):
        """{a feed's name: images/s of each round}"""
        found = {feed.name: [] for feed in feeds}
        for turn in range(self._asked.runs):
            for feed in feeds if turn % 2 == 0 else feeds[::-1]:
                found[feed.name].append(self.once(feed))
        return found

    def once(self, feed):
        """Images/s of all ranks together, as rank 0 measures it."""
        seconds = self._asked.seconds
        with contextlib.closing(feed.batches()) as batches:
            self._loop.train(batches, min(seconds, WARM_UP_SECONDS), at_least=1 + feed.ready)
            self._settle(feed, batches)
            steps_per_second = self._loop.train(batches, seconds)
        rate = self._ranks.decided(steps_per_second) * self._asked.batch_size * self._ranks.count
        self.say(f"{feed.name}: {rate:,.5g} images/s")
        return rate

    def _settle(self, feed, batches):
        for _ in range(SETTLING_SECONDS):
            if self._ranks.decided(feed.settled()):
                return
            self._loop.train(batches, 1)

    def say(self, words):
        if self._ranks.is_first:
            print(words, file=sys.stderr, flush=True)
