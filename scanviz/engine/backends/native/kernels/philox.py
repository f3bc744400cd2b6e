"""Philox blocks in native code: one in registers, or many in memory.

Processors multiply 64-bit scalars to 128 bits, but not vectors.  So blocks are computed one after another, and only the use of
their words is vectorised.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from scanviz.engine.backends.native.emit.ir import Code, Value, constant
from scanviz.engine.graph.types import BOOLEAN
from scanviz.engine.ops.draws.philox import MASK64, MULTIPLIERS, ROUNDS, WEYL

WORDS, BYTES = 4, 32  # words of a block
UNROLLED = 4  # most blocks written one after another


def block_at(code: Code, state: Sequence[Value], number: Value, lane: Value) -> list[Value]:
    """Return the words of the block ``number`` after a state's counter, in a lane."""
    place = _place(code, state, number)
    return _rounds(code, _keys(code, state), (*place, constant(0, "uint64"), lane))


def advanced(code: Code, state: Sequence[Value], blocks: int) -> list[Value]:
    """Return the words of a state advanced by ``blocks``."""
    return [*state[:2], *_place(code, state, constant(blocks, "uint64"))]


def write_blocks(code: Code, state: Sequence[Value], first: Value, count: int, memory: Value) -> None:
    """Store the words of ``count`` blocks, from the one ``first`` after a state's counter on."""
    for k in code.over(0, count, 1, UNROLLED):
        words = block_at(code, state, _op(code, "add", first, k), constant(0, "uint64"))
        _store(code, words, code.at(memory, code.times(k, BYTES)))


def _op(code: Code, name: str, first: Value, second: Value) -> Value:
    return code.op(f"{name} i64 {first.text}, {second.text}", "uint64")


def _store(code: Code, words: Iterable[Value], address: Value) -> None:
    for k, word in enumerate(words):
        code.store(word, code.at(address, 8 * k))


def _place(code: Code, state: Sequence[Value], number: Value) -> tuple[Value, Value]:
    """Return both words of the counter ``number`` after a state's."""
    low = _op(code, "add", state[2], number)
    carry = code.op(f"icmp ult i64 {low.text}, {number.text}", BOOLEAN)
    wide = code.op(f"zext i1 {carry.text} to i64", "uint64")
    return low, _op(code, "add", state[3], wide)


def _keys(code: Code, state: Sequence[Value]) -> list[tuple[Value, Value]]:
    """Return the keys of all rounds."""
    return [
        (
            _op(code, "add", state[0], constant(turn * WEYL[0] & MASK64, "uint64")),
            _op(code, "add", state[1], constant(turn * WEYL[1] & MASK64, "uint64")),
        )
        for turn in range(ROUNDS)
    ]


def _rounds(code: Code, keys: Iterable[tuple[Value, Value]], words: Sequence[Value]) -> list[Value]:
    """Return the words of a block, from those of its place."""
    for key0, key1 in keys:
        high0, low0 = _product(code, words[0], MULTIPLIERS[0])
        high1, low1 = _product(code, words[2], MULTIPLIERS[1])
        first = _op(code, "xor", _op(code, "xor", words[1], key0), high1)  # the product takes longest
        third = _op(code, "xor", _op(code, "xor", words[3], key1), high0)
        words = first, low1, third, low0
    return list(words)


def _product(code: Code, word: Value, multiplier: int) -> tuple[Value, Value]:
    """Return the high and the low half of a product."""
    wide, product, high = code.name(), code.name(), code.name()
    code.lines.append(f"  {wide} = zext i64 {word.text} to i128")
    code.lines.append(f"  {product} = mul i128 {wide}, {multiplier}")
    code.lines.append(f"  {high} = lshr i128 {product}, 64")
    return (
        code.op(f"trunc i128 {high} to i64", "uint64"),
        code.op(f"trunc i128 {product} to i64", "uint64"),
    )
