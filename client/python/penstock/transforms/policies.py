"""Steps that choose among others: published policies, and groups of the program's own. Meanings and defaults are torchvision's."""
from dataclasses import dataclass
from typing import Any, Optional, Sequence, Tuple

from . import _checks as check
from ..errors import InvalidArgument
from .op import Op

_POLICIES = ("imagenet", "cifar10", "svhn")


@dataclass(frozen=True)
class RandAugment:
    """`num_ops` operations of fourteen, each of the same magnitude."""

    num_ops: int = 2
    magnitude: int = 9
    num_magnitude_bins: int = 31
    interpolation: str = "nearest"
    fill: Any = None

    def __post_init__(self):
        self.op()

    def op(self):
        name = "RandAugment"
        bins = check.whole(self.num_magnitude_bins, name, "num_magnitude_bins", 2, 1000)
        if self.num_ops == 0:
            return Op("COMPOSE")  # nothing
        return Op("RAND_AUGMENT", (float(check.whole(self.num_ops, name, "num_ops", 0, 16)),
                                   float(check.whole(self.magnitude, name, "magnitude", 0, bins - 1)), float(bins),
                                   *check.fill(self.fill, name)),
                  interpolation=check.interpolation(self.interpolation, name, _FILTERS))


@dataclass(frozen=True)
class TrivialAugmentWide:
    """One operation of fourteen, of a random magnitude."""

    num_magnitude_bins: int = 31
    interpolation: str = "nearest"
    fill: Any = None

    def __post_init__(self):
        self.op()

    def op(self):
        name = "TrivialAugmentWide"
        bins = check.whole(self.num_magnitude_bins, name, "num_magnitude_bins", 2, 1000)
        return Op("TRIVIAL_AUGMENT_WIDE", (float(bins), *check.fill(self.fill, name)),
                  interpolation=check.interpolation(self.interpolation, name, _FILTERS))


@dataclass(frozen=True)
class AutoAugment:
    """One of the sub-policies that were found for "imagenet", "cifar10" or "svhn"."""

    policy: str = "imagenet"
    interpolation: str = "nearest"
    fill: Any = None

    def __post_init__(self):
        self.op()

    def op(self):
        name = "AutoAugment"
        policy = str(getattr(self.policy, "value", self.policy)).lower()
        if policy not in _POLICIES:
            raise InvalidArgument(f"AutoAugment: policy is {self.policy!r}; known are {', '.join(map(repr, _POLICIES))}")
        return Op("AUTO_AUGMENT", (float(_POLICIES.index(policy)), *check.fill(self.fill, name)),
                  interpolation=check.interpolation(self.interpolation, name, _FILTERS))


@dataclass(frozen=True)
class AugMix:
    """A weighted mean of the image and of `mixture_width` chains of operations. `chain_depth` -1: one to three."""

    severity: int = 3
    mixture_width: int = 3
    chain_depth: int = -1
    alpha: float = 1.0
    all_ops: bool = True
    interpolation: str = "bilinear"
    fill: Any = None

    def __post_init__(self):
        self.op()

    def op(self):
        name = "AugMix"
        depth = check.whole(self.chain_depth, name, "chain_depth", -1, 16)
        return Op("AUG_MIX", (float(check.whole(self.severity, name, "severity", 1, 10)),
                              float(check.whole(self.mixture_width, name, "mixture_width", 1, 16)), float(depth),
                              check.within(self.alpha, name, "alpha", 1e-3, 1e3), float(bool(self.all_ops)),
                              *check.fill(self.fill, name)),
                  interpolation=check.interpolation(self.interpolation, name, _FILTERS))


@dataclass(frozen=True, init=False)
class RandomApply:
    """All steps of a list, with probability `p`, or none."""

    transforms: Tuple[Any, ...]
    p: float

    def __init__(self, transforms, p=0.5):
        object.__setattr__(self, "transforms", _steps(transforms, "RandomApply"))
        object.__setattr__(self, "p", check.probability(p, "RandomApply"))

    def op(self):
        return Op("RANDOM_APPLY" if self.p < 1 else "COMPOSE", probability=self.p, children=_ops(self))

    def size_after(self, size):
        after = size
        for step in self.transforms:
            after = size_after(step, after)
        return after if self.p == 1 or after == size else None


@dataclass(frozen=True, init=False)
class RandomChoice:
    """One step of a list; `p`: their weights, equal by default. A list in the list is one choice, whose steps all run."""

    transforms: Tuple[Any, ...]
    p: Optional[Tuple[float, ...]]

    def __init__(self, transforms, p: Optional[Sequence[float]] = None):
        object.__setattr__(self, "transforms", _steps(transforms, "RandomChoice"))
        weights = None if p is None else tuple(map(float, p))
        if weights is not None and (len(weights) != len(self.transforms) or min(weights) < 0 or not 0 < sum(weights) < 1e300):
            raise InvalidArgument(f"RandomChoice: p is {p!r}; give one weight for each of {len(self.transforms)} steps, at least "
                                  "0 and not all 0")
        object.__setattr__(self, "p", weights)

    def op(self):
        return Op("RANDOM_CHOICE", self.p or (1.0,) * len(self.transforms), children=_ops(self))

    def size_after(self, size):
        sizes = {size_after(step, size) for step in self.transforms}
        return sizes.pop() if len(sizes) == 1 else None


@dataclass(frozen=True, init=False)
class RandomOrder:
    """All steps of a list, in random order."""

    transforms: Tuple[Any, ...]

    def __init__(self, transforms):
        object.__setattr__(self, "transforms", _steps(transforms, "RandomOrder"))

    def op(self):
        return Op("RANDOM_ORDER", children=_ops(self))

    def size_after(self, size):
        return size if all(size_after(step, size) == size for step in self.transforms) else None


_FILTERS = ("nearest", "bilinear", "bicubic")


def _steps(transforms, what):
    steps = tuple(RandomApply(step, 1.0) if isinstance(step, (list, tuple)) else step for step in transforms)
    if not steps and what == "RandomChoice":
        raise InvalidArgument(f"{what}: the list of steps is empty, so there is nothing to choose")
    for step in steps:
        if not hasattr(step, "op"):
            raise InvalidArgument(f"{what}: {step!r} is none of Penstock's steps for a single image; make the whole choice in "
                                  "Python: penstock.Python(…)")
    return steps


def _ops(group):
    return tuple(step.op() for step in group.transforms)


def size_after(step, size):
    """(height, width) of an image behind a step; None: that depends on the image."""
    after = getattr(step, "size_after", None)
    return size if after is None else after(size)
