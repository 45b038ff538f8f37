"""`penstock.torch.DataLoader` over a Python dataset: made in this process (num_workers=0), or by forked workers."""
import os
import weakref
from dataclasses import replace

import torch

from .. import _settings
from .._base import LoaderBase
from .._place import moved
from .._say import say_once
from ..errors import FailedPrecondition, InvalidArgument
from ..torch import DataLoader, _seed
from . import arguments, delivery, iterating, limits, plans, streams
from .attributes import Attributes
from .connecting import Connecting
from .images import encoded, native_samples
from .making import Recipe
from .raised import Local, Raised
from .replacing import BadSamples, Replacing
from .sources import MapSource, StreamSource
from .units import Listed

_DROPPED = ("_source", "_plan", "_remote", "_order_of", "_deliver", "_bad", "_states", "_spare", "_beside", "_parted",
            "_placed")


class PythonLoader(Attributes, DataLoader):
    """What `penstock.torch.DataLoader(dataset, …)` makes of any dataset that is not a name or a path. The README of
    client/python says what it does."""

    def __init__(self, dataset, batch_size=1, shuffle=None, sampler=None, batch_sampler=None, num_workers=0,
                 collate_fn=None, pin_memory=False, drop_last=False, timeout=0, worker_init_fn=None,
                 multiprocessing_context=None, generator=None, *, prefetch_factor=None, persistent_workers=False,
                 pin_memory_device="", in_order=True, transform=None, dtype=None, layout=None, device="cpu",
                 seed=None, rank=None, world_size=None, last_batch=None, delivery="auto", address="", name="",
                 reconnect=60.0, connect_timeout=0, fail_on_bad_sample=False, fields=None, range=None, row_info=False, key=None,
                 native="auto", on_error="raise", max_batch_bytes=None, memory_format=None, mix=None, views=None,
                 targets=None, decode="cpu", gpu_share=None):
        if isinstance(dataset, (str, os.PathLike)):
            dataset, range = native_samples.of_loader(dataset, address, range, num_workers, connect_timeout), None
        arguments.check_dataset(dataset)
        arguments.refuse_native_only(fields=fields, range=range, row_info=row_info, memory_format=memory_format, mix=mix, views=views,
                                     targets=targets, decode=decode if decode not in ("cpu", "auto") else None, gpu_share=gpu_share)
        if decode == "auto":
            say_once("decode='auto': the GPU decodes nothing, because Python makes the samples")
        dtype = None if dtype is None else str(dtype).removeprefix("torch.")
        self._decoding = encoded.decoding_of(transform, dtype, layout)
        num_workers, prefetch_factor = arguments.whole(num_workers), arguments.whole(prefetch_factor)
        persistent_workers = bool(persistent_workers)
        prefetch = arguments.check_workers(num_workers, prefetch_factor, persistent_workers, timeout)
        arguments.check_context(multiprocessing_context, num_workers)
        arguments.check_batching(dataset, batch_size, shuffle, sampler, batch_sampler, drop_last, rank, world_size)
        _settings.one_of(on_error, ("raise", "replace"), "on_error")
        place, world_size, self._given_by = arguments.place_of(dataset, sampler, batch_sampler, rank, world_size)
        LoaderBase.__init__(self, _settings.make(
            "/", batch_size=batch_size or 1, shuffle=shuffle or False, drop_last=drop_last, seed=_seed(seed, generator),
            device=str(torch.device(device)) if device != "auto" else device, rank=place, world_size=world_size,
            last_batch=last_batch, timeout=timeout,
            prefetch_factor=min(_settings.MAX_WINDOW, max(2, num_workers * prefetch)),
            reconnect=reconnect, connect_timeout=connect_timeout, address=address, name=name, delivery=delivery,
            fail_on_bad_sample=True))
        batched = batch_size is not None or batch_sampler is not None
        if collate_fn is None:
            collate_fn = torch.utils.data.default_collate if batched else torch.utils.data.default_convert
            if isinstance(dataset, native_samples.NativeSamples) and batched:
                collate_fn = native_samples.collate
        self._arguments = dict(
            dataset=dataset, batch_size=None if batch_sampler is not None else batch_size, sampler=sampler,
            batch_sampler=batch_sampler,
            num_workers=num_workers, collate_fn=collate_fn, pin_memory=pin_memory, drop_last=drop_last, timeout=timeout,
            worker_init_fn=worker_init_fn, multiprocessing_context=multiprocessing_context, generator=generator,
            prefetch_factor=None if num_workers == 0 else prefetch, persistent_workers=persistent_workers,
            pin_memory_device=pin_memory_device, in_order=in_order)
        self._batched, self._key, self._replaces = batched, key, on_error == "replace"
        self._max_batch_bytes = _settings.positive(max_batch_bytes or 1 << 30, "max_batch_bytes", 1 << 34)
        self._said_length = self._given = None
        self._make_order()
        self._go(0, 0)

    def _forget(self):
        super()._forget()
        self._source = None  # of batches, open at the loader's position
        self._plan = None    # what the source reads
        self._remote = None  # the daemon's side of forked workers
        self._deliver = None  # how batches get to the loop (delivery.py)
        self._bad = BadSamples()  # for on_error="replace"
        self._states = None  # of an IterableDataset's streams: where the next source begins
        self._parted = weakref.WeakSet()  # copies that older iterators have (iterating.py)
        self._beside = None  # such an iterator, not begun as this loader
        self._spare = None   # its workers
        self._placed = False  # the program has said where to go on

    def _make_order(self):
        """What determines the order; None for an IterableDataset."""
        given, dataset = self._arguments, self._arguments["dataset"]
        self._order_of = None
        if arguments.is_iterable(dataset):
            return
        sampler, whole, size = given["sampler"], False, given["batch_size"]
        if given["batch_sampler"] is not None:
            sampler, whole = given["batch_sampler"], True
            if type(sampler) is torch.utils.data.BatchSampler and isinstance(sampler.batch_size, int):
                rows = _settings.positive(sampler.batch_size, "batch_size", _settings.MAX_BATCH_SIZE)
                self._settings = replace(self._settings, batch_size=rows, remainder="drop" if sampler.drop_last else
                                         self._settings.remainder)
                sampler, whole, size = sampler.sampler, False, rows
        if sampler is None:
            self._order_of = plans.OwnOrder(self._settings, len(dataset))
            return
        self._order_of = plans.DrawnOrder(self._settings, sampler, arguments.length_of(dataset), size, self._given_by, whole)
        if self._replaces and (whole or size is None):
            raise InvalidArgument("on_error is 'replace', which needs batches by number; leave batch_sampler out, or "
                                  "give batch_size")

    # What is known before a batch is taken.

    def _order_now(self):
        """What determines the order; that of a dataset that has grown is made anew."""
        order = self._order_of
        if isinstance(order, plans.OwnOrder) and order.samples != len(self.dataset):
            self._make_order()
        elif isinstance(order, plans.DrawnOrder):
            order.samples = arguments.length_of(self.dataset)
        return self._order_of

    def __len__(self):
        order = self._order_now()
        if order is not None:
            return order.batches()
        length, size = len(self.dataset), self.batch_size
        if size is not None:
            length = length // size if self.drop_last else -(-length // size)
        self._said_length = length
        return length

    def _samples_of_rank(self):
        return self._order_now().rows()

    def _static(self):
        """The digest of what must be the same where a state is loaded."""
        order = ("streams", self.batch_size) if self._order_of is None else self._order_of.words()
        return plans.digest("python", type(self.dataset).__qualname__, arguments.length_of(self.dataset), self._batched, *order)

    def _identity_of_epoch(self):
        if self._plan is None or self._plan.drawn == 0:
            return self._static()
        return plans.digest(self._static(), self._plan.name, self._plan.drawn)

    # Position.

    def _go(self, epoch, consumed):
        self._stand_at(epoch, consumed, self._static(), False)
        self._states = None
        self._leave_source()

    def _stand_at(self, epoch, consumed, fingerprint, begun):
        goal = moved(self._goal, epoch, consumed)
        goal.fingerprint = fingerprint
        self._move(goal=goal)
        self._begun = begun

    def set_epoch(self, epoch):
        super().set_epoch(epoch)
        self._placed, self._beside = True, None

    def state_dict(self):
        state = super().state_dict()
        if self._order_of is None:
            state["streams"] = self._streams()
        return state

    def load_state_dict(self, state_dict):
        super().load_state_dict(state_dict)
        self._check_state()
        self._placed, self._beside = True, None
        if self._order_of is None and self._goal.consumed > 0:
            self._states = state_dict.get("streams")
            if self._states is None:
                self._go(self._goal.epoch, 0)
                raise InvalidArgument("the state is of the middle of an epoch of an IterableDataset without state_dict "
                                      "and load_state_dict, which alone can tell where it was; give it both "
                                      "(torchdata's protocol), or load states of an epoch's end")
            if len(self._states) != max(1, self.num_workers):
                count = len(self._states)
                self._go(self._goal.epoch, 0)
                raise FailedPrecondition(f"the state is of the middle of an epoch with {count} streams, one for each "
                                         f"worker; give num_workers={count}")

    def _check_state(self):
        goal = self._goal
        if goal.seed != self._settings.seed:
            seed = goal.seed
            self._go(0, 0)
            raise FailedPrecondition(f"the state belongs to another feed: its seed is {seed}, the loader's "
                                     f"{self._settings.seed}; make the loader as it was then")
        is_drawn = isinstance(self._order_of, plans.DrawnOrder)  # then it is compared once it is drawn again
        if goal.fingerprint != self._static() and (goal.consumed == 0 or not is_drawn):
            self._go(0, 0)
            raise FailedPrecondition("the state belongs to another feed: the dataset's class or length, the order or "
                                     "the kind of batches differ; make the loader as it was then")

    def _streams(self):
        if self._source is not None and self._begun:
            return self._source.states()
        return self._states

    # Iterating.

    _iterator_of = staticmethod(iterating.Iterator)

    def __iter__(self):
        with iterating.waiting(self):
            iterating.part(self)
            self._begun = self._begun and self._at.consumed > 0  # else an interrupt came between the two
            self._given = 0
            iterator = super().__iter__()
            self._leave_source()  # there is one if an interrupt came in _pass_end
            return iterator

    def _begin_taking(self, marks):
        pass  # sources don't go backwards

    def _next(self):
        if self._beside is not None:
            iterating.step_aside(self)
        self._placed = False
        if self._source is None and not self._begin():
            self._pass_end()
            return None
        taken = self._source.take()
        while taken is None and self._plan is not None and self._plan.more:
            plan = self._order_of.after(self._plan)
            self._source, self._plan = self._source_of(plan), plan
            taken = self._source.take()
        if taken is None or taken[2]:
            self._pass_end()
        else:
            self._stand_at(self._goal.epoch, taken[1], self._identity_of_epoch(), True)
        if taken is None:
            return None
        self._count()
        return self._bad.noted(taken[0], self.dataset), taken[2]

    def _pass_end(self):
        """Goes on to the next epoch. The iterator ends first: if an interrupt comes later, it must not go on there."""
        iterating.end(self)
        self._go(self._at.epoch + 1, 0)
        if self._remote is not None and not self.persistent_workers:
            self._remote.end_epoch()

    def _begin(self):
        """Makes a source of the epoch's rest. False if this rank has no batch left."""
        at = self._goal
        self._delivering()  # raises if there is no such device
        if self._order_of is None:
            self._source = self._stream_source(at.epoch, at.consumed)
            return True
        plan = self._order_now().begin(at.epoch, at.consumed)
        if at.consumed > 0 and plan.drawn:
            expected, self._plan = at.fingerprint, plan
            if expected != self._identity_of_epoch():
                self._go(0, 0)
                raise FailedPrecondition("the state belongs to another order than the sampler has drawn now; seed the "
                                         "sampler as it was when the state was saved, or leave it to Penstock "
                                         "(shuffle=True)")
        if plan.share.steps() <= 0 and not plan.more:
            return False
        self._plan, self._source = plan, self._source_of(plan)
        return True

    def _source_of(self, plan):
        if self.num_workers > 0:
            return self._delivering().ahead(self._workers().of_plan(plan))
        units = None
        if plan.entries is not None:
            units = Listed()
            units.write(plan.epoch, plan.base, plan.entries)
        recipe = self._recipe(plan, units)
        return MapSource(plan, recipe, Replacing(self._settings.seed) if self._replaces else None)

    def _recipe(self, plan, units):
        samples = None if plan.name in ("given", "units") else plan.order.samples
        return Recipe(self.dataset, self.collate_fn, self._batched, self._settings.seed, units, plan.given_by,
                      self._decoding, samples)

    def _stream_recipe(self):
        return streams.StreamRecipe(self.dataset, self.collate_fn, self.batch_size, self.drop_last, self._settings.seed,
                                    self._decoding)

    def _stream_source(self, epoch, consumed):
        states = self._states if consumed > 0 else None
        if self.num_workers > 0:
            return self._delivering().ahead(self._workers().of_streams(epoch, consumed, states))
        _, samples, state = states[0] if states else (0, 0, None)
        return StreamSource(self._stream_recipe(), epoch, consumed, samples, state)

    def _workers(self):
        arguments.check_process(self.num_workers)
        if self._remote is None:
            self._remote = iterating.spare_workers(self)
        if self._remote is None:
            limits.check()
            connecting = Connecting(self._settings)
            from .remote import Remote  # takes a while, too
            self._remote = Remote(self, connecting)
        return self._remote

    def _count(self):
        self._given = (self._given or 0) + 1
        if self._said_length is not None and self._given > self._said_length:
            arguments.warn_of_length(self._said_length, self._given, self.num_workers)

    def _give(self, batch):
        if isinstance(batch, (Local, Raised)):
            batch.reraise()
        return self._delivering().give(batch)

    def _delivering(self):
        if self._deliver is None:
            self._deliver = delivery.of(self._open_device(), self.pin_memory)
        return self._deliver

    def _end_delivering(self):
        deliver, self._deliver = self._deliver, None
        if deliver is not None:
            deliver.close()

    def _end_epoch(self):
        pass  # a source ends with its epoch

    def _leave_source(self):
        source, self._source, self._plan = self._source, None, None
        if source is not None:
            source.close()

    def _end_session(self):
        self._leave_source()
        if self._remote is not None:
            self._remote.end_session()

    def _changed(self):
        """An attribute was set: the next iteration heeds it."""
        if self._remote is not None:
            self._leave_source()
            self._remote.close()
            self._remote = None
        self._end_delivering()

    # End.

    def close(self):
        for other in list(self._parted):
            other.close()
        super().close()
        self._end_delivering()
        self._spare = None
        if self._remote is not None:
            self._remote.close()
            self._remote = None

    def stats(self):
        return {} if self._remote is None else self._remote.stats()

    def __getstate__(self):
        pickled = super().__getstate__()
        kept = {name: value for name, value in pickled["kept"].items() if name not in _DROPPED}
        kept["_arguments"] = {**self._arguments, "generator": None}  # its seed was drawn when the loader was made
        return {**pickled, "kept": kept}

    def __setstate__(self, pickled):
        self.__dict__.update(pickled["kept"])
        self._forget()
        self._make_order()
        self.load_state_dict(pickled["state"])

    def __repr__(self):
        settings = self._settings
        where = f"{self.num_workers} workers" if self.num_workers else "this process"
        return (f"<penstock.torch.DataLoader of {type(self.dataset).__name__}: batches of {self.batch_size}, rank "
                f"{settings.rank}, {settings.remainder} last batch, made in {where}, on {settings.device}, epoch "
                f"{self.epoch}>")
