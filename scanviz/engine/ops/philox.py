"""Philox 4x32-10: the counter-based generator behind every random number of scanviz.

A block of four 32-bit words is a pure function of a 64-bit key and a 128-bit counter, so a draw can be
computed in any order, on any backend and in any thread, and gives the same bits.  Nothing is hidden: a
*state* is a plain array.

State
    ``uint32`` array of shape (6,): ``key0, key1, counter0, counter1, counter2, counter3``, least significant
    word first.  States are values: nothing here writes into the one it is given.
Running index and lanes
    A draw reads blocks ``counter, counter + 1, …`` and leaves the counter after the last of them; how many
    depends on the shape drawn and the distribution, never on values.  A sampler that may have to try again
    (gamma, poisson, integers, …) does so without reading ahead: attempt ``j`` of an element takes the *same*
    running index in *lane* ``j``, which is ``counter3 + j`` modulo 2**32.  Draws collide only after 2**96
    blocks or 2**32 - 1 attempts.
Streams
    :func:`spawn` makes the key of child ``i`` from the parent's key: words 0 and 1 of the block with counter
    ``(i low, i high, 0, 0xFFFFFFFF)``, a lane that no draw reaches.
Which word gives which element
    32-bit element ``i`` is word ``i % 4`` of block ``i // 4``; 64-bit element ``i`` is made of words ``2 * (i
    % 2)`` (low half) and ``2 * (i % 2) + 1`` (high half) of block ``i // 2``.

Source: J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011;
checked against the known answers published with Random123.  Not for cryptography.

A few blocks are computed with Python integers, many with NumPy in pieces that fit the cache; both give the
same bits.
"""

from __future__ import annotations

import functools
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError

Words: TypeAlias = npt.NDArray[np.uint32]
Words64: TypeAlias = npt.NDArray[np.uint64]

STATE_WORDS = 6
_MULTIPLIER_0, _MULTIPLIER_1 = 0xD2511F53, 0xCD9E8D57
_WEYL_0, _WEYL_1 = 0x9E3779B9, 0xBB67AE85
_MASK32, _MASK64, _MASK128 = 2**32 - 1, 2**64 - 1, 2**128 - 1
_SPAWN_LANE = 0xFFFFFFFF
_FEW_BLOCKS = 16  # below this, Python integers are faster than a hundred NumPy calls on tiny arrays
_PIECE = 4096  # blocks at a time: six arrays of 32 KiB stay in the second-level cache
_SHIFT = np.uint64(32)
_LOW = np.uint64(_MASK32)


def seed_state(seed: int) -> Words:
    """Return the state whose key is ``seed`` and whose counter is zero.

    Parameters
    ----------
    seed : int
        From 0 to 2**64 - 1; different seeds give independent streams.

    Returns
    -------
    numpy.ndarray
        State, uint32 of shape (6,).

    Raises
    ------
    ScanvizTypeError
        If ``seed`` is not an integer.
    ScanvizValueError
        If it is negative or too large.

    Examples
    --------
    >>> seed_state(7)
    array([7, 0, 0, 0, 0, 0], dtype=uint32)
    """
    if isinstance(seed, (bool, np.bool_)) or not isinstance(seed, (int, np.integer)):
        raise ScanvizTypeError(
            "a random seed must be an integer", expected="0 to 2**64 - 1", found=repr(seed)
        )
    if not 0 <= seed <= _MASK64:
        raise ScanvizValueError("a random seed is out of range", expected="0 to 2**64 - 1", found=seed)
    return np.array([int(seed) & _MASK32, int(seed) >> 32, 0, 0, 0, 0], np.uint32)


def spawn(state: Words, index: int) -> Words:
    """Return the state of child stream number ``index``.

    It depends on the key of ``state`` and not on how much was drawn from it, so child ``i`` is always the
    same.

    Examples
    --------
    >>> first, second = spawn(seed_state(7), 0), spawn(seed_state(7), 1)
    >>> bool((first[:2] != second[:2]).any())
    True
    """
    if not 0 <= index <= _MASK64:
        raise ScanvizValueError(
            "the number of a random stream is out of range", expected="0 to 2**64 - 1", found=index
        )
    key0, key1 = state[:2].tolist()
    words = _one_block(_key_schedule(key0, key1), index | _SPAWN_LANE << 96)
    return np.array([*words[:2], 0, 0, 0, 0], np.uint32)


def split(state: Words, streams: int) -> list[Words]:
    """Return the states of the first ``streams`` children of ``state`` (see :func:`spawn`)."""
    return [spawn(state, index) for index in range(streams)]


def advance(state: Words, blocks: int) -> Words:
    """Return a new state whose 128-bit counter is ``blocks`` further; negative goes back.

    Examples
    --------
    >>> advance(seed_state(7), 2**32 + 5)
    array([7, 0, 5, 1, 0, 0], dtype=uint32)
    """
    new = state.copy()
    low = int(state[2]) + blocks
    if 0 <= low <= _MASK32:
        new[2] = low
    else:
        counter = (_counter(state) + blocks) & _MASK128
        new[2:] = [counter >> 32 * word & _MASK32 for word in range(4)]
    return new


def draw_blocks(state: Words, n: int, lane: int = 0) -> Words:
    """Return the ``n`` blocks that start at the state's counter, in lane ``lane``: uint32 of shape (n, 4)."""
    schedule, start = _key_schedule(*state[:2].tolist()), _counter(state) + (lane << 96)
    if n <= _FEW_BLOCKS:
        return np.array([_one_block(schedule, start + index) for index in range(n)], np.uint32).reshape(n, 4)
    out = np.empty((n, 4), np.uint32)
    for first in range(0, n, _PIECE):
        piece = np.arange(min(_PIECE, n - first), dtype=np.uint64)
        _many_blocks(schedule, start + first, piece, out[first : first + _PIECE])
    return out


def blocks_at(state: Words, offsets: npt.NDArray[np.int64], lane: int = 0) -> Words:
    """Return the blocks at ``counter + offsets`` in lane ``lane``: uint32 of shape (len(offsets), 4).

    Parameters
    ----------
    offsets : numpy.ndarray
        Non-negative int64 of shape (n,), in any order.
    """
    n = len(offsets)
    schedule, start = _key_schedule(*state[:2].tolist()), _counter(state) + (lane << 96)
    if n <= _FEW_BLOCKS:
        return np.array([_one_block(schedule, start + at) for at in offsets.tolist()], np.uint32).reshape(
            n, 4
        )
    out = np.empty((n, 4), np.uint32)
    for first in range(0, n, _PIECE):
        piece = offsets[first : first + _PIECE].astype(np.uint64)
        _many_blocks(schedule, start, piece, out[first : first + _PIECE])
    return out


def draw_words(state: Words, n: int, lane: int = 0) -> Words:
    """Return ``n`` 32-bit words, uint32 of shape (n,): element ``i`` is word ``i % 4`` of block ``i // 4``."""
    return draw_blocks(state, blocks_of_words(n), lane).reshape(-1)[:n]


def draw_words64(state: Words, n: int, lane: int = 0) -> Words64:
    """Return ``n`` 64-bit words, uint64 of shape (n,): element ``i`` is half ``i % 2`` of block ``i // 2``."""
    return pairs(draw_blocks(state, blocks_of_words64(n), lane)).reshape(-1)[:n]


def draw_word64(state: Words) -> int:
    """Return the one 64-bit word that ``draw_words64(state, 1)`` gives, as a Python integer."""
    return draw_pair64(state)[0]


def draw_pair64(state: Words) -> tuple[int, int]:
    """Return the two 64-bit words that ``draw_words64(state, 2)`` gives, as Python integers."""
    low, high, next_low, next_high = _one_block(_key_schedule(*state[:2].tolist()), _counter(state))
    return high << 32 | low, next_high << 32 | next_low


def blocks_of_words(n: int) -> int:
    """Return how many blocks ``n`` 32-bit words take."""
    return (n + 3) // 4


def blocks_of_words64(n: int) -> int:
    """Return how many blocks ``n`` 64-bit words take."""
    return (n + 1) // 2


def pairs(blocks: Words) -> Words64:
    """Return the two 64-bit words of each block, low half first: uint64 of shape (n, 2)."""
    return blocks.astype("<u4", copy=False).view("<u8").astype(np.uint64, copy=False)


def _counter(state: Words) -> int:
    _, _, word0, word1, word2, word3 = state.tolist()
    counter: int = word0 | word1 << 32 | word2 << 64 | word3 << 96
    return counter


@functools.lru_cache(maxsize=256)
def _key_schedule(key0: int, key1: int) -> tuple[tuple[int, int], ...]:
    """Return the keys of the ten rounds; a loop draws from few keys, so they are kept."""
    return tuple(((key0 + r * _WEYL_0) & _MASK32, (key1 + r * _WEYL_1) & _MASK32) for r in range(10))


def _one_block(schedule: tuple[tuple[int, int], ...], counter: int) -> tuple[int, int, int, int]:
    word0, word1 = counter & _MASK32, counter >> 32 & _MASK32
    word2, word3 = counter >> 64 & _MASK32, counter >> 96 & _MASK32
    for key0, key1 in schedule:
        product0, product1 = word0 * _MULTIPLIER_0, word2 * _MULTIPLIER_1
        word0, word1 = product1 >> 32 ^ word1 ^ key0, product1 & _MASK32
        word2, word3 = product0 >> 32 ^ word3 ^ key1, product0 & _MASK32
    return word0, word1, word2, word3


def _many_blocks(schedule: tuple[tuple[int, int], ...], start: int, offsets: Words64, out: Words) -> None:
    """Write the blocks at ``start + offsets`` into ``out``, shape (n, 4), a row of 64-bit slots a word."""
    low, high = start & _MASK64, start >> 64 & _MASK64
    low_half = offsets + np.uint64(low)
    high_half = np.full(len(offsets), high, np.uint64)
    if low + int(offsets.max()) > _MASK64:
        high_half += low_half < np.uint64(low)
    word0, word1, word2, word3 = low_half & _LOW, low_half >> _SHIFT, high_half & _LOW, high_half >> _SHIFT
    product0, product1 = low_half, high_half  # their storage is free now
    multiplier0, multiplier1 = np.uint64(_MULTIPLIER_0), np.uint64(_MULTIPLIER_1)
    for key0, key1 in schedule:
        np.multiply(word0, multiplier0, out=product0)
        np.multiply(word2, multiplier1, out=product1)
        np.right_shift(product1, _SHIFT, out=word0)
        word0 ^= word1
        word0 ^= np.uint64(key0)
        np.right_shift(product0, _SHIFT, out=word2)
        word2 ^= word3
        word2 ^= np.uint64(key1)
        np.bitwise_and(product1, _LOW, out=word1)
        np.bitwise_and(product0, _LOW, out=word3)
    for column, word in enumerate((word0, word1, word2, word3)):
        out[:, column] = word
