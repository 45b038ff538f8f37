"""The share of a loader's samples that its GPU decodes: given, kept in a state, or chosen once while the loop trains.

To choose, it looks at some of the loop's steps: how long they work, and how fast batches come while they wait for them. If workers
are too slow, shares are tried, and looked at in the same way.
"""
import time

from .._say import say
from ..errors import Error, FailedPrecondition, InvalidArgument, ResourceExhausted
from .look import Look
from .trials import Trials

_RETRIES = 3  # because of the daemon
_MOST_SESSIONS = 16  # that may end before a share has been seen
_FIRST_BATCHES, _PROBE_BATCHES, _PROBE_SECONDS = 2, 8, 2.0
PROBED = _FIRST_BATCHES + _PROBE_BATCHES  # batches


class GpuShare:
    """`value`: the share, or one that is being tried; None: none yet, and the workers decode everything."""

    def __init__(self, decoding):
        self._decoding = decoding
        self.go_on_with(decoding.share)

    def go_on_with(self, share):
        """None: chooses one, beginning anew."""
        self.value = share
        self._errors_left = _RETRIES
        self._trials = Trials() if share is None else None  # None: nothing to choose
        self._look_anew()

    def _look_anew(self):
        self._look, self._sessions = Look(), 0

    def forget(self):
        """Times what comes in another process."""
        self.go_on_with(self.value)

    @property
    def is_chosen(self):
        return self._trials is None

    # In states.

    def in_state(self):
        return {} if self._decoding.where == "cpu" else {"gpu_share": self.value}

    def of_state(self, state_dict):
        """The share to go on with. InvalidArgument if the state has another one; unless its fingerprint is 0."""
        own, other = self._decoding.share, state_dict.get("gpu_share")
        if self._decoding.where == "auto" and ("gpu_share" in state_dict or own is None):
            return None if other is None else _number(other)
        other = 0.0 if other is None else _number(other)
        if other != own and state_dict["fingerprint"] != 0:
            how = f"give decode='gpu', gpu_share={other:g}" if other else "leave decode out"
            raise InvalidArgument(f"the state was made with gpu_share={other:g}, and this loader has {own:g}, which gives other pixels; "
                                  f"{how}, or set the state's 'fingerprint' to 0 to go on with other pixels")
        return own

    def opened(self, open_with, resumes):
        """The session that `open_with` opens with the share. decode="auto" does without engines where there are none, unless the
        loader `resumes` a state."""
        try:
            return open_with(self.value or 0.0)
        except FailedPrecondition as error:
            if not self.value or resumes or self._decoding.where != "auto":
                raise
            session = open_with(0.0)
            self.go_on_with(0.0)
            say(f"decode='auto': the workers decode everything ({error})")
            return session

    def note_device(self, device):
        """The device of the session that was just opened; below 0: host memory."""
        if self.is_chosen:
            return
        self._sessions += 1
        self._look.begin()
        if device < 0:
            self._keep(0.0, "batches go to host memory")
        elif self._sessions > _MOST_SESSIONS:
            self._keep(self.value or 0.0, f"{_MOST_SESSIONS} times the loop ended, or drew a new order, before its pace could be seen")

    # Choosing.

    def note_given(self, waited):
        """The loop has got a batch. `waited` returns how long the session has waited for batches, in seconds."""
        if not self.is_chosen:
            self._look.note_given(waited)

    def is_due(self, synchronize, waited):
        """Whether it is time to choose, before the loop gets a batch. `synchronize` waits for what the step before has started."""
        if self.is_chosen:
            return False
        self._pace = self._look.pace(synchronize, waited)
        return self._pace is not None

    def choose(self, rows, rate_of_engines):
        """Sets the share to go on with, and returns whether it is another one. If the daemon does not answer, measures again, three
        times at most. `rate_of_engines` returns images/s."""
        before = self.value or 0.0
        self._trials.note(before, self._pace, rows)
        if self.value is None:
            self._begin_trials(rate_of_engines)
        else:
            self._try(self._trials.next())
        return (self.value or 0.0) != before

    def _begin_trials(self, rate_of_engines):
        if self._trials.is_fed:
            return self._keep(0.0, "the workers decode as fast as the loop trains")
        try:
            engines = rate_of_engines()
        except (FailedPrecondition, ResourceExhausted) as error:
            return self._keep(0.0, str(error))
        except Error as error:  # the daemon may have gone away, and come back
            if self._errors_left == 0:
                return self._keep(0.0, str(error))
            self._errors_left -= 1
            self._trials = Trials()
            return self._look.begin()
        if engines == 0:
            return self._keep(0.0, "there are too few batches to see how fast the engines are")
        return self._try(self._trials.first(engines) or None)

    def _try(self, share):
        """None: there is nothing more to try."""
        if share is None:
            self._keep(self._trials.best(), str(self._trials))
        else:
            self.value = share
            self._look_anew()

    def _keep(self, share, why):
        self.value, self._trials = share, None
        say(f"decode='auto': gpu_share={share:g} from here on, kept in the loader's state ({why})")


def rate_of(take, rows):
    """Images/s when nothing else is done; 0 if that cannot be measured. `take` takes a batch of `rows`; False: the epoch has ended."""
    def takes():
        return take() or take()

    for _ in range(_FIRST_BATCHES):  # something is loaded first
        if not takes():
            return 0.0
    taken, begin = 0, time.monotonic()
    while taken < _PROBE_BATCHES and time.monotonic() - begin < _PROBE_SECONDS and takes():
        taken += 1
    return taken * rows / (time.monotonic() - begin) if taken else 0.0


def _number(share):
    if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 <= share <= 1:
        raise InvalidArgument(f"the state's gpu_share is {share!r}, not a number as state_dict() returns it")
    return float(share)
