"""Under which number the random choices of an image are drawn: those of native feeds (server/plan/README.md)."""
import operator
from typing import NamedTuple, Optional

from ..order import _GOLDEN, _MASK, mix


class Key(NamedTuple):
    """What random choices are drawn by: a sample; or its occurrence at a place of an order, if `place` says which."""

    seed: int
    epoch: int
    sample: int
    place: Optional[int] = None

    def number(self, sample=None):
        """The number for the sample, or for another one in its place."""
        sample = self.sample if sample is None else sample
        return sample if self.place is None else draw_number(self.place, sample)


def key_of(seed, epoch, place, sample, samples):
    """The key of `dataset[sample]` at a place of an epoch's order of `samples` samples; None if the program drew the order.
    Samples whose key is no number are drawn by their place alone."""
    try:
        sample = operator.index(sample)
    except TypeError:
        return Key(seed, epoch, place)
    if sample < 0:
        return Key(seed, epoch, place)
    return Key(seed, epoch, sample, place if samples is None or place >= samples else None)


def draw_number(place, sample):
    return mix(mix(place + _GOLDEN & _MASK) ^ sample)
