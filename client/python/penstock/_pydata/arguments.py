"""Checks what a Python dataset's loader was given, as torch's DataLoader does, and in its words where it has some."""
import multiprocessing
import os
import warnings

from .. import _sampling, _settings, ranks
from .._say import say_once
from .._substitutes import _outside
from ..errors import FailedPrecondition, InvalidArgument
from . import seeding

PREFETCH = 2  # batches for each worker, as in torch

_NATIVE_ONLY = {"fields": "a sample has what the dataset returns", "range": "use torch.utils.data.Subset",
                "row_info": "return the sample's number in the dataset",
                "targets": "return them from the dataset, and keep lists in collate_fn",
                "views": "return each view from the dataset",
                "decode": "decode on the GPU in the loop",
                "gpu_share": "decode on the GPU in the loop",
                "mix": "mix in collate_fn, as torch's DataLoader does",
                "memory_format": "convert the batch: images.to(memory_format=torch.channels_last)"}


def refuse_native_only(**given):
    for name, value in given.items():
        if value:
            raise InvalidArgument(f"{name} is for datasets that Penstock reads itself, by a name or path and with native steps alone, "
                                  f"and Python makes the samples of this one: the dataset, a step of its transform or collate_fn is "
                                  f"Python. Leave those out, or {_NATIVE_ONLY[name]}")


def is_iterable(dataset):
    """Whether samples come from iter(dataset) instead of dataset[key]."""
    import torch
    return isinstance(dataset, torch.utils.data.IterableDataset)


def check_dataset(dataset):
    if is_iterable(dataset) or hasattr(dataset, "__getitem__"):
        return
    raise InvalidArgument(f"the dataset is {type(dataset).__name__} {dataset!r:.80}; give a dataset's name, its path, "
                          "or an object with __getitem__ and __len__ (torch.utils.data.Dataset, IterableDataset)")


def length_of(dataset):
    """None: it has none."""
    try:
        return len(dataset)
    except (TypeError, NotImplementedError, AttributeError):
        return None


def whole(number):
    """An integer of another type, such as NumPy's, as Python's. Others as they are."""
    return number.__index__() if hasattr(number, "__index__") and not isinstance(number, bool) else number


def check_workers(num_workers, prefetch_factor, persistent_workers, timeout):
    """Number of batches kept ready for each worker."""
    if not isinstance(num_workers, int) or num_workers < 0:
        raise InvalidArgument(f"num_workers option should be non-negative: got {num_workers!r}; use num_workers=0 to "
                              "make samples in this process")
    if isinstance(timeout, (int, float)) and timeout < 0:
        raise InvalidArgument(f"timeout option should be non-negative: got {timeout!r}")
    _warn_of_many(num_workers)
    if num_workers > 256:
        raise InvalidArgument(f"num_workers is {num_workers}; Penstock starts at most 256")
    if num_workers == 0 and prefetch_factor is not None:
        raise InvalidArgument("prefetch_factor option could only be specified in multiprocessing, with num_workers > 0")
    if num_workers == 0 and persistent_workers:
        raise InvalidArgument("persistent_workers option needs num_workers > 0")
    return PREFETCH if prefetch_factor is None else _settings.positive(prefetch_factor, "prefetch_factor")


def _warn_of_many(num_workers):
    cores = len(os.sched_getaffinity(0))
    if num_workers > cores:
        warnings.warn(f"This DataLoader will create {num_workers} worker processes, and this process may use {cores} "
                      "processors. Please be aware that excessive worker creation might get DataLoader running slow or even "
                      "freeze; give fewer workers if it does", stacklevel=_outside())


_in_worker = False  # this process is a Python worker


def note_worker():
    global _in_worker
    _in_worker = True


def check_process(num_workers):
    """As torch, whose workers are daemonic processes."""
    if _in_worker:
        raise FailedPrecondition(f"daemonic processes are not allowed to have children: got num_workers={num_workers} for a "
                                 "loader in a Python worker of another loader; give num_workers=0, which makes its "
                                 "batches in that worker")


def check_context(context, num_workers):
    if context is None:
        return
    if num_workers == 0:
        raise InvalidArgument("multiprocessing_context can only be used with multi-process loading (num_workers > 0), "
                              "but got num_workers=0")
    methods = multiprocessing.get_all_start_methods()
    if isinstance(context, str):
        if context not in methods:
            raise InvalidArgument(f"multiprocessing_context option should specify a valid start method in {methods!r}, "
                                  f"but got multiprocessing_context={context!r}")
        method = context
    elif isinstance(context, multiprocessing.context.BaseContext):
        method = context.get_start_method(allow_none=True)
    else:
        raise TypeError("multiprocessing_context option should be a valid context object or a string specifying the "
                        f"start method, but got multiprocessing_context={context}")
    if method not in (None, "fork"):
        say_once(f"multiprocessing_context={method!r}: Penstock always forks its workers, which then have the dataset "
                 "as it is, without pickling it")


def check_batching(dataset, batch_size, shuffle, sampler, batch_sampler, drop_last, rank, world_size):
    if is_iterable(dataset):
        for name, value in (("shuffle", shuffle or None), ("sampler", sampler), ("batch_sampler", batch_sampler)):
            if value is not None:
                raise InvalidArgument(f"DataLoader with IterableDataset: expected unspecified {name} option, but got "
                                      f"{name}={value}")
        if rank is not None or world_size is not None:
            raise InvalidArgument("rank and world_size are given with an IterableDataset, which only the dataset "
                                  "itself can divide among ranks; leave them out, and divide in its __iter__")
    if sampler is not None and shuffle:
        raise InvalidArgument("sampler option is mutually exclusive with shuffle")
    if batch_sampler is not None and (batch_size != 1 or shuffle or sampler is not None or drop_last):
        raise InvalidArgument("batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and "
                              "drop_last")
    if batch_size is None and drop_last:
        raise InvalidArgument("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
    if batch_sampler is None and batch_size is not None:
        _settings.positive(batch_size, "batch_size", _settings.MAX_BATCH_SIZE)


def place_of(dataset, sampler, batch_sampler, rank, world_size):
    """(rank, world size, the rank that a drawn order is for)"""
    from ..sampling import SharedOrder
    if is_iterable(dataset):
        return ranks.Rank(0, 1, "an IterableDataset divides itself"), None, None
    drawn = sampler if batch_sampler is None else batch_sampler
    if rank is None and world_size is None and seeding.is_making() and _sampling._share(drawn) is None:
        rank, world_size = 0, 1  # a sample is the same on each rank, and so is what it takes from a loader of its own
    if drawn is not None and not isinstance(drawn, SharedOrder):
        return _sampling._place(drawn, rank, world_size)
    found = ranks.find(rank, world_size)
    if found.world_size > 1 and rank is None:
        say_once(f"this process is rank {found}, and takes its share of the samples; give rank=0, world_size=1 for all "
                 "samples on each rank, as torch's DataLoader has it without a DistributedSampler")
    return found, None, None


def warn_of_length(said, taken, num_workers):
    """As torch, and in its words, which programs filter: an IterableDataset gave more than its length says."""
    text = (f"Length of IterableDataset was reported to be {said} when accessing len(dataloader), but {taken} samples "
            "have been fetched. ")
    if num_workers > 0:
        text += ("For multiprocessing data-loading, this could be caused by not properly configuring the "
                 "IterableDataset replica at each worker (torch.utils.data.get_worker_info).")
    warnings.warn(text, stacklevel=2)
