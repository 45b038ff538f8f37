"""The pace of a training loop, and of those who decode for it, from the loop's steps: it works, then waits for a batch."""
import statistics

_PAUSE, _PAUSE_SECONDS = 4, 0.5  # work that takes so many times as long as other steps', and longer than that, is a pause
_FED = 0.02  # share of the time that a loop may wait for batches and still counts as fed
_READY = 0.001  # seconds that taking a batch may take although it is ready


class Pace:
    """Times are in seconds. Pauses, such as a validation, count neither as work nor as waiting: few batches are decoded ahead
    meanwhile."""

    def __init__(self):
        self._steps = []  # (work, wait)
        self.seconds = 0.0

    def note(self, work, wait):
        """A step: the work on a batch, the GPU's included, and then the wait for the next one."""
        self._steps.append((work, wait))
        self.seconds += work + wait

    def __len__(self):
        return len(self._steps)

    @property
    def longest(self):
        """What takes longer is a pause."""
        return max(_PAUSE * statistics.median(work for work, _ in self._steps), _PAUSE_SECONDS)

    @property
    def has_paused(self):
        return any(work > self.longest for work, _ in self._steps)

    @property
    def work(self):
        """The mean, because batches that are ready make up for uneven steps."""
        longest = self.longest
        return max(statistics.fmean(work for work, _ in self._steps if work <= longest), 1e-9)

    @property
    def is_fed(self):
        waited = sum(wait for _, wait in self._steps if wait > _READY)
        return waited <= _FED * (waited + len(self._steps) * self.work)

    @property
    def arrival(self):
        """Between two batches, while the loop waits for them: when it has waited for one, nothing is ready."""
        arrivals, seconds = 0, 0.0
        for run in self._runs():
            waited = [i for i, (_, wait) in enumerate(run) if wait > _READY]
            if len(waited) > 1:
                first, last = waited[0], waited[-1]
                arrivals += last - first
                seconds += sum(work + wait for work, wait in run[first + 1:last + 1])
        if arrivals:
            return seconds / arrivals
        return self.work + statistics.fmean(wait for _, wait in self._steps)

    def _runs(self):
        """The steps between pauses."""
        longest, runs = self.longest, [[]]
        for step in self._steps:
            if step[0] > longest:
                runs.append([])
            else:
                runs[-1].append(step)
        return runs
