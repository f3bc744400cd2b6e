"""Small random expressions that mean the same on symbolic variables and on NumPy arrays.

A :class:`RandomExpression` is a recipe over the arguments of a step.  It is built of operations
(:mod:`scanviz.testing.operations`) over values of several shapes that broadcast together: what an operation gives is found by
trying it on zeros.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from scanviz.engine.graph.nodes import Variable
from scanviz.testing.operations import (
    ADD,
    HALF_OF_SUM,
    MEAN_KEPT,
    SPREAD,
    SPREAD_TRUTH,
    SUM_KEPT,
    SUM_OF_FIRST,
    TANH,
    XOR,
    Operation,
    operations_for,
)

Shape = tuple[int, ...]
HIGHEST = 3  # dimensions of a value


class RandomExpression(NamedTuple):
    """A recipe: operations on arguments or earlier results; the last result is the value.

    ``steps`` holds (operation, positions); positions count arguments first, then the results of earlier steps.
    ``final`` is the position of the value.
    """

    steps: tuple[tuple[Operation, tuple[int, ...]], ...]
    final: int

    def apply(self, arguments: Sequence[Any]) -> Any:
        """Return the value for arguments: symbolic for variables, an array for arrays."""
        symbolic = any(isinstance(argument, Variable) for argument in arguments)
        values, needed = list(arguments), self.needed(len(arguments))
        for place, (operation, positions) in enumerate(self.steps, start=len(arguments)):
            if place not in needed:
                values.append(None)
                continue
            given = [values[k] for k in positions]
            values.append(operation.symbolic(*given) if symbolic else np.asarray(operation.plain(*given)))
        return values[self.final]

    def needed(self, arguments: int) -> set[int]:
        """Return the positions that the value depends on, arguments included."""
        found, stack = set[int](), [self.final]
        while stack:
            place = stack.pop()
            if place not in found:
                found.add(place)
                stack.extend(self.steps[place - arguments][1] if place >= arguments else ())
        return found

    def shape(self, shapes: Sequence[Shape], dtype: str) -> Shape:
        """Return the shape of the value for arguments of some shapes."""
        found = self.apply([np.zeros(size, dtype) for size in shapes])
        return tuple(np.shape(found))

    def then(self, operation: Operation, *others: int, arguments: int) -> RandomExpression:
        """Append an operation on the value, and on other positions."""
        return RandomExpression(
            (*self.steps, (operation, (self.final, *others))), arguments + len(self.steps)
        )


def compatible(shapes: Iterable[Shape], whole: Shape) -> bool:
    """Return whether a shape broadcasts to ``whole``."""
    return all(
        size in (1, wanted)
        for shape in shapes
        for size, wanted in zip(shape[::-1], (*whole[::-1], *[1] * HIGHEST), strict=False)
    ) and all(len(shape) <= HIGHEST for shape in shapes)


@st.composite
def expressions(
    draw: st.DrawFn,
    shapes: Sequence[Shape],
    dtype: str,
    whole: Shape = (),
    most: int = 4,
    smooth: bool = False,
) -> RandomExpression:
    """Draw an expression of arguments of some shapes; ``smooth`` ones use smooth operations only.

    Parameters
    ----------
    shapes : sequence of tuple
        Of the arguments; each broadcasts to ``whole``.
    dtype : str
        Of all of them, and of what is drawn.
    whole : tuple of int
        The shape that all have together.
    most : int
        Most operations.
    smooth : bool
        Whether derivatives of any order exist everywhere.
    """
    operations = operations_for(dtype, smooth)
    values = [np.zeros(shape, dtype) for shape in shapes]
    steps: list[tuple[Operation, tuple[int, ...]]] = []
    for _ in range(draw(st.integers(0, most))):
        operation = draw(st.sampled_from(operations))
        positions = tuple(draw(st.integers(0, len(values) - 1)) for _ in range(operation.arity))
        found = _tried(operation, [values[k] for k in positions])
        if found is not None and found.dtype == dtype and compatible([found.shape], whole):
            steps.append((operation, positions))
            values.append(found)
    last = len(values) - 1
    return RandomExpression(tuple(steps), draw(st.just(last) | st.integers(0, last)))


def _tried(operation: Operation, values: Sequence[Any]) -> Any:
    """Apply an operation to values; None if their shapes do not fit."""
    if not operation.fits(*(np.shape(value) for value in values)):
        return None
    return np.asarray(operation.plain(*values))


def fed_back(
    expression: RandomExpression, shapes: Sequence[Shape], dtype: str, own: int, *, adds: bool
) -> RandomExpression:
    """Return an expression for a state: its value has the shape of the state and stays bounded.

    Parameters
    ----------
    expression : RandomExpression
        The term.
    shapes, dtype
        Of the arguments.
    own : int
        The argument that is the state before.
    adds : bool
        Whether the state adds the term up, which then may have fewer dimensions or size 1 along some.
    """
    wanted, count, floating = shapes[own], len(shapes), dtype.startswith("float")
    found = expression
    if floating and any(operation.grows for operation, _ in found.steps) and own in found.needed(count):
        found = found.then(TANH, arguments=count)
    shape = found.shape(shapes, dtype)
    while len(shape) > len(wanted):
        found = found.then(HALF_OF_SUM if floating else SUM_OF_FIRST, arguments=count)
        shape = found.shape(shapes, dtype)
    for axis, (size, goal) in enumerate(zip(shape[::-1], wanted[::-1], strict=False)):
        if goal == 1 and size != 1:
            found = found.then((MEAN_KEPT if floating else SUM_KEPT)[axis], arguments=count)
    if adds:
        return found.then(XOR if dtype == "bool" else ADD, own, arguments=count)
    if found.shape(shapes, dtype) != wanted:
        found = found.then(SPREAD if dtype != "bool" else SPREAD_TRUTH, own, arguments=count)
    return found
