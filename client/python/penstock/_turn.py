"""Keeps two threads from moving one loader at once."""
import functools
import os
import threading
import weakref

from .errors import FailedPrecondition


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
