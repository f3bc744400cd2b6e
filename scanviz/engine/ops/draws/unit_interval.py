"""Random words as numbers between 0 and 1, exactly the same on every backend.

Every formula is an integer shift, an exact conversion and a multiplication by a power of two, so no rounding
differs between machines.  Which ends of the interval can come out matters to the formulas that take a
logarithm; hence three kinds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from scanviz.engine.ops.draws.philox import Words, Words32, draw_words, draw_words32, writable_pieces

Floats = npt.NDArray[np.floating[Any]]
Doubles = npt.NDArray[np.float64]

UNIT53 = 2.0**-53
SHORT = 8192  # words that are made into numbers at once
_ELEVEN = np.uint64(11)


def from_zero(words: Words, out: Doubles | None = None) -> Doubles:
    """Return float64 in [0, 1): the top 53 bits of each 64-bit word, times 2**-53; in ``out``, the words are overwritten."""
    bits = np.right_shift(words, _ELEVEN, out=None if out is None else words)
    return np.multiply(
        bits.view(np.int64), UNIT53, out=out
    )  # exact; of what has no sign NumPy makes floats more slowly


def from_zero_single(words: Words32) -> npt.NDArray[np.float32]:
    """Return float32 in [0, 1): the top 24 bits of each 32-bit word, times 2**-24."""
    return (words >> np.uint32(8)).astype(np.float32) * np.float32(2.0**-24)


def up_to_one(words: Words, out: Doubles | None = None) -> Doubles:
    """Return float64 in (0, 1]: one minus :func:`from_zero`."""
    return np.subtract(1.0, from_zero(words, out), out=out)


def up_to_one_single(words: Words32) -> npt.NDArray[np.float32]:
    """Return float32 in (0, 1]: all 32 bits rounded to float32, times 2**-32, plus 2**-33.

    Small numbers keep all their bits, so that a normal reaches 6.7 standard deviations instead of 5.8.
    """
    return words.astype(np.float32) * np.float32(2.0**-32) + np.float32(2.0**-33)


def inside(words: Words) -> Doubles:
    """Return float64 in (0, 1) with both ends left out: the top 52 bits plus a half, times 2**-52."""
    return ((words >> np.uint64(12)).view(np.int64).astype(np.float64) + 0.5) * 2.0**-52


def draw_from_zero(state: Words, n: int, dtype: np.dtype[Any]) -> Floats:
    """Return ``n`` numbers in [0, 1), one word of the dtype's width each."""
    if dtype.itemsize == 4:
        return from_zero_single(draw_words32(state, n))
    return _in_pieces(state, n, from_zero)


def draw_up_to_one(state: Words, n: int, dtype: np.dtype[Any]) -> Floats:
    """Return ``n`` numbers in (0, 1], one word of the dtype's width each."""
    if dtype.itemsize == 4:
        return up_to_one_single(draw_words32(state, n))
    return _in_pieces(state, n, up_to_one)


def _in_pieces(state: Words, n: int, numbers: Callable[[Words, Doubles | None], Doubles]) -> Doubles:
    """Return the numbers that ``n`` words make, each piece while it is in the cache."""
    if n <= SHORT:
        return numbers(draw_words(state, n), None)
    found = np.empty(n)
    for place, words in writable_pieces(state, n):
        numbers(words, found[place])
    return found
