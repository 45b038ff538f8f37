"""NumPy arrays in a slot. Imports NumPy only when there is an array."""
import functools

from .layout import contiguous
from .slot_format import ARRAY, CODES, MAX_DIMENSIONS, NAMES, OTHER, SlotDamaged


def reduce(plan, array):
    """How the skeleton refers to `array`, whose type is exactly ndarray. NotImplemented: NumPy pickles it itself."""
    dtype = array.dtype
    if not is_flat(dtype) or dtype.itemsize == 0 or array.ndim > MAX_DIMENSIONS:
        return NotImplemented
    shape = array.shape
    if array.flags.f_contiguous and not array.flags.c_contiguous:  # the two orders that NumPy's own pickle keeps
        strides = contiguous(shape[::-1])[::-1]
    else:
        strides = contiguous(shape)
    code = _codes().get(dtype, OTHER) if dtype.metadata is None else OTHER
    number = plan.add(array, ARRAY, code, dtype.itemsize, shape, strides)
    return (array_at, (number,)) if code else (array_at, (number, dtype))


def is_flat(dtype):
    """Whether elements are their bytes. Objects are pointers, and so are NumPy 2's texts of variable length."""
    return not dtype.hasobject and dtype.kind in "biufcmMSUV"


def copy(memory, entry, array):
    import numpy
    numpy.copyto(_view(memory, entry, array.dtype), array)


def array_at(memory, entry, dtype=None):
    """The array of `entry` as a view of `memory`."""
    if dtype is None:
        dtype = _dtypes().get(entry.dtype)
    if dtype is None or not is_flat(dtype) or dtype.itemsize != entry.item_bytes:
        raise SlotDamaged(f"the slot has an array of {NAMES.get(entry.dtype, dtype)} with {entry.item_bytes} bytes an "
                          "element, which NumPy does not have; the slot is damaged")
    return _view(memory, entry, dtype)


def _view(memory, entry, dtype):
    import numpy
    if entry.nbytes == 0:
        return numpy.empty(entry.shape, dtype)
    strides = [stride * entry.item_bytes for stride in entry.strides]
    return numpy.ndarray(entry.shape, dtype, memory, entry.offset, strides)


@functools.lru_cache(None)
def _dtypes():
    """NumPy's types by their codes. It has no bfloat16 nor smaller floats."""
    import numpy
    lacking = ("bfloat16", "complex32", "bcomplex32")
    return {code: numpy.dtype(name) for name, code in CODES.items() if name not in lacking and "float8" not in name}


@functools.lru_cache(None)
def _codes():
    return {dtype: code for code, dtype in _dtypes().items()}


REBUILD = {"array_at": array_at}
