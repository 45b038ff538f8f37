"""The tensors of a session's batches but the image, and how they are put into one."""
from typing import NamedTuple

IMAGE = "image"


class Tensor(NamedTuple):
    place: int  # in the session's tensors
    name: str
    stored: str  # the type's name
    dtype: str  # as it shall come
    shape: tuple  # of a row
    variable: bool


def has_image(session):
    return session.shape[1] != 0


def of(session, settings, choose):
    """`choose`: the type for what is stored as that type, where nobody asked for one."""
    asked = {field.name: field.dtype for field in settings.fields}
    tensors = []
    for place, (name, stored, shape, variable) in enumerate(session.tensors):
        if place > 0 or not has_image(session):
            tensors.append(Tensor(place, name, stored, asked.get(name) or choose(stored), shape, variable))
    return tensors


def lengths_name(name):
    return f"{name}_length"


def as_they_are(stored):
    return stored
