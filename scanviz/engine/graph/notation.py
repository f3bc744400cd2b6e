"""Write expressions as mathematics: ``1 - h²``, ``f * c + i * tanh(gates[:, 192:])``.

An operation's declaration defines its notation over written operands: as a call unless it has a symbol, or a notation of its
own from this file.  Parentheses stand where the order of precedence (that of Python) asks for them.  Operations that only make
shapes fit are not written inside of others: ``b`` spread over rows is ``b``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from scanviz.engine.graph.declaration import SHORTHANDS, Op, fitted

CALL, POWER, SIGN, PRODUCT, SUM, ASSIGNMENT = 10, 9, 8, 7, 6, 0  # how strongly parts hold together
_PRECEDENCE = {
    "**": POWER,
    **dict.fromkeys(("*", "/", "//", "%", "@"), PRODUCT),
    **dict.fromkeys(("+", "-"), SUM),
    **dict.fromkeys(("<<", ">>"), 5),
    **{"&": 4, "^": 3, "|": 2},
    **dict.fromkeys(("<", "<=", ">", ">=", "==", "!="), 1),
}
_CHAINS = frozenset("+*&^|")  # a + (b + c) is written without parentheses
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_CUT = "\0"  # in front of an operation's name that stands for its expression, until the whole is written
GRADIENT = "∂"  # what the name of a gradient begins with
_BRACKETS = r"\([^()]*\)|\[[^][]*\]|\{[^{}]*\}"


class WrittenTerm(NamedTuple):
    """An expression as written.

    Attributes
    ----------
    text : str
        The expression.
    precedence : int
        Of its outermost operation.
    rank : int or None
        Number of dimensions of its value, where it is known; an operation's own notation need not give it.
    """

    text: str
    precedence: int = CALL
    rank: int | None = None

    def inside(self, precedence: int, also_equal: bool = False) -> str:
        """Return the text as an operand of an operation, in parentheses if needed."""
        bare = self.precedence > precedence or (also_equal and self.precedence == precedence)
        return self.text if bare else f"({self.text})"


def named(name: str) -> WrittenTerm:
    """Return a name as an operand: one that is an expression itself, or a negative number, may need parentheses.

    Examples
    --------
    >>> infix("*", named("f * c"), named("tanh(a + b)")).text, superscript(named("-1"), "2").text
    ('(f * c) * tanh(a + b)', '(-1)²')
    """
    bare, longer = name, ""
    while bare != longer:
        longer, bare = bare, re.sub(_BRACKETS, "", bare)
    return WrittenTerm(name, ASSIGNMENT if " " in bare else SIGN if name.startswith("-") else CALL)


def infix(symbol: str, left: WrittenTerm, right: WrittenTerm) -> WrittenTerm:
    """Return two operands with a symbol between them.

    Examples
    --------
    >>> sum_ = infix("+", WrittenTerm("a"), WrittenTerm("b"))
    >>> infix("*", sum_, infix("*", WrittenTerm("c"), WrittenTerm("d"))).text, infix("-", WrittenTerm("c"), sum_).text
    ('(a + b) * c * d', 'c - (a + b)')
    """
    mine = _PRECEDENCE[symbol]
    if symbol == "**":
        if right.text.lstrip("-").isdigit():
            return superscript(left, right.text)
        return WrittenTerm(f"{left.inside(POWER)} ** {right.inside(POWER, True)}", mine)
    chained = symbol in _CHAINS and f" {symbol} " in right.text
    return WrittenTerm(f"{left.inside(mine, True)} {symbol} {right.inside(mine, chained)}", mine)


def superscript(base: WrittenTerm, exponent: str) -> WrittenTerm:
    """Return a power with a whole exponent.

    Examples
    --------
    >>> superscript(infix("-", WrittenTerm("1"), WrittenTerm("h")), "2").text
    '(1 - h)²'
    """
    return WrittenTerm(base.inside(POWER) + exponent.translate(_SUPERSCRIPTS), POWER)


def minus(op: object, operands: Sequence[WrittenTerm]) -> WrittenTerm:
    """Return an operand with a minus sign."""
    return WrittenTerm(f"-{operands[0].inside(SIGN)}", SIGN)


def squared(op: object, operands: Sequence[WrittenTerm]) -> WrittenTerm:
    """Return an operand with a superscript 2."""
    return superscript(operands[0], "2")


def inverted(op: object, operands: Sequence[WrittenTerm]) -> WrittenTerm:
    """Return 1 over an operand."""
    return infix("/", WrittenTerm("1"), operands[0])


def subscripted(array: WrittenTerm, index: str) -> WrittenTerm:
    """Return an array with its index: ``zeros`` for one that is 0 everywhere, ``assign`` for one that was written into.

    Examples
    --------
    >>> subscripted(infix("+", WrittenTerm("a"), WrittenTerm("b")), "[1:]").text, subscripted(WrittenTerm("0.0"), "[0]").text
    ('(a + b)[1:]', 'zeros[0]')
    """
    if array.precedence == ASSIGNMENT:
        return WrittenTerm(f"{_CUT}assign{index}")
    return WrittenTerm(("zeros" if array.text in ("0", "0.0") else array.inside(SIGN)) + index)


def _size_text(text: str) -> str:
    whole = re.fullmatch(r"int64\(([^()]*)\)", text)  # a size is made of an integer of another dtype
    return text if whole is None else whole[1]


def as_tuple(terms: Sequence[WrittenTerm]) -> str:
    """Write a shape as NumPy takes it.

    Examples
    --------
    >>> as_tuple([WrittenTerm("3")]), as_tuple([WrittenTerm("n"), WrittenTerm("n * 2", PRODUCT)]), as_tuple([])
    ('3', '(n, n * 2)', '()')
    """
    texts = [_size_text(term.text) for term in terms]
    return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"


def called(name: str, operands: Sequence[WrittenTerm], options: Mapping[str, object]) -> WrittenTerm:
    """Return a call with operands in order and options by their names, as one writes it in Python.

    Examples
    --------
    >>> called("sum", [WrittenTerm("A")], {"axis": 0, "keepdims": True}).text
    'sum(A, axis=0, keepdims=True)'
    """
    written = [operand.text for operand in operands] + [f"{key}={value}" for key, value in options.items()]
    return WrittenTerm(f"{name}({', '.join(written)})")


LONGEST = 40  # characters of an expression
LONGEST_CALLED = 28  # an operation whose options make it longer is called by its name alone
DEEPEST = 4  # operations in one another that are written out
_NAME = re.compile(r"(?<![\w.\0])(?!float|int|uint|bool|complex)[^\W\d]\w*(?![\w(=.])")  # of a value
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
    """Return an operation over operands in the notation of its declaration.

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
    """Return an operation over values as an expression of limited length: deep operands are named by their operations.

    Parameters
    ----------
    op : Op
        The operation.
    inputs : sequence
        Its inputs: variables, or numbers of registers.
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
    text = naming = ""
    for depth in range(DEEPEST * longest // LONGEST, -1, -1):
        text = write.made(op, inputs, depth).text
        if op.declaration.notation is not None and inputs and text == write.term(inputs[0], depth).text:
            text = f"{op.name}({text})"  # not written inside of others, but this is the whole
        if len(text) <= longest:
            break
        if len(text) <= 4 * longest and _NAME.search(text):
            naming = text
    chosen = naming if naming and _CUT in text and not _NAME.search(text) else text
    return chosen.replace(_CUT, "")


class _Writer(NamedTuple):
    """Writes values as expressions of their operands."""

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
        """Return a value as an operand: its name, or its expression."""
        made = self.parts(value)
        if made is None:
            term = named(self.name(value))
        elif made[0].declaration.notation is fitted:
            term = self.term(made[1][0], depth)
        else:
            deep = depth <= 0 and made[0].facts.size != "is"
            term = WrittenTerm(_CUT + made[0].name) if deep else self.made(*made, depth - 1)
        return WrittenTerm(term.text, term.precedence, self.rank(value))


def size_along(op: Op, operands: Sequence[WrittenTerm]) -> WrittenTerm:
    """Return the size of an array along an axis."""
    return WrittenTerm(f"{operands[0].inside(SIGN)}.shape[{op.parameters.axis}]")


def reshaped(op: Op, operands: Sequence[WrittenTerm]) -> WrittenTerm:
    """Return a call of ``reshape``."""
    return called("reshape", [operands[0], WrittenTerm(as_tuple(operands[1:]))], {})


def ordered(op: Op, operands: Sequence[WrittenTerm]) -> WrittenTerm:
    """Return an array with its axes in another order, and with axes of size 1 where broadcasting adds none by itself.

    ``a[:, None] * b`` is the product of each element with each, and ``a * b`` is not.  Axes of size 1 in front are broadcasting's
    own: neither they nor dropped ones are written.
    """
    (array,), order = operands, op.parameters.order
    kept = [axis for axis in order if axis is not None]
    text = array.inside(SIGN)
    if kept != sorted(kept):
        turned = kept == list(range(len(kept)))[::-1]
        text += ".T" if turned else f".transpose({', '.join(map(str, kept))})"
    added = "".join(":x"[axis is None] for axis in order).lstrip("x").rstrip(":")
    if added:
        text += f"[{', '.join('None' if mark == 'x' else ':' for mark in added)}]"
    elif kept == sorted(kept):
        return array
    return WrittenTerm(text)


def filled(inputs: Sequence[Any], parts: Parts[Any]) -> Shorthand:
    """Return how a filled array is written: as the function of NumPy that makes it."""

    def write(terms: Sequence[WrittenTerm]) -> WrittenTerm:
        value, sizes = terms[0].text, WrittenTerm(as_tuple(terms[1:]))
        name = {"0": "zeros", "1": "ones"}.get(value)
        return called(name, [sizes], {}) if name is not None else called("full", [sizes, terms[0]], {})

    return Shorthand(inputs, write)
