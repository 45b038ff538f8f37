"""A look at a training loop: once it has warmed up, some of its steps are timed."""
import time

from .pace import Steps

WARM_UP_STEPS, WARM_UP_SECONDS = 16, 3.0  # a private daemon has nearly all its workers by then
STEPS_AFTER_PAUSE = 64  # until a loop that wants a little more than workers decode has used up what they decoded ahead
TIMED_STEPS, TIMED_SECONDS = 32, 3.0
_FEW, _LONG_SECONDS = 0.25, 60.0  # of slow steps a quarter is enough, after so long
RETRIES = 3  # because of pauses: a loop that pauses every few steps is measured with them


class Look:
    def __init__(self):
        self._pauses_left = RETRIES
        self.begin()

    def begin(self, warm_up_steps=None):
        """Looks at the steps from here on: a session has been opened, or the loop has paused."""
        self._warm_up_steps = WARM_UP_STEPS if warm_up_steps is None else warm_up_steps
        self._steps, self._began = 0, None
        self._longest = 0.0  # step of the warm-up, in seconds
        self._timed = None  # steps, after the warm-up
        self._given = self._asked = None  # when the loop got a batch, and when it had done with it and asked for another one
        self._waited = 0.0  # by the session, until then

    def note_given(self, waited):
        """The loop has got a batch. `waited` returns how long the session has waited for batches, in seconds."""
        now = time.monotonic()
        if self._asked is not None:
            wait = waited() - self._waited
            self._timed.note(max(0.0, now - self._given - wait), wait)
        self._steps += 1
        self._given, self._asked = now, None
        self._began = self._began or now

    def pace(self, synchronize, waited):
        """The loop's pace, before it gets a batch; None if it is not known yet. `synchronize` waits for what the step before has
        started."""
        if self._given is None:
            return None
        if self._timed is None:
            self._warm_up(synchronize)
            return None
        synchronize()
        self._asked, self._waited = time.monotonic(), waited()
        if not _are_enough(len(self._timed), self._timed.seconds, TIMED_STEPS, TIMED_SECONDS):
            return None
        pace = self._timed.pace()
        paused = pace.has_paused or self._longest > pace.longest
        if not paused or self._pauses_left == 0:
            return pace
        self._pauses_left -= 1
        self.begin(STEPS_AFTER_PAUSE)
        return None

    def _warm_up(self, synchronize):
        now = time.monotonic()
        self._longest = max(self._longest, now - self._given)
        if _are_enough(self._steps, now - self._began, self._warm_up_steps, WARM_UP_SECONDS):
            synchronize()  # the steps before may have been ahead of the GPU
            self._timed = Steps()


def _are_enough(steps, seconds, least_steps, least_seconds):
    return seconds >= least_seconds and (steps >= least_steps or seconds >= _LONG_SECONDS and steps >= _FEW * least_steps)
