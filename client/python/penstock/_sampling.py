"""Samplers of the program's own: their indices are sent to the daemon, an epoch at a time."""
from array import array

from . import _settings, ranks
from .errors import InvalidArgument
from .sampling import WeightedSampler


class Sampler:
    """Draws an epoch's order from `sampler`. `given_by`: the rank that it is of, where ranks have theirs."""

    def __init__(self, sampler, batch_size, given_by=None):
        self._sampler, self._batch_size = sampler, batch_size
        self.given_by = given_by

    def __len__(self):
        """Samples in an epoch."""
        return len(self._sampler)

    def draw(self, epoch):
        """(indices, batch size)"""
        if isinstance(self._sampler, WeightedSampler):
            return self._sampler.draw(epoch), self._batch_size
        return _indices(self._sampler), self._batch_size


class BatchSampler:
    """Draws an epoch's batches from `sampler`: lists of one length, the last may be shorter."""

    def __init__(self, sampler, given_by=None):
        self._sampler = sampler
        self.given_by = given_by

    def batches(self):
        return len(self._sampler)

    def draw(self, _):
        lists = [_indices(rows) for rows in self._sampler]
        if not lists:
            return array("Q"), 1
        rows = len(lists[0])
        for place, batch in enumerate(lists):
            if len(batch) != rows and (place < len(lists) - 1 or len(batch) > rows) or not batch:
                raise InvalidArgument(f"batch {place} of the batch_sampler has {len(batch)} samples, the first {rows}; "
                                      "Penstock's batches have one size, only the last may be shorter")
        order = array("Q")
        for batch in lists:
            order.extend(batch)
        return order, rows


def of(sampler, batch_size, rank, world_size):
    """What draws the order, and the rank: a sampler of the program's own has taken it into account, of
    Penstock's every rank takes its share."""
    given_by = None
    if not isinstance(sampler, WeightedSampler):
        rank, world_size, given_by = share_of(rank, world_size)
    return Sampler(sampler, _settings.positive(batch_size, "batch_size"), given_by), rank, world_size


def share_of(rank, world_size):
    """(rank, world size, given by) for an order that the program drew. Without a word it is this rank's alone,
    which takes all of it; a sample that comes on other ranks, too, is then cropped anew there."""
    if rank is not None or world_size is not None:
        return rank, world_size, None
    here = ranks.find()
    return 0, 1, here if here.world_size > 1 else None


def _indices(indices):
    try:
        return array("Q", [int(index) for index in indices])
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidArgument(f"the sampler gave an index that is no whole number from 0 ({error})") from None
