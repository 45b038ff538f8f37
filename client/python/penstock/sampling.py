"""What may come in which order beside shuffled or not: windows of shards, and draws by weights."""
from array import array
from dataclasses import dataclass
from typing import Optional

from .errors import InvalidArgument

__all__ = ["ShuffleWindow", "WeightedSampler"]


def _whole(value, what, least=1):
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value < 2**64:
        raise InvalidArgument(f"{what} is {value!r}; give a whole number of at least {least}")
    return value


@dataclass(frozen=True)
class ShuffleWindow:
    """`shuffle=ShuffleWindow(...)`, for storage that is read best in sequence: consecutive samples are taken
    together as shards, the shards are permuted, and samples are shuffled within a window of so many shards.

    `shard_samples`: how many consecutive samples are a shard; None: as many as the longest of the dataset's
    shards has (tar). How well windows mix is measured in server/plan/README.md.
    """

    shards: int = 16
    shard_samples: Optional[int] = None

    def __post_init__(self):
        if _whole(self.shards, "shards") >= 2**32:
            raise InvalidArgument(f"shards is {self.shards}; give at most 2**32 - 1")
        if self.shard_samples is not None:
            _whole(self.shard_samples, "shard_samples")


class WeightedSampler:
    """`sampler=WeightedSampler(weights, num_samples)`: each epoch that many samples, drawn with replacement,
    sample i with probability weights[i] divided by their sum.

    The draw is a function of weights, seed and epoch alone, specified in server/plan/README.md; every rank
    draws the same and takes its share of it. `num_samples`: an epoch's; as many as there are weights where
    not given. Iterating gives the draws of `epoch`.
    """

    def __init__(self, weights, num_samples=None, seed=0):
        try:
            self._weights = array("d", weights)
        except (TypeError, ValueError) as error:
            raise InvalidArgument(f"the weights are no numbers ({error}); give one for each sample") from None
        self.num_samples = _whole(len(self._weights) if num_samples is None else num_samples, "num_samples")
        self.seed = _whole(seed, "the seed", 0)
        self.epoch = 0
        self.draw(0, at_most=1)  # says at once what is wrong with the weights

    def draw(self, epoch, at_most=None):
        """The samples of an epoch, as uint64; the first ones alone where `at_most` says how many."""
        from . import _penstock as native
        count = self.num_samples if at_most is None else min(at_most, self.num_samples)
        order = array("Q")
        order.frombytes(native.draw_weighted(self._weights, count, self.seed, epoch))
        return order

    def set_epoch(self, epoch):
        self.epoch = _whole(epoch, "the epoch", 0)

    def __len__(self):
        return self.num_samples

    def __iter__(self):
        return iter(self.draw(self.epoch))
