"""How loaders without a framework's allocator take batches: functions for LoaderBase._taker.

Each of them gives a function without arguments: (the next batch, whether it is its epoch's last), or
None at the end of an epoch.
"""
from . import _feed
from . import _penstock as native
from ._batch import Batch, Position
from .array import Array
from .errors import FailedPrecondition


def numpy():
    try:
        import numpy as module
    except ImportError as error:
        raise FailedPrecondition("penstock's arrays in host memory are NumPy's, and NumPy cannot be imported "
                                 f"({error}); install it: pip install numpy") from None
    return module


def host_type(dtype):
    """NumPy's type of that name."""
    if dtype != "bfloat16":
        return numpy().dtype(dtype)
    try:
        import ml_dtypes
    except ImportError:
        raise FailedPrecondition("NumPy has no bfloat16 of its own; pip install ml_dtypes, or ask for dtype='float32' "
                                 "or 'float16'") from None
    return numpy().dtype(ml_dtypes.bfloat16)


def is_stored(settings):
    """Whether the daemon stores what is asked for, so that nothing is left to do."""
    return settings.dtype == "uint8" and settings.layout == "NHWC"


def host_views(session, settings):
    """Read-only views of the pool's memory, which keep the batch's place there."""
    take, timeout = session.take, settings.timeout or None

    def take_view():
        lease = take(0, timeout)
        if lease is None:
            return None
        return _batch(lease.images, lease.labels, lease.sample_ids, Position(*lease.step))

    return take_view


def host_arrays(session, settings):
    """Arrays of their own."""
    empty, dtype = numpy().empty, host_type(settings.dtype)
    finish, shape = _feed.finish_of(settings), (session.shape[0], *sides_of(session, settings))
    take_into, timeout = session.take_into, settings.timeout or None

    def take_array():
        image, label = empty(shape, dtype), empty(shape[0], "int64")
        taken = take_into(finish, image.ctypes.data, image.nbytes, label.ctypes.data, 0, timeout)
        if taken is None:
            return None
        step, sample_ids = taken
        position = Position(*step)
        if position.rows < shape[0]:
            image, label = image[:position.rows], label[:position.rows]
        return _batch(image, label, numpy().frombuffer(bytearray(sample_ids), "uint64"), position)

    return take_array


def device_arrays(session, settings):
    """penstock.Array: of the slot itself where it has what is asked for, else of a pool's memory."""
    stored = is_stored(settings)
    take = _on_device(session, settings, None if stored else _feed.finish_of(settings))

    def take_on_device():
        taken = take()
        if taken is None:
            return None
        image, position, memory, labels, _, sample_ids = taken
        return _batch(image, Array(memory, labels, image.shape[:1], "int64", stored), sample_ids, position)

    return take_on_device


def device_arrays_of_their_own(session, settings):
    """The same, of a pool's memory in any case; labels as NumPy arrays on the host."""
    take = _on_device(session, settings, _feed.finish_of(settings))

    def take_on_device():
        taken = take()
        if taken is None:
            return None
        image, position, _, _, labels, sample_ids = taken
        return _batch(image, labels, sample_ids, position)

    return take_on_device


def _on_device(session, settings, finish):
    pool = native.DevicePool.open(session.device)
    sides, dtype, timeout = sides_of(session, settings), settings.dtype, settings.timeout or None
    take = session.take_on_device

    def take_raw():
        taken = take(pool, finish, timeout)
        if taken is None:
            return None
        step, memory, images, labels, host_labels, sample_ids = taken
        position = Position(*step)
        image = Array(memory, images, (position.rows, *sides), dtype, finish is None)
        return image, position, memory, labels, host_labels, sample_ids

    return take_raw


def sides_of(session, settings):
    _, height, width, channels = session.shape
    return (channels, height, width) if settings.layout == "NCHW" else (height, width, channels)


def _batch(image, label, sample_ids, position):
    batch = Batch(image=image, label=label)
    batch.sample_ids, batch._step = sample_ids, position
    return batch, position.last_of_epoch
