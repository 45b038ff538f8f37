"""The share of a loader's samples that its GPU decodes: given, kept in a state, or chosen once while the loop trains.

To choose, it looks at some of the loop's steps: how long they work, how fast batches come while they wait for them, and how
much the engines would decode.
"""
import time

from .._say import say
from ..errors import Error, FailedPrecondition, InvalidArgument, ResourceExhausted
from .pace import Steps

_WARM_UP_STEPS, _WARM_UP_SECONDS = 16, 3.0  # a private daemon has all its workers by then
_STEPS_AFTER_PAUSE = 64  # until a loop that wants a little more than workers decode has used up what they decoded ahead
_TIMED_STEPS, _TIMED_SECONDS = 32, 3.0
_RETRIES = 3  # because of pauses: a loop that pauses every few steps is measured with them; and because of the daemon
_MOST_SESSIONS = 16  # that may end before a share is chosen
_FIRST_BATCHES, _PROBE_BATCHES, _PROBE_SECONDS = 2, 8, 2.0
PROBED = _FIRST_BATCHES + _PROBE_BATCHES  # batches
_SPARE = 0.9  # of what workers decode, to be sure of
_BESIDE = 0.6  # of the engines' rate, what is left of it beside training
# Of the time in which a worker decodes an image, what it takes to hand on its file instead, once checkpoints know that its scan is
# whole: 0.10 on an H200's host. In the first epoch, and without checkpoints, it is about a half.
_HANDED_ON = 0.12


class GpuShare:
    """`value`: the share; None: not chosen yet, and the workers decode everything."""

    def __init__(self, decoding):
        self._decoding = decoding
        self.value = decoding.share
        self.forget()

    def forget(self):
        """Begins to measure anew."""
        self._pauses_left, self._errors_left, self._sessions = _RETRIES, _RETRIES, 0
        self._begin(_WARM_UP_STEPS)

    def _begin(self, warm_up_steps):
        self._warm_up_steps, self._steps, self._began = warm_up_steps, 0, None
        self._longest = 0.0  # step of the warm-up, in seconds
        self._timed = None  # steps, after the warm-up
        self._pace = None  # of these, once it is time to choose
        self._given = self._asked = None  # when the loop got a batch, and when it had done with it and asked for another one
        self._waited = 0.0  # by the session, until then

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
            self.value = 0.0
            say(f"decode='auto': the workers decode everything ({error})")
            return session

    def note_device(self, device):
        """The device of the session that was just opened; below 0: host memory."""
        if self.value is not None:
            return
        self._sessions += 1
        self._begin(_WARM_UP_STEPS)
        if device < 0:
            self._set(0.0, "batches go to host memory")
        elif self._sessions > _MOST_SESSIONS:
            self._set(0.0, f"{_MOST_SESSIONS} times the loop ended, or drew a new order, before its pace could be seen")

    # Choosing.

    def note_given(self, waited):
        """The loop has got a batch. `waited` returns how long the session has waited for batches, in seconds."""
        now = time.monotonic()
        if self._asked is not None:
            wait = waited() - self._waited
            self._timed.note(max(0.0, now - self._given - wait), wait)
        self._steps += 1
        self._given, self._asked = now, None
        self._began = self._began or now

    def is_due(self, synchronize, waited):
        """Whether it is time to choose, before the loop gets a batch. `synchronize` waits for what the step before has started."""
        if self.value is not None or self._given is None:
            return False
        if self._timed is None:
            self._warm_up(synchronize)
            return False
        synchronize()
        self._asked, self._waited = time.monotonic(), waited()
        if len(self._timed) < _TIMED_STEPS or self._timed.seconds < _TIMED_SECONDS:
            return False
        self._pace = self._timed.pace()
        paused = self._pace.has_paused or self._longest > self._pace.longest
        if not paused or self._pauses_left == 0:
            return True
        self._pauses_left -= 1
        self._begin(_STEPS_AFTER_PAUSE)
        return False

    def _warm_up(self, synchronize):
        now = time.monotonic()
        self._longest = max(self._longest, now - self._given)
        if self._steps >= self._warm_up_steps and now - self._began >= _WARM_UP_SECONDS:
            synchronize()  # the steps before may have been ahead of the GPU
            self._timed = Steps()

    def choose(self, rows, rate_of_engines):
        """Sets the share and returns it. If the daemon does not answer, returns 0 and measures again, three times at most.
        `rate_of_engines` returns images/s."""
        wanted, workers = rows / self._pace.work, rows / self._pace.arrival
        if self._pace.is_fed or workers >= wanted:
            return self._set(0.0, "the workers decode as fast as the loop trains")
        try:
            engines = rate_of_engines()
        except (FailedPrecondition, ResourceExhausted) as error:
            return self._set(0.0, str(error))
        except Error as error:  # the daemon may have gone away, and come back
            if self._errors_left == 0:
                return self._set(0.0, str(error))
            self._errors_left -= 1
            self._begin(_WARM_UP_STEPS)
            return 0.0
        if engines == 0:
            return self._set(0.0, "there are too few batches to see how fast the engines are")
        return self._set(share_for(wanted, workers, engines), f"images/s: the loop wants {wanted:,.0f}, workers decode {workers:,.0f}, "
                         f"the engines alone {engines:,.0f}")

    def _set(self, share, why):
        self.value = share
        self._begin(_WARM_UP_STEPS)  # nothing of the steps is kept
        say(f"decode='auto': gpu_share={share:g} from here on, kept in the loader's state ({why})")
        return share


def share_for(wanted, workers, engines):
    """The smallest share, in hundredths, with which both sides together give `wanted` images/s; or, if they cannot, the share
    with which they give most."""
    engines *= _BESIDE
    if engines <= 0:
        return 0.0
    saved = 1 - _HANDED_ON
    needed = (1 - _SPARE * workers / wanted) / saved
    most = engines / (workers + saved * engines)
    return min(1.0, max(0.0, round(min(needed, most) + 0.005, 2)))


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
