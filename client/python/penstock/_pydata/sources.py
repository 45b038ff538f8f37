"""Where a loader's batches of one epoch come from: its own process, or workers.

A source's `take()` returns (what `loader._give` gets, consumed: by all ranks together after it, whether it is known to be
this rank's last), or None at the end. Those of workers also have `take(wait=False)`, which may return NOT_YET.
"""
from ..errors import Internal
from .making import Making
from .raised import Ended, Local, Raised
from .streams import Stream

NOT_YET = object()  # the next batch is not there


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


class RemoteMapSource:
    """The batches of `plan` from `remote`, of remote.py."""

    def __init__(self, remote, plan):
        self._remote, self._plan, self._step, self._steps = remote, plan, 0, plan.share.steps()

    def take(self, wait=True):
        if self._step == self._steps:
            return None
        taken = self._remote.take(wait)
        if taken is NOT_YET:
            return NOT_YET
        expected = self._plan.share.at(self._step)
        if taken is None or tuple(taken[1][2:4]) != expected[:2]:
            raise Internal(f"the daemon gave {'the end of the epoch' if taken is None else taken[1]}, expected rows "
                           f"{expected}")
        self._step += 1
        return taken[0], self._plan.base + expected.consumed, self._step == self._steps and not self._plan.more

    def close(self):
        """The session stays: the next epoch's source may go on with it."""


class RemoteStreamSource:
    """Batch `unit` comes from stream `unit` mod W; a stream that ended answers with Ended from then on."""

    def __init__(self, remote, epoch, consumed, begins):
        self._remote, self.epoch, self._consumed = remote, epoch, consumed
        self.begins = list(begins)  # (next unit, samples, state) of each stream; samples None: it has ended
        self.unit = min(unit for unit, _, _ in begins)

    def take(self, wait=True):
        while any(samples is not None for _, samples, _ in self.begins):
            taken = self._remote.take(wait)
            if taken is NOT_YET:
                return NOT_YET
            if taken is None:
                raise Internal("the daemon gave the end of an epoch that has none")
            batch, stream = taken[0], self.unit % len(self.begins)
            self.unit += 1
            following = self.unit - 1 + len(self.begins)
            if isinstance(batch, Ended):
                self.begins[stream] = following, None, None
                continue
            self._consumed += 1
            if isinstance(batch, Raised):
                self.begins[stream] = following, *self.begins[stream][1:]
                return batch, self._consumed, False
            self.begins[stream] = following, batch.samples, batch.state
            return batch.batch, self._consumed, all(samples is None for _, samples, _ in self.begins)
        return None

    def states(self):
        """Where each stream goes on; None if the dataset cannot tell."""
        return None if any(samples and state is None for _, samples, state in self.begins) else list(self.begins)

    def close(self):
        self._remote.end_session()
