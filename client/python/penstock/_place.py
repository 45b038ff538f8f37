"""Where a loader stands in its feed: its position and state, and how many batches of a rank are left of an epoch, computed as the
daemon's plan does."""
from collections.abc import Mapping
from typing import Any, NamedTuple

from . import _penstock as native
from ._gpu_decoding.share import GpuShare
from .errors import FailedPrecondition, InvalidArgument

_VERSION = 1
_FIELDS = ("epoch", "consumed", "seed", "fingerprint", "quarantine_version")


class Mark(NamedTuple):
    """Where a loader stood before a batch that is on its way to the loop. `begun`: the loop had taken a part of the epoch."""

    epoch: int
    consumed: int
    begun: bool


class Place(NamedTuple):
    """A loader changes it at once, so that what a state has fits together, whoever asks for it, and when."""

    goal: Any  # native.State where to begin; None: at the session's position
    session: Any  # None: there is none
    gpu_share: GpuShare
    taking: Any = None  # Mark before a batch that is on its way, which states don't count yet; None: there is none

    @property
    def at(self):
        """The native.State of the next batch."""
        return self.session.state if self.goal is None else self.goal

    def state_dict(self):
        at = self.at if self.taking is None else moved(self.at, self.taking.epoch, self.taking.consumed)
        return {"version": _VERSION, **{field: getattr(at, field) for field in _FIELDS}, **self.gpu_share.in_state()}


def change(loader, changed):
    """Makes the loader's place the one that `changed` makes of it. A signal handler may change it, too, meanwhile: then it is
    made again."""
    while True:
        place = loader._place
        after = changed(place)
        if loader._place is place:  # between this line and the next CPython 3.10 and later look for no signal
            loader._place = after
            return


def begin_taking(loader, marks):
    """Puts the loader's position into the list `marks`. Until end_taking, states are of that position."""
    def begun(place):
        at = place.at
        marks[:] = [Mark(at.epoch, at.consumed, loader._begun)]
        return place._replace(taking=marks[0])
    change(loader, begun)


def end_taking(loader, marks):
    """Adds the loader's place to the marks, by which take_back sees that nobody has moved it since."""
    def ended(place):
        marks[1:] = [place._replace(taking=None)] if place.taking is marks[0] else []
        return marks[-1] if len(marks) > 1 else place
    change(loader, ended)


def take_back(loader, marks):
    """The loop goes on at the mark, in a session that begins there. False if the loader has not taken a batch, or was moved."""
    mark, place = marks[0], loader._place
    at = place.at
    is_there = place.taking is mark or any(place is after for after in marks[1:])
    if not is_there or (at.epoch, at.consumed) == (mark.epoch, mark.consumed):
        return False
    loader._move(goal=moved(at, mark.epoch, mark.consumed))
    loader._begun = mark.begun
    return True


def pass_over(loader):
    """The loop goes on after the batch that has failed, as torch's does."""
    at, rows = loader._at, loader._settings.batch_size * loader._settings.rank.world_size
    is_next = loader._batches_left() == 0  # the epoch before was whole
    loader._end_session()
    loader._move(goal=moved(at, at.epoch + is_next, rows + (0 if is_next else at.consumed)))
    loader._begun = True


def state_of(state_dict, seed):
    """The native.State. `seed`: the loader's."""
    if not isinstance(state_dict, Mapping):
        raise InvalidArgument(f"the state is {state_dict!r:.80}, not a dict; give what state_dict() returned")
    if state_dict.get("version") != _VERSION:
        raise InvalidArgument(f"the state has version {state_dict.get('version')!r}, this Penstock reads "
                              f"{_VERSION}; give what state_dict() returned")
    missing = [field for field in _FIELDS if field not in state_dict]
    if missing:
        raise InvalidArgument(f"the state lacks {', '.join(missing)}; give what state_dict() returned")
    state = native.State()
    for field in _FIELDS:
        try:
            setattr(state, field, state_dict[field])
        except TypeError:
            raise InvalidArgument(f"the state's {field} is {state_dict[field]!r}, not a number as "
                                  "state_dict() returns it") from None
    if state.seed != seed:
        raise FailedPrecondition(f"the state belongs to another feed: its seed is {state.seed}, the loader's {seed}; give the loader "
                                 f"seed={state.seed}")
    return state


def moved(state, epoch, consumed):
    """The state of another position in the same feed."""
    other = native.State()
    for field in _FIELDS:
        setattr(other, field, getattr(state, field))
    other.epoch, other.consumed = epoch, consumed
    return other


def with_other_pixels(state):
    """The state of the same position, for a session that has another fingerprint."""
    other = moved(state, state.epoch, state.consumed)
    other.fingerprint = 0
    return other


def _ceil(a, b):
    return -(-a // b)


def batches(left, batch_size, rank, world_size, remainder):
    """`left`: samples that remain for all ranks together. `remainder`: "drop", "pad_ranks", "pad_batch" or "partial"."""
    if remainder == "drop":
        return left // (world_size * batch_size)
    if remainder in ("pad_ranks", "pad_batch"):
        return _ceil(left, world_size * batch_size)
    assert remainder == "partial", remainder
    return max(0, _ceil(left - rank * batch_size, world_size * batch_size))
