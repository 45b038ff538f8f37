"""Chooses the share of a loader's samples that its GPU decodes, between two batches."""
import contextlib
import functools

from .. import _penstock as native
from .._place import change
from ..errors import Error, Unavailable
from .share import PROBED, rate_of


def choose(loader):
    """Goes on with the share that is chosen, or tries one. If it is another one, a session of its own takes the place of the loader's.
    Until that is open, and if it cannot be opened, the loader and its states go on as before."""
    before = loader._gpu_share
    after = before.after_choice(loader._settings.batch_size, functools.partial(rate_of_engines, loader))
    if after.value == before.value:
        _put(loader, before, after)
        return
    try:
        loader._opening(functools.partial(loader._begin, after))
    except Unavailable:  # the loader has waited for the daemon, and gives up
        raise
    except (Error, RuntimeError, MemoryError) as error:
        _put(loader, before, before.kept(str(error)))


def _put(loader, before, after):
    """Unless a signal handler has loaded a state meanwhile, which has a share of its own."""
    change(loader, lambda place: place._replace(gpu_share=after) if place.gpu_share is before else place)


def rate_of_engines(loader):
    at = native.State()  # without a fingerprint, because the pixels are others; nobody is given them
    at.epoch, at.seed = loader._at.epoch, loader._at.seed
    if loader._batches_left() >= PROBED:  # else from the epoch's beginning
        at.consumed = loader._at.consumed
    with contextlib.closing(loader._connected().open(loader._options(1.0, at))) as session:
        take = loader._taker(session)
        return rate_of(lambda: take() is not None, loader._settings.batch_size)
