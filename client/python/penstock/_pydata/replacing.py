"""Other samples in place of those that raise (on_error="replace"), in a worker or in the trainer: the same in both.

Each sample is tried anew in each batch, so what replaces it depends on nothing that was made before.
"""
import warnings
from typing import Any, NamedTuple, Tuple

from .._substitutes import _outside
from ..errors import BadSampleWarning, DataLoss
from .arguments import length_of
from .order import substitute_for
from .raised import Local

# How many samples may raise: as the daemon's limits.max_quarantined.
_SHARE, _LEAST = 0.001, 10
_MAX_ATTEMPTS = 1000


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
        self.bad = {}  # of this batch: samples that raised, with the reason

    def begin(self, epoch, samples, order):
        """`order`: the order that the program drew; None: Penstock's own, of all `samples`. Call it before each batch."""
        self._epoch, self._samples, self._order, self.bad = epoch, samples, order, {}

    def __call__(self, planned, attempt, tried, error):
        """The substitute for the planned sample after `attempt` samples raised, of which `tried` was the last."""
        self.bad[tried] = f"{type(error).__name__}: {error}"
        if attempt > _MAX_ATTEMPTS:
            raise DataLoss(f"sample {planned} raised an exception, and so did {attempt - 1} samples that were to replace it; the "
                           f"last one: {self.bad[tried]}") from error
        place = substitute_for(self._samples, self._seed, self._epoch, planned, attempt)
        return place if self._order is None else self._order[place]


class BadSamples:
    """Of one loader: those that raised, with the reason."""

    def __init__(self):
        self._why = {}
        self._warned = 0  # how many of them were warned of, rounded up to a power of two

    def noted(self, batch, dataset):
        """The batch; an exception in its place if there are too many. Warns of the first one, and each time their number has
        doubled."""
        if not isinstance(batch, Replaced):
            return batch
        why, samples = self._why, length_of(dataset)
        why.update(batch.bad)
        sample, reason = batch.bad[-1]
        most = most_bad(samples)
        if len(why) > most:
            return Local(DataLoss(f"too many bad samples: {len(why)} of {samples} raised an exception, and at most {most} "
                                  f"may; the last one is {sample}: {reason}; repair them, or remove them"))
        if len(why) > self._warned:
            self._warned = 2 * len(why) - 1
            warnings.warn(f"{len(why)} samples raised an exception and were replaced by others, for example sample "
                          f"{sample}: {reason}. Use on_error='raise' to stop at the first one, as torch's DataLoader "
                          "does", BadSampleWarning, stacklevel=_outside())
        return batch.batch
