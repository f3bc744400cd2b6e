"""Blocks of Philox 4x32-10: one by Python's integers, many that follow one another by NumPy, and the next ones ahead of time.

Many
    In pieces whose arrays fit the second-level cache.  In a piece that does not cross a multiple of 2**32 only word 0 of the
    counter changes: until the third round half of the words are one number each, and are computed once.
Ahead
    Draws of few numbers follow one another, in a loop or from call to call, and a hundred calls of NumPy take as long for one
    block as for a hundred.  Who asks for the blocks after those that were asked for last makes more of them at once: as many
    again as before, up to 64 KB a stream.  Blocks are a function of key and counter, so this changes no number.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from scanviz.engine.named_tuple import NamedTuple

Words: TypeAlias = npt.NDArray[np.uint32]
Words64: TypeAlias = npt.NDArray[np.uint64]
Schedule: TypeAlias = tuple[tuple[int, int], ...]
Stream: TypeAlias = tuple[int, int, int]  # both words of the key, and the lane

MASK32, MASK64, MASK128 = 2**32 - 1, 2**64 - 1, 2**128 - 1
WEYL_0, WEYL_1 = 0x9E3779B9, 0xBB67AE85
FEW_BLOCKS = 16  # below this, Python integers are faster than a hundred NumPy calls on tiny arrays
PIECE = 16_384  # blocks at a time: six arrays of 128 KiB
MOST_AHEAD = 4096  # blocks of a stream that are kept
_FIRST_AHEAD = 64
_MOST_STREAMS = 32
_MULTIPLIER_0, _MULTIPLIER_1 = 0xD2511F53, 0xCD9E8D57
_LITTLE_32, _LITTLE_64 = np.dtype("<u4"), np.dtype("<u8")
_SHIFT, _LOW = np.uint64(32), np.uint64(MASK32)
_BY_0, _BY_1 = np.uint64(_MULTIPLIER_0), np.uint64(_MULTIPLIER_1)
# By stream: where the kept blocks begin, and the blocks, of shape (n, 4); what follows them was not asked for yet.
_ahead: dict[Stream, tuple[int, Words]] = {}


@functools.lru_cache(maxsize=256)
def key_schedule(key0: int, key1: int) -> Schedule:
    """Return the keys of the ten rounds; a loop draws from few keys, so they are kept."""
    return tuple(((key0 + r * WEYL_0) & MASK32, (key1 + r * WEYL_1) & MASK32) for r in range(10))


def one_block(schedule: Schedule, counter: int) -> tuple[int, int, int, int]:
    """Return the words of the block at a counter."""
    word0, word1 = counter & MASK32, counter >> 32 & MASK32
    word2, word3 = counter >> 64 & MASK32, counter >> 96 & MASK32
    for key0, key1 in schedule:
        product0, product1 = word0 * _MULTIPLIER_0, word2 * _MULTIPLIER_1
        word0, word1 = product1 >> 32 ^ word1 ^ key0, product1 & MASK32
        word2, word3 = product0 >> 32 ^ word3 ^ key1, product0 & MASK32
    return word0, word1, word2, word3


def next_blocks(key0: int, key1: int, lane: int, start: int, n: int) -> Words:
    """Return ``n`` blocks from a counter on, uint32 of shape (n, 4), which must not be written to.

    Parameters
    ----------
    key0, key1 : int
        The key.
    lane : int
        Lane of the stream, already in ``start``.
    start : int
        Counter of the first block.
    n : int
        How many.
    """
    if n > MOST_AHEAD:
        return consecutive_blocks(key_schedule(key0, key1), start, n)
    stream = key0, key1, lane
    first, kept = _ahead.get(stream, (-1, None))
    at = start - first
    if kept is None or not 0 <= at <= len(kept):
        found = _alone(key_schedule(key0, key1), start, n)
        _keep(stream, start + n, found[:0])
        return found
    if at + n > len(kept):
        wanted = max(n, min(MOST_AHEAD, max(_FIRST_AHEAD, 4 * n, 2 * len(kept))))
        kept, at = consecutive_blocks(key_schedule(key0, key1), start, wanted), 0
        _keep(stream, start, kept)
    return kept[at : at + n]


def _keep(stream: Stream, start: int, blocks: Words) -> None:
    blocks.flags.writeable = False
    if len(_ahead) >= _MOST_STREAMS and stream not in _ahead:
        _ahead.clear()
    _ahead[stream] = start, blocks


def _alone(schedule: Schedule, start: int, n: int) -> Words:
    if n > FEW_BLOCKS:
        return consecutive_blocks(schedule, start, n)
    return _one_by_one(schedule, range(start, start + n))


def _one_by_one(schedule: Schedule, counters: Sequence[int]) -> Words:
    return np.array([one_block(schedule, at) for at in counters], np.uint32).reshape(len(counters), 4)


class Halves(NamedTuple):
    """64-bit words, and views of the low and the high half of each."""

    all: Words64
    low: Words
    high: Words


Room: TypeAlias = list[Halves]  # of words 0 and 2, and two products twice
_HIGH = int(sys.byteorder == "little")  # which half of a word lies second


def _halves(words: Words64) -> tuple[Words, Words]:
    halves = words.view(np.uint32)
    return halves[1 - _HIGH :: 2], halves[_HIGH::2]


def consecutive_blocks(schedule: Schedule, start: int, n: int) -> Words:
    """Return ``n`` blocks from a counter on, uint32 of shape (n, 4)."""
    out = new_memory(n)
    write_blocks(schedule, start, out, new_room(min(n, PIECE)))
    return _words_of(out)


def _words_of(blocks: Words64) -> Words:
    return blocks.view(_LITTLE_32).astype(np.uint32, copy=False)


def new_memory(n: int) -> Words64:
    """Return memory for ``n`` blocks, two 64-bit words each."""
    return np.empty((n, 2), _LITTLE_64)


def new_room(n: int) -> Room:
    """Return what :func:`write_blocks` works in, for pieces of ``n`` blocks: whoever writes often takes it once."""
    memory = np.empty((6, n), np.uint64)
    memory[:2] = 0  # of words 0 and 2 the low halves alone are written
    return [Halves(words, *_halves(words)) for words in memory]


def write_blocks(schedule: Schedule, start: int, out: Words64, room: Room) -> None:
    """Write the blocks from a counter on into ``out``, two 64-bit words each."""
    n, most, done = len(out), len(room[0].all), 0
    while done < n:
        counter = start + done & MASK128
        size = min(most, n - done, (1 << 32) - (counter & MASK32))
        fitting = (
            room if size == most else [Halves(of.all[:size], of.low[:size], of.high[:size]) for of in room]
        )
        _write_piece(schedule, counter, out[done : done + size], fitting)
        done += size


def _write_piece(schedule: Schedule, counter: int, out: Words64, room: Room) -> None:
    """Write the blocks from a counter on, two 64-bit words each; of their counters only word 0 differs."""
    word0, word2, now0, now1 = room[0].all, room[1].all, room[2], room[3]
    low, other1, other2, other3 = (counter >> 32 * k & MASK32 for k in range(4))
    word0[:] = np.arange(low, low + len(word0), dtype=np.uint64)
    # Round 1: words 1 to 3 are one number each, and so are words 0 and 1 after it.
    key0, key1 = schedule[0]
    product = other2 * _MULTIPLIER_1
    other0, other1 = product >> 32 ^ other1 ^ key0, product & MASK32
    np.multiply(word0, _BY_0, out=now0.all)
    np.right_shift(now0.all, _SHIFT, out=word2)
    word2 ^= np.uint64(other3 ^ key1)
    # Round 2: after it, word 3 is one number.
    key0, key1 = schedule[1]
    product = other0 * _MULTIPLIER_0
    np.multiply(word2, _BY_1, out=now1.all)
    np.right_shift(now1.all, _SHIFT, out=word0)
    word0 ^= np.uint64(other1 ^ key0)
    np.bitwise_and(now0.all, _LOW, out=word2)
    word2 ^= np.uint64(product >> 32 ^ key1)
    now0.low[:] = product & MASK32
    _write_rounds(schedule[2:], out, room)


def _write_rounds(schedule: Schedule, out: Words64, room: Room) -> None:
    """Go through rounds and write the blocks, two 64-bit words each.

    Words 0 and 2 stand in the room; 1 and 3 are the low halves of the products before, and are read where they are.
    """
    (word0, low0, _), (word2, low2, _), now0, now1, next0, next1 = room
    for key0, key1 in schedule:
        np.multiply(word0, _BY_0, out=next0.all)
        np.multiply(word2, _BY_1, out=next1.all)
        np.bitwise_xor(next1.high, now1.low, out=low0)
        word0 ^= np.uint64(key0)
        np.bitwise_xor(next0.high, now0.low, out=low2)
        word2 ^= np.uint64(key1)
        now0, now1, next0, next1 = next0, next1, now0, now1
    for column, word, products in ((0, word0, now1.all), (1, word2, now0.all)):
        np.left_shift(products, _SHIFT, out=products)
        np.bitwise_or(word, products, out=out[:, column])


def scattered_blocks(schedule: Schedule, start: int, offsets: npt.NDArray[np.int64]) -> Words:
    """Return the blocks at ``start + offsets``, in any order: uint32 of shape (n, 4)."""
    n = len(offsets)
    if n <= FEW_BLOCKS:
        return _one_by_one(schedule, [start + at for at in offsets.tolist()])
    out = new_memory(n)
    for first in range(0, n, PIECE):
        piece = offsets[first : first + PIECE].astype(np.uint64)
        _write_scattered(schedule, start, piece, out[first : first + PIECE])
    return _words_of(out)


def _write_scattered(schedule: Schedule, start: int, offsets: Words64, out: Words64) -> None:
    low, high = start & MASK64, start >> 64 & MASK64
    low_half = offsets + np.uint64(low)
    high_half = np.full(len(offsets), high, np.uint64)
    if low + int(offsets.max()) > MASK64:
        high_half += low_half < np.uint64(low)
    room = new_room(len(offsets))
    np.bitwise_and(low_half, _LOW, out=room[0].all)
    np.bitwise_and(high_half, _LOW, out=room[1].all)
    room[3].low[:] = low_half >> _SHIFT
    room[2].low[:] = high_half >> _SHIFT
    _write_rounds(schedule, out, room)


__all__ = [
    "MASK32",
    "MASK64",
    "MASK128",
    "PIECE",
    "Words",
    "Words64",
    "consecutive_blocks",
    "key_schedule",
    "new_memory",
    "new_room",
    "next_blocks",
    "one_block",
    "scattered_blocks",
    "write_blocks",
]
