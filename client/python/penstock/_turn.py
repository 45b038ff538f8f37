"""Turns at a loader: one thread at a time moves it, and one iterator at a time takes its batches."""
import functools
import os
import threading
import weakref

from ._place import end_taking, take_back
from .errors import DataLoss, Error, FailedPrecondition


class Turn:
    """The lock of one loader. After a fork the child gets a free one: the thread that held it is not there."""

    def __init__(self):
        self.lock = threading.RLock()
        _turns.add(self)


_turns: "weakref.WeakSet[Turn]" = weakref.WeakSet()


def _free_all():
    for turn in list(_turns):
        turn.lock = threading.RLock()


os.register_at_fork(after_in_child=_free_all)


def in_turn(method):
    """For methods of an object with a `_turn`: one thread at a time is in them; another one gets an error at once."""

    @functools.wraps(method)
    def moving(self, *arguments):
        lock = self._turn.lock
        if not lock.acquire(False):
            raise FailedPrecondition("another thread is taking a batch from this loader; give each thread a loader of its "
                                     "own: loaders of one feed share what is decoded")
        try:
            return method(self, *arguments)
        finally:
            lock.release()

    return moving


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
        loader, marks, is_given = self._loader, [], False
        try:
            batch = self.take(marks)
            is_given = True
            batch = loader._give(batch)
            if marks:
                end_taking(loader, marks)  # from here to the loop CPython 3.11 and later look for no signal
            return batch
        except BaseException as error:
            # After the epoch's end, or a batch that failed or that its collate_fn refuses, the loop goes on with the next. After all
            # else, such as KeyboardInterrupt, it gets this batch again.
            is_past = isinstance(error, Exception if is_given else (StopIteration, DataLoss))
            if marks:
                if not is_past and take_back(loader, marks):
                    self._done = False
                end_taking(loader, marks)
            raise

    @in_turn
    def take(self, marks=None):
        """The next batch, before the loader's `_give`. `marks`: if the loader can take it back, gets one for take_back."""
        if self._done:
            if self._ended is None:
                self._loader._end_epoch()
            raise StopIteration
        if self._ended is not None:
            raise self._not_live()
        if marks is not None:
            self._loader._begin_taking(marks)
        try:
            taken = self._loader._next()
        except (Error, AttributeError, TypeError) as error:
            if self._ended is not None:  # a signal handler closed the loader meanwhile
                raise self._not_live() from error
            raise
        if taken is None:
            self._done = True
            raise StopIteration
        batch, self._done = taken
        return batch

    def _not_live(self):
        return Error(f"this iterator is no longer live: {self._ended}; iterate the loader again")
