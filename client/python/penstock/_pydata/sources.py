"""Where a loader's batches of one epoch come from when its own process makes them.

A source's `take()` returns (what `loader._give` gets, consumed: by all ranks together after it, whether it is known to be
this rank's last), or None at the end.
"""
from ..errors import DataLoss
from .making import Making
from .order import substitute_for
from .raised import Ended, Local
from .streams import Stream

# How many samples may raise: as the daemon's limits.max_quarantined.
MAX_BAD_SHARE, MAX_BAD_LEAST = 0.001, 10
_MAX_ATTEMPTS = 10_000


class MapSource:
    """The batches of `plan` (plans.py), made in this process."""

    def __init__(self, plan, recipe, bad=None):
        """`bad`: numbers of samples that raised, to which others are added; None: an exception is raised to the loop."""
        self._plan, self._steps, self._step = plan, plan.share.steps(), 0
        self._making = Making(recipe)
        self._bad = bad

    def take(self):
        if self._step == self._steps:
            return None
        step = self._plan.share.at(self._step)
        self._step += 1
        return self._make(step), self._plan.base + step.consumed, self._step == self._steps and not self._plan.more

    def _make(self, step):
        plan = self._plan
        rank, ranks = plan.given_by
        ids = [plan.base + sample for sample in plan.order.ids(step.first, step.rows)]
        stand_ins = None
        if self._bad is not None:
            ids = [self._stand_in(sample) for sample in ids]
            stand_ins = self._replace
        with self._making.keeping_generators():
            try:
                return self._making.batch(plan.epoch, ids, step.first * ranks + rank, ranks, stand_ins)
            except Exception as error:
                return Local(error)

    def _replace(self, sample, error):
        self._bad[sample] = f"{type(error).__name__}: {error}"
        samples = self._plan.order.samples
        most = min(max(MAX_BAD_LEAST, int(MAX_BAD_SHARE * samples)), samples - 1)
        if len(self._bad) > most:
            raise DataLoss(f"too many bad samples: {len(self._bad)} of {samples} raised an exception, and at most {most} may; the last "
                           f"one is {sample}: {self._bad[sample]}; repair them, or remove them") from error
        return self._stand_in(sample)

    def _stand_in(self, sample):
        """The sample itself, or the first of its substitutes that has not raised."""
        plan, found, attempt = self._plan, sample, 0
        while found in self._bad:
            attempt += 1
            if attempt > _MAX_ATTEMPTS:
                raise DataLoss(f"sample {sample} raised {self._bad[sample]}, and no sample was found to replace it")
            samples = plan.order.samples
            drawn = substitute_for(samples, plan.seed, plan.epoch, sample, attempt)
            found = plan.order.ids(drawn, 1)[0] if plan.name == "given" else drawn
        return found

    def close(self):
        self._steps = self._step


class StreamSource:
    """The batches of an iterable dataset, made in this process."""

    def __init__(self, recipe, epoch, consumed, samples=0, state=None):
        self._stream, self._consumed = Stream(recipe, epoch, 0, samples, state), consumed

    def take(self):
        with self._stream.keeping_generators():
            try:
                batch = self._stream.batch()
            except Exception as error:
                batch = Local(error)
        if isinstance(batch, Ended):
            return None
        self._consumed += 1
        return batch, self._consumed, False

    def states(self):
        """[(next batch, samples, state)] of each stream, behind the batch that was taken last; None if the dataset cannot
        tell."""
        with self._stream.keeping_generators():
            state = self._stream.state()
        return None if state is None else [(self._consumed, self._stream.samples, state)]

    def close(self):
        self._stream._ended = True
