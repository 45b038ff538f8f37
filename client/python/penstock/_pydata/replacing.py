"""Other samples in place of those that raise (on_error="replace"), in a worker or in the trainer: the same in both."""
from typing import Any, NamedTuple, Tuple

from ..errors import DataLoss
from .order import substitute_for

# How many samples may raise: as the daemon's limits.max_quarantined.
_SHARE, _LEAST = 0.001, 10
_MAX_ATTEMPTS = 10_000


class Replaced(NamedTuple):
    """A batch, and those of its samples that others replace, each with the reason."""

    batch: Any
    bad: Tuple[Tuple[int, str], ...]


def most_bad(samples):
    return min(max(_LEAST, int(_SHARE * samples)), samples - 1)


class Replacing:
    """Chooses substitutes in an epoch's order, as server/plan/README.md specifies."""

    def __init__(self, seed):
        self._seed = seed
        self._known = {}  # samples that have raised here, with the reason
        self.bad = {}     # of them those in this batch

    def begin(self, epoch, samples, order):
        """`order`: the order that the program drew; None: Penstock's own, of all `samples`. Call it before each batch."""
        self._epoch, self._samples, self._order, self.bad = epoch, samples, order, {}

    def first(self, sample):
        """The sample itself, or its substitute if it is known to raise."""
        return self._other(sample) if sample in self._known else sample

    def __call__(self, sample, error):
        """A substitute for a sample that has just raised."""
        self._known[sample] = f"{type(error).__name__}: {error}"
        if len(self._known) > 10 * most_bad(self._samples) + _LEAST:
            raise DataLoss(f"too many bad samples: {len(self._known)} of {self._samples} raised an "
                           "exception") from error
        return self._other(sample)

    def _other(self, sample):
        found = sample
        for attempt in range(1, _MAX_ATTEMPTS):
            self.bad[found] = self._known[found]
            place = substitute_for(self._samples, self._seed, self._epoch, sample, attempt)
            found = place if self._order is None else self._order[place]
            if found not in self._known:
                return found
        raise DataLoss(f"sample {sample} raised {self._known[sample]}, and no sample was found to replace it")
