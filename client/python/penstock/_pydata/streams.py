"""Makes the batches of an iterable dataset: one stream for each worker, or one in the trainer."""
import pickle
from dataclasses import dataclass
from typing import Any, Callable, Optional

from .images import encoded
from .images.draws import Key
from .raised import Ended, Streamed
from .seeding import BATCH, ITEMS, Seeds

_STREAM = 1 << 40  # numbers of one stream's samples


@dataclass(frozen=True)
class StreamRecipe:
    dataset: Any
    collate_fn: Callable
    batch_size: Optional[int]  # None: single samples
    drop_last: bool
    seed: int
    decoding: Any = None  # what becomes of encoded images in samples (encoded.py)


class Stream:
    """One pass over the dataset. `samples` and `state`: where to begin, as `Streamed` has them."""

    def __init__(self, recipe, epoch, stream, samples=0, state=None):
        self.recipe, self.stream, self._epoch, self.samples = recipe, stream, epoch, samples
        self.at = "in iter(dataset)"
        self._seeds = Seeds(recipe.seed)
        self._iterator = None
        self._begin_with = state
        self._ended = False

    def keeping_generators(self):
        return self._seeds

    def _begin(self):
        self.at = "in iter(dataset)"
        number, state = self.stream * _STREAM + self.samples, self._begin_with
        has_own = state is not None and hasattr(self.recipe.dataset, "load_state_dict")
        if has_own:
            self.recipe.dataset.load_state_dict(pickle.loads(state))
        iterator = self._seeds.run(self._epoch, number, iter, self.recipe.dataset, operation=ITEMS)
        if state is not None and not has_own:
            iterator.load_state_dict(pickle.loads(state))
        self._iterator = iterator

    def batch(self):
        """The next batch, or Ended."""
        if self._iterator is None:
            self._begin()
        size, first, samples = self.recipe.batch_size, self._number(), []
        while not self._ended and len(samples) < (size or 1):
            self.at = f"in next(iterator) for sample {self.samples} of stream {self.stream}"
            try:
                samples.append(self._seeds.run(self._epoch, self._number(), self._next_sample))
            except StopIteration:
                self._ended = True
                break
            self.samples += 1
        if not samples or (size and self.recipe.drop_last and len(samples) < size):
            return Ended(self.stream)
        self.at = f"in collate_fn for the {len(samples)} samples before sample {self.samples} of stream {self.stream}"
        return self._seeds.run(self._epoch, first, self.recipe.collate_fn, samples if size else samples[0], operation=BATCH)

    def _next_sample(self):
        recipe, sample = self.recipe, next(self._iterator)
        return encoded.decode_all(sample, recipe.decoding, Key(recipe.seed, self._epoch, self._number())) if encoded.exist() else sample

    def streamed(self):
        """The next batch as `Streamed`, or Ended."""
        batch = self.batch()
        if isinstance(batch, Ended):
            return batch
        return Streamed(batch, None, None) if self.has_ended else Streamed(batch, self.samples, self.state())

    @property
    def has_ended(self):
        """Whether the iterator has no more samples, as far as it was asked. Its dataset's state then says nothing of this
        epoch any more."""
        return self._ended

    def state(self):
        """Where the stream is, pickled; None if the dataset cannot tell."""
        keeper = stateful(self.recipe.dataset, self._iterator)
        self.at = f"in {type(keeper).__name__}.state_dict"
        return None if keeper is None else pickle.dumps(keeper.state_dict(), 5)

    def _number(self):
        return self.stream * _STREAM + self.samples


def stateful(dataset, iterator=None):
    """Who has `state_dict` and `load_state_dict`: the dataset or its iterator; None if neither."""
    for each in (dataset, iterator):
        if callable(getattr(each, "state_dict", None)) and callable(getattr(each, "load_state_dict", None)):
            return each
    return None
