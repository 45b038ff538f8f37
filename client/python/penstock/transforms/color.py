"""Steps that change colours and keep an image's size. Meanings and defaults are torchvision's."""
from dataclasses import dataclass
from typing import Sequence, Tuple, Union

from . import _checks as check
from ..errors import InvalidArgument
from .op import Op

Change = Union[float, Sequence[float]]


@dataclass(frozen=True)
class ColorJitter:
    """Changes brightness, contrast, saturation and hue, in random order. A number f stands for factors from 1 - f to 1 + f,
    of hue for turns from -f to f."""

    brightness: Change = 0.0
    contrast: Change = 0.0
    saturation: Change = 0.0
    hue: Change = 0.0

    def __post_init__(self):
        self.op()

    def op(self):
        factors = [number for name in ("brightness", "contrast", "saturation") for number in _factors(getattr(self, name), name)]
        return Op("COLOR_JITTER", (*factors, *_hue(self.hue)))


@dataclass(frozen=True)
class RandomGrayscale:
    """Makes an image gray with probability `p`; it keeps its three channels."""

    p: float = 0.1

    def __post_init__(self):
        self.op()

    def op(self):
        return Op("RANDOM_GRAYSCALE", probability=check.probability(self.p, "RandomGrayscale"))


@dataclass(frozen=True)
class GrayInThree(RandomGrayscale):
    """torchvision's Grayscale(num_output_channels=3): always three channels, also of an image that has one, which Penstock
    does not do."""

    p: float = 1.0


@dataclass(frozen=True)
class GaussianBlur:
    """Blurs with a kernel of `kernel_size` pixels, odd, or (width, height); `sigma`: a number or (minimum, maximum)."""

    kernel_size: Union[int, Tuple[int, int]]
    sigma: Change = (0.1, 2.0)

    def __post_init__(self):
        self.op()

    def op(self):
        sides = (self.kernel_size,) * 2 if isinstance(self.kernel_size, int) else tuple(self.kernel_size)
        if len(sides) != 2 or not all(isinstance(side, int) and 0 < side <= 127 and side % 2 == 1 for side in sides):
            raise InvalidArgument(f"GaussianBlur: kernel_size is {self.kernel_size!r}; give an odd number of pixels up to 127, or "
                                  "(width, height)")
        sigma = (self.sigma,) * 2 if check.is_number(self.sigma) else self.sigma
        low, high = check.positive_range(sigma, "GaussianBlur: sigma")
        if low < 1e-6 or high > 1e6:
            raise InvalidArgument(f"GaussianBlur: sigma is {self.sigma!r}; give numbers from 1e-6 to 1e6")
        return Op("GAUSSIAN_BLUR", (*map(float, sides), low, high))


@dataclass(frozen=True)
class RandomSolarize:
    """Inverts pixels of at least `threshold` with probability `p`."""

    threshold: float
    p: float = 0.5

    def __post_init__(self):
        self.op()

    def op(self):
        name = "RandomSolarize"
        return Op("SOLARIZE", (check.within(self.threshold, name, "threshold", -1e9, 1e9),),
                  probability=check.probability(self.p, name))


@dataclass(frozen=True)
class RandomPosterize:
    """Keeps the `bits` upper bits of each channel with probability `p`."""

    bits: int
    p: float = 0.5

    def __post_init__(self):
        self.op()

    def op(self):
        name = "RandomPosterize"
        return Op("POSTERIZE", (float(check.whole(self.bits, name, "bits", 0, 8)),),
                  probability=check.probability(self.p, name))


@dataclass(frozen=True)
class RandomEqualize:
    """Equalizes the histogram with probability `p`."""

    p: float = 0.5

    def __post_init__(self):
        self.op()

    def op(self):
        return Op("EQUALIZE", probability=check.probability(self.p, "RandomEqualize"))


@dataclass(frozen=True)
class RandomAutocontrast:
    """Stretches each channel to the whole range with probability `p`."""

    p: float = 0.5

    def __post_init__(self):
        self.op()

    def op(self):
        return Op("AUTOCONTRAST", probability=check.probability(self.p, "RandomAutocontrast"))


@dataclass(frozen=True)
class RandomInvert:
    """Inverts all pixels with probability `p`."""

    p: float = 0.5

    def __post_init__(self):
        self.op()

    def op(self):
        return Op("INVERT", probability=check.probability(self.p, "RandomInvert"))


@dataclass(frozen=True)
class RandomAdjustSharpness:
    """Changes the sharpness by a factor, with probability `p`: 0 blurs, 1 keeps, 2 sharpens."""

    sharpness_factor: float
    p: float = 0.5

    def __post_init__(self):
        self.op()

    def op(self):
        name = "RandomAdjustSharpness"
        return Op("ADJUST_SHARPNESS", (check.within(self.sharpness_factor, name, "sharpness_factor", 0, 1e6),),
                  probability=check.probability(self.p, name))


def _factors(value, name):
    if check.is_number(value):
        if value < 0:
            raise InvalidArgument(f"ColorJitter: {name} is {value!r}; give at least 0, or (minimum, maximum)")
        value = max(0.0, 1.0 - value), 1.0 + value
    low, high = check.around(value, "ColorJitter", name, 1_000_000)
    if low < 0:
        raise InvalidArgument(f"ColorJitter: {name} is {value!r}; factors are at least 0")
    return low, high


def _hue(value):
    low, high = check.around(value, "ColorJitter", "hue")
    if low < -0.5 or high > 0.5:
        raise InvalidArgument(f"ColorJitter: hue is {value!r}; give turns from -0.5 to 0.5")
    return low, high
