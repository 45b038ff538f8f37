"""Where a loader's batches of one epoch come from when its own process makes them.

A source's `take()` returns (what `loader._give` gets, consumed: by all ranks together after it, whether it is known to be
this rank's last), or None at the end.
"""
from .making import Making
from .raised import Ended, Local
from .streams import Stream

class MapSource:
    """The batches of `plan` (plans.py), made in this process."""

    def __init__(self, plan, recipe, replacing=None):
        """`replacing`: of replacing.py; None: an exception is raised to the loop."""
        self._plan, self._steps, self._step = plan, plan.share.steps(), 0
        self._making = Making(recipe)
        self._replacing = replacing

    def take(self):
        if self._step == self._steps:
            return None
        step = self._plan.share.at(self._step)
        self._step += 1
        return self._make(step), self._plan.base + step.consumed, self._step == self._steps and not self._plan.more

    def _make(self, step):
        plan, replacing = self._plan, self._replacing
        rank, ranks = plan.given_by
        ids = [plan.base + sample for sample in plan.order.ids(step.first, step.rows)]
        first = step.first * ranks + rank
        with self._making.keeping_generators():
            try:
                if replacing is None:
                    return self._making.batch(plan.epoch, ids, first, ranks)
                order = plan.order.order if plan.name == "given" else None
                replacing.begin(plan.epoch, plan.order.samples, order)
                return self._making.replaced(plan.epoch, ids, first, ranks, replacing)
            except Exception as error:
                return Local(error)

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
        return batch, self._consumed, self._stream.has_ended and not isinstance(batch, Local)

    def states(self):
        """[(next batch, samples, state)] of each stream, behind the batch that was taken last; None if the dataset cannot
        tell."""
        with self._stream.keeping_generators():
            state = self._stream.state()
        return None if state is None else [(self._consumed, self._stream.samples, state)]

    def close(self):
        self._stream._ended = True
