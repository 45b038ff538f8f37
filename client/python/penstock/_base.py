"""The base of all loaders: one consumer of one feed, epoch after epoch, with a state."""
import copy
import functools
import weakref
from dataclasses import replace

from . import _feed, _opening
from . import _penstock as native
from ._gpu_decoding.asked import Decoding, check_ranks
from ._gpu_decoding.choosing import choose
from ._gpu_decoding.share import GpuShare
from ._patience import Opening, while_gone
from ._place import Place, batches, begin_taking, change, pass_over, state_of, with_other_pixels
from ._sampling import BatchSampler, Sampler
from ._substitutes import Substitutes
from ._turn import EpochIterator, Turn, in_turn
from .dataset import Dataset
from .errors import DataLoss, DeadlineExceeded, InvalidArgument, PermissionDenied, Unavailable
from .ranks import Rank

_NOT_PICKLED = ("_client", "_dataset", "_take", "_keying", "_effects", "_live", "_place", "_order", "_turn", "_served")


class LoaderBase:
    """Iterate it once for each epoch. Only one iterator is live at a time: a newer one ends the older one.

    Epochs advance by themselves; `set_epoch` selects one. `state_dict` is the position after the last batch that was
    given out, the same on every rank.
    """

    def __init__(self, settings, sampling=None):
        if sampling is not None and sampling.given_by is not None:
            check_ranks(settings.decoding, sampling.given_by.world_size)
        self._settings = settings
        self._sampling = sampling  # Sampler or BatchSampler of _sampling; None: the daemon's own order
        self._forget()
        self._begun = False  # an iterator has taken a part of the epoch
        self._substitutes = Substitutes()

    def _forget(self):
        self._client = None
        self._dataset = None
        self._place = Place(native.State(), None, GpuShare(self._settings.decoding))
        self._goal.seed = self._settings.seed
        self._take = None  # what _taker returned for the session
        self._keying = None  # whether draws are keyed by position, and the rank that the order is for
        self._effects = None  # what the finish draws for each of its batches
        self._served = False  # the daemon has opened a session, so there is one that may come back
        self._turn = Turn()  # of the thread that takes a batch or moves the loader
        self._order = None  # this epoch's, with sampling
        self._at_end = False  # the last batch taken was its epoch's last
        self._live = lambda: None  # weak reference to the live iterator; not named as torch's, which frameworks reset

    def _move(self, **changes):
        change(self, lambda place: place._replace(**changes))

    @property
    def _goal(self):
        return self._place.goal

    @property
    def _session(self):
        return self._place.session

    @property
    def _gpu_share(self):
        return self._place.gpu_share

    # Overridden by a framework's loader.

    def _synchronize(self):
        """Waits for what the loop has given the session's GPU to do."""
        raise NotImplementedError

    @staticmethod
    def _iterator_of(loader):
        return EpochIterator(loader)

    def _open_device(self):
        """The device to open the session with: "cpu", "cuda:N" or "auto"."""
        return self._settings.device

    def _taker(self, session):
        """Returns a function without arguments that returns (the next batch, whether it is its epoch's last), or None
        at the end of an epoch."""
        raise NotImplementedError

    def _give(self, batch):
        """Converts a batch to what the loop gets."""
        return batch

    # Known before a batch is taken.

    @property
    def dataset(self):
        """The dataset: its name, length, classes and paths."""
        return self._stored

    @property
    def _stored(self):
        if self._dataset is None:
            self._opening(self._describe)
        return self._dataset

    def _describe(self):
        client = self._connected()
        if self._dataset is None:
            self._dataset = Dataset(client, self._settings.dataset, self._settings.range, self._single_samples(),
                                    functools.partial(_feed.connect, self._settings))

    @property
    def batch_size(self):
        return self._settings.batch_size

    @property
    def epoch(self):
        """The epoch of the next batch."""
        return self._at.epoch

    def __len__(self):
        """Number of batches of this rank in a whole epoch; exact."""
        if isinstance(self._sampling, BatchSampler):
            return self._sampling.batches()
        return self._batches(self._stored.epoch_samples if self._sampling is None else len(self._sampling))

    def _batches(self, left):
        settings = self._settings
        return batches(left, settings.batch_size, settings.rank.rank, settings.rank.world_size,
                       settings.remainder)

    def _samples_of_rank(self):
        """Number of samples of this rank in a whole epoch, if the remainder rule determines it."""
        settings = self._settings
        total = self._stored.epoch_samples if self._sampling is None else len(self._sampling)
        size, world_size = settings.batch_size, settings.rank.world_size
        if settings.remainder == "pad_ranks":
            return -(-total // world_size)
        if settings.remainder != "partial":
            return len(self) * size
        last = total - (len(self) - 1) * size * world_size - settings.rank.rank * size  # from its first row on
        return (len(self) - 1) * size + min(size, last) if len(self) else 0

    def _single_samples(self):
        """Returns a function from a sample's id to that sample. It uses another loader, so that a dataset does not keep
        this one alive."""
        single = copy.copy(self)
        single._settings = replace(self._settings, batch_size=1, shuffle=False, rank=Rank(0, 1, "of single samples"),
                                   remainder="partial", window=2, device="cpu", delivery="auto", range=None,
                                   fail_on_bad_sample=True, decoding=Decoding())
        single._move(gpu_share=GpuShare(single._settings.decoding))
        single._go(0, 0)
        return single._sample

    def _sample(self, sample_id):
        """Reads a sample in an epoch of its own, so that its crop is drawn anew. A tuple if it has two fields."""
        self._sampling = Sampler([sample_id], 1)
        with self:
            batch = next(iter(self))
        row = {name: value[0] for name, value in batch.items()}
        if "label" in row:
            row["label"] = int(row["label"])
        return tuple(row.values()) if len(row) == 2 else row

    # Position.

    @in_turn
    def set_epoch(self, epoch):
        """The next iteration is of this epoch, from its start; if a state of this epoch was just loaded, from there."""
        if not isinstance(epoch, int) or epoch < 0:
            raise InvalidArgument(f"the epoch is {epoch!r}; give an integer of at least 0")
        self._move(taking=None)
        if epoch != self._at.epoch or self._begun:
            self._go(epoch, 0)

    def state_dict(self):
        place = state = None
        while place is not self._place:  # another thread may take a batch meanwhile
            place = self._place
            state = place.state_dict()
        return state

    @in_turn
    def load_state_dict(self, state_dict):
        """Continues from this state; a live iterator does so at its next batch."""
        state = state_of(state_dict, self._settings.seed)
        share = self._gpu_share.of_state(state_dict)
        self._end_session()
        self._move(goal=state, taking=None, gpu_share=GpuShare.of(self._settings.decoding, share))
        self._begun = False

    def _next_epoch(self):
        """The epoch that a new iterator would read."""
        return self._at.epoch + 1 if self._begun else self._at.epoch

    @in_turn
    def _go_to(self, epoch, step):
        """Makes the next iteration begin with batch `step` of this rank."""
        self._end_session()
        self._go(epoch, step * self._settings.batch_size * self._settings.rank.world_size)

    def _go(self, epoch, consumed):
        at = native.State()
        at.epoch, at.consumed, at.seed = epoch, consumed, self._at.seed
        at.fingerprint = self._at.fingerprint
        self._move(goal=at)
        self._begun = False

    # Iterating.

    @in_turn
    def __iter__(self):
        older = self._live()
        if older is not None:
            older.end("a newer iterator of this loader was made")
        self._move(taking=None)
        if self._begun:
            self._go(self._at.epoch + 1, 0)
        self._end_epoch()
        if self._sampling is not None:
            self._draw()
        iterator = self._iterator_of(self)
        self._live = weakref.ref(iterator)
        return iterator

    def _draw(self):
        """Draws the epoch's order. A new order is another feed, so the fingerprint only has to match within an epoch."""
        self._end_session()
        self._order, rows = self._sampling.draw(self._at.epoch)
        self._settings = replace(self._settings, batch_size=rows)
        if self._at.consumed == 0:
            self._at.fingerprint = 0

    def _next(self):
        """(batch, whether it is its epoch's last), or None if this rank has none left."""
        if self._goal is None and not self._gpu_share.is_chosen and \
                self._gpu_share.is_due(self._synchronize, self._waited, self._at.epoch):
            choose(self)
        if self._goal is not None and not self._opening(self._begin):
            self._go(self._at.epoch + 1, 0)
            return None
        taken = self._taken()
        if taken is None and not self._begun:  # the end of the epoch before
            taken = self._taken()
        self._at_end = taken is not None and taken[1]
        self._begun = taken is not None and not taken[1]
        if taken is None:
            return None
        self._gpu_share.note_given(self._waited)
        if not self._settings.fail_on_bad_sample:
            self._substitutes.look(self._session, self._client, self._settings.dataset, taken[1])
        return taken

    def _waited(self):
        return self._session.waited_seconds

    def _begin(self, gpu_share=None):
        """Opens a session; `gpu_share`: one that is not in the place of another yet. False if this rank has no batch left in the
        epoch."""
        self._describe()
        if self._batches_left() == 0:
            return False
        self._open(gpu_share)
        return True

    def _batches_left(self):
        samples = self._stored.epoch_samples if self._order is None else len(self._order)
        return self._batches(samples - self._at.consumed)

    def _end_epoch(self):
        """Moves the session past the end of the epoch. After this rank's last batch, if another rank has one more, the
        session still stands before that one; another take moves it to the next epoch."""
        if self._at_end and self._goal is None and self._session.state.consumed != 0:
            self._take()
        self._at_end = False

    @property
    def _at(self):
        """Position of the next batch; any thread may ask."""
        return self._place.at

    def _begin_taking(self, marks):
        begin_taking(self, marks)

    def _taken(self):
        """What the taker returns; while the daemon is gone, retries for `reconnect` seconds."""
        try:
            return self._take()
        except Unavailable as error:
            return while_gone(self._take, self._settings.reconnect, lambda error: isinstance(error, Unavailable), error)
        except DataLoss:
            if self._settings.fail_on_bad_sample:
                pass_over(self)
            raise

    def _opening(self, attempt):
        """What `attempt` returns; if the daemon has gone away, retries for `reconnect` seconds. A daemon that was never
        there is not waited for."""
        errors = Opening(self._served, _feed.is_addressed(self._settings))
        return while_gone(attempt, self._settings.reconnect, lambda error: errors.may_pass(error, self._client))

    def _connected(self):
        if self._client is None:
            self._client = _feed.connect(self._settings)
        if self._settings.beside:
            dataset, is_there = _feed.resolve(self._client, self._settings)
            self._settings = replace(self._settings, dataset=dataset, beside="")
            if not is_there:
                self._client = None
                return self._connected()
        return self._client

    def _open(self, gpu_share=None):
        if self._goal is not None:
            gpu_share = None  # it was chosen in a session that is not the loader's any more
        self._end_session()
        self._settings = _opening.fitted(self._settings, self._stored)
        _opening.check(self._settings, self._stored, self._sampling)
        share, goal, at = gpu_share or self._gpu_share, self._goal, self._at
        resumes = bool(at.fingerprint) or gpu_share is not None
        at = at if gpu_share is None else with_other_pixels(at)
        session = _opening.session_of(
            self, lambda: share.opened(lambda value: self._connected().open(self._options(value, at)), resumes), at.fingerprint)
        share.note_device(session.device)
        self._keying = (self._order is not None or self._stored.kind == "mixture", self._rank_of_order)
        self._effects = _feed.effects_of(self._settings, session, self._keying, len(self._stored.classes))
        self._take = self._taker(session)
        self._served = True
        change(self, lambda place: place if place.goal is not goal else Place(None, session, share, place.taking))
        if self._session is not session:  # a signal handler has moved the loader meanwhile
            session.close()
            self._open()

    def _change_to(self, session):
        """How the dataset that a session reads differs from the one that the program knows, in words; None if it does not."""
        return self._stored.change_to(session)

    def _options(self, gpu_share, at):
        return _feed.options_of(self._settings, at, self._open_device(), self._order, self._rank_of_order, self._stored._targets, gpu_share)

    @property
    def _rank_of_order(self):
        return None if self._sampling is None else self._sampling.given_by

    def _end_session(self):
        self._end_epoch()
        session = self._session
        if session is not None:
            change(self, lambda place: place._replace(goal=place.at, session=None))
            self._take = None
            try:
                session.close()
            except (Unavailable, DeadlineExceeded, PermissionDenied):
                pass  # the daemon notices by itself that the session has ended; one that has restarted does not know us

    def stats(self):
        """Counts, seconds and a verdict in words: whether the loader or the trainer has waited since the session began.
        Empty before the first batch. Any thread may call it, even while another one takes batches."""
        session = self._session
        return {} if session is None else session.stats()

    # End.

    @in_turn
    def close(self):
        """Ends the session. Batches that were given out stay valid. Iterating again opens another session."""
        older = self._live()
        if older is not None:
            older.end("the loader was closed")
        self._end_session()
        self._client = None
        if self._dataset is not None:
            self._dataset.disconnect()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __getstate__(self):
        """For pickling: the arguments and the position. The other process connects for itself."""
        kept = {name: value for name, value in self.__dict__.items() if name not in _NOT_PICKLED}
        return {"kept": kept, "state": self.state_dict()}

    def __setstate__(self, pickled):
        self.__dict__.update(pickled["kept"])
        self._forget()
        self.load_state_dict(pickled["state"])

    def __repr__(self):
        settings = self._settings
        session = self._session
        where = settings.device if session is None else f"{settings.device} by {session.delivery.name.lower()} delivery"
        return (f"<{type(self).__module__}.{type(self).__name__} of {settings.dataset!r}: batches of "
                f"{settings.batch_size}, rank {settings.rank}, {settings.remainder} last batch, {settings.dtype} "
                f"{settings.layout} on {where}, epoch {self.epoch}>")
