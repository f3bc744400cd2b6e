"""Expressions: what makes a value, written over what makes its operands, in :mod:`scanviz.engine.graph.notation`.

One that is too long is cut at whole operands: the deepest become ``…`` until the rest fits. One of which that leaves no name of
a value is cut later.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from scanviz.engine.graph.declaration import SHORTHANDS, Op, fitted
from scanviz.engine.graph.notation import CUT, WrittenTerm, called, infix, named

LONGEST = 40  # characters of an expression
LONGEST_CALLED = 28  # an operation whose options make it longer is called by its name alone
DEEPEST = 4  # operations in one another that are written out
_NAME = re.compile(r"(?<![\w.])(?!float|int|uint|bool|complex)[^\W\d]\w*(?![\w(=.])")  # of a value
Value = TypeVar("Value")
Parts = Callable[[Value], tuple[Op, Sequence[Value]] | None]


class Shorthand(NamedTuple):
    """Several operations, written as the one function that made them.

    Attributes
    ----------
    operands : sequence
        Values that the function was called with.
    write : callable
        ``write(terms)`` gives the call over these values as they are written.
    """

    operands: Sequence[Any]
    write: Callable[[Sequence[WrittenTerm]], WrittenTerm]


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
    if "__str__" in type(op.parameters).__dict__:  # parameters that know better how they are written
        name = str(op)
        return called(name if len(name) <= LONGEST_CALLED else op.name, operands, {})
    options = _options(op.parameters)
    short = len(called(op.name, (), options).text) <= LONGEST_CALLED
    return called(op.name, operands, options if short else {})


def _options(parameters: Any) -> dict[str, object]:
    """Return the parameters of an operation that are not as usual."""
    usual: dict[str, object] = getattr(parameters, "_field_defaults", {})
    fields: dict[str, object] = getattr(parameters, "_asdict", dict)()
    return {
        name: value
        for name, value in fields.items()
        if value is not None and not (name in usual and usual[name] == value)
    }


def operation(
    op: Op,
    inputs: Sequence[Value],
    parts: Parts[Value],
    name: Callable[[Value], str],
    rank: Callable[[Value], int | None],
    longest: int = LONGEST,
) -> str:
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
    rank : callable
        ``rank(value)`` gives the number of dimensions of a value; None where it is no array.
    longest : int
        Characters that it may have.
    """
    write = _Writer(parts, name, rank)
    text = naming = CUT
    for depth in range(DEEPEST * longest // LONGEST, -1, -1):
        text = write.made(op, inputs, depth).text
        if op.declaration.notation is not None and inputs and text == write.term(inputs[0], depth).text:
            text = f"{op.name}({text})"  # not written inside of others, but this is the whole
        if len(text) <= longest:
            break
        if len(text) <= 4 * longest and _NAME.search(text):
            naming = text
    return naming if CUT in text and naming != CUT and not _NAME.search(text) else text


class _Writer(NamedTuple):
    """Writes values, each over what makes it."""

    parts: Parts[Any]
    name: Callable[[Any], str]
    rank: Callable[[Any], int | None]

    def made(self, op: Op, inputs: Sequence[Any], depth: int) -> WrittenTerm:
        """Return an operation over values that are written out to a depth."""
        shorthand = SHORTHANDS.get(op.name)
        known = shorthand(inputs, self.parts) if shorthand is not None else None
        if known is not None:
            return known.write([self.term(value, depth) for value in known.operands])
        return written(op, [self.term(value, depth) for value in inputs])

    def term(self, value: Any, depth: int) -> WrittenTerm:
        """Return a value as an operand: its name, or what makes it."""
        made = self.parts(value)
        if made is None:
            term = named(self.name(value))
        elif made[0].declaration.notation is fitted:
            term = self.term(made[1][0], depth)
        else:
            term = self.made(*made, depth - 1) if depth else WrittenTerm(CUT)
        return WrittenTerm(term.text, term.precedence, self.rank(value))
