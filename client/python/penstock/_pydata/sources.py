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


class _Takes:
    """Takes from `remote`. A take that an interrupt ended may have got a batch, which is then lost."""

    def __init__(self, remote):
        self._remote = remote
        self.open = 0  # takes of which the source does not know yet what they got

    def take(self, wait):
        before = self.open
        self.open = before + 1
        taken = self._remote.take(wait)
        if taken is NOT_YET:
            self.open = before
        return taken

    @property
    def lost(self):
        """How many batches may be missing before the one that was just taken."""
        return self.open - 1


class RemoteMapSource:
    """The batches of `plan` from `remote`, of remote.py."""

    def __init__(self, remote, plan):
        self._takes, self._plan, self._step, self._steps = _Takes(remote), plan, 0, plan.share.steps()

    def take(self, wait=True):
        if self._step == self._steps:
            return None
        taken = self._takes.take(wait)
        if taken is NOT_YET:
            return NOT_YET
        step = self._step_of(taken)
        if step is None:
            self._step = self._steps
            return None
        consumed = self._plan.base + self._plan.share.at(step).consumed
        self._step, self._takes.open = step + 1, 0
        return taken[0], consumed, self._step == self._steps and not self._plan.more

    def _step_of(self, taken):
        """Which step a batch is of: the expected one, or one behind it if interrupts have lost those between. None: all
        others are lost."""
        step, share, most = self._step, self._plan.share, self._step + self._takes.lost
        if taken is None and most >= self._steps:
            return None
        while taken is not None and step <= min(most, self._steps - 1):
            if tuple(taken[1][2:4]) == share.at(step)[:2]:
                return step
            step += 1
        raise Internal(f"the daemon gave {'the end of the epoch' if taken is None else taken[1]}, expected rows "
                       f"{share.at(self._step)}")

    def close(self):
        """The session stays: the next epoch's source may go on with it."""


class RemoteStreamSource:
    """Batch `unit` comes from stream `unit` mod W; a stream that ended answers with Ended from then on."""

    def __init__(self, remote, epoch, consumed, begins):
        self._remote, self._takes, self.epoch, self._consumed = remote, _Takes(remote), epoch, consumed
        self.begins = list(begins)  # (next unit, samples, state) of each stream; samples None: it has ended
        self.unit = min(unit for unit, _, _ in begins)

    def take(self, wait=True):
        while any(samples is not None for _, samples, _ in self.begins):
            taken = self._takes.take(wait)
            if taken is NOT_YET:
                return NOT_YET
            self._pass_lost(taken)
            batch = taken[0]
            if isinstance(batch, Ended):
                self._settle(None, None)
                continue
            self._consumed += 1
            if isinstance(batch, Raised):
                self._settle(*self._of_unit()[1:])
                return batch, self._consumed, False
            self._settle(batch.samples, batch.state)
            return batch.batch, self._consumed, all(samples is None for _, samples, _ in self.begins)
        return None

    def _of_unit(self):
        return self.begins[self.unit % len(self.begins)]

    def _pass(self, samples, state):
        """`samples`, `state`: where the stream goes on behind this unit."""
        count, unit = len(self.begins), self.unit
        self.begins[unit % count] = unit + count, samples, state
        self.unit = unit + 1

    def _settle(self, samples, state):
        self._pass(samples, state)
        self._takes.open = 0

    def _pass_lost(self, taken):
        """Goes on to the unit that was taken. Those before it are lost, and a state repeats them, as it can't tell what is
        behind them."""
        if taken is None:
            raise Internal("the daemon gave the end of an epoch that has none")
        unit = taken[1][2]
        if not self.unit <= unit <= self.unit + self._takes.lost:
            raise Internal(f"the daemon gave unit {unit} of the streams, expected {self.unit}")
        while self.unit < unit:
            self._pass(*self._of_unit()[1:])

    def states(self):
        """Where each stream goes on; None if the dataset cannot tell."""
        return None if any(samples and state is None for _, samples, state in self.begins) else list(self.begins)

    def close(self):
        self._remote.end_session()
