"""Expressions: what makes a value, written over what makes its operands, in :mod:`scanviz.engine.graph.notation`.

One that is too long is cut at whole operands: the deepest become ``…`` until the rest fits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.notation import CUT, WrittenTerm, fitted, infix, named

LONGEST = 40  # characters of an expression
LONGEST_CALLED = 28  # an operation whose parameters make it longer is called by its name alone
DEEPEST = 4  # operations in one another that are written out
Value = TypeVar("Value")
Parts = Callable[[Value], tuple[Op, Sequence[Value]] | None]


def written(op: Op, operands: Sequence[WrittenTerm]) -> WrittenTerm:
    """Return an operation over operands as its declaration says.

    Parameters
    ----------
    op : Op
        The operation with its parameters.
    operands : sequence of WrittenTerm
        One for each input.
    """
    own = op.declaration.notation
    if own is not None:
        return own(op, operands)
    symbol = op.declaration.symbol
    if symbol is not None and len(operands) == 2:
        return infix(symbol, *operands)
    called = str(op)
    return WrittenTerm(
        f"{called if len(called) <= LONGEST_CALLED else op.name}({', '.join(operand.text for operand in operands)})"
    )


def operation(op: Op, inputs: Sequence[Value], parts: Parts[Value], name: Callable[[Value], str]) -> str:
    """Return an operation over values as an expression that is not too long.

    Parameters
    ----------
    op : Op
        The operation.
    inputs : sequence
        What it reads: variables, or numbers of registers.
    parts : callable
        ``parts(value)`` gives the operation that makes a value with its inputs; None where a value is called by its name.
    name : callable
        ``name(value)`` gives the name of such a value.
    """
    text = CUT
    for depth in range(DEEPEST, -1, -1):
        operands = [_term(value, parts, name, depth) for value in inputs]
        text = written(op, operands).text
        if operands and text == operands[0].text:  # not written inside of others, but this is the whole
            text = f"{op.name}({text})"
        if len(text) <= LONGEST:
            break
    return text


def _term(value: Value, parts: Parts[Value], name: Callable[[Value], str], depth: int) -> WrittenTerm:
    made = parts(value)
    if made is None:
        return named(name(value))
    op, inputs = made
    if op.declaration.notation is fitted:
        return _term(inputs[0], parts, name, depth)
    if not depth:
        return WrittenTerm(CUT)
    return written(op, [_term(operand, parts, name, depth - 1) for operand in inputs])
