"""Orders besides sequential and shuffled: shuffle windows of shards, and orders that every rank draws alike."""
from array import array
from collections import Counter
from dataclasses import dataclass
from typing import Optional

from .errors import InvalidArgument

__all__ = ["ClassBalancedSampler", "LengthGroupedSampler", "RepeatedSampler", "ShuffleWindow", "WeightedSampler"]


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


class SharedOrder:
    """Base of Penstock's own samplers: an order that every rank draws alike, and takes its share of.

    The draw is a function of the sampler's arguments and the epoch alone, specified in server/plan/README.md. Iterating
    yields the draws of `epoch`.
    """

    def __init__(self, num_samples, seed):
        self.num_samples = _whole(num_samples, "num_samples")
        self.seed = _whole(seed, "the seed", 0)
        self.epoch = 0

    def draw(self, epoch):
        """The samples of an epoch, as uint64."""
        raise NotImplementedError

    def set_epoch(self, epoch):
        self.epoch = _whole(epoch, "the epoch", 0)

    def __len__(self):
        return self.num_samples

    def __iter__(self):
        return iter(self.draw(self.epoch))


class WeightedSampler(SharedOrder):
    """`sampler=WeightedSampler(weights, num_samples)`: each epoch has `num_samples` samples, drawn with replacement, sample i
    with probability weights[i] / sum(weights). `num_samples` defaults to the number of weights."""

    def __init__(self, weights, num_samples=None, seed=0):
        try:
            self._weights = array("d", weights)
        except (TypeError, ValueError) as error:
            raise InvalidArgument(f"the weights are not numbers ({error}); give one for each sample") from None
        super().__init__(len(self._weights) if num_samples is None else num_samples, seed)
        self.draw(0, at_most=1)  # reports invalid weights at once

    def draw(self, epoch, at_most=None):
        """The samples of an epoch, as uint64; only the first `at_most` if given."""
        from . import _penstock as native
        count = self.num_samples if at_most is None else min(at_most, self.num_samples)
        order = array("Q")
        order.frombytes(native.draw_weighted(self._weights, count, self.seed, epoch))
        return order


class ClassBalancedSampler(WeightedSampler):
    """`sampler=ClassBalancedSampler(labels, num_samples)`: each epoch has `num_samples` samples, drawn with replacement, so
    that every class is as likely as any other, and every sample of a class as any other of it.

    `labels`: the label of each sample, such as `loader.dataset.targets`; whatever can be a key of a dict.
    """

    def __init__(self, labels, num_samples=None, seed=0):
        labels = _listed(labels, "the labels")
        try:
            counts = Counter(labels)
        except TypeError as error:
            raise InvalidArgument(f"the labels are not classes ({error}); give one label for each sample") from None
        super().__init__([1 / counts[label] for label in labels], num_samples, seed)


class RepeatedSampler(SharedOrder):
    """`sampler=RepeatedSampler(samples, repetitions=3)`: repeated augmentation, as torchvision's `RASampler`. Samples come in
    shuffled order, each `repetitions` times in a row, and differently cropped and flipped each time.

    `samples`: the number of samples, or the dataset. An epoch ends after `num_samples` samples, by default as many as the
    dataset has, rounded down to a multiple of 256 as in torchvision; so it does not reach all samples.
    """

    def __init__(self, samples, repetitions=3, num_samples=None, seed=0):
        self.samples = _whole(len(samples) if hasattr(samples, "__len__") else samples, "samples")
        self.repetitions = _whole(repetitions, "repetitions")
        if num_samples is None:
            num_samples = self.samples // 256 * 256 or self.samples
        super().__init__(num_samples, seed)
        if self.num_samples > self.samples * self.repetitions:
            raise InvalidArgument(f"num_samples is {self.num_samples}, but {self.samples} samples, each "
                                  f"{self.repetitions} times, are only {self.samples * self.repetitions}; give fewer, or "
                                  "more repetitions")

    def draw(self, epoch):
        different = -(-self.num_samples // self.repetitions)
        order = array("Q")
        for sample in _shuffled(self.samples, self.seed, epoch, different):
            order.extend([sample] * self.repetitions)
        return order[:self.num_samples]


class LengthGroupedSampler(SharedOrder):
    """`sampler=LengthGroupedSampler(lengths, batch_size)`: an epoch of all samples in shuffled order, in which samples of
    about the same length come together, so that batches need little padding.

    The shuffled order is cut into groups of `batches` batches, and each group is sorted, the longest samples first. The
    longest of all samples comes first, so that a batch that needs too much memory fails at once. The idea and the defaults
    are those of Hugging Face's `group_by_length`.

    `lengths`: a number for each sample. `batch_size`: samples in a batch of all ranks together. `batches`: by default a
    quarter of an epoch's batches, at most 50.
    """

    def __init__(self, lengths, batch_size, batches=None, seed=0):
        self._lengths = _listed(lengths, "the lengths")
        super().__init__(len(self._lengths), seed)
        for sample, length in enumerate(self._lengths):
            if not isinstance(length, (int, float)) or length != length:
                raise InvalidArgument(f"the lengths: sample {sample}: got {length!r}, expected a number")
        self.batch_size = _whole(batch_size, "batch_size")
        if batches is None:
            batches = max(1, min(self.num_samples // (self.batch_size * 4), 50))
        self.batches = _whole(batches, "batches")

    def draw(self, epoch):
        order = _shuffled(self.num_samples, self.seed, epoch, self.num_samples)
        size, lengths = self.batch_size * self.batches, self._lengths
        groups = [sorted(order[at:at + size], key=lambda sample: -lengths[sample]) for at in range(0, len(order), size)]
        longest = max(groups, key=lambda group: lengths[group[0]])
        groups[0][0], longest[0] = longest[0], groups[0][0]
        return array("Q", [sample for group in groups for sample in group])


def _listed(values, what):
    """A list of Python's own values, also from arrays and tensors."""
    if hasattr(values, "tolist"):
        values = values.tolist()
    try:
        values = list(values)
    except TypeError:
        raise InvalidArgument(f"{what} are {values!r:.80}; give one for each sample") from None
    if not values:
        raise InvalidArgument(f"{what}: got none, expected one for each sample")
    return values


def _shuffled(samples, seed, epoch, count):
    """The first `count` samples of the shuffled order."""
    from ._pydata.order import Shuffled
    return Shuffled(samples, seed, epoch).ids(0, count)
