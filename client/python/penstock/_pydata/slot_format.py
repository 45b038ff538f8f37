"""The bytes of a Python slot: header, table, and every check of numbers that come out of shared memory.

README.md has the format in tables. common/shm/python_slot.h is its mirror in C++, with the names that are used here.
"""
import math
import struct
import zlib
from typing import List, NamedTuple, Tuple

from ..errors import DataLoss, ResourceExhausted

MAGIC = int.from_bytes(b"PENSLOTS", "little")
VERSION = 1
ALIGNMENT = 64  # of every buffer, counted from the slot's first byte
HEADER = struct.Struct("<QIIQQQQIIQ")
HEADER_BYTES = HEADER.size
ENTRY = struct.Struct("<HHHHQQQ")
MAX_DIMENSIONS = 64
MAX_BUFFERS = 1 << 20
MAX_ELEMENTS = 1 << 48  # of an expanded tensor, which stores fewer
assert HEADER_BYTES == 64 and ENTRY.size == 32

# `form` of an entry: what the reader makes of its bytes.
BYTES, ARRAY, TENSOR = 0, 1, 2

# `dtype` of an entry. 0: the skeleton says it (NumPy's structured types, dates, texts, other byte orders). A number is
# never used again for another type.
OTHER = 0
CODES = {"bool": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "uint32": 6, "int32": 7, "uint64": 8, "int64": 9,
         "float16": 10, "float32": 11, "float64": 12, "bfloat16": 13, "complex32": 14, "complex64": 15, "complex128": 16,
         "float8_e4m3fn": 17, "float8_e5m2": 18, "float8_e4m3fnuz": 19, "float8_e5m2fnuz": 20, "float8_e8m0fnu": 21, "bcomplex32": 22}
NAMES = {code: name for name, code in CODES.items()}


class SlotDamaged(DataLoss):
    """The bytes are not a whole slot; nothing was read outside of them."""


class SlotTooSmall(ResourceExhausted):
    """A batch does not fit into its slot: `needed` and `available` bytes."""

    def __init__(self, needed, available):
        super().__init__(f"the batch needs {needed} bytes, its slot has {available}; raise max_batch_bytes to at least "
                         f"{needed}, or make the batch smaller")
        self.needed, self.available = needed, available

    def __reduce__(self):
        return SlotTooSmall, (self.needed, self.available)


class Entry(NamedTuple):
    """One buffer: an array's bytes, or those of a pickle-5 buffer. `shape` and `strides` are in elements."""

    form: int
    dtype: int
    item_bytes: int
    offset: int
    nbytes: int
    shape: Tuple[int, ...] = ()
    strides: Tuple[int, ...] = ()


class Tail(NamedTuple):
    entries: List[Entry]
    skeleton: memoryview


def aligned(offset):
    """The first place of a buffer at or behind `offset`."""
    return -(-offset // ALIGNMENT) * ALIGNMENT


def pack_table(entries):
    parts = []
    for entry in entries:
        dimensions = len(entry.shape)
        parts.append(ENTRY.pack(entry.form, entry.dtype, dimensions, 0, entry.item_bytes, entry.offset, entry.nbytes))
        parts.append(struct.pack(f"<{2 * dimensions}q", *entry.shape, *entry.strides))
    return b"".join(parts)


def pack_header(buffers, tail_offset, table_bytes, skeleton_bytes, checksum):
    total = tail_offset + table_bytes + skeleton_bytes
    return HEADER.pack(MAGIC, VERSION, buffers, total, tail_offset, table_bytes, skeleton_bytes, checksum, 0, 0)


def parse(memory):
    """The tail of a slot in `memory`, a memoryview of bytes, after all checks. Raises SlotDamaged."""
    if len(memory) < HEADER_BYTES:
        raise SlotDamaged(f"the slot has {len(memory)} bytes, less than its header of {HEADER_BYTES}; it was cut off")
    magic, version, buffers, total, tail, table_bytes, skeleton_bytes, checksum, zero, zero_too = HEADER.unpack_from(memory)
    if magic != MAGIC:
        raise SlotDamaged(f"the slot begins with {magic:#018x}, expected {MAGIC:#018x}; its worker has not finished it, or "
                          "these are other bytes")
    if version != VERSION:
        raise SlotDamaged(f"the slot has version {version}, expected {VERSION}; trainer and worker must use one version of "
                          "Penstock")
    _check(total <= len(memory), "total_bytes", total, f"at most {len(memory)}")
    _check(HEADER_BYTES <= tail <= total, "tail_offset", tail, f"{HEADER_BYTES} to {total}")
    _check(table_bytes <= total - tail, "table_bytes", table_bytes, f"at most {total - tail}")
    _check(skeleton_bytes == total - tail - table_bytes, "skeleton_bytes", skeleton_bytes, total - tail - table_bytes)
    _check(buffers <= MAX_BUFFERS, "buffer_count", buffers, f"at most {MAX_BUFFERS}")
    _check(zero == zero_too == 0, "reserved", zero or zero_too, 0)
    found = zlib.crc32(memory[tail:total])
    _check(found == checksum, "tail_crc32", checksum, found)
    return Tail(_parse_table(memory[tail:tail + table_bytes], buffers, tail), memory[tail + table_bytes:total])


def _parse_table(table, buffers, end_of_data):
    entries, at = [], 0
    for place in range(buffers):
        _check(ENTRY.size <= len(table) - at, f"table_bytes at buffer {place}", len(table), f"at least {at + ENTRY.size}")
        form, dtype, dimensions, zero, item_bytes, offset, nbytes = ENTRY.unpack_from(table, at)
        at += ENTRY.size
        _check(dimensions <= MAX_DIMENSIONS, f"dimensions of buffer {place}", dimensions, f"at most {MAX_DIMENSIONS}")
        _check(16 * dimensions <= len(table) - at, f"table_bytes at buffer {place}", len(table),
               f"at least {at + 16 * dimensions}")
        sides = struct.unpack_from(f"<{2 * dimensions}q", table, at)
        at += 16 * dimensions
        entry = Entry(form, dtype, item_bytes, offset, nbytes, sides[:dimensions], sides[dimensions:])
        _check_entry(place, entry, zero, end_of_data)
        entries.append(entry)
    _check(at == len(table), "table_bytes", len(table), at)
    return entries


def _check_entry(place, entry, zero, end_of_data):
    _check(entry.form in (BYTES, ARRAY, TENSOR), f"form of buffer {place}", entry.form, "0 to 2")
    _check(entry.dtype == OTHER or entry.dtype in NAMES, f"dtype of buffer {place}", entry.dtype, f"0 to {max(NAMES)}")
    _check(zero == 0, f"reserved of buffer {place}", zero, 0)
    _check(entry.offset % ALIGNMENT == 0 and entry.offset >= HEADER_BYTES, f"offset of buffer {place}", entry.offset,
           f"a multiple of {ALIGNMENT} behind the header")
    _check(entry.offset <= end_of_data and entry.nbytes <= end_of_data - entry.offset, f"end of buffer {place}",
           entry.offset + entry.nbytes, f"at most {end_of_data}")
    if entry.form != BYTES:
        _check(min(entry.shape, default=0) >= 0 and min(entry.strides, default=0) >= 0, f"shape of buffer {place}",
               f"{entry.shape} with strides {entry.strides}", "no negative numbers")
        _check(extent(entry) <= entry.nbytes, f"extent of buffer {place}", extent(entry), f"at most {entry.nbytes} bytes")
        _check(stored_bytes(entry) == entry.nbytes, f"length of buffer {place}", entry.nbytes, stored_bytes(entry))
        _check(math.prod(entry.shape) <= MAX_ELEMENTS, f"elements of buffer {place}", math.prod(entry.shape),
               f"at most {MAX_ELEMENTS}")


def extent(entry):
    """Bytes from the first to the last element; 0 without elements."""
    if 0 in entry.shape:
        return 0
    last = sum((side - 1) * stride for side, stride in zip(entry.shape, entry.strides))
    return (last + 1) * entry.item_bytes


def stored_bytes(entry):
    """Bytes of a dense array with this shape. Tensors store a dimension of stride 0 once; arrays have none."""
    sides = (1 if stride == 0 and side > 0 and entry.form == TENSOR else side for side, stride in
             zip(entry.shape, entry.strides))
    return math.prod(sides) * entry.item_bytes


def _check(condition, what, got, expected):
    if not condition:
        raise SlotDamaged(f"the slot's {what} is wrong: got {got}, expected {expected}; the slot is damaged, or was "
                          "written by something else")
