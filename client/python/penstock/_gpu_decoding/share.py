"""The share of a loader's samples that its GPU decodes: given, kept in a state, or chosen while the loop trains.

To choose, it looks at some of the loop's steps. If workers are too slow, shares are tried, and looked at in the same way.
"""
import copy
import time

from .._say import say
from ..errors import Error, FailedPrecondition, InvalidArgument, ResourceExhausted
from .look import Look
from .trials import Trials

_RETRIES = 3  # because of the daemon
_MOST_SESSIONS = 16  # that may end before a share has been seen
_TOO_SOON = f"{_MOST_SESSIONS} times the loop ended, or drew a new order, before its pace could be seen"
_FIRST_BATCHES, _PROBE_BATCHES, _PROBE_SECONDS = 2, 8, 2.0
PROBED = _FIRST_BATCHES + _PROBE_BATCHES  # batches


class GpuShare:
    """`value`: the share of the session, given, chosen or being tried."""

    def __init__(self, decoding):
        self._decoding = decoding
        self._go_on_with(decoding.share)

    @staticmethod
    def of(decoding, share):
        """As states have it. None: chooses one, beginning anew with the workers alone."""
        made = GpuShare(decoding)
        made._go_on_with(share)
        return made

    def _go_on_with(self, share):
        self.value = share or 0.0
        self._errors_left = _RETRIES
        self._first_epoch = None  # in which it looks at the loop
        self._chosen_before = None  # in the first epoch
        self._trials = None  # None: nothing to choose
        if share is None:
            self._begin()

    def _begin(self):
        self._trials, self._rests = Trials(), False
        self._tried_in_first_epoch = False
        self._look_anew()

    def _look_anew(self):
        self._look, self._sessions = Look(shows_work=not self._trials.have_begun), 0

    @property
    def _for_others(self):
        """With what states and copies go on. None: they choose by themselves."""
        trials = self._trials
        return self.value if self.value or trials is None or trials.have_begun else None

    @property
    def _ends_too_soon(self):
        return self._sessions > _MOST_SESSIONS

    @property
    def is_chosen(self):
        return self._trials is None

    # In states.

    def in_state(self):
        return {} if self._decoding.where == "cpu" else {"gpu_share": self._for_others}

    def of_state(self, state_dict):
        """The share to go on with. InvalidArgument if the state has another one; unless its fingerprint is 0."""
        own, other = self._decoding.share, state_dict.get("gpu_share")
        if own is None and other is None:
            return None
        other = 0.0 if other is None else _number(other)
        if self._decoding.where == "auto" and own != 0 and "gpu_share" in state_dict:
            if own is not None and own != other:
                say(f"decode='auto': gpu_share={other:g}, as the state has it, not {own:g}")
            return other
        if other != own and state_dict["fingerprint"] != 0:
            how = f"give decode='gpu', gpu_share={other:g}" if other else "leave decode out"
            raise InvalidArgument(f"the state was made with gpu_share={other:g}, and this loader has {own:g}, which gives other pixels; "
                                  f"{how}, or set the state's 'fingerprint' to 0 to go on with other pixels")
        return own

    def opened(self, open_with, resumes):
        """The session that `open_with` opens with the share. decode="auto" does without engines where there are none, or, when it
        tries a share, no room for them, unless the loader `resumes` a state."""
        try:
            return open_with(self.value)
        except (FailedPrecondition, ResourceExhausted) as error:
            may_pass = isinstance(error, ResourceExhausted)
            is_tried = not self.is_chosen and not self._rests
            if not self.value or resumes or may_pass and not is_tried or self._decoding.where != "auto":
                raise
            share = (self._chosen_before or 0.0) if may_pass else 0.0
            session = open_with(share)
            self._go_on_with(self._keep(share, str(error)))
            return session

    def note_device(self, device):
        """The device of the session that was just opened; below 0: host memory."""
        if self.is_chosen:
            return
        self._sessions += 1
        self._look.go_on()
        if device < 0:
            self.value = self._keep(0.0, "batches go to host memory")
        elif self._ends_too_soon and self._chosen_before is None:
            self._keep(self.value, _TOO_SOON)

    # Choosing.

    def note_given(self, waited):
        """The loop has got a batch. `waited` returns how long the session has waited for batches, in seconds."""
        if not self.is_chosen:
            self._look.note_given(waited)

    def is_due(self, synchronize, waited, epoch):
        """Whether it is time to choose, before the loop gets a batch of this epoch. `synchronize` waits for what the step before has
        started."""
        if self.is_chosen:
            return False
        if self._first_epoch is None:
            self._first_epoch = epoch
        self._is_first_epoch = epoch == self._first_epoch
        if self._rests:
            return not self._is_first_epoch
        if self._ends_too_soon:
            return True
        self._pace = self._look.pace(synchronize, waited)
        return self._pace is not None

    def after_choice(self, rows, rate_of_engines):
        """The GpuShare to go on with, once its `value` is that of the session. This one does not change, so that nothing has happened
        if anything ends this. `rate_of_engines` returns images/s; if the daemon does not answer meanwhile, all is measured again,
        three times at most."""
        after = copy.deepcopy(self)
        after.value = after._choose(rows, rate_of_engines)
        return after

    def kept(self, why):
        """The GpuShare that keeps this one's value."""
        after = copy.deepcopy(self)
        after._keep(after.value, why)
        return after

    def _choose(self, rows, rate_of_engines):
        if self._rests:
            self._begin()
            return 0.0
        if self._ends_too_soon:
            return self._keep_earlier(_TOO_SOON)
        if not self._trials.have_begun:
            return self._first_share(rows, rate_of_engines)
        self._trials.note(self.value, self._pace, rows)
        return self._tried(self._trials.next())

    def _first_share(self, rows, rate_of_engines):
        trials = self._trials
        trials.note(0.0, self._pace, rows)
        if trials.is_fed:
            return self._keep(0.0, "the workers decode as fast as the loop trains")
        try:
            engines = rate_of_engines()
        except Error as error:  # the daemon may have gone away, and come back
            if self._errors_left == 0 or isinstance(error, (FailedPrecondition, ResourceExhausted)):
                return self._keep_earlier(str(error))
            self._errors_left -= 1
            self._begin()
            return 0.0
        except (RuntimeError, MemoryError) as error:  # such as torch's, without memory for a batch more
            return self._keep_earlier(str(error))
        if engines == 0:
            return self._keep_earlier("there are too few batches to see how fast the engines are")
        return self._tried(trials.first(engines))

    def _tried(self, share):
        """None: there is nothing more to try."""
        if share is None:
            return self._best()
        self._tried_in_first_epoch |= self._is_first_epoch
        say(f"decode='auto': tries gpu_share={share:g} ({self._trials})")
        self._look_anew()
        return share

    def _best(self):
        share = self._trials.best()
        if not self._tried_in_first_epoch or self._chosen_before is not None:
            return self._keep(share, str(self._trials))
        self._chosen_before = share
        if not self._is_first_epoch:
            say(f"decode='auto': chooses again, because files cost most in the first epoch, in which it began ({self._trials})")
            self._begin()
            return 0.0
        say(f"decode='auto': gpu_share={share:g} until the first epoch, in which files cost most, has ended; then it chooses again "
            f"({self._trials})")
        self._rests = True
        self._look_anew()
        return share

    def _keep_earlier(self, why):
        """Without a new choice."""
        return self._keep(self._chosen_before or 0.0, why)

    def _keep(self, share, why):
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
