"""How fast a training loop goes, seen in its steps: it works on a batch, then waits for the next one."""
import statistics
from typing import NamedTuple

BLOCK = 16  # steps whose mean counts, because a loop runs ahead of its GPU, and workers of the loop, by a few steps
_PAUSE, _PAUSE_SECONDS = 4, 0.5  # work is a pause if it takes so many times as long as other steps, and longer than that
_FED = 0.02  # share of the time that a loop may wait for batches and still counts as fed


class Pace(NamedTuple):
    """`step`: seconds from batch to batch. `is_fed`: the loop hardly waits for batches. `work`: seconds in which it would train a batch
    if it never waited; the same as `step` if it is fed."""
    step: float
    is_fed: bool
    work: float


class Steps:
    """The steps of a loop, as they are noted. Of blocks of them the median counts, which a pause or a stall does not change."""

    def __init__(self):
        self._noted = []  # (work, wait)
        self.seconds = 0.0

    def note(self, work, wait):
        """Seconds of the work on a batch, and of the wait for the next one, which is 0 if that is ready."""
        self._noted.append((work, wait))
        self.seconds += work + wait

    def __len__(self):
        return len(self._noted)

    def drop_begun_block(self):
        """What follows does not follow at once."""
        whole = len(self._noted) - len(self._noted) % BLOCK
        self.seconds -= sum(work + wait for work, wait in self._noted[whole:])
        del self._noted[whole:]

    @property
    def longest(self):
        """Seconds. Work that takes longer is a pause, such as a validation."""
        return max(_PAUSE * statistics.median(work + wait for work, wait in self._noted), _PAUSE_SECONDS)

    @property
    def has_paused(self):
        longest = self.longest
        return any(work > longest for work, _ in self._noted)

    @property
    def step(self):
        return max(statistics.median(sum(work + wait for work, wait in block) / len(block) for block in self._blocks()), 1e-9)

    @property
    def work(self):
        """The mean, because batches that are ready make up for uneven steps."""
        longest = self.longest
        return max(statistics.fmean(work for work, _ in self._noted if work <= longest), 1e-9)

    @property
    def is_fed(self):
        return statistics.median(_waited(block) for block in self._blocks()) <= _FED

    def _blocks(self):
        """Whole ones, if there are any."""
        whole = max(len(self._noted) // BLOCK * BLOCK, min(len(self._noted), BLOCK))
        return [self._noted[i:i + BLOCK] for i in range(0, whole, BLOCK)]


def _waited(block):
    return sum(wait for _, wait in block) / max(sum(work + wait for work, wait in block), 1e-9)
