"""Orders from the program's own samplers. Their indices are sent to the daemon, one epoch at a time."""
from array import array

from . import _settings, ranks
from ._say import say_once
from .errors import InvalidArgument
from .sampling import SharedOrder


class Sampler:
    """Draws an epoch's order from `sampler`. `given_by`: the rank that it is for, if each rank has its own."""

    def __init__(self, sampler, batch_size, given_by=None):
        self._sampler, self._batch_size = sampler, batch_size
        self.given_by = given_by

    def __len__(self):
        """Number of samples in an epoch."""
        return len(self._sampler)

    def draw(self, epoch):
        """(indices, batch size)"""
        if isinstance(self._sampler, SharedOrder):
            return self._sampler.draw(epoch), self._batch_size
        return _indices(self._sampler), self._batch_size


class BatchSampler:
    """Draws an epoch's batches from `sampler`: lists of one length; the last may be shorter."""

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
                raise InvalidArgument(f"batch {place} of the batch_sampler has {len(batch)} samples, the first has {rows}; "
                                      "all batches must have one size, only the last may be shorter")
        order = array("Q")
        for batch in lists:
            order.extend(batch)
        return order, rows


def of(sampler, batch_size, rank, world_size):
    """(the object that draws the order, rank, world size). With Penstock's own sampler, every rank takes its share."""
    given_by = None
    if not isinstance(sampler, SharedOrder):
        rank, world_size, given_by = _place(sampler, rank, world_size)
    return Sampler(sampler, _settings.positive(batch_size, "batch_size"), given_by), rank, world_size


def of_batches(sampler, rank, world_size):
    rank, world_size, given_by = _place(sampler, rank, world_size)
    return BatchSampler(sampler, given_by), rank, world_size


def _place(sampler, rank, world_size):
    """(rank, world size, given_by) for an order that the program draws. As with torch, the order is this rank's alone, and
    a sample that also comes on another rank is cropped differently there; unless rank and world_size are given: then the
    ranks share the order."""
    name, share = type(sampler).__name__, _share(sampler)
    given = rank is not None or world_size is not None
    if share is not None and given and (rank, world_size) != share:
        raise InvalidArgument(f"rank is {rank!r} and world_size {world_size!r}, but {name} draws for rank {share[0]} of "
                              f"{share[1]}; leave them out, because it has already divided the samples")
    if share is None and given:
        return rank, world_size, None
    found = ranks.find(rank, world_size)
    if share is None and found.world_size > 1:
        say_once(f"each of {found.world_size} ranks takes all that its {name} yields, as with torch; to share one order "
                 f"give rank={found.rank}, world_size={found.world_size}, or a DistributedSampler")
    elif share is not None and share != (found.rank, found.world_size):
        say_once(f"{name} draws for rank {share[0]} of {share[1]}, while this process has rank {found}; it takes "
                 f"what the sampler yields")
    of = found if share is None else ranks.Rank(*share, f"by {name}")
    return ranks.Rank(0, 1, f"what {name} yields for {of}"), None, of if of.world_size > 1 else None


def _share(sampler):
    """(rank, number of ranks) of a sampler that draws one rank's share, such as torch's DistributedSampler; else None."""
    for each in (sampler, getattr(sampler, "sampler", None)):
        share = getattr(each, "rank", None), getattr(each, "num_replicas", None)
        if all(isinstance(part, int) for part in share):
            return share
    return None


def _indices(indices):
    try:
        return array("Q", [int(index) for index in indices])
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidArgument(f"the sampler gave an index that is not an integer of at least 0 ({error})") from None
