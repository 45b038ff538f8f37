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
    position: Any = None

    @property
    def valid_rows(self):
        return self.position.valid_rows
