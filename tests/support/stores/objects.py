"""What the file server stores: bytes in memory, files, and patterns of any size that take no room.

A pattern's byte at offset o is byte o % 8 (the lowest first) of splitmix64(seed * 2^32 + p // 8),
where p = o % PERIOD. So any reader can check what it got, and a range that is off by less than
PERIOD shows.
"""
import hashlib
import os
import struct
import threading

IN_MEMORY_BYTES = 256 << 10  # files up to this size are kept in memory
PERIOD = 8 * 131071  # 131071 is prime
_MASK = (1 << 64) - 1
_REPEATS = 64


def splitmix64(x):
    x = (x + 0x9E3779B97F4A7C15) & _MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _MASK
    return x ^ (x >> 31)


def _one_period(seed):
    return struct.pack(f"<{PERIOD // 8}Q",
                       *(splitmix64((seed << 32) + word) for word in range(PERIOD // 8)))


class _Patterns:
    """One memory file for each seed, with many periods, from which ranges are sent."""

    def __init__(self):
        self._lock = threading.Lock()
        self._files = {}
        self._periods = {}

    def period(self, seed):
        with self._lock:
            if seed not in self._periods:
                self._periods[seed] = _one_period(seed)
            return self._periods[seed]

    def file(self, seed):
        period = self.period(seed)
        with self._lock:
            if seed not in self._files:
                fd = os.memfd_create(f"pattern-{seed}")
                for _ in range(_REPEATS):
                    os.write(fd, period)
                self._files[seed] = fd
            return self._files[seed]


PATTERNS = _Patterns()


def pattern(seed, offset, count):
    """Returns `count` bytes of the pattern from `offset`."""
    period = PATTERNS.period(seed)
    first = offset % PERIOD
    return (period * ((first + count) // PERIOD + 1))[first:first + count]


def etag_of(chunks, part_bytes=None):
    """S3's ETag: the MD5 of the content, or the MD5 of the parts' MD5s with their number."""
    if part_bytes is None:
        digest = hashlib.md5()
        for chunk in chunks:
            digest.update(chunk)
        return f'"{digest.hexdigest()}"'
    data = b"".join(chunks)
    parts = [hashlib.md5(data[at:at + part_bytes]).digest()
             for at in range(0, len(data), part_bytes)]
    return f'"{hashlib.md5(b"".join(parts)).hexdigest()}-{len(parts)}"'


class Bytes:
    """An object in memory."""

    def __init__(self, data, part_bytes=None):
        self.data, self.size = data, len(data)
        self.etag = etag_of([data], part_bytes)

    def pieces(self, offset, count):
        """Yields (bytes, None, 0, length) or (None, descriptor, offset, length)."""
        yield self.data[offset:offset + count], None, 0, count


class File:
    """An object in a file, which is kept open: it may be deleted but not changed."""

    def __init__(self, path, part_bytes=None):
        self.fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self.size = os.fstat(self.fd).st_size
        step = 1 << 20
        self.etag = etag_of((os.pread(self.fd, step, at) for at in range(0, self.size, step)),
                            part_bytes)

    def __del__(self):
        if hasattr(self, "fd"):
            os.close(self.fd)

    def pieces(self, offset, count):
        yield None, self.fd, offset, count


class Pattern:
    """An object of any size, made up as it is read."""

    def __init__(self, size, seed=1):
        self.size, self.fd = size, PATTERNS.file(seed)
        self.etag = f'"{hashlib.md5(f"{seed}:{size}".encode()).hexdigest()}-{size // (8 << 20) + 1}"'

    def pieces(self, offset, count):
        while count > 0:
            at = offset % PERIOD
            step = min(count, PERIOD * _REPEATS - at)
            yield None, self.fd, at, step
            offset, count = offset + step, count - step


def load(path, part_bytes=None):
    """Opens a file as an object."""
    if os.path.getsize(path) > IN_MEMORY_BYTES:
        return File(path, part_bytes)
    with open(path, "rb") as file:
        return Bytes(file.read(), part_bytes)
