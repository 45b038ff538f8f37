"""Arrays in GPU memory without a framework. Any library that reads DLPack or the CUDA Array Interface accepts them.

    image = cupy.from_dlpack(batch["image"])        # or torch.from_dlpack, jax.dlpack.from_dlpack

Nothing is copied, and the host does not wait: the stream that an array is handed to waits until the batch is there. The
memory is released when the last reference to it is gone, after the work that those streams have been given by then. So a
stream must outlive the arrays that it was handed. If other streams use an array, name them with `record_stream`, as with
torch's tensors.
"""
from . import _penstock as native

__all__ = ["Array"]

_CUDA = 2  # kDLCUDA
_LEGACY, _NO_SYNC = 1, -1

_TYPE_STRINGS = {"bool": "|b1", "uint8": "|u1", "int8": "|i1", "uint16": "<u2", "int16": "<i2", "uint32": "<u4",
                 "int32": "<i4", "uint64": "<u8", "int64": "<i8", "float16": "<f2", "float32": "<f4", "float64": "<f8"}
_ITEM_BYTES = {**{name: int(text[2]) for name, text in _TYPE_STRINGS.items()}, "bfloat16": 2}


class Array:
    """An array of a batch on a GPU: `shape`, `dtype` (a name), `device` ("cuda:N"), `nbytes`, `read_only`; `__dlpack__`,
    `__dlpack_device__`, `__cuda_array_interface__`."""

    __slots__ = ("shape", "dtype", "read_only", "_memory", "_data", "_ordinal", "_row_stride", "__weakref__")

    def __init__(self, memory, data, shape, dtype, read_only, row_stride=None):
        """`row_stride`: bytes from row to row, if there are gaps between them."""
        self._memory = memory  # native.DeviceMemory
        self._data = data
        self._ordinal = memory.pool.device
        self.shape = tuple(shape)
        self.dtype = dtype
        self.read_only = read_only
        self._row_stride = row_stride if row_stride != self._row_bytes else None

    @property
    def _row_bytes(self):
        return self.nbytes // max(1, self.shape[0]) if self.shape else self.nbytes

    @property
    def strides(self):
        """In elements; None without gaps."""
        if self._row_stride is None:
            return None
        strides = [1]
        for side in self.shape[:0:-1]:
            strides.insert(0, strides[0] * side)
        return (self._row_stride // _ITEM_BYTES[self.dtype], *strides[1:])

    @property
    def device(self):
        return f"cuda:{self._ordinal}"

    @property
    def ndim(self):
        return len(self.shape)

    @property
    def size(self):
        size = 1
        for side in self.shape:
            size *= side
        return size

    @property
    def nbytes(self):
        return self.size * _ITEM_BYTES[self.dtype]

    @property
    def _extent(self):
        """Bytes from the first to the last one, including gaps between rows."""
        if self._row_stride is None:
            return self.nbytes
        return (self.shape[0] - 1) * self._row_stride + self._row_bytes

    def __len__(self):
        return self.shape[0]

    def __repr__(self):
        return f"<penstock.Array {self.dtype}{list(self.shape)} on {self.device}>"

    def record_stream(self, stream):
        """Declares that work on this stream reads the array, too: the stream waits until the array is there, and the memory
        is released after it. `stream` is a number or an object with `.cuda_stream` or `.ptr`."""
        for name in ("cuda_stream", "ptr"):
            stream = getattr(stream, name, stream)
        self._memory.hand_to(stream or _LEGACY)

    def __dlpack_device__(self):
        return _CUDA, self._ordinal

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        """Follows the array API: stream None and 1 are the legacy default stream, 2 is the per-thread one, larger numbers
        are a cudaStream_t, and -1 means no waiting (the memory is then released after the legacy default stream). A
        consumer before DLPack 1.0 gets a copy of read-only memory, because its capsule cannot say that it is read-only."""
        if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
            raise BufferError(f"this array is on {self.device}, but device {tuple(dl_device)} was requested; copy it there "
                              "with the framework that reads it")
        stream = _checked(stream)
        unversioned = max_version is None or max_version[0] < 1
        if copy or (self.read_only and unversioned):
            if copy is not None and not copy:
                raise BufferError("this array is read-only, which DLPack before 1.0 cannot say; leave copy=False out "
                                  "to get a copy, or give max_version=(1, 0)")
            copy = self._copy_for(stream)
            return copy._capsule(copy._memory, max_version)
        self._memory.hand_to(stream)
        return self._capsule(self._memory, max_version)

    def lend_to(self, kept, stream, max_version):
        """As `__dlpack__`, for a borrower that keeps `kept` as long as it uses the memory; the caller keeps the memory
        alive. Without a stream the host waits until the array is there."""
        if stream is None:
            self._memory.pool.wait()
        else:
            self._memory.hand_to(_checked(stream))
        return self._capsule(kept, max_version)

    @property
    def __cuda_array_interface__(self):
        """Version 3. The array is handed to the legacy default stream."""
        if self.dtype not in _TYPE_STRINGS:
            raise AttributeError(f"the CUDA Array Interface has no {self.dtype}; read this array with DLPack")
        self._memory.hand_to(_LEGACY)
        strides = self.strides and tuple(stride * _ITEM_BYTES[self.dtype] for stride in self.strides)
        return {"shape": self.shape, "typestr": _TYPE_STRINGS[self.dtype], "data": (self._data, self.read_only),
                "strides": strides, "stream": _LEGACY, "version": 3}

    def __array__(self, *_, **__):
        raise TypeError(f"this array is on {self.device}, but NumPy reads host memory; copy it with a GPU framework "
                        "(cupy.asnumpy(cupy.from_dlpack(array))), or open the loader with device='cpu'")

    def _capsule(self, owner, max_version):
        exporter = native.export_device_array(owner, self._data, self.shape, self.strides or (), self.dtype,
                                              self._ordinal, self.read_only)
        return exporter.__dlpack__(max_version=max_version)

    def _copy_for(self, stream):
        memory, data = self._memory.copy_for(self._data, self._extent, stream)
        return Array(memory, data, self.shape, self.dtype, read_only=False, row_stride=self._row_stride)


def _checked(stream):
    if stream is None or stream == _NO_SYNC:
        return _LEGACY
    if not isinstance(stream, int) or stream < _LEGACY:
        raise BufferError(f"the stream is {stream!r}; on CUDA use None or 1 (legacy default), 2 (per-thread "
                          "default), a cudaStream_t as a number, or -1 (no waiting)")
    return stream
