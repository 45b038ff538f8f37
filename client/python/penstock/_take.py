"""How loaders without a framework's allocator take batches: functions for LoaderBase._taker.

Each returns a function without arguments that returns (the next batch, whether it is its epoch's last), or None at the
end of an epoch.
"""
from . import _feed, _tensors, _views
from . import _penstock as native
from ._batch import Batch, Position
from ._buffers import Buffers
from .array import Array
from .errors import FailedPrecondition


def numpy():
    try:
        import numpy as module
    except ImportError as error:
        raise FailedPrecondition("penstock returns arrays in host memory as NumPy arrays, but NumPy cannot be imported "
                                 f"({error}); install it: pip install numpy") from None
    return module


def host_type(dtype):
    """NumPy's type of this name."""
    if dtype != "bfloat16":
        return numpy().dtype(dtype)
    try:
        import ml_dtypes
    except ImportError:
        raise FailedPrecondition("NumPy has no bfloat16 of its own; pip install ml_dtypes, or use dtype='float32' "
                                 "or 'float16'") from None
    return numpy().dtype(ml_dtypes.bfloat16)


def is_stored(settings):
    """Whether batches are wanted exactly as the daemon stores them, so that no conversion is needed."""
    erases = any(plan.erasing is not None for _, plan in settings.views)
    return settings.dtype == "uint8" and settings.layout == "NHWC" and not (settings.has_effects or erases)


def host_views(session, settings):
    """Read-only views of the pool's memory; each keeps its batch's place there."""
    take, timeout, view = session.take, settings.timeout or None, session.view
    images, others = _tensors.has_image(session), _tensors.of(session, settings, _tensors.as_they_are)
    views = _views.of(session, settings, (False, None))

    def take_view():
        lease = take(0, timeout)
        if lease is None:
            return None
        values = {settings.image_name: lease.images} if images else {}
        for each in views:
            values[each.name], _ = view(lease, each.place)
        if session.labeled:
            values["label"] = lease.labels
        for tensor in others:
            _put(values, tensor, *view(lease, tensor.place))
        return _batch(values, lease.sample_ids, Position(*lease.step))

    return take_view


def _put(values, tensor, value, lengths):
    if tensor.stored == "bfloat16":  # arrives as uint16
        value = value.view(host_type("bfloat16"))
    values[tensor.name] = value if tensor.dtype == tensor.stored else value.astype(tensor.dtype)
    if tensor.variable:
        values[_tensors.lengths_name(tensor.name)] = lengths


def host_arrays(session, settings, effects=None, keying=(False, None)):
    """Arrays with memory of their own."""
    empty, dtype = Buffers(numpy()).empty, host_type("uint8" if settings.unscaled else settings.dtype)
    finish, rows = _feed.finish_of(settings), session.shape[0]
    shape, images = (rows, *sides_of(session, settings)), _tensors.has_image(session)
    others = _tensors.of(session, settings, _tensors.as_they_are)
    take_into, timeout = session.take_into, settings.timeout or None
    classes = 0 if effects is None else effects.classes  # of soft labels
    name, views = settings.image_name, _views.of(session, settings, keying)

    def take_array():
        values = {name: empty(shape, dtype)} if images else {}
        for view in views:
            values[view.name] = empty((rows, *view.sides), dtype)
        if session.labeled:
            values["label"] = empty((rows, classes), "float32") if classes else empty(rows, "int64")
        destinations, (labels, label_bytes) = [_destination(tensor, values, rows) for tensor in others], _where(values, "label")
        taken = take_into(finish, *_where(values, name), 0 if classes else labels, 0, timeout, destinations, effects,
                          labels if classes else 0, label_bytes if classes else 0,
                          [view.destination(*_where(values, view.name)) for view in views])
        if taken is None:
            return None
        step, sample_ids = taken
        position = Position(*step)
        if position.rows < rows:
            values = {name: value[:position.rows] for name, value in values.items()}
        if settings.unscaled and images:
            values["image"] = _floats_of_bytes(values["image"], settings)
        return _batch(values, numpy().frombuffer(bytearray(sample_ids), "uint64"), position)

    return take_array


def _floats_of_bytes(image, settings):
    """Floats from 0 to 255, as ToDtype without scale gives them, then Normalize if it is wanted."""
    normalize, floats = settings.plan.normalize, image.astype("float32")
    if normalize is not None:
        sides = (-1, 1, 1) if settings.layout == "NCHW" else (-1,)
        mean, std = (numpy().array(values, "float32").reshape(sides) for values in (normalize.mean, normalize.std))
        floats = (floats - mean) / std
    return floats.astype(host_type(settings.dtype), copy=False)


def _where(values, name):
    value = values.get(name)
    return (0, 0) if value is None else (value.ctypes.data, value.nbytes)


def _destination(tensor, values, rows):
    """Adds memory for one of a batch's tensors to `values`, and returns its description for the extension."""
    value = values[tensor.name] = numpy().empty((rows, *tensor.shape), host_type(tensor.dtype))
    lengths = 0
    if tensor.variable:
        there = values[_tensors.lengths_name(tensor.name)] = numpy().empty(rows, "int32")
        lengths = there.ctypes.data
    return tensor.place, tensor.dtype, value.ctypes.data, value.nbytes, lengths


def device_arrays(session, settings, effects=None):
    """penstock.Array: a view of the slot itself if it has the wanted type, else memory of a pool."""
    others = _tensors.of(session, settings, _tensors.as_they_are)
    stored = (is_stored(settings) or not _tensors.has_image(session)) and all(
        tensor.dtype == tensor.stored for tensor in others)
    take = _on_device(session, settings, others, None if stored else _feed.finish_of(settings), effects)
    classes = 0 if effects is None else effects.classes  # of soft labels

    def take_on_device():
        taken = take()
        if taken is None:
            return None
        values, position, memory, labels, _, sample_ids, soft_labels = taken
        if classes:
            values["label"] = Array(memory, soft_labels, (position.rows, classes), "float32", stored)
        elif session.labeled:
            values["label"] = Array(memory, labels, (position.rows,), "int64", stored)
        return _batch(values, sample_ids, position)

    return take_on_device


def device_arrays_of_their_own(session, settings, effects=None):
    """The same, always in memory of a pool; labels are NumPy arrays on the host."""
    others = _tensors.of(session, settings, _tensors.as_they_are)
    take = _on_device(session, settings, others, _feed.finish_of(settings), effects)

    def take_on_device():
        taken = take()
        if taken is None:
            return None
        values, position, _, _, labels, sample_ids, _ = taken
        if session.labeled:
            values["label"] = labels
        return _batch(values, sample_ids, position)

    return take_on_device


def _on_device(session, settings, others, finish, effects):
    if settings.unscaled:
        raise FailedPrecondition("the transform gives floats from 0 to 255, which on a GPU only penstock.torch supports; use "
                                 "ToDtype(scale=True), or dtype='uint8' and cast the batch")
    pool = native.DevicePool.open(session.device)
    sides, dtype, timeout = sides_of(session, settings), settings.dtype, settings.timeout or None
    take, read_only, images = session.take_on_device, finish is None, _tensors.has_image(session)
    wanted = [(tensor.place, tensor.dtype) for tensor in others]

    def take_raw():
        taken = take(pool, finish, wanted, timeout, effects)
        if taken is None:
            return None
        step, memory, data, labels, host_labels, sample_ids, places, *soft_labels = taken
        position = Position(*step)
        values = {"image": Array(memory, data, (position.rows, *sides), dtype, read_only)} if images else {}
        for tensor, (address, row_stride, lengths) in zip(others, places):
            values[tensor.name] = Array(memory, address, (position.rows, *tensor.shape), tensor.dtype, read_only,
                                        row_stride)
            if tensor.variable:
                values[_tensors.lengths_name(tensor.name)] = Array(memory, lengths, (position.rows,), "int32", read_only)
        return values, position, memory, labels, host_labels, sample_ids, soft_labels[0] if soft_labels else 0

    return take_raw


def sides_of(session, settings):
    _, height, width, channels = session.shape
    return (channels, height, width) if settings.layout == "NCHW" else (height, width, channels)


def _batch(values, sample_ids, position):
    batch = Batch(values)
    batch.sample_ids, batch._step = sample_ids, position
    return batch, position.last_of_epoch
