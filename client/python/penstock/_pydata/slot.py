"""Writes a Python structure into a slot of shared memory, and reads it back as views of that memory.

    plan = slot.measure(batch)           # pickles what is small; copies no array
    used = plan.write(buffer)            # copies each array once, or raises SlotTooSmall and leaves the buffer as it is
    batch = slot.read(buffer)            # arrays and tensors are views; nothing is copied

The structure may be anything that torch's DataLoader takes from a worker. Tensors and NumPy arrays, also those inside of
other objects, go to the slot's data area; everything else is one pickle of protocol 5, the skeleton, in which each array
is a reference to its place. README.md has the format and its limits.
"""
import pickle
import sys
import zlib

from ..errors import InvalidArgument
from . import slot_numpy, slot_torch
from .slot_format import (ARRAY, BYTES, HEADER_BYTES, MAX_BUFFERS, OTHER, TENSOR, Entry, SlotDamaged, SlotTooSmall, aligned,
                          extent, pack_header, pack_table, parse)

__all__ = ["Plan", "SlotDamaged", "SlotTooSmall", "measure", "read", "write"]

_LEAST_OUT_OF_BAND = 256  # bytes; a smaller buffer of a foreign object stays in its pickle


def measure(value, arena=None):
    """A Plan for `value`, which must not change before `Plan.write`. Raises InvalidArgument if a part cannot be sent to
    another process, with the path of that part. `arena`: of arena.py, whose slot the plan will be written to; tensors that
    are in it stay where they are."""
    return Plan(value, arena)


def write(value, buffer):
    """Measures and writes; returns the number of bytes used."""
    return measure(value).write(buffer)


def read(buffer):
    """The structure in `buffer`, any contiguous bytes-like object. Raises SlotDamaged if they are not a whole slot.

    Arrays and tensors keep the object behind `buffer` alive: when the last of them is gone, so is that reference. Arrays
    are writable if the buffer is. torch knows no read-only tensors: a write to one over read-only pages ends the process.
    """
    memory = memoryview(buffer).cast("B")
    tail = parse(memory)
    try:
        return _Reader(memory, tail).load()
    except SlotDamaged:
        raise
    except Exception as error:
        raise SlotDamaged(f"the slot's skeleton cannot be rebuilt ({type(error).__name__}: {error}); trainer and worker must "
                          "see the same modules in the same versions") from error


class Plan:
    """What will be written, measured: `nbytes` is the slot's size, `buffers` the number of entries in its table."""

    def __init__(self, value, arena=None):
        self._entries, self._sources = [], []
        self._arena = arena
        self._end = HEADER_BYTES if arena is None else arena.end
        self._chunks = _Chunks()
        try:
            _Skeleton(self, self._chunks).dump(value)
        except InvalidArgument:
            raise
        except Exception as error:
            raise InvalidArgument(f"the batch cannot be sent to the trainer: its part {_culprit(value)} fails with "
                                  f"{type(error).__name__}: {error}; return tensors, arrays, numbers, texts, or objects that "
                                  "can be pickled") from error
        self._table = pack_table(self._entries)
        self._skeleton_bytes = sum(map(len, self._chunks))
        self._tail = aligned(self._end)
        self.nbytes = self._tail + len(self._table) + self._skeleton_bytes

    @property
    def buffers(self):
        return len(self._entries)

    def add(self, source, form, dtype, item_bytes, shape, strides):
        """Reserves a place for an array with these dense strides; returns its number in the table."""
        if len(self._entries) == MAX_BUFFERS:
            raise InvalidArgument(f"the batch has more than {MAX_BUFFERS} tensors and arrays; stack them in collate_fn")
        nbytes = item_bytes if form == BYTES else extent(shape, strides, item_bytes)
        offset = self._arena.offset_of(source, nbytes) if self._arena is not None and form == TENSOR else None
        if offset is not None:
            source = None
        else:
            offset = aligned(self._end)
            self._end = offset + nbytes
        self._entries.append(Entry(form, dtype, item_bytes, offset, nbytes, shape, strides))
        self._sources.append(source)
        return len(self._entries) - 1

    def write(self, buffer):
        """Writes the slot to the beginning of `buffer`, and the magic number last. Returns `nbytes`."""
        memory = memoryview(buffer).cast("B")
        if memory.readonly:
            raise InvalidArgument("the slot's memory is read-only; the worker's mapping must be writable")
        if len(memory) < self.nbytes:
            raise SlotTooSmall(self.nbytes, len(memory))
        memory[:8] = bytes(8)
        for entry, source in zip(self._entries, self._sources):
            if entry.nbytes and source is not None:
                _COPY[entry.form](memory, entry, source)
        at, checksum = self._tail, 0
        for chunk in (self._table, *self._chunks):
            memory[at:at + len(chunk)] = chunk
            checksum = zlib.crc32(chunk, checksum)
            at += len(chunk)
        header = pack_header(len(self._entries), self._tail, len(self._table), self._skeleton_bytes, checksum)
        memory[8:HEADER_BYTES] = header[8:]
        memory[:8] = header[:8]
        return self.nbytes


def _copy_bytes(memory, entry, source):
    memory[entry.offset:entry.offset + entry.nbytes] = source


_COPY = {BYTES: _copy_bytes, ARRAY: slot_numpy.copy, TENSOR: slot_torch.copy}


class _Chunks(list):
    """Receives the pickle. The pickler hands over bytes objects of 64 KiB and more as they are, without copying them."""

    write = list.append


class _Skeleton(pickle.Pickler):
    """Pickles the structure and takes the arrays out of it. The same array twice is one: pickle remembers objects."""

    def __init__(self, plan, chunks):
        super().__init__(chunks, protocol=5, buffer_callback=self._foreign)
        self._plan = plan
        self._ndarray = getattr(sys.modules.get("numpy"), "ndarray", None)
        self._tensor = getattr(sys.modules.get("torch"), "Tensor", None)

    def reducer_override(self, value):
        """Called for every object that is not one of Python's own simple types."""
        kind = type(value)
        if kind is self._ndarray:
            return slot_numpy.reduce(self._plan, value)
        if self._tensor is not None and isinstance(value, self._tensor):
            return slot_torch.reduce(self._plan, value)
        return NotImplemented

    def _foreign(self, buffer):
        """A buffer of a foreign object. Returns whether it stays in the pickle."""
        try:
            raw = buffer.raw()
        except BufferError:  # not contiguous
            return True
        if len(raw) < _LEAST_OUT_OF_BAND:
            return True
        self._plan.add(raw, BYTES, OTHER, len(raw), (), ())
        return False


class _Reader(pickle.Unpickler):
    """Rebuilds a structure. References to arrays become calls of this object's methods."""

    def __init__(self, memory, tail):
        self._memory, self._entries = memory, tail.entries
        foreign = [memory[entry.offset:entry.offset + entry.nbytes] for entry in tail.entries if entry.form == BYTES]
        super().__init__(_Stream(tail.skeleton), buffers=foreign)

    def find_class(self, module, name):
        if module == slot_numpy.__name__ and name in slot_numpy.REBUILD:
            return self._bound(slot_numpy.REBUILD[name], ARRAY)
        if module == slot_torch.__name__ and name in slot_torch.REBUILD:
            return self._bound(slot_torch.REBUILD[name], TENSOR)
        return super().find_class(module, name)

    def _bound(self, rebuild, form):
        memory, entries = self._memory, self._entries  # not self: the unpickler's memo would then keep itself alive

        def call(number, *arguments):
            if not 0 <= number < len(entries) or entries[number].form != form:
                raise SlotDamaged(f"the slot's skeleton refers to array {number}, which is not one of its {len(entries)} "
                                  "buffers; the slot is damaged")
            return rebuild(memory, entries[number], *arguments)
        return call


class _Stream:
    """The skeleton as a file, read without copying it as a whole."""

    def __init__(self, memory):
        self._memory, self._at = memory, 0

    def read(self, count=-1):
        end = len(self._memory) if count < 0 else min(len(self._memory), self._at + count)
        taken = bytes(self._memory[self._at:end])
        self._at = end
        return taken

    def readinto(self, into):
        count = min(len(into), len(self._memory) - self._at)
        into[:count] = self._memory[self._at:self._at + count]
        self._at += count
        return count

    def readline(self):
        rest = bytes(self._memory[self._at:])
        return self.read(rest.find(b"\n") + 1 or -1)


def _culprit(value, path="batch", depth=0):
    """The path of the first part that cannot be pickled."""
    if isinstance(value, dict):
        parts = [(f"{path}[{key!r}]", part) for key, part in value.items()]
    elif isinstance(value, (list, tuple)):
        parts = [(f"{path}[{place}]", part) for place, part in enumerate(value)]
    else:
        parts = [(f"{path}.{name}", part) for name, part in getattr(value, "__dict__", {}).items()]
    for name, part in parts if depth < 8 else ():
        if not _can_be_sent(part):
            return _culprit(part, name, depth + 1)
    return f"{path} (of {type(value).__module__}.{type(value).__qualname__})"


def _can_be_sent(value):
    try:
        _Skeleton(_Nowhere(), _Chunks()).dump(value)
        return True
    except Exception:
        return False


class _Nowhere:
    """Stands in for a Plan where only success matters."""

    def add(self, *_):
        return 0
