"""The generator in the scalar language: Philox's words of an element, and numbers between 0 and 1 made of them."""

from __future__ import annotations

from scanviz.engine.scalar.expression import (
    Expression,
    ScalarFunction,
    argument,
    cast,
    constant,
    primitive,
)

_WEYL = (0x9E3779B9, 0xBB67AE85)


_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)


ATTEMPTS = 2**32 - 1


def _philox() -> tuple[Expression, ...]:
    """Return the four words of a block, of two key words and four counter words."""
    key, words = [argument(0), argument(1)], [argument(k) for k in range(2, 6)]
    for turn in range(10):
        keys = [key[k] + constant(turn * _WEYL[k] & 0xFFFFFFFF, "uint32") for k in (0, 1)]
        high = [primitive("multiply_high", words[2 * k], _MULTIPLIERS[k]) for k in (0, 1)]
        low = [words[2 * k] * _MULTIPLIERS[k] for k in (0, 1)]
        words = [high[1] ^ words[1] ^ keys[0], low[1], high[0] ^ words[3] ^ keys[1], low[0]]
    return tuple(words)


PHILOX = ScalarFunction("philox", ("uint32",) * 6, _philox())


def _wide(low: Expression, high: Expression) -> Expression:
    return cast(low, "uint64") | cast(high, "uint64") << 32


def _block_at() -> tuple[Expression, ...]:
    """Return the block that lies an offset after a state's counter, in a lane: four words, and the two pairs of them."""
    key, counter = [argument(0), argument(1)], [argument(k) for k in range(2, 6)]
    offset, lane = argument(6), argument(7)
    low = _wide(counter[0], counter[1])
    there = low + offset
    high = _wide(counter[2], counter[3]) + cast(there < low, "uint64") + (cast(lane, "uint64") << 32)
    words = PHILOX(
        *key, *(cast(expression, "uint32") for expression in (there, there >> 32, high, high >> 32))
    )
    return (*words, _wide(words[0], words[1]), _wide(words[2], words[3]))


BLOCK_AT = ScalarFunction("philox_at", (*("uint32",) * 6, "uint64", "uint32"), _block_at())


STATE = tuple(argument(k) for k in range(6))


NUMBER = argument(6)


def block_at(number: Expression, lane: Expression | int) -> tuple[Expression, ...]:
    """Return words 0 to 3, and pairs 0 and 1, of an element's block in a lane."""
    return BLOCK_AT(*STATE, number, constant(lane, "uint32") if isinstance(lane, int) else lane)


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
