"""The iterator of a loader."""
from ._turn import in_turn
from .errors import Error


class EpochIterator:
    """One pass over the rest of an epoch."""

    def __init__(self, loader):
        self._loader = loader
        self._turn = loader._turn
        self._ended = None  # why it has no more batches, other than the epoch's end
        self._done = False

    def end(self, why):
        self._ended = why

    def __iter__(self):
        return self

    def __len__(self):
        return len(self._loader)

    def __next__(self):
        return self._loader._give(self.take())

    @in_turn
    def take(self):
        """The next batch, before the loader's `_give`."""
        if self._done:
            if self._ended is None:
                self._loader._end_epoch()
            raise StopIteration
        if self._ended is not None:
            raise Error(f"this iterator is no longer live: {self._ended}; iterate the loader again")
        taken = self._loader._next()
        if taken is None:
            self._done = True
            raise StopIteration
        batch, self._done = taken
        return batch
