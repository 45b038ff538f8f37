"""The first steps of a transform, the last one, and Python's place between them."""
import math
from dataclasses import dataclass
from typing import Any, Callable, Optional, Sequence, Tuple, Union

from . import _checks as check
from ..errors import InvalidArgument
from .op import Op

INPUTS = ("array", "pil", "tensor")

_STATISTICS = {
    "imagenet": ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
    "half": ((0.5, 0.5, 0.5), (0.5, 0.5, 0.5)),
}


@dataclass(frozen=True)
class ExifTranspose:
    """Turns and mirrors an image as its EXIF block says. Without it, that is ignored, as in ImageFolder."""


@dataclass(frozen=True)
class Grayscale:
    """One channel: Pillow's convert("L")."""


@dataclass(frozen=True)
class RandomResizedCrop:
    """A random box of the image, resized to `size`; with torchvision's meaning and defaults."""

    size: check.Size = 224
    scale: Tuple[float, float] = (0.08, 1.0)
    ratio: Tuple[float, float] = (3 / 4, 4 / 3)
    interpolation: str = "bilinear"

    def __post_init__(self):
        check.pair(self.size, "RandomResizedCrop")
        check.interpolation(self.interpolation, "RandomResizedCrop")
        check.positive_range(self.ratio, "RandomResizedCrop: ratio")
        if check.positive_range(self.scale, "RandomResizedCrop: scale")[1] > 1:
            raise InvalidArgument(f"RandomResizedCrop: scale is {self.scale!r}; it is a share of the image's "
                                  "area, so give at most 1")

    def op(self):
        height, width = check.pair(self.size, "RandomResizedCrop")
        return Op("RANDOM_RESIZED_CROP", (float(height), float(width), *map(float, self.scale), *map(float, self.ratio)),
                  interpolation=check.interpolation(self.interpolation, "RandomResizedCrop"))

    def size_after(self, _):
        return check.pair(self.size, "RandomResizedCrop")


@dataclass(frozen=True)
class Resize:
    """Resizes the shorter side to `size` pixels, the longer one to at most `max_size`; or both sides to (height, width)."""

    size: check.Size = 256
    interpolation: str = "bilinear"
    max_size: Optional[int] = None

    def __post_init__(self):
        check.pair(self.size, "Resize")
        check.interpolation(self.interpolation, "Resize")
        if self.max_size is not None and (not self.shorter or not isinstance(self.max_size, int) or self.max_size < self.shorter):
            raise InvalidArgument(f"Resize: max_size is {self.max_size!r}; give at least the size, which must be one number")

    @property
    def shorter(self):
        """The shorter side, if that is what it sets; else None."""
        if isinstance(self.size, int):
            return self.size
        return self.size[0] if len(self.size) == 1 else None

    def op(self):
        height, width = (self.shorter, 0) if self.shorter else self.size
        return Op("RESIZE", (float(height), float(width), float(self.max_size or 0)),
                  interpolation=check.interpolation(self.interpolation, "Resize"))

    def size_after(self, _):
        return None if self.shorter else tuple(self.size)


@dataclass(frozen=True)
class RandomShortestSize:
    """Resizes the shorter side to one of `min_size`, and the longer one to at most `max_size`."""

    min_size: Union[int, Sequence[int]]
    max_size: Optional[int] = None
    interpolation: str = "bilinear"

    def __post_init__(self):
        self.op()

    def op(self):
        name = "RandomShortestSize"
        sizes = (self.min_size,) if isinstance(self.min_size, int) else tuple(self.min_size)
        if not 0 < len(sizes) <= 11:
            raise InvalidArgument(f"{name}: min_size has {len(sizes)} sizes; give 1 to 11")
        sizes = [check.whole(size, name, "min_size", 1, 16384) for size in sizes]
        most = 0 if self.max_size is None else check.whole(self.max_size, name, "max_size", 1, 16384)
        return Op("RANDOM_SHORTEST_SIZE", (float(most), *map(float, sizes)), interpolation=check.interpolation(self.interpolation, name))

    def size_after(self, _):
        return None


@dataclass(frozen=True)
class ScaleJitter:
    """Resizes an image to fit `target_size`, times a random number of `scale_range`."""

    target_size: Tuple[int, int]
    scale_range: Tuple[float, float] = (0.1, 2.0)
    interpolation: str = "bilinear"

    def __post_init__(self):
        self.op()

    def op(self):
        sides = check.pair(self.target_size, "ScaleJitter")
        return Op("SCALE_JITTER", (*map(float, sides), *check.positive_range(self.scale_range, "ScaleJitter: scale_range")),
                  interpolation=check.interpolation(self.interpolation, "ScaleJitter"))

    def size_after(self, _):
        return None


@dataclass(frozen=True)
class RandomResize:
    """Resizes the shorter side to a random size of at least `min_size` and less than `max_size`."""

    min_size: int
    max_size: int
    interpolation: str = "bilinear"

    def __post_init__(self):
        self.op()

    def op(self):
        name = "RandomResize"
        least = check.whole(self.min_size, name, "min_size", 1, 16384)
        most = check.whole(self.max_size, name, "max_size", least + 1, 16385)
        return Op("RANDOM_RESIZE", (float(least), float(most)), interpolation=check.interpolation(self.interpolation, name))

    def size_after(self, _):
        return None


@dataclass(frozen=True, init=False)
class Canvas:
    """Behind all steps of geometry, for images of different sizes in one batch: each is in the upper left corner of `height` x
    `width` pixels, with zeros beside and below it. The batch has their sizes as "image_size", (height, width) of each."""

    height: int
    width: int

    def __init__(self, height, width=None):
        object.__setattr__(self, "height", check.whole(height, "Canvas", "height", 1, check.MOST_SIDE))
        object.__setattr__(self, "width", check.whole(height if width is None else width, "Canvas", "width", 1, check.MOST_SIDE))

    @property
    def size(self):
        return self.height, self.width


@dataclass(frozen=True)
class CenterCrop:
    """Cuts out the middle of the image; where the image is smaller, the rest is black."""

    size: check.Size = 224

    def __post_init__(self):
        check.pair(self.size, "CenterCrop")

    def op(self):
        height, width = check.pair(self.size, "CenterCrop")
        return Op("CENTER_CROP", (float(height), float(width)))

    def size_after(self, _):
        return check.pair(self.size, "CenterCrop")


@dataclass(frozen=True, init=False)
class Normalize:
    """(x - mean) / std for each channel, with x in [0, 1]. `Normalize("imagenet")` has ImageNet's numbers."""

    mean: Tuple[float, ...]
    std: Tuple[float, ...]

    def __init__(self, mean, std=None):
        if isinstance(mean, str):
            if mean not in _STATISTICS or std is not None:
                raise InvalidArgument(f"Normalize: {mean!r} is unknown; use one of {sorted(_STATISTICS)}, or give "
                                      "mean and std as numbers")
            mean, std = _STATISTICS[mean]
        if std is None:
            raise InvalidArgument("Normalize: std is missing")
        mean, std = _channels(mean), _channels(std)
        if len(mean) != len(std) or len(mean) not in (1, 3):
            raise InvalidArgument(f"Normalize: mean has {len(mean)} and std {len(std)} numbers; give one for each channel: "
                                  "1 or 3 of each")
        if any(value == 0 or not math.isfinite(value) for value in std):
            raise InvalidArgument(f"Normalize: std is {std!r}; every number must be finite and not 0")
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "std", std)


@dataclass(frozen=True)
class Python:
    """A function of yours that changes an image between Penstock's steps; a plain function in a list of steps means
    Python(function).

    It gets, as `input` says, a NumPy array of bytes (height, width, channels), a Pillow image ("pil"), or a uint8 tensor
    (channels, height, width) ("tensor"), and returns one of these. Its random numbers are seeded for each sample. It may
    also return floats, as an array or a tensor; then nothing may follow that changes numbers.
    """

    fn: Callable[..., Any]
    input: str = "array"

    def __post_init__(self):
        if not callable(self.fn):
            raise InvalidArgument(f"Python: {self.fn!r} cannot be called; give a function of an image")
        if self.input not in INPUTS:
            raise InvalidArgument(f"Python: input is {self.input!r}; known are {', '.join(map(repr, INPUTS))}")

    @property
    def name(self):
        """For messages."""
        return getattr(self.fn, "__qualname__", type(self.fn).__name__)


def _channels(values):
    try:
        return tuple(float(value) for value in values)
    except TypeError:
        return (float(values),)
