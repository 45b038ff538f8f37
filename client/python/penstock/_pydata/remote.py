"""Batches that forked workers make: the daemon's session, and the host that this process forks when the daemon asks."""
import time
import uuid
import weakref
from array import array
from typing import Set

from .. import _feed
from .. import _penstock as native
from .. import __version__
from .._patience import Opening, while_gone
from .._say import _logger, say
from ..errors import DataLoss, DeadlineExceeded, FailedPrecondition, PermissionDenied, ResourceExhausted, Unavailable
from . import hosts, identity, process, slot, worker
from .connecting import Connecting
from .identity import modes
from .making import shown
from .order import Given
from .raised import in_torchs_words
from .seeding import Seeds
from .sources import NOT_YET, RemoteMapSource, RemoteStreamSource
from .units import ANY_EPOCH, Board

_ENDLESS = 1 << 40  # units of an epoch whose end is not known
_LONG_LOOK_SECONDS = 0.5  # at a dataset, before it is said
_long_looks: Set[str] = set()  # of datasets of these classes, which were said
_REMAINDERS = _feed._REMAINDERS


def _nothing():
    """A weak reference to nothing."""


class Remote:
    """Of one loader. `of_plan` and `of_streams` return sources (sources.py)."""

    def __init__(self, loader, connecting=None):
        """`connecting`: with these settings, begun already."""
        self.serve(loader)
        self._client = self._session = self._host = None
        self._connecting = connecting  # while there is no client yet
        self._served = False    # a daemon has opened a session, so it may come back
        self._id = None         # of the dataset, hexadecimal
        self._identity = None   # what the host's dataset was when it was forked; None: nobody can compare
        self._board = None      # lists for the workers
        self._is_private = False  # the lists change from epoch to epoch, so the id is this loader's alone
        self._work = None       # what they do
        self._forked = 0        # hosts for this id
        self._modes = None      # of this thread when the id was chosen, which hosts are forked in
        self._streaming = _nothing  # weak reference to the source of an IterableDataset's batches, which holds this object

    def serve(self, loader):
        """`loader` takes the batches from now on. It keeps this object alive, not the reverse."""
        self._loader_of = weakref.ref(loader)

    @property
    def _loader(self):
        return self._loader_of()

    # Sources.

    def of_plan(self, plan):
        """A session is of one epoch, also with persistent workers: what they share with the program, such as the number of
        the epoch, may change before the next one."""
        persistent = self._loader.persistent_workers
        self.end_session()
        self._prepare()
        self._streaming = _nothing
        if self._host is not None and self._host.reap():
            self._leave_host()  # the next one has the dataset as it is now
        entries = self._listed(plan)
        if entries is not None:
            self._list(plan, entries)
        elif not (persistent and self._work is not None and self._board is None):
            self._choose(plan, None)
        self._open(self._options_of(plan))
        return RemoteMapSource(self, plan)

    def of_streams(self, epoch, consumed, states):
        """`states`: [(next unit, samples, state)] of each stream; None: from the beginning."""
        loader = self._loader
        count = loader.num_workers
        begins = states or [(stream, 0, None) for stream in range(count)]
        self.end_session()
        self._prepare()
        if states or self._work is None or not loader.persistent_workers:
            self._choose_random("an IterableDataset's streams belong to one trainer")
            self._board = Board()
            self._work = worker.Work(count, loader.dataset, loader.worker_init_fn, loader._settings.seed,
                                     streams=loader._stream_recipe(), begins=self._board)
        source = RemoteStreamSource(self, epoch, consumed, begins)
        self._streaming = weakref.ref(source)
        self._board.write(epoch, 0, begins)
        self._open(self._stream_options(epoch, source.unit))
        return source

    def _prepare(self):
        """Begins what takes time: a private daemon may have to start, while this thread looks at the dataset."""
        if self._client is None:
            self._connecting = self._connecting or Connecting(self._loader._settings)
            Seeds(0)  # imports what each worker would import for itself

    # Which dataset it is for the daemon.

    def _choose(self, plan, board):
        """An id for the dataset as it is now, and what its workers do."""
        self._modes = modes.now()
        begun = time.monotonic()
        found = self._identify(plan)
        _say_if_long(time.monotonic() - begun, self._loader)
        if found.digest is None:
            self._choose_random(found.reason)
        elif found.digest != self._identity:
            self._leave_host(is_shared=True)
            self._id, self._identity = found.digest, found.digest
        if board is None:
            self._board = None
        if self._work is None:
            self._work, self._board = self._work_of(plan, board), board

    def _identify(self, plan):
        """All that decides a batch's bytes, beside its place in the order."""
        loader, recipe = self._loader, self._loader._recipe(plan, None)
        epoch = None if loader.persistent_workers else plan.epoch  # else each epoch has workers of its own, as torch's
        ours = dict(epoch=epoch, batched=loader._batched, given_by=plan.given_by, entries=self._listed(plan), seed=recipe.seed,
                    decoding=recipe.decoding, samples=recipe.samples, replaces=loader._replaces)
        if loader._key is not None:
            return identity.identify_key(loader._key, **ours)
        return identity.identify(dataset=loader.dataset, collate_fn=loader.collate_fn,
                                 worker_init_fn=loader.worker_init_fn, **ours)

    def _choose_random(self, reason):
        self._leave_host()
        _logger.debug("batches are not shared with other trainers: %s", reason)
        self._modes = modes.now()
        self._id, self._identity = uuid.uuid4().hex, None

    def _listed(self, plan):
        """What the workers must look up: the keys of each unit, or the order that substitutes are taken from."""
        if plan.entries is None and self._loader._replaces and plan.name == "given":
            return [plan.order.order.tolist()]
        return plan.entries

    def _list(self, plan, entries):
        """Puts the entries where the workers find them."""
        loader, is_part = self._loader, plan.more or plan.base > 0
        if not (is_part or loader.persistent_workers):  # shared, if others have the same list
            board = Board()
            board.write(ANY_EPOCH, plan.base, entries)
            self._choose(plan, board)
            return
        goes_on = plan.base > 0 or loader.persistent_workers
        if self._board is None or self._work is None or not (goes_on and self._is_private):
            self._choose_random("its sampler may be endless, or its workers persist, so its batches are not known "
                                "ahead")
            self._board, self._is_private = Board(), True
            self._work = self._work_of(plan, self._board)
        self._board.write(plan.epoch, plan.base, entries)

    def _work_of(self, plan, board):
        loader = self._loader
        is_units = plan.entries is not None
        return worker.Work(loader.num_workers, loader.dataset, loader.worker_init_fn, loader._settings.seed,
                           loader._recipe(plan, board if is_units else None), replaces=loader._replaces,
                           samples=plan.order.samples, orders=None if is_units else board)

    # The session.

    def _options(self):
        settings = self._loader._settings
        options = native.SessionOptions()
        options.seed, options.window = settings.seed, settings.window
        options.fail_on_bad_sample, options.name, options.device = True, settings.name, "host"
        options.delivery = native.Delivery.HOST
        python = native.PythonFeed()
        python.workers, python.timeout = self._loader.num_workers, settings.timeout
        python.max_batch_bytes, python.digest = self._loader._max_batch_bytes, self._loader._static()
        python.replace_bad_samples = self._loader._replaces
        python.keep_workers = bool(self._loader.persistent_workers)
        options.python = python
        return options

    def _options_of(self, plan):
        options, share = self._options(), plan.share
        keeps = self._loader.persistent_workers  # a daemon that saw another length would want new workers
        samples = _ENDLESS if keeps or plan.entries is not None else len(self._loader.dataset)
        options.dataset = f"python:id={self._id},samples={samples}"
        options.batch_size, options.epochs = share.batch_size, 1
        options.rank, options.world_size = share.rank, share.world_size
        options.remainder = _REMAINDERS[share.remainder]
        self._set_order(options, plan, keeps)
        options.state = self._state(plan.epoch, share.consumed)
        return options

    def _set_order(self, options, plan, keeps):
        order = plan.order
        options.order = native.Order.SHUFFLED if plan.name == "shuffled" else native.Order.SEQUENTIAL
        if isinstance(order, Given):
            options.order, options.given = native.Order.GIVEN, order.order
            if plan.given_by[1] > 1:
                options.given_by = native.GivenBy(*plan.given_by)
        elif plan.name == "windows" and keeps:  # the daemon divides the whole dataset into windows, not a range of it
            options.order, options.given = native.Order.GIVEN, array("Q", order.ids(0, order.samples))
        elif plan.name == "windows":
            options.order = native.Order.SHUFFLED_IN_WINDOWS
            options.shuffle_window = _feed._window_of(self._loader._settings.shuffle)
        elif plan.entries is not None:
            options.range = _feed._range_of((plan.base, len(plan.entries)))
        elif keeps:
            options.range = _feed._range_of((0, order.samples))

    def _stream_options(self, epoch, unit):
        options = self._options()
        options.dataset = f"python:id={self._id},samples={_ENDLESS}"
        options.batch_size, options.epochs = 1, 1
        options.python.streams = self._loader.num_workers
        options.remainder, options.order = _REMAINDERS["partial"], native.Order.SEQUENTIAL
        options.state = self._state(epoch, unit)
        return options

    def _state(self, epoch, consumed):
        state = native.State()
        state.epoch, state.consumed, state.seed = epoch, consumed, self._loader._settings.seed
        return state

    def _open(self, options):
        settings = self._loader._settings

        def attempt():
            if self._client is None:
                connecting, self._connecting = self._connecting, None
                self._client = _feed.connect(settings) if connecting is None else connecting.client()
            try:
                return self._client.open(options)
            except PermissionDenied:  # $PENSTOCK_ADDRESS names a system daemon, which has nothing to do with Python
                if settings.address or self._served or self._client.is_private:
                    raise
                self._client = _feed.connect_private(settings)
                return self._client.open(options)

        errors = Opening(self._served, _feed.is_addressed(settings))
        try:
            self._session = while_gone(attempt, settings.reconnect, lambda error: errors.may_pass(error, self._client))
        except FailedPrecondition as error:
            raise self._in_words(error) from None
        self._served = True

    def take(self, wait=True):
        """(structure, (epoch, step, first, rows, …)) of the next batch; None at the end. Without `wait`: NOT_YET if it is
        not there."""
        timeout = self._loader._settings.timeout or None
        while True:
            hosts.reap()
            try:
                taken = self._taken(timeout) if wait else self._taken_now()
            except (DeadlineExceeded, DataLoss, FailedPrecondition, ResourceExhausted) as error:
                raise self._in_words(error) from None
            if taken is NOT_YET:
                return NOT_YET
            if taken != native.HOST_WANTED:
                break
            with modes.within(self._modes):
                self._fork()
        if taken is None:
            return None
        buffer, step, _ = taken
        return slot.read(buffer), step

    def _in_words(self, error):
        loader, plan, streaming = self._loader, self._loader._plan, self._streaming()
        batch = None
        if streaming is not None:
            def batch(number):
                return f"batch {number} (stream {number % len(streaming.begins)})"
        elif plan is not None and plan.entries is not None:
            def batch(number):
                at = number - plan.base
                return f"batch {number}" + (f", samples {shown(plan.entries[at])}" if 0 <= at < len(plan.entries) else "")
        return in_torchs_words(error, loader._settings.timeout, loader.num_workers, batch)

    def _taken(self, timeout):
        return while_gone(lambda: self._session.take_made(timeout), self._loader._settings.reconnect,
                          lambda error: isinstance(error, Unavailable))

    def _taken_now(self):
        try:
            return self._session.take_made(0.0)
        except (DeadlineExceeded, Unavailable):  # a call that waits also waits for a daemon that went away
            return NOT_YET

    def stats(self):
        return {} if self._session is None else self._session.stats()

    # The host.

    def _fork(self):
        if self._forked and self._identity is not None:
            self._check_unchanged()
        if self._host is not None:
            self._host.end()
        streaming = self._streaming()
        if streaming is not None:
            self._board.write(streaming.epoch, 0, streaming.begins)
        token, session = self._session.host_token, self._session
        with process.without_interrupts():
            try:
                program = f"{_feed.program_name()}/{__version__}"
                self._host = hosts.fork(self._client.address, token, program, worker.work_of(self._work))
            finally:
                session.note_host_forked()
            self._forked += 1

    def _check_unchanged(self):
        """A host that is forked later has the dataset as it is then."""
        found = self._identify(self._loader._plan)
        if found.digest != self._identity:
            self._session.note_host_forked()
            when = "while persistent workers use it" if self._loader.persistent_workers else "within an epoch"
            raise FailedPrecondition("the dataset was changed after its workers were forked, and they have ended, so "
                                     "the rest of the epoch would be made from another dataset; do not change it "
                                     f"{when}")

    def _leave_host(self, is_shared=False):
        host, self._host, self._forked, self._work, self._is_private = self._host, None, 0, None, False
        if host is not None and is_shared and self._identity is not None:
            host.leave()
        elif host is not None:
            host.end()

    # End.

    def end_epoch(self):
        """Its workers are of no use any more, except to other trainers that are in the epoch."""
        self.end_session()
        self._leave_host(is_shared=True)

    def end_session(self):
        session, self._session = self._session, None
        if session is not None:
            try:
                session.close()
            except (Unavailable, TimeoutError, PermissionError):
                pass  # the daemon notices by itself that the session has ended

    def close(self):
        self.end_session()
        self._leave_host()
        self._id = self._identity = self._board = None
        self._client = None

    def __del__(self):
        if self._host is not None:
            self._host.end()


def _say_if_long(seconds, loader):
    """Comparing a dataset of many objects is worth its time only if it is shared."""
    kind = type(loader.dataset).__name__
    if seconds < _LONG_LOOK_SECONDS or kind in _long_looks:
        return
    _long_looks.add(kind)
    often = "once" if loader.persistent_workers else "before each epoch"
    say(f"comparing the dataset {kind} with those of other trainers takes {seconds:.1f} s, "
        f"{often}; give key='…', your word that all loaders with that key make the same batches, and it is not looked at")
