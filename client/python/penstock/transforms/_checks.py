"""Checks of steps' numbers. Each raises InvalidArgument, which names the step."""
import math
from typing import Sequence, Union

from ..errors import InvalidArgument

Size = Union[int, Sequence[int]]

INTERPOLATIONS = ("nearest", "lanczos", "bilinear", "bicubic")
_PILLOWS = {0: "nearest", 1: "lanczos", 2: "bilinear", 3: "bicubic"}
MOST_SIDE = 16_384  # pixels
_PADDINGS = ("constant", "edge", "reflect", "symmetric")


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def pair(size, what):
    """(height, width) from one number or two."""
    sides = (size, size) if isinstance(size, int) else tuple(size)
    sides = sides * 2 if len(sides) == 1 else sides
    if len(sides) != 2 or not all(isinstance(side, int) and 0 < side <= MOST_SIDE for side in sides):
        raise InvalidArgument(f"{what}: the size is {size!r}; give a number of pixels up to {MOST_SIDE}, or (height, width)")
    return sides


def positive_range(values, what):
    given = _numbers(values)
    if len(given) != 2 or not all(map(is_number, given)) or not 0 < given[0] <= given[1]:
        raise InvalidArgument(f"{what} is {values!r}; give (minimum, maximum), both above 0")
    return tuple(map(float, given))


def probability(p, what):
    if not is_number(p) or not 0 <= p <= 1:
        raise InvalidArgument(f"{what}: p is {p!r}; it is a probability, from 0 to 1")
    return float(p)


def around(value, what, name, most=36_000):
    """(minimum, maximum) within `most`: of one number, the negative and itself."""
    if is_number(value):
        if value < 0:
            raise InvalidArgument(f"{what}: {name} is {value!r}; give at least 0, or (minimum, maximum)")
        value = -value, value
    given = _numbers(value)
    if len(given) != 2 or not all(map(is_number, given)) or given[0] > given[1]:
        raise InvalidArgument(f"{what}: {name} is {value!r}; give a number, or (minimum, maximum)")
    if max(map(abs, given)) > most:
        raise InvalidArgument(f"{what}: {name} is {value!r}; give at most {most}")
    return tuple(map(float, given))


def interpolation(mode, what, allowed=INTERPOLATIONS):
    """The mode's name, also of torchvision's InterpolationMode and Pillow's numbers."""
    name = getattr(mode, "value", mode)
    name = _PILLOWS.get(name, name) if isinstance(name, int) else str(name).lower()
    if name not in allowed:
        raise InvalidArgument(f"{what}: interpolation is {mode!r}; known are {', '.join(map(repr, allowed))}")
    return name


def padding_mode(mode, what):
    name = str(getattr(mode, "value", mode)).lower()
    if name not in _PADDINGS:
        raise InvalidArgument(f"{what}: padding_mode is {mode!r}; known are {', '.join(map(repr, _PADDINGS))}")
    return name


def fill(value, what):
    """(red, green, blue) of one number, or of one for each channel; None: black."""
    values = _numbers(0 if value is None else value)
    values = values * 3 if len(values) == 1 else values
    if len(values) != 3 or not all(is_number(each) and 0 <= each <= 255 and each == int(each) for each in values):
        raise InvalidArgument(f"{what}: fill is {value!r}; give an integer from 0 to 255, or one for each of 3 channels")
    return tuple(map(float, values))


def _numbers(value):
    """A tuple of one number or several; empty if it is neither."""
    if is_number(value):
        return (value,)
    try:
        return tuple(value)
    except TypeError:
        return ()


def padding(value, what):
    """(left, top, right, bottom) as torchvision's Pad takes one, two or four numbers. Negative ones cut off pixels."""
    values = (value,) if isinstance(value, int) else tuple(value)
    if len(values) not in (1, 2, 4) or not all(isinstance(each, int) and abs(each) <= MOST_SIDE for each in values):
        raise InvalidArgument(f"{what}: padding is {value!r}; give pixels for all sides, (left and right, top and bottom), or "
                              "(left, top, right, bottom)")
    return tuple(values * (4 // len(values)))


def whole(value, what, name, least, most):
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise InvalidArgument(f"{what}: {name} is {value!r}; give an integer from {least} to {most}")
    return value


def within(value, what, name, least, most):
    if not is_number(value) or not least <= value <= most:
        raise InvalidArgument(f"{what}: {name} is {value!r}; give a number from {least} to {most}")
    return float(value)
