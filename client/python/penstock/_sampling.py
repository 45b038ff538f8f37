"""Samplers of the program's own: their indices are sent to the daemon, an epoch at a time."""
from array import array

from .errors import InvalidArgument


class Sampler:
    """Draws an epoch's order from `sampler`."""

    def __init__(self, sampler, batch_size):
        self._sampler, self._batch_size = sampler, batch_size

    def __len__(self):
        """Samples in an epoch."""
        return len(self._sampler)

    def draw(self):
        """(indices, batch size)"""
        return _indices(self._sampler), self._batch_size


class BatchSampler:
    """Draws an epoch's batches from `sampler`: lists of one length, the last may be shorter."""

    def __init__(self, sampler):
        self._sampler = sampler

    def batches(self):
        return len(self._sampler)

    def draw(self):
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


def _indices(indices):
    try:
        return array("Q", [int(index) for index in indices])
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidArgument(f"the sampler gave an index that is no whole number from 0 ({error})") from None
