"""A look at a training loop: once it has warmed up, some of its steps are timed, first as they come, and then, if workers that decode
alone seem too slow, each to its end on the GPU."""
import time

from .pace import Pace, Steps

WARM_UP_STEPS, WARM_UP_SECONDS = 16, 3.0  # a private daemon has nearly all its workers by then
STEPS_AFTER_PAUSE = 64  # until a loop that wants a little more than workers decode has used up what they decoded ahead
FREE_STEPS, FREE_SECONDS = 64, 3.0
WORK_STEPS, WORK_SECONDS = 32, 1.0
_FEW, _LONG_SECONDS = 0.25, 60.0  # of slow steps a quarter is enough, after so long
RETRIES = 3  # because of pauses: a loop that pauses every few steps is measured with them


class Look:
    """`shows_work`: whether the loop's own work is measured, too, if it waits for batches."""

    def __init__(self, shows_work):
        self._shows_work = shows_work
        self._pauses_left = RETRIES
        self._begin(WARM_UP_STEPS)

    def _begin(self, warm_up_steps):
        self._free, self._worked = Steps(), None
        self._warm_up_anew(warm_up_steps)

    def _warm_up_anew(self, steps):
        self._warm_up_steps = steps  # None: it has warmed up
        self._steps, self._began = 0, None
        self._longest = 0.0  # step of the warm-up, in seconds
        self._given = self._asked = None  # when the loop got a batch, and when it had done with it and asked for another one
        self._waited = 0.0  # by the session, until then

    def go_on(self):
        """A session has been opened. It warms up again, and what was timed before counts."""
        self._timed.drop_begun_block()
        self._warm_up_anew(WARM_UP_STEPS)

    def note_given(self, waited):
        """The loop has got a batch. `waited` returns how long the session has waited for batches, in seconds."""
        now = time.monotonic()
        if self._asked is not None:
            wait = waited() - self._waited
            self._timed.note(max(0.0, now - self._given - wait), wait)
        self._steps += 1
        self._given, self._asked = now, None
        self._began = self._began or now

    @property
    def _timed(self):
        return self._free if self._worked is None else self._worked

    def pace(self, synchronize, waited):
        """The loop's pace, before it gets a batch; None if it is not known yet. `synchronize` waits for what the step before has
        started."""
        if self._given is None:
            return None
        if self._warm_up_steps is not None:
            self._warm_up(synchronize)
            return None
        if self._worked is not None:
            synchronize()
        self._asked, self._waited = time.monotonic(), waited()
        return self._pace(synchronize) if self._worked is None else self._pace_with_work()

    def _warm_up(self, synchronize):
        now = time.monotonic()
        self._longest = max(self._longest, now - self._given)
        if _are_enough(self._steps, now - self._began, self._warm_up_steps, WARM_UP_SECONDS):
            self._warm_up_steps = None
            if self._worked is not None:
                synchronize()

    def _pace(self, synchronize):
        free = self._free
        if not _are_enough(len(free), free.seconds, FREE_STEPS, FREE_SECONDS):
            return None
        longest_of_others = max(self._longest, self._asked - self._given)  # the last step has not been noted yet
        if self._begins_again(free.has_paused or longest_of_others > free.longest):
            return None
        if free.is_fed or not self._shows_work:
            return Pace(free.step, free.is_fed, free.step)
        self._worked, self._asked = Steps(), None
        synchronize()  # the steps before may have been ahead of the GPU
        return None

    def _pace_with_work(self):
        """A loop that is ahead of its GPU waits for that, too, unless each step is waited for."""
        free, worked = self._free, self._worked
        if not _are_enough(len(worked), worked.seconds, WORK_STEPS, WORK_SECONDS) or self._begins_again(worked.has_paused):
            return None
        return Pace(free.step, worked.is_fed, worked.work)

    def _begins_again(self, paused):
        if not paused or self._pauses_left == 0:
            return False
        self._pauses_left -= 1
        self._begin(STEPS_AFTER_PAUSE)
        return True


def _are_enough(steps, seconds, least_steps, least_seconds):
    return seconds >= least_seconds and (steps >= least_steps or seconds >= _LONG_SECONDS and steps >= _FEW * least_steps)
