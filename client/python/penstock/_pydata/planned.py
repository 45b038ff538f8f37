"""`loader.sampler` and `loader.batch_sampler` where the program gave none: torch's classes, in Penstock's order.

A torch DataLoader that is made from them and `loader.dataset`, as frameworks do, reads the samples that the loader would give
next: of its next epoch, or of the rest of the epoch whose state was loaded. A loader has `_order_now()` and `_next_epoch()`.
"""
import copy

from torch.utils.data import BatchSampler, RandomSampler, Sampler, SequentialSampler


def sampler_of(loader):
    order = loader._order_now()
    if order is None:
        return Endless()
    return Sequential(loader) if order.name == "sequential" else Random(loader)


class Endless(Sampler):
    """Of an IterableDataset, which determines its order itself."""

    def __init__(self):
        pass

    def __iter__(self):
        while True:
            yield None


class _Planned:
    def __init__(self, loader):
        self._loader = loader
        self.data_source = loader.dataset

    def set_epoch(self, epoch):
        self._loader.set_epoch(epoch)

    def __len__(self):
        return self._loader._samples_of_rank()

    def __iter__(self):
        for batch in _batches(self._loader):
            yield from batch


class Sequential(_Planned, SequentialSampler):
    """This rank's samples, as they are numbered."""


class Random(_Planned, RandomSampler):
    """This rank's samples, shuffled as the loader does."""

    replacement, generator, _num_samples = False, None, None

    @property
    def num_samples(self):
        return len(self)


class Batches(BatchSampler):
    """Lists of the samples of this rank's batches."""

    def __init__(self, loader, sampler):
        super().__init__(sampler, loader.batch_size, loader.drop_last)
        self._loader = loader

    def set_epoch(self, epoch):
        self._loader.set_epoch(epoch)

    def __len__(self):
        return len(self._loader)

    def __iter__(self):
        return super().__iter__() if isinstance(self.sampler, Endless) else _batches(self._loader)


def _batches(loader):
    order = copy.copy(loader._order_now())
    plan = order.begin(loader._next_epoch(), 0 if loader._begun else loader._at.consumed)
    while plan is not None:
        for number in range(plan.share.steps()):
            step = plan.share.at(number)
            ids = plan.order.ids(step.first, step.rows)
            yield ids if plan.entries is None else plan.entries[ids[0]]
        plan = order.after(plan)
