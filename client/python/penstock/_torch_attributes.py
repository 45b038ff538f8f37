"""Attributes of torch's DataLoader that programs and frameworks read and set: the same here, or explained."""
import sys

from ._batch import Batch
from ._say import say_once
from .errors import InvalidArgument

WITHOUT_EFFECT = {
    "num_workers": "the daemon's workers decode for all trainers on this node",
    "pin_memory": "with device='cuda' batches are already on the GPU; on the CPU they stay in ordinary memory, "
                  "where tensor.pin_memory() pins them",
    "pin_memory_device": "batches go to `device`",
    "persistent_workers": "the daemon's workers outlive epochs",
    "worker_init_fn": "there are no worker processes here; augmentations are seeded by `seed`",
    "multiprocessing_context": "there are no worker processes here",
}


def explain(**arguments):
    for name, value in arguments.items():
        if value:
            say_once(f"{name}={value!r} has no effect: {WITHOUT_EFFECT[name]}")


def whole_batch(batch):
    """`loader.collate_fn` if none was given: batches are already collated."""
    if not isinstance(batch, Batch):
        raise InvalidArgument("Penstock's collate_fn gets a finished batch, but was called with single samples; iterate the "
                              "loader, or give torch's DataLoader a collate_fn of its own")
    return batch


class Attributes:
    """torch's attributes for a class with `_settings` and `_collate`.

    They describe this process, which has no workers: `num_workers` is 0 and `pin_memory` False, whatever was requested.
    So a torch DataLoader that is built from them (accelerate.skip_first_batches) works here.
    """

    num_workers = property(lambda self: 0, lambda self, value: explain(num_workers=value))
    pin_memory = property(lambda self: False, lambda self, value: explain(pin_memory=value))
    pin_memory_device = property(lambda self: "", lambda self, value: explain(pin_memory_device=value))
    persistent_workers = property(lambda self: False, lambda self, value: explain(persistent_workers=value))
    worker_init_fn = property(lambda self: None, lambda self, value: explain(worker_init_fn=value))
    multiprocessing_context = property(lambda self: None, lambda self, value: explain(multiprocessing_context=value))
    in_order = True

    @property
    def collate_fn(self):
        return whole_batch if self._collate is None else self._collate

    @collate_fn.setter
    def collate_fn(self, function):
        # torch's own function only makes a batch of samples, which is done already. torch.py has loaded torch.
        own = sys.modules["torch"].utils.data.default_collate if "torch" in sys.modules else None
        self._collate = None if function in (whole_batch, own) else function

    @property
    def timeout(self):
        return self._settings.timeout

    @property
    def drop_last(self):
        return self._settings.remainder == "drop"

    @property
    def prefetch_factor(self):
        """None, because in torch it counts batches per worker. `loader.window` is how many are kept ready here."""
        return None

    @property
    def generator(self):
        """None: the seed was drawn from it when the loader was made."""
        return None

    @property
    def window(self):
        return self._settings.window

    def __setattr__(self, name, value):
        if name in _AT_THE_START:
            raise ValueError(f"{name} cannot be changed once a loader is made; make another loader with {_AT_THE_START[name]}")
        super().__setattr__(name, value)


_AT_THE_START = {
    "batch_size": "batch_size=", "sampler": "sampler=", "batch_sampler": "batch_sampler=", "drop_last": "drop_last=",
    "dataset": "that dataset", "generator": "generator= or seed=", "prefetch_factor": "prefetch_factor=",
    "timeout": "timeout=",
}


class Sampler:
    """`loader.sampler` if none was given, for programs that set its epoch or ask for its length."""

    def __init__(self, loader):
        self._loader = loader

    def set_epoch(self, epoch):
        self._loader.set_epoch(epoch)

    def __len__(self):
        """Number of samples of this rank in an epoch."""
        return self._loader._samples_of_rank()

    def __iter__(self):
        raise TypeError("the daemon determines the order of samples; batch.sample_ids tells which ones a batch has. "
                        "For an order of your own, pass sampler= to the loader")


class BatchSampler:
    """`loader.batch_sampler` if none was given: yields the batches' places in the epoch, which `loader.dataset` turns into
    batches.

    So a torch DataLoader made from both reads Penstock's batches, also without the first ones.
    """

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
        run = Run(self._loader)
        return (Place(run, step) for step in range(len(self._loader)))


class Run:
    """One epoch of a loader, read batch by batch."""

    def __init__(self, loader):
        self._loader = loader
        self._epoch = loader._next_epoch()
        self._iterator, self._next = None, 0

    def take(self, step):
        if self._iterator is None or step != self._next:
            self._loader._go_to(self._epoch, step)
            self._iterator = iter(self._loader)
        self._next = step + 1
        return self._iterator.take()


class Place:
    """A batch's place in an epoch; `loader.dataset` turns it into the batch."""

    def __init__(self, run, step):
        self._run, self.step = run, step

    def take(self):
        return self._run.take(self.step)

    def __iter__(self):
        raise TypeError("the daemon decides which samples a batch has; batch.sample_ids tells which. "
                        "For batches of your own, pass batch_sampler= to the loader")
