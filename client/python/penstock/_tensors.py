"""The tensors of a session's batches other than images."""
from typing import NamedTuple

IMAGE = "image"


class Tensor(NamedTuple):
    place: int  # index into the session's tensors
    name: str
    stored: str  # name of the stored type
    dtype: str  # name of the wanted type
    shape: tuple  # of one row
    variable: bool


def has_image(session):
    return session.shape[1] != 0


def of(session, settings, choose):
    """`choose`: maps a stored type to the one to deliver, for fields whose type was not requested."""
    asked = {field.name: field.dtype and str(field.dtype).rsplit(".", 1)[-1] for field in settings.fields}  # torch.int64, too
    views = {name for name, _ in settings.views}
    tensors = []
    for place, (name, stored, shape, variable) in enumerate(session.tensors):
        if (place > 0 or not has_image(session)) and name not in views:
            tensors.append(Tensor(place, name, stored, asked.get(name) or choose(stored), shape, variable))
    return tensors


def lengths_name(name):
    return f"{name}_length"


def as_they_are(stored):
    return stored
