"""What a loader reads in an epoch: its own order, or what the program's sampler or batch_sampler draws.

`begin(epoch, consumed)` returns a Plan of the epoch's rest, or of a part of it if it may be endless; `after(plan)` the part
behind it. A sampler is drawn once in an epoch, in the trainer.
"""
import hashlib
import itertools
from array import array
from dataclasses import dataclass
from typing import Any, Optional, Tuple

from ..errors import FailedPrecondition, InvalidArgument
from ..sampling import SharedOrder, ShuffleWindow
from .order import Given, Sequential, Shuffled, Windowed
from .share import Share

PART = 1024  # batches of an order whose length is unknown that are drawn at once


@dataclass(frozen=True)
class Plan:
    epoch: int
    seed: int
    order: Any  # of order.py
    share: Share
    name: str  # "sequential", "shuffled", "windows", "given" or "units"
    given_by: Tuple[int, int] = (0, 1)  # (rank, ranks) that the order is for
    drawn: int = 0  # a digest of what was drawn; 0: nothing was
    entries: Optional[list] = None  # the keys of each unit (units.py)
    base: int = 0  # number of the first unit
    more: bool = False  # whether the epoch has units behind these


def digest(*words):
    """64 bits that stay the same between runs."""
    return int.from_bytes(hashlib.blake2b("\0".join(map(str, words)).encode(), digest_size=8).digest(), "little")


class OwnOrder:
    """Penstock's order, the same on all ranks, each of which takes its share."""

    def __init__(self, settings, samples):
        self._settings, self.samples = settings, samples
        self.window = settings.shuffle if isinstance(settings.shuffle, ShuffleWindow) else None
        if self.window is not None and self.window.shard_samples is None:
            raise InvalidArgument("ShuffleWindow: shard_samples is None, which means a tar file's samples; give a "
                                  "number for a Python dataset")
        self.name = "windows" if self.window is not None else "shuffled" if settings.shuffle else "sequential"

    def batches(self):
        return self._share(0).steps()

    def rows(self):
        """This rank's samples in an epoch."""
        return _rows_of(self._share(0))

    def words(self):
        return self.name, self.window

    def begin(self, epoch, consumed):
        seed = self._settings.seed
        if self.window is not None:
            order = Windowed(self.samples, seed, epoch, self.window)
        else:
            order = Shuffled(self.samples, seed, epoch) if self.name == "shuffled" else Sequential(self.samples)
        return Plan(epoch, seed, order, self._share(consumed), self.name)

    def after(self, _):
        return None

    def _share(self, consumed):
        settings = self._settings
        return Share(self.samples, consumed, settings.batch_size, settings.rank.rank, settings.rank.world_size,
                     settings.remainder)


class DrawnOrder:
    """A sampler's order. Keys that are numbers of samples are sent as such; other keys, or a batch_sampler's batches,
    become units, which the daemon counts as samples."""

    def __init__(self, settings, sampler, samples, size, given_by, whole):
        """`samples`: the dataset's length, None if it has none. `size`: of a batch; None: each key is a unit (`whole`: a
        whole batch)."""
        self._settings, self._sampler, self.samples, self._size = settings, sampler, samples, size
        self._given_by = (0, 1) if given_by is None else (given_by.rank, given_by.world_size)
        self._whole = whole
        self._drawing = None  # (further units, those of the part that was drawn last, the number of its first)

    def batches(self):
        count = len(self._sampler)
        if self._whole:
            return self._share(count, 0, units=True).steps()
        return self._share(count, 0).steps()

    def rows(self):
        return _rows_of(self._share(len(self._sampler), 0))

    def words(self):
        return "drawn", type(self._sampler).__name__, self._size, self._whole

    def begin(self, epoch, consumed):
        keys, rest = self._draw(epoch)
        if rest is None and not self._whole and self._are_numbers(keys):
            order = array("Q", keys)
            share = self._share(len(order), self._fits(consumed, len(order)))
            return Plan(epoch, self._settings.seed, Given(order), share, "given", self._given_by,
                        digest("given", hashlib.sha256(order.tobytes()).hexdigest()))
        units = self._units(iter(keys) if rest is None else itertools.chain(keys, rest))
        if rest is None:
            entries = list(units)
            return self._plan_of(epoch, entries, self._fits(consumed, len(entries)), 0, False, _printed(entries))
        return self._part(epoch, units, consumed)

    def after(self, plan):
        """The part behind this one; None if there is none."""
        if not plan.more:
            return None
        base = plan.base + len(plan.entries)
        entries, more = self._part_from(base)
        return self._plan_of(plan.epoch, entries, 0, base, more, plan.drawn)

    def _draw(self, epoch):
        """(keys, rest): all keys and None; or some and an iterator over the others, if the sampler is longer than it says
        or says nothing."""
        if isinstance(self._sampler, SharedOrder):
            return self._sampler.draw(epoch).tolist(), None
        drawn = iter(self._sampler)
        try:
            count = len(self._sampler)
        except (TypeError, NotImplementedError):
            return [], drawn
        keys = list(itertools.islice(drawn, count + 1))
        return keys, None if len(keys) <= count else drawn

    def _are_numbers(self, keys):
        most = self.samples
        return most is not None and all(type(key) is int and 0 <= key < most for key in keys)

    def _units(self, keys):
        return keys if self._whole or self._size is None else _Batches(keys, self._size, self._settings.remainder == "drop")

    def _part(self, epoch, units, consumed):
        part = PART * self._settings.rank.world_size
        base = consumed - consumed % part
        self._drawing = units, [], 0
        entries, more = self._part_from(0)
        drawn, at = _printed(entries), 0
        while at < base and more:
            at += part
            entries, more = self._part_from(at)
        if at < base or consumed - base > len(entries):
            raise FailedPrecondition(f"the state has {consumed} batches of epoch {epoch}, but the sampler ended "
                                     "before; make the sampler as it was when the state was saved")
        return self._plan_of(epoch, entries, consumed - base, base, more, drawn)

    def _part_from(self, base):
        """(entries, whether there are others behind them). After an interrupt the same part can be asked for again: it lacks
        at most the unit that was being drawn."""
        units, drawn, begin = self._drawing
        if begin != base:
            drawn = drawn[base - begin:]
            self._drawing = units, drawn, base
        most = PART * self._settings.rank.world_size
        for unit in itertools.islice(units, most + 1 - len(drawn)):
            drawn.append(unit)
        return drawn[:most], len(drawn) > most

    def _plan_of(self, epoch, entries, consumed, base, more, drawn):
        share = self._share(len(entries), consumed, units=True)
        order = Sequential(len(entries))
        return Plan(epoch, self._settings.seed, order, share, "units", self._given_by, drawn, entries, base, more)

    def _share(self, samples, consumed, units=False):
        settings = self._settings
        remainder = "pad_ranks" if units and settings.remainder == "drop" and not self._whole else settings.remainder
        if units and settings.rank.world_size == 1:
            remainder = "partial"
        return Share(samples, consumed, 1 if units else settings.batch_size, settings.rank.rank, settings.rank.world_size,
                     remainder)

    def _fits(self, consumed, samples):
        if consumed > samples:
            raise FailedPrecondition(f"the state has {consumed} of the epoch's samples or batches, but the sampler "
                                     f"drew {samples}; make the sampler as it was when the state was saved")
        return consumed


class _Batches:
    """Lists of keys. Not a generator, which an interrupt would end."""

    def __init__(self, keys, size, drops):
        self._keys, self._size, self._drops = keys, size, drops

    def __iter__(self):
        return self

    def __next__(self):
        batch = list(itertools.islice(self._keys, self._size))
        if not batch or (self._drops and len(batch) < self._size):
            raise StopIteration
        return batch


def _printed(entries):
    """A digest of keys, for what they have in common between runs."""
    return digest("units", *map(_word, entries))


def _word(key):
    if isinstance(key, (list, tuple)):
        return f"[{','.join(map(_word, key))}]"
    if isinstance(key, dict):
        return f"{{{','.join(_word(pair) for pair in key.items())}}}"
    if key is None or isinstance(key, (bool, int, float, str, bytes)):
        return repr(key)
    item = getattr(key, "tolist", None)
    return _word(item()) if callable(item) else type(key).__qualname__


def _rows_of(share):
    return sum(share.at(step).rows for step in range(share.steps()))
