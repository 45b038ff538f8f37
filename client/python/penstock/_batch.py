"""A batch: a dict of arrays that knows where it comes from."""
from typing import Any, NamedTuple


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

    @property
    def position(self):
        return None if self._step is None else Position(*self._step)

    @property
    def valid_rows(self):
        return self._step[4]
