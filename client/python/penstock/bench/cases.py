"""What is measured of Python datasets, and which limits hold."""
from typing import Callable, NamedTuple


class Case(NamedTuple):
    """`holds(penstock, torch)`: whether the medians keep `limit`."""

    what: str
    unit: str
    limit: str
    holds: Callable[[float, float], bool]
    trainers: int = 1
    needs_photographs: bool = False


CASES = {
    "tiny": Case("28 × 28 images of a tensor, converted by __getitem__, batches of 64", "samples/s",
                 "≥ 1 × torch", lambda ours, torch: ours >= torch),
    "photos": Case("photographs by Pillow: crop, flip, normalise, batches of 32", "samples/s",
                   "≥ 1 × torch", lambda ours, torch: ours >= torch, needs_photographs=True),
    "native": Case("the same ImageFolder, read by Penstock (native='require')", "samples/s",
                   "≥ 1 × torch", lambda ours, torch: ours >= torch, needs_photographs=True),
    "arrays": Case("NumPy arrays of 1 MB, batches of 16", "MB/s", "≥ 2 × torch", lambda ours, torch: ours >= 2 * torch),
    "handoff": Case("next() when a batch of 38.5 MB is ready that collate_fn made", "ms",
                    "≤ 0.5 ms", lambda ours, _: ours <= 0.5),
    "overhead_tiny": Case("over a bare loop of dataset[i], samples that are numbers, one worker, batches of 64",
                          "µs a sample", "≤ 15 µs", lambda ours, _: ours <= 15),
    "overhead_1ms": Case("the same, samples of 1 ms, batches of 16", "%", "≤ 5 %", lambda ours, _: ours <= 5),
    "start": Case("from making the loader to its first batch, with a new daemon", "ms",
                  "≤ torch", lambda ours, torch: ours <= torch),
    "start_again": Case("the same, while another loader of the process has the daemon running", "ms",
                        "≤ torch", lambda ours, torch: ours <= torch),
    "start_epoch": Case("to the first batch of the second epoch, persistent workers", "ms",
                        "≤ torch", lambda ours, torch: ours <= torch),
    "memory": Case("of all processes beyond the trainer's own, 200 MB of small arrays", "MiB",
                   "≤ torch", lambda ours, torch: ours <= torch),
    "memory_four": Case("the same of four trainers with that dataset", "MiB",
                        "≤ torch", lambda ours, torch: ours <= torch, trainers=4),
    "sharing": Case("four trainers of one dataset, samples of 1 ms: their sum", "× one trainer",
                    "≥ 3.9", lambda ours, _: ours >= 3.9, trainers=4),
}


def chosen(names):
    """The cases of a list such as "tiny,overhead". Raises ValueError in words."""
    found = []
    for name in names.split(","):
        some = [case for case in CASES if name in ("all", case) or case.startswith(name + "_")]
        if not some:
            raise ValueError(f"--cases: got {name!r}, expected all, or some of {', '.join(CASES)}")
        found += some
    return list(dict.fromkeys(found))
