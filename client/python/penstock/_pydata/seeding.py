"""Seeds the generators of `random`, NumPy and torch before each sample, from nothing but (seed, epoch, number).

    seeds = Seeds(seed=0)
    sample = seeds.run(epoch, number, dataset.__getitem__, index)
    batch = seeds.run(epoch, number_of_its_first_sample, collate_fn, samples, operation=BATCH)

`operation` ITEMS is for `dataset.__getitems__(indices)`, which makes a batch's samples at once, under the number of the
first; WORKER for `worker_init_fn`, with epoch 0 and the worker's number. `number` is the position in the epoch's order.

So the bytes of a sample depend on no other sample, worker, rank or restart. With b the 128 bits of
`philox.block(seed, epoch, number, operation)`, a sample sees exactly this:

    source = numpy.random.SFC64()
    source.state = {"bit_generator": "SFC64", "has_uint32": 0, "uinteger": 0,
                    "state": {"state": numpy.array([b & 2**64 - 1, b >> 64, 0x9E3779B97F4A7C15, 1], "uint64")}}
    words = source.random_raw(640)[16:].view("uint32")
    random.setstate((3, (*words[:624].tolist(), 624), None))       # random.seed(b) if NumPy is not installed
    numpy.random.set_state(("MT19937", words[624:], 624))
    torch.default_generator.manual_seed(b >> 64 & 2**63 - 1)
    rng()                              # numpy.random.Generator(numpy.random.Philox(key=b))

`make` is called once, whatever it draws. A generator whose module `make` imports, and nobody before, is as it imports it,
and seeded from the next sample on; `random` and NumPy are there from the start.
"""
import os
import random  # noqa: F401  (seeded from the first sample on)
import sys
import threading

from ..errors import FailedPrecondition
from . import generators
from .philox import BATCH, ITEMS, SAMPLE, WORKER, block

__all__ = ["BATCH", "ITEMS", "SAMPLE", "WORKER", "Seeds", "rng"]

_bits = None       # what the 128 bits of the sample that is being made are drawn by; None outside of samples
_generator = None  # what rng() gave for it
_own = None        # what rng() gives outside of samples, with the process that made it
_turn = threading.RLock()  # the thread whose samples use the generators


def _free_turn():
    global _turn
    _turn = threading.RLock()


os.register_at_fork(after_in_child=_free_turn)  # the thread that had it is not there


def rng():
    """The sample's own generator, a numpy.random.Generator. It depends on seed, epoch and the sample's place in the epoch
    alone, so `dataset[i]` is the same on every worker, rank and restart:

        def __getitem__(self, index):
            return self.images[index] + penstock.rng().normal(size=(3, 32, 32))

    All calls within one sample give the same generator, which goes on where the last call left it; within `collate_fn` it
    is the batch's, within `worker_init_fn` the worker's. Outside of these it is an ordinary generator of this
    process, seeded by the operating system.
    """
    global _generator, _own
    import numpy
    if _bits is None:
        if _own is None or _own[0] != os.getpid():
            _own = os.getpid(), numpy.random.default_rng()
        return _own[1]
    if _generator is None:
        _generator = numpy.random.Generator(numpy.random.Philox(key=block(*_bits)))
    return _generator


def is_making():
    """Whether this process makes a sample, a batch, or a worker ready. Its code may use loaders of its own."""
    return _bits is not None


def forget_sample():
    """For a forked worker: the sample in which the trainer forked it is not its own."""
    global _bits, _generator
    _bits = _generator = None


class Seeds:
    """Makes samples under their own seeds. One for each worker, used by one thread at a time."""

    def __init__(self, seed):
        self.seed = seed
        self._states = generators.states()
        self._all = []     # generators
        self._known = set()
        self._modules = 0  # length of sys.modules when generators were last looked for
        self._seed = self._seed_one_by_one
        self._outer = []   # what `with` found, the last one last

    def run(self, epoch, number, make, *arguments, operation=SAMPLE):
        """What make(*arguments) returns, or raises. FailedPrecondition: a sample is being made already; the generators are
        those of the process, so a second one would disturb it."""
        self.check_that_none_is_made()
        try:
            self.begin(epoch, number, operation)
            return make(*arguments)
        finally:
            self.end()

    # The same in parts, for a loop: check once, `begin` before each sample, and `end` whatever happens.

    def check_that_none_is_made(self):
        if _bits is not None:
            raise FailedPrecondition("a sample is being made in this process already; make samples one after another")

    def begin(self, epoch, number, operation=SAMPLE):
        global _bits, _generator
        _bits, _generator = (self.seed, epoch, number, operation), None
        if len(sys.modules) != self._modules:
            self._look_for_generators()
        self._seed(epoch, number, operation)

    def end(self):
        global _bits, _generator
        _bits = _generator = None

    def _seed_one_by_one(self, epoch, number, operation):
        bits = block(self.seed, epoch, number, operation)
        for generator in self._all:
            generator.seed(bits)

    def __enter__(self):
        """Keeps the generators' states until the end of the `with`, for programs that use them for something else: also a
        sample that takes batches of another loader, whose samples are made within it. Another thread that makes samples
        waits."""
        global _bits, _generator
        held = _turn
        held.acquire()
        if len(sys.modules) != self._modules:
            self._look_for_generators()
        saved = [(generator, generator.save()) for generator in self._all]
        self._outer.append((held, _bits, _generator, saved))
        _bits = _generator = None
        return self

    def __exit__(self, *_):
        global _bits, _generator
        held, _bits, _generator, saved = self._outer.pop()
        for generator, state in saved:
            generator.restore(state)
        held.release()

    def _look_for_generators(self):
        for make in generators.ALL:
            if make.module not in self._known and generators.is_imported(make.module):
                self._known.add(make.module)
                self._all.append(make(sys.modules[make.module], self._states))
        self._modules = len(sys.modules)
        self._seed = generators.all_at_once(self.seed, self._all) or self._seed_one_by_one
