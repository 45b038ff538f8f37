"""A native dataset as a Python one: the encoded images of a folder or of tar shards, for transforms with Python functions.

`native_samples(client, name)` asks the daemon once where each image lies. Workers then read the files themselves, and
decode them with the loader's transform (encoded.py), under the draws of a native feed.
"""
import collections
import os
import threading
from types import SimpleNamespace

from ... import _feed
from ..._say import say_once
from ..._settings import range_of
from ..._where import where_of
from ...errors import DataLoss, InvalidArgument
from .encoded import Encoded

_AT_ONCE = 65536  # samples in one request
_MOST_OPEN = 32  # shards


def native_samples(client, dataset, within=None):
    """The samples of a daemon's dataset. `within`: (first, count) of the samples to use; None: all. InvalidArgument: the
    images of such a dataset are no parts of files."""
    name, samples, _, kind, _, _, decoded, labeled, first, *_ = client.describe(dataset)
    first, count = within or (first, samples)
    if not decoded:
        raise InvalidArgument(f"{name!r} stores {kind} rows, and a transform with Python functions needs encoded images; apply "
                              "the functions to the finished batch")
    return NativeSamples(name, first, labeled, _places(client, dataset, (name, kind), range(first, first + count)))


def of_loader(dataset, address, within, num_workers, connect_timeout=0):
    """The samples of what a loader was given, whose transform has Python functions."""
    where = where_of(dataset)
    asked = SimpleNamespace(dataset=where.dataset, beside=where.beside, address=os.fspath(address or ""),
                            connect_timeout=connect_timeout)
    client = _feed.connect(asked)
    if asked.beside:
        asked.dataset, is_there = _feed.resolve(client, asked)
        if not is_there:
            client = _feed.connect(asked)
    if num_workers == 0:
        say_once("the transform has Python functions, and num_workers is 0: this process decodes and runs them. Give num_workers for "
                 "worker processes")
    return native_samples(client, asked.dataset, range_of(within))


def collate(samples):
    """A native loader's batch: `images, labels = batch`, or by name."""
    from torch.utils.data import default_collate

    from ..._torch_batch import TensorBatch
    return TensorBatch(default_collate(samples))


class _Places:
    """Where images lie: arrays, which take 28 bytes a sample and a file's path."""

    def __init__(self, count):
        import numpy
        self.file = numpy.empty(count, numpy.int32)
        self.offset, self.bytes, self.label = (numpy.empty(count, numpy.int64) for _ in range(3))
        self.ends, self.names = [], bytearray()  # of the files' paths, one behind the other

    def path(self, place):
        file = int(self.file[place])
        return bytes(self.names[self.ends[file - 1] if file else 0:self.ends[file]])


def _places(client, dataset, named, ids):
    import numpy
    places, last = _Places(len(ids)), None
    for begin in range(0, len(ids), _AT_ONCE):
        for at, extent in enumerate(client.extents(dataset, list(ids[begin:begin + _AT_ONCE])), begin):
            if extent is None:
                raise InvalidArgument(f"sample {ids[at]} of {named[0]!r}: its image is no part of a file, as far as the daemon "
                                      f"says ({named[1]}), and a transform with Python functions needs that: use a folder or "
                                      "tar shards, or apply the functions to the finished batch")
            path, places.offset[at], places.bytes[at], places.label[at] = extent
            if path != last:
                places.names += path
                places.ends.append(len(places.names))
                last = path
            places.file[at] = len(places.ends) - 1
    places.ends, places.names = numpy.array(places.ends, numpy.int64), bytes(places.names)
    return places


class NativeSamples:
    """A map-style dataset: {"image": Encoded} of each sample, with "label" if the dataset has labels."""

    def __init__(self, name, first, labeled, places):
        self.name, self.first, self.labeled = name, first, labeled
        self._places = places

    def __len__(self):
        return len(self._places.file)

    def __getitem__(self, index):
        if not -len(self) <= index < len(self):
            raise IndexError(f"index {index} is out of range; {self.name!r} has {len(self)} samples")
        place, there = index % len(self), self._places
        path = there.path(place)
        data = _files.read(path, int(there.offset[place]), int(there.bytes[place]))
        sample = self.first + place
        image = Encoded(data, name=f"sample {sample}, {os.fsdecode(path)!r}", sample=sample)
        return {"image": image, "label": int(there.label[place])} if self.labeled else {"image": image}

    def __repr__(self):
        return f"<penstock native samples of {self.name!r}: {len(self)}>"


class _Files:
    """Reads parts of files, for all datasets of this process. Keeps shards open, since many samples lie in each."""

    def __init__(self):
        self._begin()

    def _begin(self):
        self._open = collections.OrderedDict()  # path: descriptor; the one used last at the end
        self._lock = threading.Lock()
        self._process = os.getpid()

    def read(self, path, offset, size):
        """DataLoss: the file is not the one that was indexed, or cannot be read."""
        try:
            return self._whole(path, size) if offset == 0 else self._part(path, offset, size)
        except DataLoss:  # an OSError, too
            raise
        except OSError as error:
            raise DataLoss(f"{os.fsdecode(path)!r}: cannot be read: {error.strerror}; restore the file") from error

    def _whole(self, path, size):
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            now = os.fstat(descriptor).st_size
            if now != size:
                raise DataLoss(f"{os.fsdecode(path)!r}: changed since it was indexed: got {now} bytes, expected {size}; make "
                               "the loader anew")
            return _read(descriptor, path, 0, size)
        finally:
            os.close(descriptor)

    def _part(self, path, offset, size):
        if self._process != os.getpid():  # another thread of the process that forked this one may have had the lock
            self._begin()
        with self._lock:  # so that no other thread closes it meanwhile
            descriptor = self._open.get(path)
            if descriptor is None:
                descriptor = self._open[path] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
                if len(self._open) > _MOST_OPEN:
                    os.close(self._open.popitem(last=False)[1])
            self._open.move_to_end(path)
            return _read(descriptor, path, offset, size)


def _read(descriptor, path, offset, size):
    parts, left = [], size
    while left > 0:
        part = os.pread(descriptor, left, offset + size - left)
        if not part:
            raise DataLoss(f"{os.fsdecode(path)!r}: changed since it was indexed: it ends before byte {offset + size}; make the "
                           "loader anew")
        parts.append(part)
        left -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


_files = _Files()
