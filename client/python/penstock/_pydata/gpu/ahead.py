"""A source whose batches are on their way to the GPU before the loop asks for them."""
import collections

from ..raised import Local, Raised
from ..replacing import Replaced
from ..sources import NOT_YET

DEPTH = 2  # batches that are taken before the loop asks for them


class Ahead:
    """Of a source of remote.py. It runs in the loop's thread alone: within `take`, it also takes the following
    batches, if they are there already. A batch counts as taken when `take` returns it; what goes wrong before is
    raised in its turn."""

    def __init__(self, source, mover):
        self._source, self._mover = source, mover
        self._items = collections.deque()
        self._ended = False  # nothing follows the last item
        self._states = self._states_now()

    def take(self):
        import torch
        with torch.inference_mode(False):  # a batch may be used in another mode than it was taken in
            if not self._items:
                self._fetch(wait=True)
                if not self._items:
                    return None
            head = self._items[0]
            head.go_on(self._mover)
            self._look_ahead()
            head.finish(self._mover)  # if it raises, the next call tries again
            self._items.popleft()
            for item in self._items:
                item.go_on(self._mover)
        if head.error is not None:
            raise head.error
        self._states = head.states
        return head.taken

    def _look_ahead(self):
        while len(self._items) <= DEPTH and self._mover.has_room() and self._fetch(wait=False):
            self._items[-1].go_on(self._mover)

    def _fetch(self, wait):
        """Takes one more batch. Returns whether there was one."""
        if self._ended or (self._items and self._items[-1].error is not None):
            return False
        try:
            taken = self._source.take(wait)
        except Exception as error:
            if wait:
                raise
            self._items.append(_Item(error=error))
            return False
        if taken is NOT_YET:
            return False
        if taken is None:
            self._ended = True
            return False
        self._ended = taken[2]
        self._items.append(_Item(taken, self._states_now()))
        return True

    def _states_now(self):
        return self._source.states() if hasattr(self._source, "states") else None

    def states(self):
        """Of an IterableDataset's source: as it was after the last batch that `take` returned."""
        return self._states

    def close(self):
        self._items.clear()
        self._ended = True
        self._source.close()


class _Item:
    """What the source gave, with the batch's way to the GPU; or the error that comes in its turn."""

    def __init__(self, taken=None, states=None, error=None):
        self.taken, self.states, self.error = taken, states, error
        self._move = None
        self._moves = error is None and not isinstance(taken[0], (Local, Raised))

    def go_on(self, mover):
        """Goes as far as is possible without waiting."""
        if not self._moves:
            return
        try:
            if self._move is None and mover.has_room():
                self._begin(mover)
            if self._move is not None and self._move.is_ready():
                self._move.start()
        except Exception:  # out of memory, for example: tried again in its turn
            pass

    def finish(self, mover):
        if not self._moves:
            return
        if self._move is None:
            self._begin(mover)
        self._move.start()
        self._move.arrive()

    def _begin(self, mover):
        batch, *others = self.taken
        if isinstance(batch, Replaced):
            self._move = mover.begin(batch.batch)
            batch = batch._replace(batch=self._move)
        else:
            batch = self._move = mover.begin(batch)
        self.taken = (batch, *others)
