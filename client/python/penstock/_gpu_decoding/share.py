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
        self._epoch = None  # in which the trials began
        self._rests_in = None  # the epoch after which what was kept is tried again
        self._look_anew()

    def _look_anew(self):
        self._look, self._sessions = Look(), 0

    def copied(self):
        """For a copy of the loader, which measures by itself."""
        copied = GpuShare(self._decoding)
        copied.go_on_with(self.value)
        return copied

    @property
    def is_chosen(self):
        return self._trials is None

    # In states.

    def in_state(self):
        return {} if self._decoding.where == "cpu" else {"gpu_share": self.value}

    def of_state(self, state_dict):
        """The share to go on with. InvalidArgument if the state has another one; unless its fingerprint is 0."""
        own, other = self._decoding.share, state_dict.get("gpu_share")
        if own is None and other is None:
            return None
        if self._decoding.where == "auto" and own != 0 and "gpu_share" in state_dict:
            return 0.0 if other is None else _number(other)
        other = 0.0 if other is None else _number(other)
        if other != own and state_dict["fingerprint"] != 0:
            how = f"give decode='gpu', gpu_share={other:g}" if other else "leave decode out"
            raise InvalidArgument(f"the state was made with gpu_share={other:g}, and this loader has {own:g}, which gives other pixels; "
                                  f"{how}, or set the state's 'fingerprint' to 0 to go on with other pixels")
        return own

    def opened(self, open_with, resumes):
        """The session that `open_with` opens with the share. decode="auto" does without engines where there are none, or, when it
        tries a share, no room for them, unless the loader `resumes` a state."""
        try:
            return open_with(self.value or 0.0)
        except (FailedPrecondition, ResourceExhausted) as error:
            is_passing = isinstance(error, ResourceExhausted) and self.is_chosen
            if not self.value or resumes or is_passing or self._decoding.where != "auto":
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
            self.value = self._kept(0.0, "batches go to host memory")
        elif self._sessions > _MOST_SESSIONS and self._rests_in is None:
            why = f"{_MOST_SESSIONS} times the loop ended, or drew a new order, before its pace could be seen"
            self.value = self._kept(self.value or 0.0, why)

    # Choosing.

    def note_given(self, waited):
        """The loop has got a batch. `waited` returns how long the session has waited for batches, in seconds."""
        if not self.is_chosen:
            self._look.note_given(waited)

    def is_due(self, synchronize, waited, epoch):
        """Whether it is time to choose, before the loop gets a batch of this epoch. `synchronize` waits for what the step before has
        started."""
        if self.is_chosen or epoch == self._rests_in:
            return False
        if self._rests_in is not None:
            self._rests_in = None
            self._look_anew()
        if self._epoch is None:
            self._epoch = epoch
        self._now, self._pace = epoch, self._look.pace(synchronize, waited)
        return self._pace is not None

    def choose(self, rows, rate_of_engines):
        """The share to go on with, which becomes the `value` once the caller sets it; None to look again. `rate_of_engines` returns
        images/s; if the daemon does not answer meanwhile, all is measured again, three times at most."""
        self._trials.note(self.value or 0.0, self._pace, rows)
        return self._begun(rate_of_engines) if self.value is None else self._tried(self._trials.next())

    def _begun(self, rate_of_engines):
        if self._trials.is_fed:
            return self._kept(0.0, "the workers decode as fast as the loop trains")
        try:
            engines = rate_of_engines()
        except Error as error:  # the daemon may have gone away, and come back
            if self._errors_left == 0 or isinstance(error, (FailedPrecondition, ResourceExhausted)):
                return self._kept(0.0, str(error))
            self._errors_left -= 1
            self._trials, self._epoch = Trials(), None
            return self._look.begin()
        except RuntimeError as error:  # such as torch's, without memory for a batch more
            return self._kept(0.0, str(error))
        if engines == 0:
            return self._kept(0.0, "there are too few batches to see how fast the engines are")
        return self._tried(self._trials.first(engines))

    def _tried(self, share):
        """None: there is nothing more to try."""
        if share is None:
            return self._best()
        say(f"decode='auto': tries gpu_share={share:g} ({self._trials})")
        self._look_anew()
        return share

    def _best(self):
        share, tried = self._trials.best(), str(self._trials)
        if share == 0 or self._now != self._epoch:
            return self._kept(share, tried)
        say(f"decode='auto': gpu_share={share:g} until the next epoch, in which files cost the workers less ({tried})")
        self._trials, self._rests_in = self._trials.again(), self._now
        return share

    def _kept(self, share, why):
        self._trials = None
        say(f"decode='auto': gpu_share={share:g} from here on, kept in the loader's state ({why})")
        return share


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
