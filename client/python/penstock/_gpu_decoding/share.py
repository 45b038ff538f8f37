"""The share of a loader's samples that its GPU decodes: given, kept in a state, or chosen once while the loop trains.

To choose, it looks at how long the loop's steps take, how much the workers decode, and how much the engines would.
"""
import time

from .._say import say
from ..errors import FailedPrecondition, InvalidArgument, ResourceExhausted
from .loop_times import LoopTimes

_WARM_UP_STEPS, _WARM_UP_SECONDS = 16, 3.0  # a private daemon has all its workers by then
_TIMED_STEPS = 8
_RATE_SECONDS = 3.0  # the daemon's rate of a feed is of no time before that
_RETRIES = 3  # because of pauses; a loop that pauses every few steps is measured with them
_FED = 0.02  # share of the time that a trainer may wait for batches and still counts as fed
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
        self._retries = _RETRIES
        self._times, self._opened = LoopTimes(), 0.0
        self._begin()

    def _begin(self):
        self._steps, self._began, self._given = 0, None, None
        self._times.begin_anew()

    def _retry(self):
        """Begins to measure anew, unless that happened too often. Whether it does."""
        if self._retries == 0:
            return False
        self._retries -= 1
        self._begin()
        return True

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
        self._opened = time.monotonic()
        if device < 0 and self.value is None:
            self._set(0.0, "batches go to host memory")

    # Choosing.

    def note_given(self):
        """The loop has got a batch."""
        self._steps += 1
        self._given = time.monotonic()

    def is_due(self, synchronize):
        """Whether it is time to choose, before the loop gets a batch. `synchronize` waits for what the step before has started."""
        if self.value is not None or self._given is None:
            return False
        now = time.monotonic()
        self._began = self._began or now
        if self._steps < _WARM_UP_STEPS or now - self._began < _WARM_UP_SECONDS:
            self._times.note(self._given, now, timed=False)
            return False
        synchronize()
        now = time.monotonic()
        self._times.note(self._given, now, timed=True)
        if self._times.timed < _TIMED_STEPS:
            return False
        # A loop that did something else, such as a validation, has kept the workers waiting. So has one without a session.
        since = now - _RATE_SECONDS
        idled = self._opened > since or self._times.paused_since(since) > 0
        return not (idled and self._retry())

    def choose(self, stats, rows, rate_of_engines):
        """Sets the share, and returns it. `stats`: the session's. `rate_of_engines` returns images/s."""
        wanted, workers, waited = rows / self._times.step, stats["samples_per_second"], stats["waited_seconds"]
        trained = max(0.0, stats["busy_seconds"] - self._times.paused_since(self._opened))
        waits = waited > _FED * (trained + waited)
        if waits and workers == 0 and self._retry():  # the loop has just paused
            return 0.0
        # The waiting may have been for the first batches. Workers ahead of the loop decode no faster than it.
        if not waits or workers >= (1 - _FED) * wanted:
            return self._set(0.0, "the workers decode as fast as the loop trains")
        try:
            engines = rate_of_engines()
        except (FailedPrecondition, ResourceExhausted) as error:
            return self._set(0.0, str(error))
        if engines == 0:
            return self._set(0.0, "there are too few batches to see how fast the engines are")
        return self._set(share_for(wanted, workers, engines), f"images/s: the loop wants {wanted:,.0f}, workers decode {workers:,.0f}, "
                         f"the engines alone {engines:,.0f}")

    def _set(self, share, why):
        self.value = share
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
