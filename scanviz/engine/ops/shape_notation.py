"""How operations on shapes are written as mathematics: ``x.shape[0]``, ``a.T``, ``b[:, None]``, ``zeros((n, 3))``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.notation import SIGN, Parts, Shorthand, WrittenTerm, as_tuple, called


def size(op: Op, operands: Sequence[WrittenTerm]) -> WrittenTerm:
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
