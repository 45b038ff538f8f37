"""Which sample is where in an epoch: the arithmetic of server/plan/README.md, for epochs that no daemon plans.

An order has `samples`, and `ids(first, count)`: the samples at these positions, which begin anew behind the epoch's end.
"""
import functools
import sys

from ..sampling import ShuffleWindow

_MASK = 2**64 - 1
_GOLDEN = 0x9E3779B97F4A7C15
_ORDER, _SUBSTITUTE, _SHARDS, _WINDOW = 1, 2, 3, 4  # purposes of keys
_AT_ONCE = 4096  # positions that are permuted together


def mix(z):
    z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ z >> 27) * 0x94D049BB133111EB) & _MASK
    return z ^ z >> 31


def key(seed, epoch, purpose):
    return mix(mix(mix(seed + _GOLDEN & _MASK) ^ epoch) ^ purpose)


def substitute_for(samples, seed, epoch, sample, attempt):
    """The position of the substitute of a bad sample, in the order of `samples` samples."""
    return mix(mix(key(seed, epoch, _SUBSTITUTE) ^ sample) ^ attempt) * samples >> 64


class Permutation:
    """A keyed bijection on [0, samples)."""

    def __init__(self, samples, k):
        self._samples = samples
        bits = (samples - 1).bit_length()
        self._low_bits = bits // 2
        self._low_mask, self._high_mask = 2**self._low_bits - 1, 2**(bits - self._low_bits) - 1
        self._keys = [mix(k + (r + 1) * _GOLDEN & _MASK) for r in range(24 if samples <= 256 else 6)]

    def __call__(self, index):
        while True:
            high, low = index >> self._low_bits, index & self._low_mask
            for even, odd in zip(self._keys[::2], self._keys[1::2]):
                high = high + mix(even ^ low) & self._high_mask
                low = low + mix(odd ^ high) & self._low_mask
            index = high << self._low_bits | low
            if index < self._samples:
                return index

    def run(self, first, count):
        """[self(first), self(first + 1), …], `count` of them."""
        numpy = sys.modules.get("numpy")
        if numpy is None or count < 16:
            return [self(index) for index in range(first, first + count)]
        return self._run(numpy, first, count).tolist()

    def _run(self, numpy, first, count):
        word = numpy.uint64
        found = numpy.arange(first, first + count, dtype=word)
        walking = numpy.arange(count)
        while len(walking):
            index = found[walking]
            high, low = index >> word(self._low_bits), index & word(self._low_mask)
            for even, odd in zip(self._keys[::2], self._keys[1::2]):
                high = high + _mix_all(word, word(even) ^ low) & word(self._high_mask)
                low = low + _mix_all(word, word(odd) ^ high) & word(self._low_mask)
            found[walking] = high << word(self._low_bits) | low
            walking = walking[found[walking] >= word(self._samples)]
        return found


def _mix_all(word, z):
    z = (z ^ z >> word(30)) * word(0xBF58476D1CE4E5B9)
    z = (z ^ z >> word(27)) * word(0x94D049BB133111EB)
    return z ^ z >> word(31)


class Sequential:
    def __init__(self, samples):
        self.samples = samples

    def ids(self, first, count):
        return _wrapped(self.samples, first, count, lambda begin, length: list(range(begin, begin + length)))


class Shuffled:
    def __init__(self, samples, seed, epoch):
        self.samples = samples
        self._permutation = Permutation(samples, key(seed, epoch, _ORDER)) if samples else None
        self._block = functools.lru_cache(2)(
            lambda place: self._permutation.run(place * _AT_ONCE, min(_AT_ONCE, samples - place * _AT_ONCE)))

    def ids(self, first, count):
        return _wrapped(self.samples, first, count, lambda begin, length: _in_blocks(self._block, begin, length))


def _in_blocks(block, begin, length):
    found = []
    while length:
        place, skip = divmod(begin, _AT_ONCE)
        part = block(place)[skip:skip + length]
        found += part
        begin, length = begin + len(part), length - len(part)
    return found


class Windowed:
    """ShuffleWindow: shards in random order, shuffled within windows."""

    def __init__(self, samples, seed, epoch, window: ShuffleWindow):
        self.samples, self._shard, self._shards = samples, window.shard_samples, window.shards
        self._keys = key(seed, epoch, _SHARDS), key(seed, epoch, _WINDOW)
        self._all_shards = -(-samples // self._shard)
        self._window = functools.lru_cache(2)(self._make)
        self._begins = None

    def _make(self, window):
        begins, lengths = self._places(window)
        samples = [sample for begin, length in zip(begins, lengths) for sample in range(begin, begin + length)]
        permutation = Permutation(len(samples), mix(self._keys[1] ^ window))
        return [samples[index] for index in permutation.run(0, len(samples))]

    def _places(self, window):
        first = window * self._shards
        numbers = Permutation(self._all_shards, self._keys[0]).run(first, min(self._shards, self._all_shards - first))
        begins = [number * self._shard for number in numbers]
        return begins, [min(self._shard, self.samples - begin) for begin in begins]

    def _window_of(self, index):
        """(the window that has this position, the position in it). Only one shard may be shorter than the others."""
        size = self._shard * self._shards
        for window in (index // size, index // size + 1):
            begin = self._begin(window)
            if begin <= index < begin + sum(self._places(window)[1]):
                return window, index - begin
        raise AssertionError("a position belongs to a window")

    def _begin(self, window):
        if self._begins is None:  # the window after which all begin earlier, because it has the short shard
            last, place = self._all_shards - 1, 0
            short = self._all_shards * self._shard - self.samples
            if short:
                place = Permutation(self._all_shards, self._keys[0]).run(0, self._all_shards).index(last)
            self._begins = place // self._shards, short
        return window * self._shard * self._shards - (self._begins[1] if window > self._begins[0] else 0)

    def ids(self, first, count):
        def run(begin, length):
            found = []
            while len(found) < length:
                window, at = self._window_of(begin + len(found))
                found += self._window(window)[at:at + length - len(found)]
            return found
        return _wrapped(self.samples, first, count, run)


class Given:
    """An order that the program drew."""

    def __init__(self, order):
        self.samples, self.order = len(order), order

    def ids(self, first, count):
        return _wrapped(self.samples, first, count, lambda begin, length: list(self.order[begin:begin + length]))


def _wrapped(samples, first, count, run):
    """`run(begin, length)` over positions that begin anew after `samples`."""
    found = []
    first %= samples
    while len(found) < count:
        length = min(count - len(found), samples - first)
        found += run(first, length)
        first = 0
    return found
