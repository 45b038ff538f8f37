"""Makes a batch of a map-style dataset, in a worker or in the trainer: the same bytes in both."""
from dataclasses import dataclass
from typing import Any, Callable, Optional, Tuple

from ..errors import InvalidArgument
from .images import encoded
from .images.draws import key_of
from .replacing import Replaced
from .seeding import BATCH, ITEMS, Seeds

MAX_ROWS_OF_UNIT = 1 << 20  # samples of one unit, so that each has a number of its own


@dataclass(frozen=True)
class Recipe:
    """What the batches of one loader are made of."""

    dataset: Any
    collate_fn: Callable
    batched: bool  # collate_fn gets a list of samples; else one sample
    seed: int
    units: Any = None  # where unit n's keys are (units.py); None: the ids are the keys
    given_by: Tuple[int, int] = (0, 1)  # (rank, ranks) that a given order is for
    decoding: Any = None  # what becomes of encoded images in samples (encoded.py)
    samples: Optional[int] = None  # of Penstock's own order; None: the program drew it


class Making:
    """Makes batches after a Recipe. `at` and `row` say which sample is being made, for messages."""

    def __init__(self, recipe, on_row=None):
        self.recipe = recipe
        self.at = ""
        self.row = None  # None: no single one
        self._on_row = on_row  # called with a row before its sample is made
        self._items = _items_of(recipe.dataset) if recipe.batched else None
        self._seeds = Seeds(recipe.seed)

    def keeping_generators(self):
        """A context at whose end the generators of this process are as they were at its begin."""
        return self._seeds

    def batch(self, epoch, ids, first, step, stand_ins=None):
        """`first + row * step`: what the random numbers of a row are drawn by. `stand_ins`: for samples that raise, a
        Replacing."""
        recipe, run = self.recipe, self._seeds.run
        if recipe.units is not None:
            ids, first, step = self._of_unit(epoch, ids)
        if not recipe.batched:
            return self._sample(epoch, 0, ids[0] if recipe.units is None else ids, first, stand_ins, collate=True)
        if self._items is not None:
            self.at, self.row = f"in dataset.__getitems__ for samples {shown(ids)}", None
            self._tell(0)
            samples = run(epoch, first, self._items, ids, operation=ITEMS)
            if encoded.exist():
                samples = [run(epoch, first + row * step, self._decoded, sample, epoch, first + row * step, key, True)
                           for row, (sample, key) in enumerate(zip(samples, ids))]
        else:
            samples = self._samples(epoch, ids, first, step, stand_ins)
        self.at, self.row = f"in collate_fn for samples {shown(ids)}", None
        return run(epoch, first, recipe.collate_fn, samples, operation=BATCH)

    def replaced(self, epoch, ids, first, step, replacing):
        """The same with substitutes for samples that raise: the batch, or `Replaced` if there are some in it."""
        batch = self.batch(epoch, ids, first, step, replacing)
        return Replaced(batch, tuple(replacing.bad.items())) if replacing.bad else batch

    def _samples(self, epoch, ids, first, step, stand_ins):
        if stand_ins is not None:
            return [self._sample(epoch, row, key, first + row * step, stand_ins) for row, key in enumerate(ids)]
        seeds, dataset, on_row, samples = self._seeds, self.recipe.dataset, self._on_row, []
        row = number = None
        seeds.check_that_none_is_made()
        try:
            for row, key in enumerate(ids):
                if on_row is not None:
                    on_row(row)
                number = first + row * step
                seeds.begin(epoch, number)
                sample = dataset[key]
                samples.append(self._decoded(sample, epoch, number, key, True) if encoded.exist() else sample)
            if on_row is not None:
                on_row(len(ids))  # none
            return samples
        except BaseException:
            if row is not None:
                self.at, self.row = f"in dataset[{shown(ids[row])}]", row
            raise
        finally:
            seeds.end()

    def _of_unit(self, epoch, ids):
        rank, ranks = self.recipe.given_by
        keys = self.recipe.units.keys(epoch, ids[0])
        if self.recipe.batched:
            keys = list(keys)
            if len(keys) > MAX_ROWS_OF_UNIT:
                raise InvalidArgument(f"the batch_sampler gave a batch of {len(keys)} samples; give at most "
                                      f"{MAX_ROWS_OF_UNIT}")
        return keys, (ids[0] * ranks + rank) * MAX_ROWS_OF_UNIT, 1

    def _get(self, key, epoch, number, is_planned):
        sample = self.recipe.dataset[key]
        return self._decoded(sample, epoch, number, key, is_planned) if encoded.exist() else sample

    def _decoded(self, sample, epoch, number, key, is_planned):
        recipe = self.recipe
        draw = key_of(recipe.seed, epoch, number, key, recipe.samples if is_planned else None)
        return encoded.decode_all(sample, recipe.decoding, draw)

    def _sample(self, epoch, row, planned, number, stand_ins, collate=False):
        key, attempt = planned, 0
        while True:
            self.at, self.row = f"in dataset[{shown(key)}]", row
            self._tell(row)
            try:
                sample = self._seeds.run(epoch, number, self._get, key, epoch, number, attempt == 0)
            except Exception as error:
                if stand_ins is None:
                    raise
                attempt += 1
                key = stand_ins(planned, attempt, key, error)
                continue
            if not collate:
                return sample
            self.at, self.row = f"in collate_fn for sample {shown(key)}", None
            return self._seeds.run(epoch, number, self.recipe.collate_fn, sample, operation=BATCH)

    def _tell(self, row):
        if self._on_row is not None:
            self._on_row(row)


def _items_of(dataset):
    """What makes several samples at once; None if nothing does. torch's Subset has it always, but only passes it on."""
    kind = type(dataset)
    is_subset = kind.__name__ == "Subset" and kind.__module__.startswith("torch.utils.data")
    if is_subset and _items_of(dataset.dataset) is None:
        return None
    return getattr(dataset, "__getitems__", None) or None


def shown(key):
    text = repr(key)
    return text if len(text) <= 100 else f"{text[:60]} … {text[-30:]}"
