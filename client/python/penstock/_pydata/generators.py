"""The global generators of `random`, NumPy and torch: seeding them, and noticing whether somebody drew from them.

Each class has `seed(bits)`, for 128 bits, and `mark`: 8 bytes of the generator's state that change with every draw, as
`mark.value`; None if they are unknown. Only modules that are already imported are touched. The seeds are defined by public calls (`seeding.py`). Everything else
relies on the state's place in memory; a generator whose memory looks unlike what is expected here, as
in another interpreter, is simply seeded each time.
"""
import _random
import ctypes
import sys

_WORDS = 624  # of a Mersenne Twister


class PythonRandom:
    """`random`: random.seed(128 bits)."""

    module = "random"

    def __init__(self, random):
        self.seed = random.seed
        words = _state_of_python(random._inst)
        # The position of the next word, and the first word: both change when the state is used up and made anew.
        self.mark = None if words is None else ctypes.c_uint64.from_buffer(words, 0)


class NumpyRandom:
    """`numpy.random`: numpy.random.seed([bits 0 to 31, bits 32 to 63])."""

    module = "numpy"

    def __init__(self, numpy):
        self._random, self._global = numpy.random, numpy.random.mtrand._rand
        self._bit_generator = self._global._bit_generator  # owns the memory of `words`
        self._words = words = _state_of_numpy(numpy.random)
        self.mark = None if words is None else ctypes.c_uint64.from_buffer(words, 4 * (_WORDS - 1))  # last word, position
        self._like_python = _random.Random(0)
        self._python_words = _state_of_python(self._like_python)
        self._is_fast = words is not None and self._python_words is not None and self._agrees()

    def seed(self, bits):
        low, high = bits & 0xFFFFFFFF, bits >> 32 & 0xFFFFFFFF
        now = self._global._bit_generator
        if now is self._bit_generator and self._is_fast and high:
            self._copy_from_python(low | high << 32)
        elif type(now).__name__ == "MT19937":
            self._random.seed([low, high])
        else:  # the program has called numpy.random.set_bit_generator
            self._random.set_bit_generator(type(now)([low, high]))

    def _copy_from_python(self, bits):
        """Python's generator does the same with a number of 64 bits as NumPy's with two words, in half the time."""
        self._random.seed(0)  # forgets the second normal variate of a pair
        self._like_python.seed(bits)
        ctypes.memmove(ctypes.addressof(self._words), ctypes.addressof(self._python_words) + 4, 4 * _WORDS)
        self._words[_WORDS] = _WORDS

    def _agrees(self):
        before = self._random.get_state()
        self._random.seed([5, 6])
        expected = self._random.get_state()
        self._copy_from_python(5 | 6 << 32)
        found = self._random.get_state()
        self._random.set_state(before)
        return found[1].tolist() == expected[1].tolist() and found[2:] == expected[2:]


class TorchRandom:
    """torch's generator for the CPU: manual_seed(bits 64 to 127). torch's Mersenne Twister uses the lower 32 of them."""

    module = "torch"
    mark = None  # seeding costs less than looking

    def __init__(self, torch):
        self._manual_seed = torch.default_generator.manual_seed

    def seed(self, bits):
        self._manual_seed(bits >> 64)


ALL = (PythonRandom, NumpyRandom, TorchRandom)


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
