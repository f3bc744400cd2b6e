"""Philox 4x64-10: the counter-based generator behind every random number of scanviz.

A block of four 64-bit words is a pure function of a 128-bit key and a 256-bit place, so a draw can be computed in any order, on
any backend and in any thread, and gives the same bits.  Nothing is hidden: a *state* is a plain array.

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

:mod:`scanviz.engine.ops.draws.philox_blocks` makes the blocks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError
from scanviz.engine.ops.draws.philox_blocks import (
    MASK64,
    MASK128,
    next_blocks,
    one_block,
    scattered_blocks,
    words_from,
)
from scanviz.engine.ops.draws.philox_blocks import Words as Words

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
