"""Attributes of torch's DataLoader, for loaders of Python datasets: what torch has, where it has it."""
import copy

from ..errors import InvalidArgument

# May be set after the loader was made; the next iteration heeds them.
SETTABLE = ("num_workers", "collate_fn", "worker_init_fn", "pin_memory", "pin_memory_device", "multiprocessing_context")


def _given(name):
    def read(self):
        return self._arguments[name]

    if name not in SETTABLE:
        return property(read)

    def write(self, value):
        self._arguments[name] = value
        self._changed()

    return property(read, write)


class Attributes:
    """For a class with `_arguments`, and `_changed()` to be called when one was set."""

    dataset = _given("dataset")
    batch_size = _given("batch_size")
    num_workers = _given("num_workers")
    collate_fn = _given("collate_fn")
    pin_memory = _given("pin_memory")
    pin_memory_device = _given("pin_memory_device")
    drop_last = _given("drop_last")
    timeout = _given("timeout")
    worker_init_fn = _given("worker_init_fn")
    multiprocessing_context = _given("multiprocessing_context")
    generator = _given("generator")
    prefetch_factor = _given("prefetch_factor")
    persistent_workers = _given("persistent_workers")
    in_order = _given("in_order")

    @property
    def sampler(self):
        """The program's own, or one that yields this rank's samples of the next epoch."""
        given, batches = self._arguments["sampler"], self._arguments["batch_sampler"]
        if given is None and batches is not None:
            return getattr(batches, "sampler", None)
        return PlannedSampler(self) if given is None else given

    @property
    def batch_sampler(self):
        """The program's own; or one that yields the lists of this rank's samples; None for single samples."""
        given = self._arguments["batch_sampler"]
        if given is not None:
            return given
        return None if self.batch_size is None else PlannedBatches(self)


class PlannedBatches:
    """`loader.batch_sampler`: lists of the samples of this rank's batches in the loader's next epoch."""

    def __init__(self, loader):
        self._loader = loader

    sampler = property(lambda self: self._loader.sampler)
    batch_size = property(lambda self: self._loader.batch_size)
    drop_last = property(lambda self: self._loader.drop_last)

    def set_epoch(self, epoch):
        self._loader.set_epoch(epoch)

    def __len__(self):
        return len(self._loader)

    def __iter__(self):
        loader = self._loader
        if loader._order_of is None:
            raise InvalidArgument("an IterableDataset determines its order itself; iterate the loader")
        epoch = loader._next_epoch()
        order = copy.copy(loader._order_of)
        plan = order.begin(epoch, 0 if loader._begun else loader._at.consumed)
        while plan is not None:
            for number in range(plan.share.steps()):
                step = plan.share.at(number)
                ids = plan.order.ids(step.first, step.rows)
                yield ids if plan.entries is None else plan.entries[ids[0]]
            plan = order.after(plan)


class PlannedSampler(PlannedBatches):
    """`loader.sampler`: this rank's samples in the loader's next epoch."""

    def __len__(self):
        return self._loader._samples_of_rank()

    def __iter__(self):
        for batch in super().__iter__():
            yield from batch
