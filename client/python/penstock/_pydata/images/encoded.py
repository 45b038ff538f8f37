"""Encoded images in the samples of a Python dataset: decoded and transformed natively, in the Python worker.

A sample may have `penstock.Encoded(bytes)` wherever it could have an image. Before collate_fn each one becomes the tensor
that a native feed gives for this image as the sample of that number: `decode_all` does it, once for each sample.
"""
import copy
import dataclasses
import functools
from collections.abc import MutableMapping

from ... import _steps
from ..._settings import LAYOUTS, dtype_of, one_of
from ...errors import InvalidArgument
from ...transforms import Python, is_native
from . import decoding as images
from . import erasing, functions

AS_IT_IS = ""  # the type of a tensor that nothing of Penstock's changes

_exists = False  # whether this process, or one that it was forked from, ever had an Encoded


def exist():
    """Whether a sample may have one."""
    return _exists


class Encoded:
    """An encoded image (JPEG, PNG, WebP, TIFF, …) in a sample: any object with the bytes, which are not copied.

    `transform`: the image's own, instead of the loader's.
    """

    __slots__ = ("data", "transform", "name", "sample")

    def __init__(self, data, transform=None, *, name="Encoded", sample=None):
        """`name`: for messages. `sample`: its number in draws, instead of its key in the dataset."""
        global _exists
        _exists = True
        if not isinstance(data, bytes):
            data = _view_of(data)
        self.data, self.transform, self.name, self.sample = data, transform, name, sample

    def __reduce__(self):
        return _again, (bytes(self.data), self.transform, self.name, self.sample)

    def __repr__(self):
        return f"<penstock.Encoded: {len(self.data)} bytes>"


def _view_of(data):
    try:
        return memoryview(data).cast("B")
    except TypeError as error:
        raise InvalidArgument(f"Encoded: the data are {type(data).__name__}, expected contiguous bytes ({error}); give the "
                              "content of an image file, as bytes") from None


def _again(data, transform, name, sample):
    return Encoded(data, transform, name=name, sample=sample)


@dataclasses.dataclass(frozen=True)
class Decoding:
    """What becomes of an Encoded: plain values, which can be pickled."""

    steps: _steps.Steps
    dtype: str
    layout: str

    @functools.cached_property
    def spec(self):
        return images.spec_of(self.steps.decode)

    @property
    def unscaled(self):
        """Whether floats keep the range of the bytes, 0 to 255."""
        return not self.steps.finish.scaled and self.dtype != "uint8"

    def coefficients(self, channels):
        """(mean, std), one for each channel."""
        normalize = self.steps.finish.normalize
        if normalize is None:
            return (0.0,) * channels, (1.0,) * channels
        times = channels if len(normalize.mean) == 1 else 1
        return normalize.mean * times, normalize.std * times

    def __reduce__(self):
        return Decoding, (self.steps, self.dtype, self.layout)


def decoding_of(transform, dtype=None, layout=None):
    """The Decoding for a loader's arguments, checked as for native feeds: float32 NCHW unless they, or the transform's own
    steps, say otherwise."""
    steps = _steps.steps_of(transform)
    dtype = dtype or AS_IT_IS if steps.is_final else dtype_of(steps.finish, dtype, "float32")
    decoding = Decoding(steps, dtype, one_of(layout or "NCHW", LAYOUTS, "layout"))
    erasing.check(decoding)
    return decoding


def decode_all(sample, decoding, key):
    """The sample with a tensor for each Encoded in it, in dicts, lists, tuples and dataclasses. Changes no container; returns
    the very same sample if there is none. All of a sample's images draw alike, by `key` (draws.py). DataLoss: an image
    cannot be decoded."""
    return _walk(sample, decoding, key) if _exists else sample


def _walk(value, decoding, key):
    kind = type(value)
    walk = _WALKS.get(kind, _unknown)
    if walk is _unknown:
        walk = _walk_for(kind)
        if len(_WALKS) < _MOST_TYPES:
            _WALKS[kind] = walk
    return value if walk is None else walk(value, decoding, key)


def _unknown():
    """Stands for types not met yet."""


def _walk_for(kind):
    """How to walk objects of a type; None: there is nothing in them."""
    if issubclass(kind, Encoded):
        return _decode
    if issubclass(kind, MutableMapping) or issubclass(kind, dict):
        return _walk_dict
    if issubclass(kind, list):
        return _walk_list
    if issubclass(kind, tuple):
        return _walk_tuple
    return _walk_dataclass if dataclasses.is_dataclass(kind) else None


_WALKS: dict = {}
_MOST_TYPES = 1024


def _changed(items, decoding, key):
    """[(place, new value)] of (place, value) pairs whose value has an Encoded."""
    pairs = ((place, value, _walk(value, decoding, key)) for place, value in items)
    return [(place, new) for place, old, new in pairs if new is not old]


def _walk_dict(value, decoding, key):
    changed = _changed(value.items(), decoding, key)
    return _with(value, changed)


def _walk_list(value, decoding, key):
    return _with(value, _changed(enumerate(value), decoding, key))


def _with(container, changed):
    """A copy with these items, which leaves the dataset's own container alone."""
    if not changed:
        return container
    new = copy.copy(container)
    for place, item in changed:
        new[place] = item
    return new


def _walk_tuple(value, decoding, key):
    changed = _changed(enumerate(value), decoding, key)
    if not changed:
        return value
    items = list(value)
    for place, item in changed:
        items[place] = item
    if type(value) is tuple:
        return tuple(items)
    return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)


def _walk_dataclass(value, decoding, key):
    items = ((field.name, getattr(value, field.name)) for field in dataclasses.fields(value) if hasattr(value, field.name))
    changed = _changed(items, decoding, key)
    if not changed:
        return value
    new = copy.copy(value)
    for name, item in changed:
        object.__setattr__(new, name, item)  # also in a frozen one
    return new


def _decode(encoded, decoding, key):
    if encoded.transform is not None:
        decoding = _own(encoded.transform, decoding)
    key = key.seed, key.epoch, key.number(encoded.sample)
    shape = images.shape_of(encoded.data, decoding.spec, encoded.name)
    if decoding.steps.functions:
        return _through_functions(encoded, decoding, key, shape)
    if decoding.dtype == "uint8" and decoding.layout == "NHWC":
        tensor, memory = _empty(shape, "uint8")
        images.decode_into(memory, encoded.data, decoding.spec, key, encoded.name)
        return erasing.erased(tensor, decoding, key)
    row = images.thread().scratch(shape[0] * shape[1] * shape[2])
    images.decode_into(row, encoded.data, decoding.spec, key, encoded.name)
    return erasing.erased(finish(row, shape, decoding), decoding, key)


def _own(transform, loader):
    """The Decoding of an image with its own transform, which may set another type than the loader's."""
    steps = tuple(transform) if isinstance(transform, (list, tuple)) else (transform,)
    if all(is_native(step) or isinstance(step, Python) for step in steps):
        try:
            return _own_of(steps, loader.dtype or "float32", loader.layout)
        except TypeError:  # a step with a list cannot be a key
            pass
    return _own_of.__wrapped__(transform, loader.dtype or "float32", loader.layout)


@functools.lru_cache(maxsize=64)
def _own_of(transform, dtype, layout):
    steps = _steps.steps_of(transform)
    if steps.is_final:
        return Decoding(steps, AS_IT_IS, layout)
    decoding = Decoding(steps, dtype_of(steps.finish, None if steps.finish.dtype else dtype, dtype), layout)
    erasing.check(decoding)
    return decoding


def _through_functions(encoded, decoding, key, shape):
    import numpy
    row = numpy.empty(shape, numpy.uint8)
    images.decode_into(row.reshape(-1), encoded.data, decoding.spec, key, encoded.name)
    value = functions.run(decoding.steps.functions, row)
    if decoding.steps.is_final:
        return _final(value, decoding)
    row = functions.bytes_of(value)
    if row is not None:
        return erasing.erased(finish(row.reshape(-1), row.shape, decoding), decoding, key)
    return _of_floats(value, decoding)


def _final(value, decoding):
    """The tensor that torchvision's own steps have made."""
    import torch
    tensor = value if decoding.dtype == AS_IT_IS else value.to(getattr(torch, decoding.dtype))
    return tensor if decoding.layout == "NCHW" else tensor.permute(1, 2, 0).contiguous()


def _of_floats(value, decoding):
    """The tensor of what the last function returned, if that is numbers beyond bytes."""
    import numpy
    import torch
    last, plan = decoding.steps.functions[-1].name, decoding.steps.finish
    tensor = value if functions.is_tensor(value) else None
    if _has_floats(value):
        tensor = torch.from_numpy(numpy.ascontiguousarray(value))
    if tensor is None or not tensor.is_floating_point():
        raise InvalidArgument(f"{last} returned {functions.describe(value)}, expected an image of bytes (a uint8 array of height, "
                              "width, channels; a Pillow image, RGB or L; a uint8 tensor of channels, height, width), or floats")
    if plan.normalize is not None or plan.dtype is not None or plan.erasing is not None or decoding.dtype == "uint8":
        what = ("Normalize" if plan.normalize is not None else "RandomErasing" if plan.erasing is not None else
                f"the step to {plan.dtype}" if plan.dtype else "dtype='uint8'")
        raise InvalidArgument(f"{last} returned {functions.describe(value)}, but {what} after it needs bytes; return those, or "
                              "leave that step to the function")
    return tensor.to(getattr(torch, decoding.dtype))


def _has_floats(value):
    """Whether it is an array of floats."""
    return str(getattr(value, "dtype", "")) in ("float16", "float32", "float64")


def finish(row, shape, decoding):
    """A tensor of a row's bytes: as the finish of a native batch, by the same function."""
    from ... import _decode
    height, width, channels = shape
    dtype = "uint8" if decoding.unscaled else decoding.dtype
    tensor, memory = _empty((channels, height, width) if decoding.layout == "NCHW" else shape, dtype)
    mean, std = ((0.0,) * channels, (1.0,) * channels) if decoding.unscaled else decoding.coefficients(channels)
    try:
        _decode.finish(row, shape, dtype, decoding.layout, mean, std, memory)
    except ValueError as error:
        raise InvalidArgument(f"an image of {channels} channels: {error}") from None
    return _floats_of_bytes(tensor, channels, decoding) if decoding.unscaled else tensor


def _empty(shape, dtype):
    """(a tensor, its bytes as an array)"""
    import torch
    tensor = torch.empty(tuple(shape), dtype=getattr(torch, dtype))
    return tensor, tensor.view(-1).view(torch.uint8).numpy()


def _floats_of_bytes(tensor, channels, decoding):
    """Floats from 0 to 255, normalised if it is wanted, as ToDtype without scale gives."""
    import torch
    wanted = getattr(torch, decoding.dtype)
    if decoding.steps.finish.normalize is None:
        return tensor.to(wanted)
    sides = (-1, 1, 1) if decoding.layout == "NCHW" else (-1,)
    mean, std = (torch.tensor(values).view(sides) for values in decoding.coefficients(channels))
    return tensor.to(torch.float32).sub_(mean).div_(std).to(wanted)
