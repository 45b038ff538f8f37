"""Which shares are tried for a loop, from how fast it went with those before."""
from typing import NamedTuple

SPARE = 0.9  # of what was measured, to be sure of
_BESIDE = 0.6  # of the engines' rate, what is left of it beside training
# Of the time in which a worker decodes an image, what it takes to hand on its file instead, once checkpoints know that its scan is
# whole: 0.10 on an H200's host. In the first epoch, and without checkpoints, it is about a half.
_HANDED_ON = 0.12
_SAVED = 1 - _HANDED_ON
_LEAST = 0.01  # share that is tried
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

    @property
    def have_begun(self):
        return bool(self._tried)

    def note(self, share, pace, rows):
        """How the loop went with `share`, in batches of `rows`."""
        if not self._tried:
            self._wanted = rows / pace.work
        self._tried.append(_Trial(share, rows / pace.step, pace.is_fed))

    @property
    def is_fed(self):
        """Whether the last trial's loop hardly waited."""
        return self._tried[-1].is_fed

    def first(self, engines):
        """The first share to try, above 0; None if that makes no sense. `engines`: images/s that they decode alone."""
        return share_for(self._wanted, self._tried[0].rate, engines) or None

    def next(self):
        """Another share to try; None if there is nothing more to try."""
        before, last = self._tried[-2:]
        if last.is_fed or last.share < before.share:
            return None
        if last.rate < _NO_SLOWER * before.rate:
            return self._smaller()
        return self._greater() if len(self._tried) == 2 else None

    def _greater(self):
        """The workers are too slow: the share that feeds the loop if the time of an image goes on falling as it did, but at most twice
        the last one."""
        workers, last = self._tried
        if last.share == 1:
            return None
        change = (1 / last.rate - 1 / workers.rate) / last.share
        needed = (SPARE / self._wanted - 1 / workers.rate) / change if change < 0 else 1.0
        return min(_rounded(max(needed, last.share + _LEAST_STEP)), round(2 * last.share, 2))

    def _smaller(self):
        """The engines are too slow: the share that is fastest if they decode no more images/s than they have so far."""
        engines = max(trial.share * trial.rate for trial in self._tried)
        share = _share_of_most(self._tried[0].rate, engines)
        is_new = share < self._tried[-1].share and all(abs(share - trial.share) >= _LEAST_STEP for trial in self._tried)
        return share if is_new else None

    def best(self):
        """The smallest share whose rate is within 1 % of the highest."""
        fastest = max(trial.rate for trial in self._tried)
        return min(trial.share for trial in self._tried if trial.rate >= _AS_FAST * fastest)

    def __str__(self):
        workers, *others = self._tried
        return (f"images/s: the loop wants {self._wanted:,.0f}, and got {workers.rate:,.0f} from the workers alone"
                + "".join(f", {trial.rate:,.0f} with gpu_share={trial.share:g}" for trial in others))


def share_for(wanted, workers, engines):
    """The smallest share, in hundredths, with which both sides together give `wanted` images/s; or, if they cannot, the share
    with which they give most."""
    needed = (1 - SPARE * workers / wanted) / _SAVED
    return min(_rounded(needed), _share_of_most(workers, _BESIDE * engines))


def _share_of_most(workers, engines):
    """The share with which workers and engines together make most images/s."""
    return _rounded(engines / (workers + _SAVED * engines)) if engines > 0 else 0.0


def _rounded(share):
    return 0.0 if share < _LEAST else min(1.0, round(share + 0.005, 2))
