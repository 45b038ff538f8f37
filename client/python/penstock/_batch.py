"""A batch: a dict of arrays that knows where it comes from."""
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
    """`batch["image"]`, `batch["label"]`; and `sample_ids`, `position`, `valid_rows` beside them."""

    sample_ids: Any = None
    _step: Any = None  # what Position is made of

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

    @property
    def position(self):
        return None if self._step is None else Position(*self._step)

    @property
    def valid_rows(self):
        return self._step[4]


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
