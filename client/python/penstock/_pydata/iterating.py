"""Several live iterators of one loader, as torch's DataLoader has them: `zip(loader, loader)`, nested loops, threads.

A loader is at one place. If it is iterated while an older iterator is in use, that one goes on by itself: it gets a copy of
the loader, with all that is open, and the loader begins anew, in the next epoch, with workers of its own.
"""
import contextlib
import weakref

from .._turn import EpochIterator
from .._turn import Turn


@contextlib.contextmanager
def waiting(owner):
    """The turn of a loader or iterator, which another thread may have: it is waited for."""
    while True:
        lock = owner._turn.lock
        with lock:
            if owner._turn.lock is lock:
                yield
                return
        # else meanwhile the iterator has become independent


class Iterator(EpochIterator):
    def take(self, marks=None):
        with waiting(self):
            return super().take(marks)

    def is_live(self):
        return not self._done and self._ended is None


def end(loader):
    """The live iterator has no more batches behind the one that is being taken."""
    iterator = loader._live()
    if iterator is not None:
        iterator._done = True


def part(loader):
    """Makes the live iterator independent of the loader, if there is one."""
    older = loader._live()
    if older is None or loader.persistent_workers:
        return
    if older._loader is loader:  # else an interrupt came behind _hand_over
        if not older.is_live():
            return
        _hand_over(loader, older)
    _begin_anew(loader, older)


def _hand_over(loader, older):
    other = object.__new__(type(loader))
    other.__dict__.update(loader.__dict__)
    other._turn, other._beside, other._parted = Turn(), None, weakref.WeakSet()
    loader._parted.add(other)
    older._loader, older._turn = other, other._turn


def _begin_anew(loader, older):
    at, states, begun, remote = loader._at, loader._states, loader._begun, loader._remote
    if remote is not None:
        remote.serve(older._loader)
    loader._source = loader._plan = loader._remote = loader._deliver = None
    loader._spare = (remote, weakref.ref(older)) if remote is not None else None
    loader._make_order()  # a drawn one has a place of its own
    if not begun:
        loader._go(at.epoch, at.consumed)
        loader._states = states
        loader._beside = None if loader._placed else weakref.ref(older)
    loader._live = lambda: None


def step_aside(loader):
    """Before a loader's first batch: the older iterator has not begun either, and takes this epoch, so the loader takes the
    next one. Otherwise zip(loader, loader) would pair each sample with itself."""
    older, loader._beside = loader._beside(), None
    if older is not None and older.is_live() and older._loader._at.epoch == loader._at.epoch:
        loader._go(loader._at.epoch + 1, 0)


def spare_workers(loader):
    """Those of the older iterator, if it is not in use any more; None if it is."""
    spare, loader._spare = loader._spare, None
    if spare is None:
        return None
    remote, older = spare[0], spare[1]()
    if older is not None and older.is_live():
        return None
    if older is not None:
        older._loader._remote = None
    remote.serve(loader)
    return remote
