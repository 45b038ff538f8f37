"""What shall be in a batch beside its images and labels."""
from dataclasses import dataclass
from typing import Optional

from .errors import InvalidArgument


@dataclass(frozen=True)
class Field:
    """A field of a dataset's samples, by its name there.

    `max_length`: wanted where its length differs between samples, elements along its first side; a sample
    with more is a bad sample. `dtype`: "int32" or "int64" of whole numbers, "float32" of any floats; else
    as it is stored. `as_stored`: also a field that names places in an image which is cropped or flipped at
    random, such as a mask, and does not follow it.
    """

    name: str
    max_length: int = 0
    dtype: Optional[str] = None
    as_stored: bool = False


def fields_of(asked):
    """None, names, {name: greatest length or None}, or Fields, as a tuple of Fields."""
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
        raise InvalidArgument(f"fields has {name!r}; give names, {{name: greatest length}}, or penstock.Field")
    if not field.name:
        raise InvalidArgument("fields has an empty name; the dataset's `fields` says which there are")
    if not isinstance(field.max_length, int) or isinstance(field.max_length, bool) or not 0 <= field.max_length < 2**32:
        raise InvalidArgument(f"the greatest length of {field.name!r} is {field.max_length!r}; give a whole number of at "
                              "least 1, or none where all samples have one shape")
    return field
