"""Transforms: descriptions of what the daemon does to a photograph and what is done to the batch; nothing runs here.

Penstock decodes, crops, resizes and flips in its workers, and normalises the batch in one kernel. A transform is a list
of these steps, in this order:

    first    ExifTranspose()           to turn images as their camera recorded
    then     Grayscale()               for one channel
    one of   RandomResizedCrop(size)   or   Resize(size), CenterCrop(size)
    then     HorizontalFlip(p)         optional
    then     Normalize(mean, std)      optional; a flip may also come after it

torchvision's objects are accepted as well, alone or in a Compose: those of the same names, and those that set the type
of the result (ToTensor, PILToTensor, ToImage, ToDtype, ConvertImageDtype). A transform whose result would differ from
torchvision's is refused.
"""
import math
from dataclasses import dataclass
from typing import Any, Callable, Sequence, Tuple, Union

from .errors import InvalidArgument

__all__ = ["ExifTranspose", "Grayscale", "RandomResizedCrop", "Resize", "CenterCrop", "HorizontalFlip", "Normalize", "Python"]

INPUTS = ("array", "pil", "tensor")

Size = Union[int, Sequence[int]]

_STATISTICS = {
    "imagenet": ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
    "half": ((0.5, 0.5, 0.5), (0.5, 0.5, 0.5)),
}


def _pair(size, what):
    """(height, width) from one number or two."""
    sides = (size, size) if isinstance(size, int) else tuple(size)
    sides = sides * 2 if len(sides) == 1 else sides
    if len(sides) != 2 or not all(isinstance(side, int) and side > 0 for side in sides):
        raise InvalidArgument(f"{what}: the size is {size!r}; give a number of pixels, or (height, width)")
    return sides


def _range(values, what):
    low, high = (float(value) for value in values)
    if not 0 < low <= high < math.inf:
        raise InvalidArgument(f"{what} is {tuple(values)!r}; give (minimum, maximum), both above 0")
    return low, high


@dataclass(frozen=True)
class ExifTranspose:
    """Turns and mirrors an image as its EXIF block says. Without it, that is ignored, as in ImageFolder."""


@dataclass(frozen=True)
class Grayscale:
    """One channel: Pillow's convert("L")."""


@dataclass(frozen=True)
class RandomResizedCrop:
    """A random box of the image, resized to `size`; with torchvision's meaning and defaults."""

    size: Size = 224
    scale: Tuple[float, float] = (0.08, 1.0)
    ratio: Tuple[float, float] = (3 / 4, 4 / 3)

    def __post_init__(self):
        _pair(self.size, "RandomResizedCrop")
        _range(self.ratio, "RandomResizedCrop: ratio")
        if _range(self.scale, "RandomResizedCrop: scale")[1] > 1:
            raise InvalidArgument(f"RandomResizedCrop: scale is {self.scale!r}; it is a share of the image's "
                                  "area, so give at most 1")


@dataclass(frozen=True)
class Resize:
    """Resizes the shorter side to `size` pixels; only before a CenterCrop."""

    size: int = 256

    def __post_init__(self):
        if not isinstance(self.size, int) or self.size <= 0:
            raise InvalidArgument(f"Resize: the size is {self.size!r}; give the shorter side in pixels. For a fixed "
                                  "(height, width) use Resize(n), CenterCrop((h, w))")


@dataclass(frozen=True)
class CenterCrop:
    """Cuts out the middle of the image; only after a Resize."""

    size: Size = 224

    def __post_init__(self):
        _pair(self.size, "CenterCrop")


@dataclass(frozen=True)
class HorizontalFlip:
    """Mirrors an image left to right with probability `p`."""

    p: float = 0.5

    def __post_init__(self):
        if not 0 <= self.p <= 1:
            raise InvalidArgument(f"HorizontalFlip: p is {self.p!r}; it is a probability, from 0 to 1")


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


@dataclass(frozen=True)
class Plan:
    """A transform taken apart: what the daemon does, and what the finish does."""

    upright: bool = False
    gray: bool = False
    random_crop: Union[RandomResizedCrop, None] = None
    center_crop: Union[Tuple[Resize, CenterCrop], None] = None
    flip: float = 0.0
    normalize: Union[Normalize, None] = None
    dtype: Union[str, None] = None  # of the result, if a step sets it
    scaled: bool = True  # whether floats go to 1 instead of 255

    @property
    def has_geometry(self):
        return self.random_crop is not None or self.center_crop is not None


_ORDER = "ExifTranspose; Grayscale; RandomResizedCrop, or Resize and CenterCrop; then HorizontalFlip and Normalize"
# For each step: its place in that order, and its entry in a Plan. A flip and Normalize may change places.
_STAGES = {ExifTranspose: (0, "upright"), Grayscale: (1, "gray"), RandomResizedCrop: (2, "random_crop"),
           Resize: (2, "center_crop"), HorizontalFlip: (3, "flip"), Normalize: (3, "normalize")}


def is_native(step):
    """Whether a step is one of Penstock's own, which need no Python."""
    return type(step) in _STAGES


def plan_of(transform):
    """The plan for a transform: None, one step, a list of them, or torchvision's. Without Python functions: _steps.py."""
    from ._torchvision import read
    steps, dtype, scaled = read(transform)
    plan, place = {}, 0
    for step, behind in _paired(steps):
        if isinstance(step, Python):
            raise InvalidArgument(f"the transform has the Python function {step.name}, and only penstock.torch.DataLoader runs "
                                  "those; apply it to the finished batch")
        if type(step) not in _STAGES:
            raise InvalidArgument(f"Penstock does not know the transform {step!r}; it supports {_ORDER}. Apply others to the "
                                  "finished batch, which is already on your device")
        stage, entry = _STAGES[type(step)]
        if stage < place or entry in plan or (stage == 2 and ("random_crop" in plan or "center_crop" in plan)):
            raise InvalidArgument(f"{type(step).__name__} comes too late or twice in the transform; the order is "
                                  f"{_ORDER}")
        plan[entry] = _entry(step, behind)
        place = stage
    _check_gray(plan)
    return Plan(**plan, dtype=dtype, scaled=scaled)


def _paired(steps):
    """Yields each step; with a Resize, also the CenterCrop after it."""
    steps, index = list(steps), 0
    while index < len(steps):
        step, behind = steps[index], None
        if isinstance(step, CenterCrop):
            raise InvalidArgument("CenterCrop needs a Resize(size) before it, so that every image is large enough")
        if isinstance(step, Resize):
            behind = steps[index + 1] if index + 1 < len(steps) else None
            _check_middle(step, behind)
            index += 1
        yield step, behind
        index += 1


def _check_middle(resize, crop):
    if not isinstance(crop, CenterCrop):
        raise InvalidArgument("Resize alone leaves images of different sizes, which cannot form a batch; put a "
                              "CenterCrop(size) after it")
    if max(sides_of(crop)) > resize.size:
        raise InvalidArgument(f"CenterCrop({crop.size}) is larger than Resize({resize.size}), and Penstock does "
                              "not pad with black; use at most the size of the Resize")


def _entry(step, behind):
    if isinstance(step, Resize):
        return step, behind
    if isinstance(step, HorizontalFlip):
        return float(step.p)
    return True if isinstance(step, (ExifTranspose, Grayscale)) else step


def _check_gray(plan):
    if "gray" in plan and "normalize" in plan and len(plan["normalize"].mean) != 1:
        raise InvalidArgument("Normalize has 3 numbers for mean and std, but gray rows have one channel; give 1 of each")


def sides_of(crop):
    """(height, width) of a crop's result."""
    return _pair(crop.size, type(crop).__name__)
