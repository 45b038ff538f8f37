"""Batches that forked workers make: the daemon's session, and the host that this process forks when the daemon asks."""
import threading
import uuid
import weakref

from .. import _feed
from .. import _penstock as native
from .. import __version__
from .._patience import Opening, while_gone
from .._say import _logger
from ..errors import DataLoss, DeadlineExceeded, FailedPrecondition, Internal, PermissionDenied, Unavailable
from . import hosts, identity, slot, worker
from .order import Given
from .raised import Ended, Raised, in_torchs_words
from .seeding import Seeds
from .units import ANY_EPOCH, Board

_ENDLESS = 1 << 40  # units of an epoch whose end is not known
_REMAINDERS = _feed._REMAINDERS


class Remote:
    """Of one loader. `of_plan` and `of_streams` return sources (sources.py)."""

    def __init__(self, loader):
        self.serve(loader)
        self._client = self._session = self._host = None
        self._connecting = None  # while there is no client yet
        self._served = False    # a daemon has opened a session, so it may come back
        self._id = None         # of the dataset, hexadecimal
        self._identity = None   # what the host's dataset was when it was forked; None: nobody can compare
        self._board = None      # lists for the workers
        self._is_private = False  # the lists change from epoch to epoch, so the id is this loader's alone
        self._work = None       # what they do
        self._forked = 0        # hosts for this id
        self._streaming = None  # the source of an IterableDataset's batches

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
        self._streaming = None
        entries = self._listed(plan)
        if entries is not None:
            self._list(plan, entries)
        elif not (persistent and self._id is not None and self._board is None):
            self._choose(plan, None)
        self._open(self._options_of(plan))
        return _MapSource(self, plan)

    def of_streams(self, epoch, consumed, states):
        """`states`: [(next unit, samples, state)] of each stream; None: from the beginning."""
        loader = self._loader
        count = loader.num_workers
        begins = states or [(stream, 0, None) for stream in range(count)]
        self.end_session()
        self._prepare()
        if states or self._id is None or not loader.persistent_workers:
            self._choose_random("an IterableDataset's streams belong to one trainer")
            self._board = Board()
            self._work = worker.Work(count, loader.dataset, loader.worker_init_fn, loader._settings.seed,
                                     streams=loader._stream_recipe(), begins=self._board)
        source = self._streaming = _StreamSource(self, epoch, consumed, begins)
        self._board.write(epoch, 0, begins)
        self._open(self._stream_options(epoch, source.unit))
        return source

    def _prepare(self):
        """Begins what takes time: a private daemon may have to start, while this thread looks at the dataset."""
        if self._client is None:
            self._connecting = _Connecting(self._loader._settings)
            Seeds(0)  # imports what each worker would import for itself

    # Which dataset it is for the daemon.

    def _choose(self, plan, board):
        """An id for the dataset as it is now, and what its workers do."""
        found = self._identify(plan)
        if found.digest is None:
            self._choose_random(found.reason)
        elif found.digest != self._identity:
            self._leave_host()
            self._id, self._identity = found.digest, found.digest
        if board is None:
            self._board = None
        if self._work is None:
            self._work, self._board = self._work_of(plan, board), board

    def _identify(self, plan):
        """All that decides a batch's bytes, beside its place in the order."""
        loader, recipe = self._loader, self._loader._recipe(plan, None)
        ours = dict(batched=loader._batched, given_by=plan.given_by, entries=self._listed(plan), seed=recipe.seed,
                    decoding=recipe.decoding, samples=recipe.samples, replaces=loader._replaces)
        if loader._key is not None:
            return identity.identify_key(loader._key, **ours)
        return identity.identify(dataset=loader.dataset, collate_fn=loader.collate_fn,
                                 worker_init_fn=loader.worker_init_fn, **ours)

    def _choose_random(self, reason):
        self._leave_host()
        _logger.debug("batches are not shared with other trainers: %s", reason)
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
        if self._board is None or not (plan.base > 0 or loader.persistent_workers) or not self._is_private:
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
        options.python = python
        return options

    def _options_of(self, plan):
        options, share, settings = self._options(), plan.share, self._loader._settings
        samples = len(self._loader.dataset) if plan.entries is None else _ENDLESS
        options.dataset = f"python:id={self._id},samples={samples}"
        options.batch_size, options.epochs = share.batch_size, 1
        options.rank, options.world_size = share.rank, share.world_size
        options.remainder = _REMAINDERS[share.remainder]
        options.order = {"shuffled": native.Order.SHUFFLED, "windows": native.Order.SHUFFLED_IN_WINDOWS}.get(
            plan.name, native.Order.SEQUENTIAL)
        if plan.name == "windows":
            options.shuffle_window = _feed._window_of(settings.shuffle)
        elif isinstance(plan.order, Given):
            options.order, options.given = native.Order.GIVEN, plan.order.order
            if plan.given_by[1] > 1:
                options.given_by = native.GivenBy(*plan.given_by)
        elif plan.entries is not None:
            options.range = _feed._range_of((plan.base, len(plan.entries)))
        options.state = self._state(plan.epoch, share.consumed)
        return options

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
        self._session = while_gone(attempt, settings.reconnect, lambda error: errors.may_pass(error, self._client))
        self._served = True

    def take(self):
        """(structure, (epoch, step, first, rows, …)) of the next batch; None at the end."""
        timeout = self._loader._settings.timeout or None
        while True:
            hosts.reap()
            try:
                taken = while_gone(lambda: self._session.take_made(timeout), self._loader._settings.reconnect,
                                   lambda error: isinstance(error, Unavailable))
            except (DeadlineExceeded, DataLoss) as error:
                raise in_torchs_words(error, timeout) from None
            if taken != native.HOST_WANTED:
                break
            self._fork()
        if taken is None:
            return None
        buffer, step, _ = taken
        return slot.read(buffer), step

    def stats(self):
        return {} if self._session is None else self._session.stats()

    # The host.

    def _fork(self):
        if self._forked and self._identity is not None:
            self._check_unchanged()
        if self._host is not None:
            self._host.end()
        if self._streaming is not None:
            self._board.write(self._streaming.epoch, 0, self._streaming.begins)
        token, session = self._session.host_token, self._session
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
            raise FailedPrecondition("the dataset was changed after its workers were forked, and they have ended, so "
                                     "the rest of the epoch would be made from another dataset; do not change it "
                                     "within an epoch")

    def _leave_host(self):
        host, self._host, self._forked, self._work, self._is_private = self._host, None, 0, None, False
        if host is not None:
            host.end()

    # End.

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


class _Connecting:
    """Connects in a thread of its own, which has ended when `client` has returned or raised."""

    def __init__(self, settings):
        self._settings, self._client, self._error = settings, None, None
        self._thread = threading.Thread(target=self._connect, name="penstock-connect", daemon=True)
        self._thread.start()

    def _connect(self):
        try:
            self._client = _feed.connect(self._settings)
        except BaseException as error:
            self._error = error

    def client(self):
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._client


class _MapSource:
    def __init__(self, remote, plan):
        self._remote, self._plan, self._step, self._steps = remote, plan, 0, plan.share.steps()

    def take(self):
        if self._step == self._steps:
            return None
        taken = self._remote.take()
        expected = self._plan.share.at(self._step)
        if taken is None or tuple(taken[1][2:4]) != expected[:2]:
            raise Internal(f"the daemon gave {'the end of the epoch' if taken is None else taken[1]}, expected rows "
                           f"{expected}")
        self._step += 1
        return taken[0], self._plan.base + expected.consumed, self._step == self._steps and not self._plan.more

    def close(self):
        """The session stays: the next epoch's source may go on with it."""


class _StreamSource:
    """Batch `unit` comes from stream `unit` mod W; a stream that ended answers with Ended from then on."""

    def __init__(self, remote, epoch, consumed, begins):
        self._remote, self.epoch, self._consumed = remote, epoch, consumed
        self.begins = list(begins)  # (next unit, samples, state) of each stream; samples None: it has ended
        self.unit = min(unit for unit, _, _ in begins)

    def take(self):
        while any(samples is not None for _, samples, _ in self.begins):
            taken = self._remote.take()
            if taken is None:
                raise Internal("the daemon gave the end of an epoch that has none")
            batch, stream = taken[0], self.unit % len(self.begins)
            self.unit += 1
            following = self.unit - 1 + len(self.begins)
            if isinstance(batch, Ended):
                self.begins[stream] = following, None, None
                continue
            self._consumed += 1
            if isinstance(batch, Raised):
                self.begins[stream] = following, *self.begins[stream][1:]
                return batch, self._consumed, False
            self.begins[stream] = following, batch.samples, batch.state
            return batch.batch, self._consumed, all(samples is None for _, samples, _ in self.begins)
        return None

    def states(self):
        """Where each stream goes on; None if the dataset cannot tell."""
        return None if any(samples and state is None for _, samples, state in self.begins) else list(self.begins)

    def close(self):
        self._remote.end_session()
