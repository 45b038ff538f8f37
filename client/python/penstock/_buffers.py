"""Memory of host batches, which is used again once nobody refers to an array in it.

Fresh memory must be mapped and zeroed by the kernel page by page, which takes longer than filling it.
"""
import sys

_LEAST_BYTES = 1 << 20  # smaller arrays come from memory that is mapped already
_KEPT_OF_A_SIZE = 2  # a loop refers to one batch while the next one is made


def _references(held, place):
    """How often the object is referred to, as seen from here."""
    return sys.getrefcount(held[place])


def _unused():
    return _references([bytearray()], 0)


class Buffers:
    """Makes arrays as numpy.empty does. Each of them may be kept for any time and used by any thread."""

    def __init__(self, numpy):
        self._numpy, self._kept = numpy, {}
        # Without the GIL, another thread's reference may not have been counted yet.
        self._counts = getattr(sys, "_is_gil_enabled", lambda: True)() and hasattr(sys, "getrefcount")
        self._unused = _unused() if self._counts else None

    def empty(self, shape, dtype):
        numpy, dtype = self._numpy, self._numpy.dtype(dtype)
        size = dtype.itemsize
        for side in (shape if isinstance(shape, tuple) else (shape,)):
            size *= side
        if not self._counts or size < _LEAST_BYTES:
            return numpy.empty(shape, dtype)
        kept = self._kept.setdefault(size, [])
        for place in range(len(kept)):
            if _references(kept, place) == self._unused:
                return kept[place].view(dtype).reshape(shape)
        made = numpy.empty(size, "uint8")
        if len(kept) < _KEPT_OF_A_SIZE:
            kept.append(made)
        return made.view(dtype).reshape(shape)
