"""Seeds the generators of `random`, NumPy and torch before each sample, from nothing but (seed, epoch, sample).

    seeds = Seeds(seed=0)
    sample = seeds.run(epoch, number, dataset.__getitem__, index)
    batch = seeds.run(epoch, number_of_its_first_sample, collate_fn, samples, operation=BATCH)

`operation` ITEMS is for `dataset.__getitems__(indices)`, which makes a batch's samples at once, under the number of the
first; WORKER for `worker_init_fn`, with epoch and number 0 on every worker.

So the bytes of a sample depend on no other sample, worker, rank or restart. With b the 128 bits of
`philox.block(seed, epoch, number, operation)`, a sample sees exactly this:

    random.seed(b)
    numpy.random.seed([b & 0xFFFFFFFF, b >> 32 & 0xFFFFFFFF])
    torch.default_generator.manual_seed(b >> 64)
    rng()                              # numpy.random.Generator(numpy.random.Philox(key=b))

Seeding a Mersenne Twister takes longer than a tiny sample. So a generator that UNUSED samples in a row did not draw from is
no longer seeded ahead. If a later sample draws from it after all, that sample is made once more, after seeding, and from
then on the generator is seeded each time. A sample must therefore not depend on how often it was made; it may be made
twice for other reasons, too, such as a worker's death. All other operations are always seeded ahead, because `collate_fn`
may take its rows apart.
"""
import os
import sys

from ..errors import FailedPrecondition
from . import generators
from .philox import BATCH, ITEMS, SAMPLE, WORKER, block

__all__ = ["BATCH", "ITEMS", "SAMPLE", "WORKER", "Seeds", "rng"]

UNUSED = 32  # samples without a draw, after which a generator is no longer seeded ahead

_bits = None       # of the sample that is being made; None outside of samples
_generator = None  # what rng() gave for it
_own = None        # what rng() gives outside of samples, with the process that made it


def rng():
    """The sample's own generator, a numpy.random.Generator. It depends on seed, epoch and sample alone, so `dataset[i]` is
    the same on every worker, rank and restart:

        def __getitem__(self, index):
            return self.images[index] + rng().normal(size=(3, 32, 32))

    All calls within one sample give the same generator, which goes on where the last call left it; within `collate_fn` it
    is the batch's, within `worker_init_fn` one that all workers share. Outside of these it is an ordinary generator of this
    process, seeded by the operating system.
    """
    global _generator, _own
    import numpy
    if _bits is None:
        if _own is None or _own[0] != os.getpid():
            _own = os.getpid(), numpy.random.default_rng()
        return _own[1]
    if _generator is None:
        _generator = numpy.random.Generator(numpy.random.Philox(key=_bits))
    return _generator


class _Watched:
    """A generator that no sample has drawn from so far."""

    def __init__(self, generator):
        self.seed, self.mark = generator.seed, generator.mark
        self.before = 0
        self.unused = 0  # samples in a row


class Seeds:
    """Makes samples under their own seeds. One for each worker, used by one thread at a time."""

    def __init__(self, seed):
        self.seed = seed
        self._all = []      # functions that seed a generator
        self._ahead = []    # those called before each sample
        self._watched = []  # those that may turn out to be unused
        self._known = set()
        self._modules = 0   # length of sys.modules when generators were last looked for

    def run(self, epoch, number, make, *arguments, operation=SAMPLE):
        """What make(*arguments) returns, or raises. `number`: the sample, or its draw number in an order that names samples
        more than once (server/plan/README.md). FailedPrecondition: a sample is being made already; the generators are
        those of the process, so a second one would disturb it."""
        global _bits, _generator
        if _bits is not None:
            raise FailedPrecondition("a sample is being made in this process already; make samples one after another")
        bits = _bits = block(self.seed, epoch, number, operation)
        _generator = None
        try:
            if len(sys.modules) != self._modules:
                self._look_for_generators()
            for seed in self._ahead if operation == SAMPLE else self._all:
                seed(bits)
            for watched in self._watched:
                watched.before = watched.mark.value
            try:
                made = make(*arguments)
            except Exception:
                if not self._drew_unseeded(operation):
                    raise
            else:
                if not self._drew_unseeded(operation):
                    return made
            _generator = None
            for seed in self._all:
                seed(bits)
            return make(*arguments)
        finally:
            _bits = _generator = None

    def _drew_unseeded(self, operation):
        """Notes who drew. Whether it drew from a generator that had not been seeded for it."""
        late = len(sys.modules) != self._modules and self._look_for_generators()
        if operation != SAMPLE:
            return late
        for watched in self._watched:
            if watched.mark.value != watched.before:
                return self._note_draws() or late
            watched.unused += 1
            if watched.unused == UNUSED:
                self._ahead.remove(watched.seed)
        return late

    def _note_draws(self):
        late = False
        for watched in [each for each in self._watched if each.mark.value != each.before]:
            self._watched.remove(watched)
            if watched.seed not in self._ahead:
                self._ahead.append(watched.seed)
                late = True
        return late

    def _look_for_generators(self):
        """Whether a module with a generator was imported since the last look."""
        found = False
        for make in generators.ALL:
            if make.module not in self._known and generators.is_imported(make.module):
                generator = make(sys.modules[make.module])
                self._known.add(make.module)
                self._all.append(generator.seed)
                self._ahead.append(generator.seed)
                if generator.mark is not None:
                    watched = _Watched(generator)
                    watched.before = watched.mark.value
                    self._watched.append(watched)
                found = True
        self._modules = len(sys.modules)
        return found
