"""The generator in the scalar language: Philox's words of an element, and numbers between 0 and 1 made of them."""

from __future__ import annotations

from scanviz.engine.ops.draws.philox import MASK64, MULTIPLIERS, ROUNDS, WEYL
from scanviz.engine.scalar.expression import (
    Expression,
    ScalarFunction,
    argument,
    cast,
    constant,
    like,
    primitive,
)

ATTEMPTS = 2**32 - 1

_ARGUMENTS = ("uint64",) * 6


def _block_at() -> tuple[Expression, ...]:
    """Return the words of the block that lies an offset after a state's index, in a lane."""
    (key0, key1, index0, index1), offset, lane = STATE, argument(4), argument(5)
    place = index0 + offset
    words: tuple[Expression, ...] = (place, index1 + cast(place < offset, "uint64"), like(0, place), lane)
    for turn in range(ROUNDS):
        keys = [
            key + constant(turn * step & MASK64, "uint64")
            for key, step in zip((key0, key1), WEYL, strict=True)
        ]
        high = [primitive("multiply_high", words[2 * k], MULTIPLIERS[k]) for k in (0, 1)]
        low = [words[2 * k] * MULTIPLIERS[k] for k in (0, 1)]
        words = high[1] ^ words[1] ^ keys[0], low[1], high[0] ^ words[3] ^ keys[1], low[0]
    return words


STATE = tuple(argument(k) for k in range(4))
NUMBER = argument(4)
FIRST_PARAMETER = 5
BLOCK_AT = ScalarFunction("philox_at", _ARGUMENTS, _block_at())


def block_at(number: Expression, lane: Expression | int) -> tuple[Expression, ...]:
    """Return the four words of an element's block in a lane."""
    return BLOCK_AT(*STATE, number, constant(lane, "uint64") if isinstance(lane, int) else lane)


def from_zero(word: Expression) -> Expression:
    """Return float64 in [0, 1) of a 64-bit word."""
    return cast(word >> 11, "float64") * 2.0**-53


def from_zero_single(word: Expression) -> Expression:
    """Return float32 in [0, 1) of a 32-bit word."""
    return cast(word >> 8, "float32") * 2.0**-24


def up_to_one(word: Expression) -> Expression:
    """Return float64 in (0, 1] of a 64-bit word."""
    return 1.0 - from_zero(word)


def up_to_one_single(word: Expression) -> Expression:
    """Return float32 in (0, 1] of a 32-bit word."""
    return cast(word, "float32") * 2.0**-32 + 2.0**-33


def inside(word: Expression) -> Expression:
    """Return float64 in (0, 1) of a 64-bit word, both ends left out."""
    return (cast(word >> 12, "float64") + 0.5) * 2.0**-52


def natural_log(value: Expression) -> Expression:
    """Return the natural logarithm."""
    return primitive("log", value)
