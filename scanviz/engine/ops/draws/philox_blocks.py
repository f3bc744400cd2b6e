"""Blocks of Philox 4x64-10: a few by Python's integers, many by NumPy, and the next ones ahead of time.

A block lies at a place of 256 bits: its index, and its *lane* times 2**192 (:mod:`~scanviz.engine.ops.draws.philox`).

Many that follow one another
    By NumPy's own generator of that name, of which NumPy guarantees that a key and a counter always give the same stream.  It
    counts before it makes a block.  Importing it takes as long as thousands of blocks by the formula, so it is imported once so
    many were wanted, and compared with the formula, which serves alone should they differ.
Many in any order
    By the formula on arrays: NumPy has no products of 128 bits, so they are put together from halves.  Where they lie close
    together, all between the first and the last are made instead, which is quicker.
Ahead
    Draws of few numbers follow one another, in a loop or from call to call, and a call of NumPy takes as long for one block as
    for a hundred.  Who asks for the blocks after those that were asked for last makes more of them at once: as many again as
    before, up to 64 KB a stream.  Blocks are a function of key and counter, so this changes no number.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from numpy.random import Philox

Words: TypeAlias = npt.NDArray[np.uint64]
Key: TypeAlias = tuple[int, int]
Stream: TypeAlias = tuple[int, int, int]  # both words of the key, and the lane

MASK64, MASK128, MASK256 = 2**64 - 1, 2**128 - 1, 2**256 - 1
WEYL = (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)
MULTIPLIERS = (0xD2E7470EE14C6C93, 0xCA5A826395121157)
ROUNDS = 10
FEW_BLOCKS = 32  # up to here, Python integers are faster than hundreds of NumPy calls on tiny arrays
MOST_AHEAD = 2048  # blocks of a stream that are kept
CLOSE = 8  # times as many blocks as are wanted that are made instead of those alone
_PIECE = 4096  # blocks at a time by the formula: its arrays fit the second-level cache
_WITHOUT = 2000  # blocks one at a time that take as long as the import of NumPy's generator
_FIRST_AHEAD = 64
_MOST_STREAMS = 32
_LANE = 192  # bits of a place below the lane
_SHIFT, _LOW = np.uint64(32), np.uint64(2**32 - 1)
_BY = np.array(MULTIPLIERS, np.uint64)[:, None]
_BY_LOW, _BY_HIGH = _BY & _LOW, _BY >> _SHIFT
# By stream: where the kept blocks begin, and the blocks, of shape (n, 4); what follows them was not asked for yet.
_ahead: dict[Stream, tuple[int, Words]] = {}
_spent = [0]  # on blocks by the formula, in blocks one at a time


@functools.lru_cache(maxsize=256)
def key_schedule(key: Key) -> tuple[Key, ...]:
    """Return the keys of the ten rounds; a loop draws from few keys, so they are kept."""
    return tuple(
        ((key[0] + turn * WEYL[0]) & MASK64, (key[1] + turn * WEYL[1]) & MASK64) for turn in range(ROUNDS)
    )


def one_block(key: Key, place: int) -> tuple[int, int, int, int]:
    """Return the words of the block at a place."""
    by_0, by_1 = MULTIPLIERS
    word0, word1, word2, word3 = (place >> 64 * k & MASK64 for k in range(4))
    for key0, key1 in key_schedule(key):
        product0, product1 = word0 * by_0, word2 * by_1
        word0, word1 = product1 >> 64 ^ word1 ^ key0, product1 & MASK64
        word2, word3 = product0 >> 64 ^ word3 ^ key1, product0 & MASK64
    return word0, word1, word2, word3


def next_blocks(key: Key, index: int, n: int, lane: int = 0) -> Words:
    """Return ``n`` blocks of a lane from an index on, uint64 of shape (n, 4), which must not be written to."""
    if n > MOST_AHEAD:
        return consecutive_blocks(key, index, n, lane)
    stream = *key, lane
    first, kept = _ahead.get(stream, (-1, None))
    at = index - first
    if kept is None or not 0 <= at <= len(kept):
        found = consecutive_blocks(key, index, n, lane)
        _keep(stream, index + n, found[:0])
        return found
    if at + n > len(kept):
        wanted = max(n, min(MOST_AHEAD, max(_FIRST_AHEAD, 4 * n, 2 * len(kept))))
        kept, at = consecutive_blocks(key, index, wanted, lane), 0
        _keep(stream, index, kept)
    return kept[at : at + n]


def _keep(stream: Stream, index: int, blocks: Words) -> None:
    blocks.flags.writeable = False
    if len(_ahead) >= _MOST_STREAMS and stream not in _ahead:
        _ahead.clear()
    _ahead[stream] = index, blocks


def consecutive_blocks(key: Key, index: int, n: int, lane: int = 0) -> Words:
    """Return ``n`` blocks of a lane from an index on, uint64 of shape (n, 4)."""
    if n <= FEW_BLOCKS and not (n > 1 and "numpy.random" in sys.modules):
        return _one_by_one(key, range(index, index + n), lane)
    return words_from(key, index, n, lane)(4 * n).reshape(n, 4)


def _one_by_one(key: Key, indices: Sequence[int], lane: int) -> Words:
    _spent[0] += len(indices)
    above = lane << _LANE
    found = [one_block(key, above + (index & MASK128)) for index in indices]
    return np.array(found, np.uint64).reshape(len(found), 4)


def words_from(key: Key, index: int, n: int, lane: int = 0) -> Callable[[int], Words]:
    """Return a function that gives so many more words at each call, whole blocks of them, of ``n`` blocks from an index on."""
    index &= MASK128
    generator = _numpy_generator(n) if index + n <= MASK128 else None
    if generator is not None:
        before = index + (lane << _LANE) - 1 & MASK256
        return generator(key=key[0] | key[1] << 64, counter=before).random_raw

    def following(count: int) -> Words:
        nonlocal index
        found = _by_halves(key, index, np.arange(count // 4), lane).reshape(-1)
        index += count // 4
        return found

    return following


def _numpy_generator(blocks: int) -> type[Philox] | None:
    """Return NumPy's generator if it is worth its import for so many more blocks, and gives what it should."""
    if "numpy.random" not in sys.modules and _spent[0] + _cost(blocks) < _WITHOUT:
        return None
    return _compared_generator()


@functools.cache
def _compared_generator() -> type[Philox] | None:
    from numpy.random import Philox  # it takes 10 ms

    key, place = MULTIPLIERS, MASK64 + (3 << _LANE)  # so that the second block has a carry
    given = Philox(key=key[0] | key[1] << 64, counter=place - 1).random_raw(8)
    return Philox if given.tolist() == [*one_block(key, place), *one_block(key, place + 1)] else None


def scattered_blocks(key: Key, index: int, offsets: npt.NDArray[np.int64], lane: int = 0) -> Words:
    """Return the blocks of a lane at ``index + offsets``, in any order: uint64 of shape (n, 4), which may not be written to."""
    n = len(offsets)
    if n <= FEW_BLOCKS:
        return _one_by_one(key, [index + at for at in offsets.tolist()], lane)
    least = int(offsets.min())
    between = int(offsets.max()) - least + 1
    if between <= CLOSE * n and _numpy_generator(between) is not None:
        blocks = consecutive_blocks(key, index + least, between, lane)
        return blocks if between == n and (np.diff(offsets) == 1).all() else blocks[offsets - least]
    return _by_halves(key, index, offsets, lane)


def _by_halves(key: Key, index: int, offsets: npt.NDArray[np.int64], lane: int) -> Words:
    """Return such blocks by the formula, on arrays."""
    _spent[0] += _cost(len(offsets))
    out = np.empty((len(offsets), 4), np.uint64)
    low, high = np.uint64(index & MASK64), np.uint64(index >> 64 & MASK64)
    for first in range(0, len(offsets), _PIECE):
        piece = offsets[first : first + _PIECE].astype(np.uint64)
        even, odd = np.zeros((2, len(piece)), np.uint64), np.empty((2, len(piece)), np.uint64)
        np.add(piece, low, out=even[0])
        odd[0], odd[1] = high + (even[0] < low), lane
        _write_rounds(key, even, odd, out[first : first + _PIECE])
    return out


def _write_rounds(key: Key, even: Words, odd: Words, out: Words) -> None:
    """Write blocks of places whose words 0 and 2, and whose words 1 and 3, are given, of shape (2, n)."""
    for keys in key_schedule(key):
        high, low = _product(even)
        even, odd = high[::-1] ^ odd ^ np.array(keys, np.uint64)[:, None], low[::-1]
    out[:, 0::2], out[:, 1::2] = even.T, odd.T


def _product(words: Words) -> tuple[Words, Words]:
    """Return the high and the low half of the products of words 0 and 2 with their multipliers, by halves of all."""
    low, high = words & _LOW, words >> _SHIFT
    middle = high * _BY_LOW + (low * _BY_LOW >> _SHIFT)
    other = low * _BY_HIGH + (middle & _LOW)
    return high * _BY_HIGH + (middle >> _SHIFT) + (other >> _SHIFT), words * _BY


def _cost(blocks: int) -> int:
    """Return how many blocks one at a time would take as long as so many by the formula."""
    return min(blocks, FEW_BLOCKS + blocks // 16)
