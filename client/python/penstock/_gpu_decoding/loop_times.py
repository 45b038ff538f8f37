"""How long a training loop's steps take, and its pauses, such as a compilation or a validation."""
import collections
import statistics

_PAUSE, _PAUSE_SECONDS = 4, 0.5  # a step that takes so many times as long as others, and longer than that, was a pause
_KEPT = 1000  # long steps; those before them are no longer known as pauses


class LoopTimes:
    """Times are of a monotonic clock, in seconds. A step is from a batch that was given to the next one that is asked for."""

    def __init__(self):
        self._timed = []
        self._long = collections.deque(maxlen=_KEPT)  # steps that may be pauses, with their ends

    def begin_anew(self):
        """Forgets the timed steps, but no pause."""
        self._timed = []

    def note(self, began, ended, timed):
        """A step. `timed`: the work that it started has ended, too."""
        if timed:
            self._timed.append(ended - began)
        if ended - began > _PAUSE_SECONDS:
            self._long.append((ended, ended - began))

    @property
    def timed(self):
        """How many."""
        return len(self._timed)

    @property
    def step(self):
        """The median of the timed steps."""
        return statistics.median(self._timed)

    def paused_since(self, when):
        """Seconds of the pauses that ended after that. **Requires**: a timed step."""
        shortest = _PAUSE * self.step
        return sum(seconds for ended, seconds in self._long if ended > when and seconds > shortest)
