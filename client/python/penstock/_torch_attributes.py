"""What programs and frameworks read of a DataLoader of torch, and set: the same here, or words about it."""
import sys

from ._batch import Batch
from ._say import say_once
from .errors import InvalidArgument

WITHOUT_EFFECT = {
    "num_workers": "the daemon's workers decode for all trainers of this node",
    "pin_memory": "batches come by way of pinned memory, or are on the device already",
    "pin_memory_device": "batches come to `device`",
    "persistent_workers": "the daemon's workers outlive epochs",
    "worker_init_fn": "there are no worker processes here; seeds of augmentations come from `seed`",
    "multiprocessing_context": "there are no worker processes here",
}


def explain(**arguments):
    for name, value in arguments.items():
        if value:
            say_once(f"{name}={value!r} has no effect: {WITHOUT_EFFECT[name]}")


def whole_batch(batch):
    """`loader.collate_fn` where none was given: a batch is made already."""
    if not isinstance(batch, Batch):
        raise InvalidArgument("Penstock's collate_fn gets a finished batch, and was given single samples; iterate the "
                              "loader, or give torch's DataLoader a collate_fn of its own")
    return batch


class Attributes:
    """A loader's, for a class whose `_settings` and `_collate` they show.

    They describe this process, which has no workers: `num_workers` is 0 and `pin_memory` False whatever was
    asked for, so that who makes a DataLoader of torch from them (accelerate.skip_first_batches) gets one that
    works here.
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
        # torch's own makes a batch of samples, which is done here already. torch is loaded: see torch.py.
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
        """torch's: batches a worker prefetches, so None. How many are kept ready here: `loader.window`."""
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
            raise ValueError(f"{name} cannot be set once a loader is made; make another loader with {_AT_THE_START[name]}")
        super().__setattr__(name, value)


_AT_THE_START = {
    "batch_size": "batch_size=", "sampler": "sampler=", "batch_sampler": "batch_sampler=", "drop_last": "drop_last=",
    "dataset": "that dataset", "generator": "generator= or seed=", "prefetch_factor": "prefetch_factor=",
    "timeout": "timeout=",
}


class Sampler:
    """`loader.sampler` where none was given, for programs that set its epoch or ask for its length."""

    def __init__(self, loader):
        self._loader = loader

    def set_epoch(self, epoch):
        self._loader.set_epoch(epoch)

    def __len__(self):
        """Samples that this rank takes in an epoch."""
        return self._loader._samples_of_rank()

    def __iter__(self):
        raise TypeError("the order of samples is made in the daemon; each batch says which it has: batch.sample_ids. "
                        "For an order of your own give the loader sampler=")


class BatchSampler:
    """`loader.batch_sampler` where none was given: the epoch's places, which `loader.dataset` turns into its batches.

    So a DataLoader of torch made of both reads Penstock's batches; the first ones may be left out.
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
    """One epoch of a loader, taken place by place."""

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
    """A batch's in an epoch; `loader.dataset` knows what to do with it."""

    def __init__(self, run, step):
        self._run, self.step = run, step

    def take(self):
        return self._run.take(self.step)

    def __iter__(self):
        raise TypeError("which samples a batch has is decided in the daemon; the batch says it: batch.sample_ids. "
                        "For batches of your own give the loader batch_sampler=")
