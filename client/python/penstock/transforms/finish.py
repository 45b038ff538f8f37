"""Steps of the finish: they change numbers after Normalize, or whole batches."""
import struct
from dataclasses import dataclass, replace
from typing import Any, Optional, Tuple

from . import _checks as check
from ..errors import InvalidArgument


@dataclass(frozen=True)
class RandomErasing:
    """Fills a random box with `value`: a number or one for each channel, in the numbers that Normalize gives, or "random" for
    noise. Meanings and defaults are torchvision's."""

    p: float = 0.5
    scale: Tuple[float, float] = (0.02, 0.33)
    ratio: Tuple[float, float] = (0.3, 3.3)
    value: Any = 0

    def __post_init__(self):
        name = "RandomErasing"
        check.probability(self.p, name)
        check.positive_range(self.ratio, f"{name}: ratio")
        low, high = self.scale
        if not (check.is_number(low) and check.is_number(high) and 0 <= low <= high <= 1):
            raise InvalidArgument(f"{name}: scale is {self.scale!r}; give (minimum, maximum), shares of the area")
        self.values(3)

    def values(self, channels):
        """The number for each channel; None: noise."""
        if self.value == "random":
            return None
        values = (self.value,) if check.is_number(self.value) else tuple(self.value) if not isinstance(self.value, str) else ()
        if not all(map(check.is_number, values)) or len(values) not in (1, channels):
            raise InvalidArgument(f"RandomErasing: value is {self.value!r}; give a number, one for each of {channels} channels, or "
                                  "'random'")
        return tuple(map(float, values * (channels // len(values))))


    def before(self, normalize):
        """The same with the numbers that Normalize makes of them, for a recipe that erases first."""
        if self.value == "random":
            raise InvalidArgument("RandomErasing with value='random' comes before Normalize, which would scale its noise; put it behind "
                                  "Normalize")
        values = self.values(len(normalize.mean))
        return replace(self, value=tuple(_normalized(*numbers) for numbers in zip(values, normalize.mean, normalize.std)))


def _float32(number):
    return struct.unpack("f", struct.pack("f", number))[0]


def _normalized(value, mean, std):
    """As the finish computes it: each operation of float32 numbers is rounded once."""
    return _float32(_float32(_float32(value) - _float32(mean)) / _float32(std))


class _Mix:
    def _check(self):
        name = type(self).__name__
        check.within(self.alpha, name, "alpha", 1e-3, 1e3)
        check.probability(self.p, name)
        if self.num_classes is not None:
            check.whole(self.num_classes, name, "num_classes", 1, 1 << 24)


@dataclass(frozen=True)
class MixUp(_Mix):
    """Mixes each image of a batch with the one before it: by a share that Beta(alpha, alpha) draws for the batch. Labels become
    rows of `num_classes` floats; None: as many as the dataset has."""

    alpha: float = 1.0
    num_classes: Optional[int] = None
    p: float = 1.0

    def __post_init__(self):
        self._check()


@dataclass(frozen=True)
class CutMix(_Mix):
    """Puts a box of each image's predecessor in the batch in its place; the box's share is drawn from Beta(alpha, alpha). Labels
    as MixUp's."""

    alpha: float = 1.0
    num_classes: Optional[int] = None
    p: float = 1.0

    def __post_init__(self):
        self._check()


def mixes_of(mix):
    """The loader's argument as ((MixUp or CutMix, its weight), ...): None, one, or a list of which each batch takes one;
    torchvision's objects, too."""
    mixes = tuple(_mixes(mix, 1.0))
    if len({each.num_classes for each, _ in mixes}) > 1:
        raise InvalidArgument("mix: num_classes differ; give all the same number")
    return mixes


def _mixes(mix, weight):
    if mix is None:
        return
    name, is_theirs = type(mix).__name__, type(mix).__module__.split(".")[0] == "torchvision"
    if isinstance(mix, _Mix):
        yield mix, weight
    elif is_theirs and name in ("MixUp", "CutMix"):
        yield {"MixUp": MixUp, "CutMix": CutMix}[name](float(mix.alpha), mix.num_classes), weight
    elif isinstance(mix, (list, tuple)) or (is_theirs and name == "RandomChoice"):
        parts, weights = (mix, None) if isinstance(mix, (list, tuple)) else (mix.transforms, mix.p)
        for part, share in zip(parts, weights or [1.0] * len(parts)):
            yield from _mixes(part, weight * share)
    else:
        raise InvalidArgument(f"mix: got {mix!r}; expected penstock.MixUp or penstock.CutMix, or a list of them")
