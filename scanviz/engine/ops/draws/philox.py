"""Philox 4x64-10: the counter-based generator behind every random number of scanviz.

A block of four 64-bit words is a pure function of a 128-bit key and a 256-bit place.  So a draw gives the same bits in any
order, on any backend and in any thread.  Nothing is hidden: a *state* is a plain array.

State
    ``uint64`` array of shape (4,): ``key0, key1, index0, index1``, least significant word first.  States are values: nothing here
    writes into the one it is given.
Index and lanes
    A draw reads the blocks ``index, index + 1, …`` and leaves the index after the last of them; how many depends on the shape
    drawn and the distribution, never on values.  A sampler that may have to try again (gamma, poisson, integers, …) does so
    without reading ahead: attempt ``j`` of an element takes the *same* index in *lane* ``j``.  The words of a block's place are
    ``index0, index1, 0, lane``: draws collide only after 2**128 blocks.
Streams
    :func:`spawn` makes the key of child ``i`` from the parent's key: words 0 and 1 of the block at the place ``i, 0, 1, 0``, which
    no draw reaches.
Which word gives which element
    64-bit element ``i`` is word ``i % 4`` of block ``i // 4``; 32-bit element ``i`` is the low (``i`` even) or the high half of
    word ``i // 2``, counted from the first block's on.

Source: J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011;
checked against the known answers published with Random123.  Not for cryptography.

Few blocks are computed with Python's integers, many consecutive ones by NumPy's own generator of that name, which guarantees the
same stream for the same key and counter.  Its import takes as long as thousands of blocks, so until then, and for scattered blocks,
the formula is computed on arrays.  Few consecutive blocks come from a larger piece computed ahead.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError

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
    """Return NumPy's generator if it is worth its import for so many more blocks."""
    if "numpy.random" not in sys.modules and _spent[0] + _cost(blocks) < _WITHOUT:
        return None
    from numpy.random import Philox  # it takes 10 ms

    return Philox


def scattered_blocks(key: Key, index: int, offsets: npt.NDArray[np.int64], lane: int = 0) -> Words:
    """Return the blocks of a lane at ``index + offsets``, in any order: uint64 of shape (n, 4), which may not be written to."""
    n = len(offsets)
    if n and offsets[-1] - offsets[0] == n - 1 and (n < 3 or (np.diff(offsets) == 1).all()):
        return next_blocks(key, index + int(offsets[0]), n, lane)
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
    """Return the number of single blocks that take as long as a number of blocks by the formula."""
    return min(blocks, FEW_BLOCKS + blocks // 16)


Words32: TypeAlias = npt.NDArray[np.uint32]
PIECE = 8192  # words at a time: 64 KB
_SPAWNED = 1 << 128


def seed_state(seed: int) -> Words:
    """Return the state whose key is ``seed`` and whose index is zero.

    Parameters
    ----------
    seed : int
        From 0 to 2**64 - 1; different seeds give independent streams.

    Returns
    -------
    numpy.ndarray
        State, uint64 of shape (4,).

    Raises
    ------
    ScanvizTypeError
        If ``seed`` is not an integer.
    ScanvizValueError
        If it is negative or too large.

    Examples
    --------
    >>> seed_state(7)
    array([7, 0, 0, 0], dtype=uint64)
    """
    if isinstance(seed, (bool, np.bool_)) or not isinstance(seed, (int, np.integer)):
        raise ScanvizTypeError(
            "a random seed must be an integer", expected="0 to 2**64 - 1", found=repr(seed)
        )
    if not 0 <= seed <= MASK64:
        raise ScanvizValueError("a random seed is out of range", expected="0 to 2**64 - 1", found=seed)
    return np.array([int(seed), 0, 0, 0], np.uint64)


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
    if not 0 <= index <= MASK64:
        raise ScanvizValueError(
            "the number of a random stream is out of range", expected="0 to 2**64 - 1", found=index
        )
    key0, key1 = state[:2].tolist()
    words = one_block((key0, key1), index + _SPAWNED)
    return np.array([*words[:2], 0, 0], np.uint64)


def split(state: Words, streams: int) -> list[Words]:
    """Return the states of the first ``streams`` children of ``state`` (see :func:`spawn`)."""
    return [spawn(state, index) for index in range(streams)]


def advance(state: Words, blocks: int) -> Words:
    """Return a new state whose 128-bit index is ``blocks`` further; negative goes back.

    Examples
    --------
    >>> advance(seed_state(7), 2**64 + 5)
    array([7, 0, 5, 1], dtype=uint64)
    """
    new = state.copy()
    low = int(state[2]) + blocks
    if 0 <= low <= MASK64:
        new[2] = low
    else:
        index = low + (int(state[3]) << 64) & MASK128
        new[2:] = index & MASK64, index >> 64
    return new


def draw_blocks(state: Words, n: int, lane: int = 0) -> Words:
    """Return the ``n`` blocks that start at the state's index, in lane ``lane``: uint64 of shape (n, 4), not to be written to."""
    key0, key1, low, high = state.tolist()
    return next_blocks((key0, key1), low | high << 64, n, lane)


def blocks_at(state: Words, offsets: npt.NDArray[np.int64], lane: int = 0) -> Words:
    """Return the blocks at ``index + offsets`` in lane ``lane``: uint64 of shape (len(offsets), 4), not to be written to.

    Parameters
    ----------
    offsets : numpy.ndarray
        Non-negative int64 of shape (n,), in any order.
    """
    key0, key1, low, high = state.tolist()
    return scattered_blocks((key0, key1), low | high << 64, offsets, lane)


def draw_words(state: Words, n: int, lane: int = 0) -> Words:
    """Return ``n`` 64-bit words, uint64 of shape (n,): element ``i`` is word ``i % 4`` of block ``i // 4``."""
    return draw_blocks(state, blocks_of_words(n), lane).reshape(-1)[:n]


def draw_words32(state: Words, n: int) -> Words32:
    """Return ``n`` 32-bit words, uint32 of shape (n,): those of ``draw_words`` one after another, low half first."""
    words = draw_words(state, (n + 1) // 2)
    return words.astype("<u8", copy=False).view("<u4").astype(np.uint32, copy=False)[:n]


def readable_pieces(state: Words, n: int) -> Iterator[tuple[slice, Words]]:
    """Iterate over the words of ``draw_words(state, n)``: all at once where they fit the cache; not to be written to."""
    if n <= PIECE:
        return iter([(slice(0, n), draw_words(state, n))])
    return writable_pieces(state, n)


def writable_pieces(state: Words, n: int) -> Iterator[tuple[slice, Words]]:
    """Iterate over the words of ``draw_words(state, n)`` in pieces that fit the cache, with where each belongs.

    A piece may be written to.
    """
    key0, key1, low, high = state.tolist()
    following = words_from((key0, key1), low | high << 64, blocks_of_words(n))
    for first in range(0, n, PIECE):
        size = min(PIECE, n - first)
        yield slice(first, first + size), following(4 * blocks_of_words(size))[:size]


def first_word(state: Words) -> int:
    """Return the one 64-bit word that ``draw_words(state, 1)`` gives, as a Python integer."""
    word: int = draw_blocks(state, 1)[0, 0].item()
    return word


def first_words(state: Words) -> tuple[int, int]:
    """Return the two 64-bit words that ``draw_words(state, 2)`` gives, as Python integers."""
    word, following, _, _ = draw_blocks(state, 1)[0].tolist()
    return word, following


def blocks_of_words(n: int) -> int:
    """Return how many blocks ``n`` 64-bit words take."""
    return (n + 3) // 4


def blocks_of_words32(n: int) -> int:
    """Return how many blocks ``n`` 32-bit words take."""
    return (n + 7) // 8
