"""Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC 2011), as in
common/base/philox.h, which draws the crops: a counter of four words and a key give four random words."""
import functools
from typing import Tuple

_MASK = 2**32 - 1
_MASK_64 = 2**64 - 1

# The last word of the counter says what the words are for. server/plan/README.md lists all of these numbers.
SAMPLE, BATCH, WORKER, ITEMS = 12, 13, 14, 15


@functools.lru_cache(64)
def _keys(key: int) -> Tuple[Tuple[int, int], ...]:
    """The keys of the ten rounds."""
    low, high = key & _MASK, key >> 32 & _MASK
    return tuple((low + i * 0x9E3779B9 & _MASK, high + i * 0xBB67AE85 & _MASK) for i in range(10))


def philox(counter: Tuple[int, int, int, int], key: int) -> Tuple[int, int, int, int]:
    """`counter`: words of 32 bits; `key`: 64 bits."""
    a, b, c, d = counter
    for low, high in _keys(key):
        p, q = 0xD2511F53 * a, 0xCD9E8D57 * c
        a, b, c, d = q >> 32 ^ b ^ low, q & _MASK, p >> 32 ^ d ^ high, p & _MASK
    return a, b, c, d


def block(seed: int, epoch: int, number: int, operation: int) -> int:
    """128 random bits for a sample (or whatever `operation` numbers): the four words, the first one lowest."""
    number &= _MASK_64
    a, b, c, d = philox((number & _MASK, number >> 32, epoch & _MASK, operation), seed & _MASK_64)
    return a | b << 32 | c << 64 | d << 96
