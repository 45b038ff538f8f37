"""The global generators of `random`, NumPy and torch: seeding them, and keeping the state that a program left them in.

Each class has `seed(bits)` for 128 bits, `save()` and `restore(saved)`. The seeds are defined by public calls
(`seeding.py`). What is faster than those calls relies on a state's place in memory, which is checked at the start; where
memory looks different, as in another interpreter, the public calls do the same.
"""
import _random
import ctypes
import struct
import sys

from .philox import block

try:
    from .._penstock import SampleStates
except ImportError:  # what is said in seeding.py holds without the extension, too
    SampleStates = None

_WORDS = 624  # of a Mersenne Twister
_SKIPPED = 16  # words of SFC64, until the seed has spread
_WORD = 0x9E3779B97F4A7C15
_M64 = 2**64 - 1
_INT64 = 2**63 - 1


class States:
    """States of two Mersenne Twisters from 128 bits, by NumPy's SFC64: four times as fast as init_by_array."""

    def __init__(self, numpy):
        self._numpy = numpy
        self._source = numpy.random.SFC64(0)
        words = (ctypes.c_uint64 * 4).from_address(self._source.ctypes.state_address)
        self._words = words if words[:] == self._source.state["state"]["state"].tolist() else None
        self._raw = self._source.random_raw
        self._last = None, None

    def of(self, bits):
        """1,248 words of 32 bits: 624 for `random`, 624 for NumPy."""
        if self._last[0] == bits:
            return self._last[1]
        first = bits & _M64, bits >> 64, _WORD, 1
        if self._words is not None:
            self._words[:] = first
        else:
            self._source.state = {"bit_generator": "SFC64", "has_uint32": 0, "uinteger": 0,
                                  "state": {"state": self._numpy.array(first, "uint64")}}
        words = self._raw(_SKIPPED + _WORDS)[_SKIPPED:].view("uint32")
        self._last = bits, words
        return words


class PythonRandom:
    module = "random"

    def __init__(self, random, states):
        self._random, self._states = random, states
        self._instance = random._inst
        self._memory = None
        memory = _state_of_python(self._instance)
        if memory is not None and states is not None:
            self._memory, self._words = memory, states._numpy.frombuffer(memory, "uint32")[1:]

    def seed(self, bits):
        if self._states is None:  # without NumPy
            self._random.seed(bits)
        elif self._memory is None:
            self._random.setstate((3, (*self._states.of(bits)[:_WORDS].tolist(), _WORDS), None))
        else:
            self._words[:] = self._states.of(bits)[:_WORDS]
            self._memory[0] = _WORDS
            self._instance.gauss_next = None

    def save(self):
        return self._random.getstate() if self._memory is None else (bytes(self._memory), self._instance.gauss_next)

    def restore(self, saved):
        if self._memory is None:
            self._random.setstate(saved)
        else:
            ctypes.memmove(self._memory, saved[0], len(saved[0]))
            self._instance.gauss_next = saved[1]


class NumpyRandom:
    module = "numpy"

    def __init__(self, numpy, states):
        self._random, self._states = numpy.random, states
        self._global = numpy.random.mtrand._rand
        self._bit_generator = self._global._bit_generator  # owns the memory
        self._memory = _state_of_numpy(numpy.random)
        self._normal = None if self._memory is None else _normal_of_numpy(numpy.random)
        if self._normal is None:
            self._memory = None
        else:
            self._words = numpy.frombuffer(self._memory, "uint32")[:_WORDS]

    def _is_known(self):
        return self._memory is not None and self._global._bit_generator is self._bit_generator

    def seed(self, bits):
        if self._is_known():
            self._words[:] = self._states.of(bits)[_WORDS:]
            self._memory[_WORDS] = _WORDS
            self._normal[0] = 0
        elif type(self._global._bit_generator).__name__ == "MT19937":
            self._random.set_state(("MT19937", self._states.of(bits)[_WORDS:], _WORDS, 0, 0.0))
        else:  # the program has called numpy.random.set_bit_generator
            kind = type(self._global._bit_generator)
            self._random.set_bit_generator(kind([bits & 0xFFFFFFFF, bits >> 32 & 0xFFFFFFFF]))

    def save(self):
        if self._is_known():
            return bytes(self._memory), bytes(self._normal)
        return self._global._bit_generator, self._random.get_state(legacy=False)

    def restore(self, saved):
        if isinstance(saved[0], bytes):
            if not self._is_known():
                self._random.set_bit_generator(self._bit_generator)
            ctypes.memmove(self._memory, saved[0], len(saved[0]))
            ctypes.memmove(self._normal, saved[1], len(saved[1]))
            return
        if self._global._bit_generator is not saved[0]:
            self._random.set_bit_generator(saved[0])
        self._random.set_state(saved[1])


class TorchRandom:
    """torch's generator for the CPU. Its Mersenne Twister uses the lower 32 of the seed's bits."""

    module = "torch"

    def __init__(self, torch, _):
        self._manual_seed = torch.default_generator.manual_seed
        self.save, self.restore = torch.default_generator.get_state, torch.default_generator.set_state

    def seed(self, bits):
        self._manual_seed(bits >> 64 & _INT64)  # as torch's own seeds, none is negative in an int64


ALL = (PythonRandom, NumpyRandom, TorchRandom)


def all_at_once(seed, found):
    """A function of (epoch, number, operation) that seeds all of `found`, as their `seed` with these 128 bits does, if memory
    is laid out as expected; else None."""
    by = {type(generator): generator for generator in found}
    python, numpy, torch = map(by.get, ALL)
    if SampleStates is None or python is None or numpy is None or python._memory is None or numpy._memory is None:
        return None
    addresses = map(ctypes.addressof, (python._memory, numpy._memory, numpy._normal))
    write = SampleStates(seed & _M64, *addresses).write
    instance, random, bit_generator = python._instance, numpy._global, numpy._bit_generator
    manual_seed = None if torch is None else torch._manual_seed

    def seed_all(epoch, number, operation):
        high = write(epoch & _M64, number & _M64, operation)
        instance.gauss_next = None
        if manual_seed is not None:
            manual_seed(high & _INT64)
        if random._bit_generator is not bit_generator:  # the program has called numpy.random.set_bit_generator
            numpy.seed(block(seed, epoch, number, operation))
    return seed_all


def states():
    """States by SFC64, or None without NumPy."""
    try:
        import numpy
    except ImportError:
        return None
    return States(numpy)


def is_imported(name):
    """Whether the module is there and has been executed to its end."""
    module = sys.modules.get(name)
    return module is not None and not getattr(getattr(module, "__spec__", None), "_initializing", False)


def _state_of_python(instance):
    """[index, state 0 ... state 623] in the memory of a random.Random; None if it is not laid out like that."""
    if sys.implementation.name != "cpython":
        return None
    words = (ctypes.c_uint32 * (1 + _WORDS)).from_address(id(instance) + object.__basicsize__)
    return words if tuple(words[1:]) + (words[0],) == _random.Random.getstate(instance) else None


def _state_of_numpy(random):
    """[key 0 ... key 623, position] in the memory of NumPy's global generator; None if it is not a Mersenne Twister."""
    if type(random.mtrand._rand._bit_generator).__name__ != "MT19937":
        return None
    key, position = random.get_state()[1:3]
    try:
        address = random.mtrand._rand._bit_generator.ctypes.state_address
    except (AttributeError, NotImplementedError, ImportError):
        return None
    words = (ctypes.c_uint32 * (_WORDS + 1)).from_address(address)
    return words if words[:_WORDS] == key.tolist() and words[_WORDS] == position else None


def _normal_of_numpy(random):
    """Four words in the memory of NumPy's global RandomState: whether it keeps the second normal variate of a pair, a gap,
    and that number. None if they are not found, or in more than one place."""
    if sys.implementation.name != "cpython":
        return None
    before, found, owner = random.get_state(), [], random.mtrand._rand
    size = type(owner).__basicsize__
    try:
        for number in (1.25e-77, 7.75e33):  # numbers that are nowhere else
            random.set_state((*before[:3], 1, number))
            memory = ctypes.string_at(id(owner), size)
            places = [at for at in range(8, size - 7, 8) if memory[at:at + 8] == struct.pack("=d", number)]
            found.append([at for at in places if memory[at - 8:at - 4] == struct.pack("=i", 1)])
    finally:
        random.set_state(before)
    if found[0] != found[1] or len(found[0]) != 1:
        return None
    return (ctypes.c_int32 * 4).from_address(id(owner) + found[0][0] - 8)
