"""A batch: arrays by name or by index, and the batch's position in the epoch."""
import copy
from typing import Any, NamedTuple

from ._tensors import lengths_name


class Position(NamedTuple):
    """A batch's position: `rows` samples from position `first` of an epoch's order."""

    epoch: int
    step: int  # number of this rank's batch within the epoch
    first: int
    rows: int
    valid_rows: int  # the first `valid_rows` rows are real; the others are padding
    last_of_epoch: bool


class Batch(dict):
    """`batch["image"]`, `batch["label"]`, and in addition `sample_ids`, `position`, `valid_rows`, `valid`.

    A dict by name and a sequence by index: it iterates over its arrays, not over their names, so `images, labels = batch`
    and `batch[0]` work as with torch's DataLoader. `keys()`, `items()`, `"label" in batch`, `dict(batch)` and `f(**batch)`
    work as with a dict.
    """

    sample_ids: Any = None
    _step: Any = None  # fields of Position; None: this batch was not made by a loader

    # Access by index.

    def __iter__(self):
        return iter(self.values())

    def __reversed__(self):
        return reversed(self.values())

    def __getitem__(self, name):
        if isinstance(name, (int, slice)):
            return list(self.values())[name]
        return super().__getitem__(name)

    def __setitem__(self, name, value):
        super().__setitem__(list(self.keys())[name] if isinstance(name, int) else name, value)

    def copy(self):
        return copy.copy(self)

    # Where the batch comes from.

    @property
    def position(self):
        return Position(*self._known_step())

    @property
    def valid_rows(self):
        """The number of real rows, which come first. The others repeat samples, so that all ranks have equally many."""
        return self._known_step()[4]

    @property
    def valid(self):
        """Whether each row is real: bool, on the batch's device."""
        return _range_like(next(iter(self)), self.position.rows) < self.valid_rows

    def _known_step(self):
        if self._step is None:
            raise AttributeError(
                "this batch was made from the arrays of another one, and has lost its position, valid_rows and "
                "sample_ids; move batches with batch.to(device), or make the loader with row_info=True, which puts "
                "'sample_id' and 'valid' into each batch as tensors")
        return self._step

    # Fields of variable length.

    def mask(self, name):
        """For a field of variable length: which of its elements are real; bool, rows x maximum length."""
        lengths = self[lengths_name(name)]
        return _range_like(lengths, self[name].shape[1])[None, :] < lengths[:, None]

    def ragged(self, name):
        """The same field without padding: (all values in one array, the offsets at which each row begins and the last one
        ends)."""
        return self[name][self.mask(name)], _offsets(self[lengths_name(name)])

    def texts(self, name):
        """A field of bytes, on the host: a list with the bytes of each row."""
        return [bytes(memoryview(row)[:length]) for row, length in
                zip(_on_host(self[name]), _on_host(self[lengths_name(name)]).tolist())]


def _is_torch(array):
    return hasattr(array, "new_empty")


def _range_like(array, count):
    """0, 1, ... on the device of `array`."""
    if _is_torch(array):
        import torch
        return torch.arange(count, device=array.device)
    import numpy
    return numpy.arange(count)


def _offsets(lengths):
    if _is_torch(lengths):
        import torch
        return torch.nn.functional.pad(lengths.cumsum(0), (1, 0))
    import numpy
    return numpy.concatenate(([0], numpy.cumsum(numpy.asarray(lengths), dtype="int64")))


def _on_host(array):
    return array.cpu().numpy() if _is_torch(array) else array
