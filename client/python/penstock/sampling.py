"""Orders besides sequential and shuffled: shuffle windows of shards, and draws by weight."""
from array import array
from dataclasses import dataclass
from typing import Optional

from .errors import InvalidArgument

__all__ = ["ShuffleWindow", "WeightedSampler"]


def _whole(value, what, least=1):
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value < 2**64:
        raise InvalidArgument(f"{what} is {value!r}; give an integer of at least {least}")
    return value


@dataclass(frozen=True)
class ShuffleWindow:
    """`shuffle=ShuffleWindow(...)`, for storage that reads best in sequence: consecutive samples form shards, the shards are
    permuted, and samples are shuffled within a window of `shards` shards.

    `shard_samples`: number of consecutive samples in a shard; None: the size of the dataset's largest shard (tar).
    server/plan/README.md measures how well windows mix.
    """

    shards: int = 16
    shard_samples: Optional[int] = None

    def __post_init__(self):
        if _whole(self.shards, "shards") >= 2**32:
            raise InvalidArgument(f"shards is {self.shards}; give at most 2**32 - 1")
        if self.shard_samples is not None:
            _whole(self.shard_samples, "shard_samples")


class WeightedSampler:
    """`sampler=WeightedSampler(weights, num_samples)`: each epoch has `num_samples` samples, drawn with replacement, sample i
    with probability weights[i] / sum(weights).

    The draw is a function of weights, seed and epoch alone, specified in server/plan/README.md. Every rank draws the same
    and takes its share. `num_samples` defaults to the number of weights. Iterating yields the draws of `epoch`.
    """

    def __init__(self, weights, num_samples=None, seed=0):
        try:
            self._weights = array("d", weights)
        except (TypeError, ValueError) as error:
            raise InvalidArgument(f"the weights are not numbers ({error}); give one for each sample") from None
        self.num_samples = _whole(len(self._weights) if num_samples is None else num_samples, "num_samples")
        self.seed = _whole(seed, "the seed", 0)
        self.epoch = 0
        self.draw(0, at_most=1)  # reports invalid weights at once

    def draw(self, epoch, at_most=None):
        """The samples of an epoch, as uint64; only the first `at_most` if given."""
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
