"""Lists that the trainer's workers look up by (epoch, number): the keys of each batch of a batch_sampler, or where each
stream of an iterable dataset begins.

The daemon counts such batches as samples: it plans, shares and resumes them by their numbers, and knows nothing of keys.
"""
import os
import pickle
import struct

from ..errors import FailedPrecondition

_HEADER = struct.Struct("<QQQQ")  # edition (odd while it is written), epoch, number of the first entry, entries
_OFFSET = struct.Struct("<QQ")
_TRIES = 1000
ANY_EPOCH = 2**64 - 1  # written once, for all epochs


class Listed:
    """For making batches in the trainer."""

    def __init__(self):
        self._epoch, self._first, self._entries = None, 0, []

    def write(self, epoch, first, entries):
        self._epoch, self._first, self._entries = epoch, first, entries

    def keys(self, _, number):
        return self._entries[number - self._first]


class Board:
    """The same in memory that forked processes share with the trainer, which alone writes it. Entries are pickled."""

    def __init__(self):
        self._fd = os.memfd_create("penstock-units")
        self._edition = 0
        os.pwrite(self._fd, _HEADER.pack(0, 0, 0, 0), 0)

    def write(self, epoch, first, entries):
        pickles = [pickle.dumps(entry, 5) for entry in entries]
        at = _HEADER.size + 8 * (len(pickles) + 1)
        offsets = [at]
        for each in pickles:
            at += len(each)
            offsets.append(at)
        os.pwrite(self._fd, _HEADER.pack(self._edition + 1, 0, 0, 0), 0)
        _write_all(self._fd, struct.pack(f"<{len(offsets)}Q", *offsets) + b"".join(pickles), _HEADER.size)
        self._edition += 2
        os.pwrite(self._fd, _HEADER.pack(self._edition, epoch, first, len(pickles)), 0)

    def keys(self, epoch, number):
        for _ in range(_TRIES):
            header = os.pread(self._fd, _HEADER.size, 0)
            edition, written_for, first, count = _HEADER.unpack(header)
            if edition % 2:
                continue
            if written_for not in (epoch, ANY_EPOCH) or not first <= number < first + count:
                break
            begin, end = _OFFSET.unpack(os.pread(self._fd, _OFFSET.size, _HEADER.size + 8 * (number - first)))
            entry = os.pread(self._fd, max(0, end - begin), begin)
            if os.pread(self._fd, _HEADER.size, 0) == header:
                return pickle.loads(entry)
        raise FailedPrecondition(f"batch {number} of epoch {epoch} is not on the trainer's list any more; the trainer "
                                 "has gone on to other batches")

    def close(self):
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    __del__ = close


def _write_all(fd, text, at):
    view = memoryview(text)
    while view:
        written = os.pwrite(fd, view, at)
        view, at = view[written:], at + written
