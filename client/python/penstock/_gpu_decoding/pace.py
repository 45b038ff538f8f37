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
    """The steps of a loop, as they are noted. Pauses are left out. During a pause batches are decoded ahead, so the steps after it up
    to the first that waited are left out, too. Of blocks of the others the median counts, which a stall does not change."""

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
        counted = [step for run in self._runs() for step in run]
        whole = max(len(counted) // BLOCK * BLOCK, min(len(counted), BLOCK))
        return [counted[i:i + BLOCK] for i in range(0, whole, BLOCK)]

    def _runs(self):
        """The steps between pauses."""
        runs, longest = [[]], self.longest
        for work, wait in self._noted:
            if work > longest:
                runs.append([])
            else:
                runs[-1].append((work, wait))
        kept = [runs[0], *map(_after_its_first_wait, runs[1:])]
        return kept if any(kept) else runs


def _after_its_first_wait(run):
    first = next((i + 1 for i, (_, wait) in enumerate(run) if wait > 0), 0)
    return run[first:]


def _waited(block):
    return sum(wait for _, wait in block) / max(sum(work + wait for work, wait in block), 1e-9)
