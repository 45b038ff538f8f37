"""How fast a training loop works, and how fast batches arrive, seen in the loop's steps: it works, then waits for a batch."""
import statistics

# What takes so many times as long as in other steps, and longer than that, does not count: work is then a pause, and a wait a stall.
_PAUSE, _PAUSE_SECONDS = 4, 0.5
_FED = 0.02  # share of the time that a loop may wait for batches and still counts as fed


class Steps:
    """The steps of a loop, as they are noted."""

    def __init__(self):
        self._noted = []  # (work, wait)
        self.seconds = 0.0

    def note(self, work, wait):
        """Seconds of the work on a batch, the GPU's included, and then of the wait for the next one, which is 0 if that is ready."""
        self._noted.append((work, wait))
        self.seconds += work + wait

    def __len__(self):
        return len(self._noted)

    def pace(self):
        return Pace(self._noted)


class Pace:
    """What the steps show. Times are in seconds, and leave pauses out.

    - `longest`: work that takes longer is a pause, such as a validation. `has_paused`: there was one.
    - `work`: the mean of a step, because batches that are ready make up for uneven steps.
    - `is_fed`: the loop hardly waits.
    - `arrival`: the time between two batches while the loop waits for them. A stall counts as the second longest wait.

    During a pause batches are decoded ahead, so `is_fed` and `arrival` also leave out the steps behind it up to the first
    that waited."""

    def __init__(self, steps):
        works = [work for work, _ in steps]
        self.longest = max(_PAUSE * statistics.median(works), _PAUSE_SECONDS)
        self.has_paused = max(works) > self.longest
        self.work = max(statistics.fmean(work for work in works if work <= self.longest), 1e-9)
        runs = self._runs(_without_stall(steps))
        self.is_fed = self._fed(runs)
        self.arrival = self._arrival(runs)

    def _runs(self, steps):
        """The steps between pauses."""
        runs = [[]]
        for work, wait in steps:
            if work > self.longest:
                runs.append([])
            else:
                runs[-1].append((work, wait))
        return [runs[0], *map(_after_its_first_wait, runs[1:])]

    def _fed(self, runs):
        waits = [wait for run in runs for _, wait in run]
        waited = sum(waits) - max(waits, default=0.0)  # once is no pace
        return waited <= _FED * (waited + len(waits) * self.work)

    def _arrival(self, runs):
        arrivals, seconds = 0, 0.0
        for run in runs:
            waited = [i for i, (_, wait) in enumerate(run) if wait > 0]
            if len(waited) > 1:  # hardly anything is ready after a wait
                first, last = waited[0], waited[-1]
                arrivals += last - first
                seconds += sum(work + wait for work, wait in run[first + 1:last + 1])
        return seconds / arrivals if arrivals else self.work


def _without_stall(steps):
    longest = max(range(len(steps)), key=lambda i: steps[i][1])
    other = max((wait for i, (_, wait) in enumerate(steps) if i != longest), default=0.0)
    work, wait = steps[longest]
    is_stall = wait > max(_PAUSE * other, _PAUSE_SECONDS)
    return [*steps[:longest], (work, other), *steps[longest + 1:]] if is_stall else steps


def _after_its_first_wait(run):
    first = next((i + 1 for i, (_, wait) in enumerate(run) if wait > 0), 0)
    return run[first:]
