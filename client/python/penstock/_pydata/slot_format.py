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
    if not (total <= len(memory) and HEADER_BYTES <= tail <= total and table_bytes <= total - tail):
        raise _wrong("places", f"total_bytes {total}, tail_offset {tail}, table_bytes {table_bytes}",
                     f"a tail that lies within {len(memory)} bytes")
    if skeleton_bytes != total - tail - table_bytes:
        raise _wrong("skeleton_bytes", skeleton_bytes, total - tail - table_bytes)
    if buffers > MAX_BUFFERS or zero or zero_too:
        raise _wrong("header", f"buffer_count {buffers}, reserved {zero}, {zero_too}", f"at most {MAX_BUFFERS}, 0, 0")
    found = zlib.crc32(memory[tail:total])
    if found != checksum:
        raise _wrong("tail_crc32", checksum, found)
    return Tail(_parse_table(memory[tail:tail + table_bytes], buffers, tail), memory[tail + table_bytes:total])


def _parse_table(table, buffers, end_of_data):
    entries, at, end = [], 0, len(table)
    for place in range(buffers):
        if ENTRY.size > end - at:
            raise _wrong("table_bytes", end, f"an entry for buffer {place} of {buffers}")
        form, dtype, dimensions, zero, item_bytes, offset, nbytes = ENTRY.unpack_from(table, at)
        at += ENTRY.size
        if dimensions > MAX_DIMENSIONS or 16 * dimensions > end - at or zero:
            raise _wrong(f"buffer {place}", f"{dimensions} dimensions, reserved {zero}", f"at most {MAX_DIMENSIONS}, 0")
        sides = struct.unpack_from(f"<{2 * dimensions}q", table, at)
        at += 16 * dimensions
        entry = Entry(form, dtype, item_bytes, offset, nbytes, sides[:dimensions], sides[dimensions:])
        _check_entry(place, entry, end_of_data)
        entries.append(entry)
    if at != end:
        raise _wrong("table_bytes", end, at)
    return entries


def _check_entry(place, entry, end_of_data):
    form, dtype, item_bytes, offset, nbytes, shape, strides = entry
    if form not in (BYTES, ARRAY, TENSOR) or not (dtype == OTHER or dtype in NAMES):
        raise _wrong(f"buffer {place}", f"form {form}, dtype {dtype}", f"0 to 2, 0 to {max(NAMES)}")
    if offset % ALIGNMENT or not HEADER_BYTES <= offset <= end_of_data or nbytes > end_of_data - offset:
        raise _wrong(f"buffer {place}", f"{nbytes} bytes at {offset}", f"a multiple of {ALIGNMENT} from {HEADER_BYTES}, and an "
                     f"end at {end_of_data} or before")
    if form == BYTES:
        return
    if min(shape, default=0) < 0 or min(strides, default=0) < 0 or math.prod(shape) > MAX_ELEMENTS:
        raise _wrong(f"buffer {place}", f"shape {shape} with strides {strides}", f"0 to {MAX_ELEMENTS} elements")
    if extent(shape, strides, item_bytes) > nbytes or stored_bytes(entry) != nbytes:
        raise _wrong(f"buffer {place}", f"{nbytes} bytes", f"{stored_bytes(entry)} for shape {shape} with strides {strides} of "
                     f"{item_bytes} bytes")


def extent(shape, strides, item_bytes):
    """Bytes from the first to the last element; 0 without elements."""
    if 0 in shape:
        return 0
    last = 1
    for side, stride in zip(shape, strides):
        last += (side - 1) * stride
    return last * item_bytes


def stored_bytes(entry):
    """Bytes of a dense array with this shape. Tensors store a dimension of stride 0 once; arrays have none."""
    if 0 not in entry.strides:
        return math.prod(entry.shape) * entry.item_bytes
    sides = (1 if stride == 0 and side > 0 and entry.form == TENSOR else side for side, stride in
             zip(entry.shape, entry.strides))
    return math.prod(sides) * entry.item_bytes


def _wrong(what, got, expected):
    return SlotDamaged(f"the slot's {what}: got {got}, expected {expected}; the slot is damaged, or was written by something "
                       "else")
