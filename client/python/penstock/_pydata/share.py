"""One rank's batches of one epoch, as the daemon plans them (server/plan/plan.h)."""
from typing import NamedTuple

from .._place import batches


class Step(NamedTuple):
    first: int     # position of the batch's first row
    rows: int
    consumed: int  # by all ranks together after this step


class Share(NamedTuple):
    """After all ranks together have consumed `consumed` of `samples`."""

    samples: int
    consumed: int
    batch_size: int
    rank: int
    world_size: int
    remainder: str  # "drop", "pad_ranks", "pad_batch" or "partial"

    def steps(self):
        """How many batches this rank takes."""
        return batches(self.samples - self.consumed, self.batch_size, self.rank, self.world_size, self.remainder)

    def at(self, step):
        """The batch of this step, which is less than steps()."""
        of_all = self.world_size * self.batch_size
        start = self.consumed + step * of_all
        width = self.batch_size
        if self.remainder == "pad_ranks":
            width = min(width, -(-(self.samples - start) // self.world_size))
        first = start + self.rank * width
        rows = width
        if self.remainder == "partial":
            rows = min(width, max(0, self.samples - first))
        return Step(first, rows, min(self.samples, start + of_all))
