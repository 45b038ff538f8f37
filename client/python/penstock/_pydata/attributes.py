"""Attributes of torch's DataLoader, for loaders of Python datasets: what torch has, where it has it."""
from . import planned

# May be set after the loader was made; the next iteration heeds them.
SETTABLE = ("num_workers", "collate_fn", "worker_init_fn", "pin_memory", "pin_memory_device", "multiprocessing_context")


def _given(name):
    def read(self):
        return self._arguments[name]

    def write(self, value):
        if name not in SETTABLE:
            raise ValueError(f"{name} cannot be changed once a loader is made; make another loader with {name}=")
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

    # Whether samples become batches; torch's loader has it under this name, and programs read it.
    _auto_collation = property(lambda self: self._batched)

    @property
    def sampler(self):
        """The program's own, or one that yields this rank's samples of the next epoch."""
        given, batches = self._arguments["sampler"], self._arguments["batch_sampler"]
        if given is None and batches is not None:
            return getattr(batches, "sampler", None)
        return planned.sampler_of(self) if given is None else given

    @property
    def batch_sampler(self):
        """The program's own; or one that yields the lists of this rank's samples; None for single samples."""
        given = self._arguments["batch_sampler"]
        if given is not None:
            return given
        return None if self.batch_size is None else planned.Batches(self, self.sampler)
