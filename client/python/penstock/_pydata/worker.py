"""A Python worker: makes batches into slots of the daemon's pool, until its host or the daemon ends."""
import array
import functools
import sys
from dataclasses import dataclass, replace
from typing import Any, Callable, Optional

from .. import _penstock as native
from ..errors import DeadlineExceeded, FailedPrecondition, ResourceExhausted, Unavailable
from . import arena, arguments, process, seeding, slot
from .making import Making, Recipe
from .philox import block
from .raised import Ended, Raised
from .replacing import Replacing
from .seeding import WORKER, Seeds
from .streams import Stream, StreamRecipe

_ENTER_SECONDS = 10.0
_WAIT_SECONDS = 60.0   # for one call; the worker then asks again
_ROOM_SECONDS = 60.0   # for the daemon's answer
_NO_CUDA = ("a Python worker tried to use CUDA, which a forked process cannot; return tensors on the CPU from the dataset "
            "and collate_fn, and give device='cuda' to the loader")
_LEAST_TEXT = 16 * 1024  # characters of a traceback that surely fit


@dataclass(frozen=True)
class Work:
    """What the workers of one host do."""

    num_workers: int
    dataset: Any
    worker_init_fn: Optional[Callable]
    seed: int
    recipe: Optional[Recipe] = None          # of a map-style dataset
    streams: Optional[StreamRecipe] = None   # of an iterable one
    replaces: bool = False                   # samples that raise
    samples: int = 0                         # of an epoch, for `replaces`
    orders: Any = None                       # an order that the program drew (units.py), for `replaces`
    begins: Any = None                       # where each stream begins (units.py): (unit, samples, state)


def run(work, address, token, place, start, words):
    """Returns never; raises Unavailable when the daemon has ended, and process.Ended when the host has."""
    process.become_worker(words)
    arguments.note_worker()
    seeding.forget_sample()
    _prepare_torch(work, place)
    worker = native.MakerWorker.enter(address, token, place, start, _ENTER_SECONDS)
    worker.ready()
    maker = (_Streams if work.recipe is None else _Batches)(work, worker, place)
    try:
        _serve(worker, maker)
    except (Unavailable, KeyboardInterrupt, process.Ended):
        process.finish()  # before the connection is closed, because the daemon then kills this process
        raise


def _serve(worker, maker):
    process.busy(True)
    maker.begin()
    while True:
        process.busy(False)
        try:
            request = worker.next(_WAIT_SECONDS)
        except DeadlineExceeded:
            continue
        process.busy(True)
        maker.answer(request)
        request = None


def _flush():
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, ValueError, OSError):
            pass


def _prepare_torch(work, place):
    torch = sys.modules.get("torch")
    if torch is None:
        return
    torch.set_num_threads(1)
    from torch.utils.data._utils import worker
    seed = block(work.seed, 0, place, WORKER) >> 64 & 2**63 - 1  # torch.initial_seed() in worker_init_fn
    worker._worker_info = worker.WorkerInfo(id=place, num_workers=work.num_workers, seed=seed, dataset=work.dataset)

    def refuse(*_, **__):
        raise RuntimeError(_NO_CUDA)

    torch.cuda._lazy_init = refuse
    arena.install(torch)


class _Maker:
    """Answers requests. A subclass makes what is asked for."""

    def __init__(self, work, worker, place):
        self._worker, self._place = worker, place
        self._failed = None  # what worker_init_fn raised, for the first batch
        self.at, self.row = "", None
        self._arena = None
        self._work = self._in_place(work)

    def _in_place(self, work):
        """The work, with an arena for the batches of torch's default_collate."""
        torch, recipe = sys.modules.get("torch"), work.recipe or work.streams
        if torch is None or recipe.collate_fn is not torch.utils.data.default_collate:
            return work
        self._arena = arena.Arena(self._more_room)
        recipe = replace(recipe, collate_fn=self._arena.during(recipe.collate_fn))
        return replace(work, **{"streams" if work.recipe is None else "recipe": recipe})

    def begin(self):
        function = self._work.worker_init_fn
        if function is None:
            return
        try:
            Seeds(self._work.seed).run(0, self._place, function, self._place, operation=WORKER)
        except Exception as error:
            self._failed = self._raised(error, "in worker_init_fn")

    def answer(self, request):
        rows, self._room = len(request.ids), request.room
        failed, self._failed = self._failed, None
        if failed is None:
            try:
                self._make(request)
                return
            except Unavailable:
                raise
            except BaseException as error:
                failed = self._raised(error, self.at)
        row = rows if self.row is None else self.row
        _flush()
        self._worker.raised(min(row, rows), self._fit(failed))

    def make(self, request):
        raise NotImplementedError

    def _make(self, request):
        place = self._arena
        if place is None:
            plan = slot.measure(self.make(request))
        else:
            place.begin(self._room)
            plan = slot.measure(self.make(request), place)
        nbytes = plan.write(self._room_for(plan.nbytes))
        _flush()  # the trainer may end this process once it has its last batch
        self._worker.done(nbytes)
        self._room = None

    def _room_for(self, needed):
        if needed > len(self._room):
            self.at, self.row = f"when it had made a batch of {needed} bytes", None
            self._more_room(needed)
        return self._room

    def _more_room(self, needed):
        self._room = self._worker.ask_for_room(needed, _ROOM_SECONDS)
        return self._room

    def _raised(self, error, at):
        if "CUDA error: initialization error" in str(error):  # of the trainer's tensors on a GPU
            told = RuntimeError(_NO_CUDA)
            told.__cause__, error = error, told
        return Raised(error, f"in DataLoader worker process {self._place}, {at}")

    def _fit(self, failed):
        """Writes an exception, shortened if there is no more room. Returns the bytes that it takes."""
        plan = slot.measure(failed)
        try:
            return plan.write(self._room_for(plan.nbytes))
        except ResourceExhausted:
            failed.shorten(_LEAST_TEXT)
            return slot.measure(failed).write(self._room)


class _Batches(_Maker):
    def __init__(self, work, worker, place):
        super().__init__(work, worker, place)
        recipe = self._work.recipe
        self._making = Making(recipe, worker.set_row if recipe.units is None else None)
        self._replacing = Replacing(work.seed) if work.replaces else None
        self._drawn = None, None  # the epoch's order, if the program drew it

    def make(self, request):
        making, replacing, work = self._making, self._replacing, self._work
        where = request.epoch, request.ids, request.key_first, request.key_step
        try:
            if replacing is None:
                return making.batch(*where)
            order = self._order(request.epoch)
            replacing.begin(request.epoch, work.samples if order is None else len(order), order)
            return making.replaced(*where, replacing)
        finally:
            self.at, self.row = making.at, making.row if self._work.recipe.units is None else None

    def _order(self, epoch):
        if self._work.orders is None:
            return None
        if self._drawn[0] != epoch:
            self._drawn = epoch, array.array("Q", self._work.orders.keys(epoch, 0))
        return self._drawn[1]


class _Streams(_Maker):
    def __init__(self, work, worker, place):
        super().__init__(work, worker, place)
        self._stream = self._epoch = self._next = None

    def make(self, request):
        unit = request.ids[0]
        if self._epoch != request.epoch or self._next != unit:
            self._begin(request.epoch, request.stream, unit)
        self._next = unit + self._work.num_workers
        if self._stream is None:
            return Ended(request.stream)
        try:
            return self._stream.streamed()
        finally:
            self.at = self._stream.at

    def _begin(self, epoch, stream, unit):
        first, samples, state = self._work.begins.keys(epoch, stream)
        if first != unit:
            raise FailedPrecondition(f"stream {stream} is to go on at batch {unit}, but this process has not iterated "
                                     "it; a worker has ended, and its iterator with it")
        if samples and state is None:
            raise FailedPrecondition(f"stream {stream} cannot go on behind {samples} samples, because its process has "
                                     "ended and the dataset has no state_dict; give it state_dict and load_state_dict, "
                                     "or begin the epoch anew")
        self._epoch = epoch
        self._stream = None if samples is None else Stream(self._work.streams, epoch, stream, samples, state)


def work_of(work):
    """The function for host.fork."""
    return functools.partial(run, work)
