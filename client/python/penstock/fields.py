"""Fields that a batch has besides its images and labels."""
import math
from dataclasses import dataclass
from typing import Optional, Sequence, Tuple

from .errors import InvalidArgument

_FORMATS = {"xyxy": "CORNERS", "xywh": "CORNER_AND_SIZE", "cxcywh": "CENTER_AND_SIZE"}
_MOST_PAIRS = 32


@dataclass(frozen=True)
class Field:
    """A field of a dataset's samples, by its name there.

    `max_length`: required if its length differs between samples: the maximum number of elements along its first side. A
    longer sample is a bad sample. `dtype`: "int32" or "int64" for integers, "float32" for any floats; default: as stored.
    `as_stored`: accepts a field with image coordinates, such as a mask, together with a random crop or flip that it does not
    follow.
    """

    name: str
    max_length: int = 0
    dtype: Optional[str] = None
    as_stored: bool = False


class Following:
    """A field that follows the image through crops, resizes, flips and rotations, or belongs to one that does.

    Fields that the dataset knows as such follow their images by their names alone; these classes are for others, and for other
    options. Options that are None are the dataset's, or else the default.
    """

    name: str
    dtype: Optional[str] = None
    as_stored = False
    kind = ""

    @property
    def max_length(self):
        return getattr(self, "max", 0)

    def options(self):
        """The options that are given, by the names of the extension's Target."""
        return {}


@dataclass(frozen=True)
class Mask(Following):
    """A PNG of the image's size, gray or with a palette: a batch has its bytes, the shades or the numbers of the palette, of the size
    of the image's row. It is read by the nearest pixel. `fill`: the value of what is outside of the image, 0 by default.
    `dtype`: "int32" or "int64" if bytes are not wanted."""

    name: str
    fill: Optional[int] = None
    dtype: Optional[str] = None
    kind = "MASK"

    def __post_init__(self):
        if self.fill is not None and not (_is_whole(self.fill) and 0 <= self.fill <= 255):
            raise InvalidArgument(f"Mask: fill is {self.fill!r}; give an integer from 0 to 255")

    def options(self):
        return _given(fill=self.fill)


@dataclass(frozen=True)
class Boxes(Following):
    """Boxes of an image, float32, as `format` says they are stored: "xyxy", "xywh" or "cxcywh", in pixels, or with `relative` in
    fractions of the image's sides. A batch has them as "xyxy" in pixels of its images, clipped to them. Boxes whose sides are then
    smaller than `min_side` pixels, 1 by default, are dropped. `max`: the maximum number of boxes of an image as it is stored."""

    name: str
    format: Optional[str] = None
    relative: Optional[bool] = None
    min_side: Optional[float] = None
    max: int = 0
    kind = "BOXES"

    def __post_init__(self):
        if self.format is not None and self.format not in _FORMATS:
            raise InvalidArgument(f"Boxes: format is {self.format!r}; known are {', '.join(map(repr, _FORMATS))}")
        side = self.min_side
        if side is not None and not (isinstance(side, (int, float)) and not isinstance(side, bool) and 0 <= side < math.inf):
            raise InvalidArgument(f"Boxes: min_side is {side!r}; give a number of pixels of at least 0")

    def options(self):
        return _given(box_format=self.format and _FORMATS[self.format], relative=self.relative, min_side=self.min_side)


@dataclass(frozen=True)
class Points(Following):
    """Points of an image, float32: the last side of the field is x and y, or x, y and visibility. Of three numbers, points that are
    not visible, or leave the image, become zeros. `shape`: of points that are stored as a list of numbers, such as a feature of a
    TFRecord file: (2,) or (3,), or (points, 2) or (points, 3) of each item, such as a box. `pairs`: [(left, right), …], numbers of points that are exchanged when the image
    is mirrored. `relative`: as for boxes. A field of variable length has one item for each box, which is dropped with its box."""

    name: str
    pairs: Optional[Sequence[Tuple[int, int]]] = None
    relative: Optional[bool] = None
    max: int = 0
    shape: Optional[Sequence[int]] = None
    kind = "POINTS"

    def __post_init__(self):
        if self.shape is not None:
            object.__setattr__(self, "shape", _point_shape(self.shape))
        if self.pairs is None:
            return
        pairs = tuple(tuple(pair) for pair in self.pairs)
        flat = [point for pair in pairs for point in pair]
        if not all(len(pair) == 2 for pair in pairs) or not all(_is_whole(point) and 0 <= point < 256 for point in flat):
            raise InvalidArgument(f"Points: pairs is {self.pairs!r:.80}; give pairs of points' numbers, such as [(1, 2), (3, 4)]")
        if len(pairs) > _MOST_PAIRS or len(set(flat)) != len(flat):
            raise InvalidArgument(f"Points: pairs has {len(pairs)} pairs of {len(set(flat))} points; give at most {_MOST_PAIRS}, and each "
                                  "point once")
        object.__setattr__(self, "pairs", pairs)

    def options(self):
        numbers = None if self.shape is None else self.shape[-1]
        items = self.shape[0] if self.shape is not None and len(self.shape) == 2 else None
        return _given(point_numbers=numbers, item_points=items, point_pairs=None if self.pairs is None else [point for pair in self.pairs for point in pair],
                      relative=self.relative)


@dataclass(frozen=True)
class WithBoxes(Following):
    """A value for each box of an image, such as its label, of any type: it is dropped with its box. `max` and `dtype` as for other
    fields."""

    name: str
    max: int = 0
    dtype: Optional[str] = None
    kind = "WITH_BOXES"


def _point_shape(shape):
    sides = tuple(shape) if isinstance(shape, (list, tuple)) else (shape,)
    if not all(_is_whole(side) for side in sides) or len(sides) not in (1, 2) or sides[-1] not in (2, 3) or not 1 <= sides[0] <= 1024:
        raise InvalidArgument(f"Points: shape is {shape!r:.80}; give (2,) or (3,), or (points, 2) or (points, 3), with at most 1,024 "
                              "points")
    return sides


def _given(**options):
    return {name: value for name, value in options.items() if value is not None}


def _is_whole(value):
    return isinstance(value, int) and not isinstance(value, bool)


def fields_of(asked):
    """Converts None, names, {name: maximum length or None}, or Fields to a tuple of Fields."""
    if asked is None:
        return ()
    if isinstance(asked, (str, Field, Following)):
        asked = [asked]
    pairs = asked.items() if isinstance(asked, dict) else [(each, None) for each in asked]
    fields = tuple(_field(*pair) for pair in pairs)
    names = [field.name for field in fields]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InvalidArgument(f"fields has {', '.join(map(repr, twice))} twice; name each of them once")
    return fields


def _field(name, most):
    if isinstance(name, (Field, Following)):
        field = name
    elif isinstance(name, str):
        field = Field(name, 0 if most is None else most)
    else:
        raise InvalidArgument(f"fields has {name!r}; give names, {{name: maximum length}}, or penstock.Field")
    if not field.name:
        raise InvalidArgument("fields has an empty name; see the dataset's `fields` for the names")
    if not _is_whole(field.max_length) or not 0 <= field.max_length < 2**32:
        raise InvalidArgument(f"the maximum length of {field.name!r} is {field.max_length!r}; give an integer of at "
                              "least 1, or none if all samples have one shape")
    return field
