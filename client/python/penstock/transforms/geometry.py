"""Steps that move pixels, after the first crop or in its place. Meanings and defaults are torchvision's."""
from dataclasses import dataclass
from typing import Any, Optional, Sequence, Tuple, Union

from . import _checks as check
from ..errors import InvalidArgument
from .op import Op

Degrees = Union[float, Sequence[float]]


@dataclass(frozen=True)
class HorizontalFlip:
    """Mirrors an image left to right with probability `p`."""

    p: float = 0.5

    def __post_init__(self):
        check.probability(self.p, "HorizontalFlip")

    def op(self):
        return Op("HORIZONTAL_FLIP", probability=float(self.p))


@dataclass(frozen=True)
class VerticalFlip:
    """Mirrors an image top to bottom with probability `p`."""

    p: float = 0.5

    def __post_init__(self):
        check.probability(self.p, "VerticalFlip")

    def op(self):
        return Op("VERTICAL_FLIP", probability=float(self.p))


@dataclass(frozen=True)
class Pad:
    """Adds pixels at the sides: `padding` for all, (left and right, top and bottom), or (left, top, right, bottom)."""

    padding: Union[int, Sequence[int]]
    fill: Any = 0
    padding_mode: str = "constant"

    def __post_init__(self):
        self.op()

    def op(self):
        sides = check.padding(self.padding, "Pad")
        return Op("PAD", (*map(float, sides), *check.fill(self.fill, "Pad")),
                  padding_mode=check.padding_mode(self.padding_mode, "Pad"))

    def size_after(self, size):
        left, top, right, bottom = check.padding(self.padding, "Pad")
        return size and (size[0] + top + bottom, size[1] + left + right)


@dataclass(frozen=True)
class RandomCrop:
    """Cuts out a random box of `size`, after `padding`."""

    size: check.Size
    padding: Optional[Union[int, Sequence[int]]] = None
    pad_if_needed: bool = False
    fill: Any = 0
    padding_mode: str = "constant"

    def __post_init__(self):
        self.op()

    def op(self):
        height, width = check.pair(self.size, "RandomCrop")
        sides = check.padding(0 if self.padding is None else self.padding, "RandomCrop")
        return Op("RANDOM_CROP", (float(height), float(width), *map(float, sides), float(bool(self.pad_if_needed)),
                                  *check.fill(self.fill, "RandomCrop")),
                  padding_mode=check.padding_mode(self.padding_mode, "RandomCrop"))

    def size_after(self, _):
        return check.pair(self.size, "RandomCrop")


@dataclass(frozen=True)
class RandomRotation:
    """Turns an image by an angle between `-degrees` and `degrees`, or (minimum, maximum)."""

    degrees: Degrees
    interpolation: str = "nearest"
    expand: bool = False
    center: Optional[Tuple[float, float]] = None
    fill: Any = 0

    def __post_init__(self):
        self.op()

    def op(self):
        low, high = check.around(self.degrees, "RandomRotation", "degrees")
        return Op("ROTATION", (low, high, float(bool(self.expand)), *_center(self.center, "RandomRotation"),
                               *check.fill(self.fill, "RandomRotation")),
                  interpolation=_warps(self.interpolation, "RandomRotation"))

    def size_after(self, size):
        return None if self.expand else size


@dataclass(frozen=True)
class RandomAffine:
    """Turns, moves, scales and shears an image. `translate`: at most these shares of width and height; `shear`: degrees, for
    x alone, (minimum, maximum) for x, or for x and y."""

    degrees: Degrees
    translate: Optional[Tuple[float, float]] = None
    scale: Optional[Tuple[float, float]] = None
    shear: Optional[Union[float, Sequence[float]]] = None
    interpolation: str = "nearest"
    fill: Any = 0
    center: Optional[Tuple[float, float]] = None

    def __post_init__(self):
        self.op()

    def op(self):
        name = "RandomAffine"
        turn = check.around(self.degrees, name, "degrees")
        move = (0.0, 0.0) if self.translate is None else tuple(
            check.within(share, name, "translate", 0, 1) for share in self.translate)
        scale = (1.0, 1.0) if self.scale is None else check.positive_range(self.scale, f"{name}: scale")
        shears = _shears(self.shear)
        return Op("AFFINE", (*turn, *move, *scale, *shears, *_center(self.center, name), *check.fill(self.fill, name)),
                  interpolation=_warps(self.interpolation, name))


@dataclass(frozen=True)
class RandomPerspective:
    """Moves an image's corners inwards by at most `distortion_scale` of half a side."""

    distortion_scale: float = 0.5
    p: float = 0.5
    interpolation: str = "bilinear"
    fill: Any = 0

    def __post_init__(self):
        self.op()

    def op(self):
        name = "RandomPerspective"
        return Op("PERSPECTIVE", (check.within(self.distortion_scale, name, "distortion_scale", 0, 1),
                                  *check.fill(self.fill, name)),
                  probability=check.probability(self.p, name), interpolation=_warps(self.interpolation, name))


def _warps(mode, what):
    return check.interpolation(mode, what, ("nearest", "bilinear", "bicubic"))


def _center(center, what):
    """(whether it is given, x, y)"""
    if center is None:
        return 0.0, 0.0, 0.0
    if len(tuple(center)) != 2 or not all(map(check.is_number, center)):
        raise InvalidArgument(f"{what}: center is {center!r}; give (x, y) in pixels from the upper left corner")
    return (1.0, *map(float, center))


def _shears(shear):
    """(minimum, maximum) for x and for y."""
    if shear is None:
        return 0.0, 0.0, 0.0, 0.0
    if check.is_number(shear) or len(tuple(shear)) == 2:
        return (*check.around(shear, "RandomAffine", "shear"), 0.0, 0.0)
    values = tuple(shear)
    if len(values) != 4 or not all(map(check.is_number, values)) or values[0] > values[1] or values[2] > values[3]:
        raise InvalidArgument(f"RandomAffine: shear is {shear!r}; give degrees, (minimum, maximum) for x, or both for x and y")
    return tuple(map(float, values))
