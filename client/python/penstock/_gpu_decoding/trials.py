"""Which shares are tried for a loop, from how fast it went with those before."""
from typing import NamedTuple

SPARE = 0.9  # of what was measured, to be sure of
_BESIDE = 0.6  # of the engines' rate, what is left of it beside training
# Of the time in which a worker decodes an image, what it takes to hand on its file instead, once checkpoints know that its scan is
# whole: 0.10 on an H200's host. In the first epoch, and without checkpoints, it is about a half.
_HANDED_ON = 0.12
_MOST_TRIALS = 2  # after the workers alone
_LEAST_STEP = 0.05  # between two shares
_AS_FAST = 0.99  # of the fastest: not worth decoding more on the GPU
_NO_SLOWER = 0.97  # of the rate before, which varies by that much


class _Trial(NamedTuple):
    share: float
    rate: float  # images/s
    is_fed: bool


class Trials:
    """The first is that of the workers alone, share 0."""

    def __init__(self):
        self._tried = []
        self._wanted = 0.0  # images/s that the loop would train, as the workers' trial showed

    def note(self, share, pace, rows):
        """How the loop went with `share`, in batches of `rows`."""
        if not self._tried:
            self._wanted = rows / pace.work
        is_fed = pace.is_fed or pace.arrival <= pace.work
        self._tried.append(_Trial(share, rows / (pace.work if is_fed else pace.arrival), is_fed))

    @property
    def is_fed(self):
        """Whether the last trial's loop hardly waited."""
        return self._tried[-1].is_fed

    def first(self, engines):
        """The first share to try, above 0; 0 if that makes no sense. `engines`: images/s that they decode alone."""
        return share_for(self._wanted, self._tried[0].rate, engines)

    def next(self):
        """Another share to try: the one that feeds the loop if the time of an image goes on changing with the share as it did between
        the last two, but at most twice the last one. None if there is nothing more to try."""
        last, before = self._tried[-1], self._tried[-2]
        if last.is_fed or last.share == 1 or len(self._tried) > _MOST_TRIALS:
            return None
        if last.rate < _NO_SLOWER * before.rate:
            return None  # the engines are no help
        change = (1 / last.rate - 1 / before.rate) / (last.share - before.share)
        needed = before.share + (SPARE / self._wanted - 1 / before.rate) / change if change < 0 else 1.0
        return _rounded(min(max(needed, last.share + _LEAST_STEP), 2 * last.share))

    def best(self):
        """The smallest share with which the loop was about as fast as with any."""
        fastest = max(trial.rate for trial in self._tried)
        return min(trial.share for trial in self._tried if trial.rate >= _AS_FAST * fastest)

    def __str__(self):
        workers, *others = self._tried
        return (f"images/s: the loop wants {self._wanted:,.0f}, and got {workers.rate:,.0f} from the workers alone"
                + "".join(f", {trial.rate:,.0f} with gpu_share={trial.share:g}" for trial in others))


def share_for(wanted, workers, engines):
    """The smallest share, in hundredths, with which both sides together give `wanted` images/s; or, if they cannot, the share
    with which they give most."""
    engines *= _BESIDE
    if engines <= 0:
        return 0.0
    saved = 1 - _HANDED_ON
    needed = (1 - SPARE * workers / wanted) / saved
    most = engines / (workers + saved * engines)
    return _rounded(min(needed, most))


def _rounded(share):
    return min(1.0, max(0.0, round(share + 0.005, 2)))
