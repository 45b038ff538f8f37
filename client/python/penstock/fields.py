"""Fields that a batch has besides its images and labels."""
from dataclasses import dataclass
from typing import Optional

from .errors import InvalidArgument


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


def fields_of(asked):
    """Converts None, names, {name: maximum length or None}, or Fields to a tuple of Fields."""
    if asked is None:
        return ()
    if isinstance(asked, (str, Field)):
        asked = [asked]
    pairs = asked.items() if isinstance(asked, dict) else [(each, None) for each in asked]
    fields = tuple(_field(*pair) for pair in pairs)
    names = [field.name for field in fields]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InvalidArgument(f"fields has {', '.join(map(repr, twice))} twice; name each of them once")
    return fields


def _field(name, most):
    if isinstance(name, Field):
        field = name
    elif isinstance(name, str):
        field = Field(name, 0 if most is None else most)
    else:
        raise InvalidArgument(f"fields has {name!r}; give names, {{name: maximum length}}, or penstock.Field")
    if not field.name:
        raise InvalidArgument("fields has an empty name; see the dataset's `fields` for the names")
    if not isinstance(field.max_length, int) or isinstance(field.max_length, bool) or not 0 <= field.max_length < 2**32:
        raise InvalidArgument(f"the maximum length of {field.name!r} is {field.max_length!r}; give an integer of at "
                              "least 1, or none if all samples have one shape")
    return field
