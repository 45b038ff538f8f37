"""A batch: arrays by name or by place, which know where they come from."""
import copy
from typing import Any, NamedTuple

from ._tensors import lengths_name


class Position(NamedTuple):
    """Where a batch stands: `rows` samples from place `first` of an epoch's order."""

    epoch: int
    step: int  # of this rank, within the epoch
    first: int
    rows: int
    valid_rows: int  # the first ones; the others are padding
    last_of_epoch: bool


class Batch(dict):
    """`batch["image"]`, `batch["label"]`, and `sample_ids`, `position`, `valid_rows`, `valid` beside them.

    A dict by its names, and a sequence by its places: it iterates over its arrays, not over their names, so that
    `images, labels = batch` and `batch[0]` mean what they mean with torch's DataLoader. `keys()`, `items()`,
    `"label" in batch`, `dict(batch)` and `f(**batch)` are a dict's.
    """

    sample_ids: Any = None
    _step: Any = None  # what Position is made of; None: somebody else made this batch

    # By place.

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

    # Where it comes from.

    @property
    def position(self):
        return Position(*self._known_step())

    @property
    def valid_rows(self):
        """So many rows, the first ones, are real; the others repeat samples, so that all ranks have equally many."""
        return self._known_step()[4]

    @property
    def valid(self):
        """Of each row whether it is real: bool, where the batch is."""
        return _range_like(next(iter(self)), self.position.rows) < self.valid_rows

    def _known_step(self):
        if self._step is None:
            raise AttributeError(
                "this batch was made from the arrays of another one, whose position, valid_rows and sample_ids did not "
                "come along; move batches by batch.to(device), or make the loader with row_info=True, which puts "
                "'sample_id' and 'valid' into each batch as tensors")
        return self._step

    # Fields of variable length.

    def mask(self, name):
        """Of a field of variable length: which of its elements are there, bool, rows x the greatest length."""
        lengths = self[lengths_name(name)]
        return _range_like(lengths, self[name].shape[1])[None, :] < lengths[:, None]

    def ragged(self, name):
        """The same field without what is not there: (values one behind the other, where each row's begin and
        the last one's end)."""
        return self[name][self.mask(name)], _offsets(self[lengths_name(name)])

    def texts(self, name):
        """A field of bytes, on the host: a list of bytes, one a row."""
        return [bytes(memoryview(row)[:length]) for row, length in
                zip(_on_host(self[name]), _on_host(self[lengths_name(name)]).tolist())]


def _is_torch(array):
    return hasattr(array, "new_empty")


def _range_like(array, count):
    """0, 1, ... where `array` is."""
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
