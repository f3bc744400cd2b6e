"""Small random expressions that mean the same on symbolic variables and on NumPy arrays.

An :class:`Expression` is a recipe over the arguments of a step.  It is built of operations that keep values bounded, so
that long loops neither overflow nor drift apart by rounding, and of a few that change dtype or shape and back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from scanviz import tensor as T
from scanviz.engine.graph.nodes import Variable


class Operation(NamedTuple):
    """One operation with both of its meanings, and whether it has derivatives of any order everywhere."""

    name: str
    arity: int
    symbolic: Callable[..., Any]
    plain: Callable[..., Any]
    smooth: bool = True


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


FLOAT_OPERATIONS = (
    Operation("tanh of sum", 2, lambda a, b: T.tanh(a + b), lambda a, b: np.tanh(a + b)),
    Operation("damped difference", 2, lambda a, b: (a - b) * 0.5, lambda a, b: (a - b) * a.dtype.type(0.5)),
    Operation("sine", 1, T.sin, np.sin),
    Operation(
        "bounded product", 2, lambda a, b: T.clip(a * b, -2, 2), lambda a, b: np.clip(a * b, -2, 2), False
    ),
    Operation("maximum", 2, T.maximum, np.maximum, False),
    Operation(
        "choice by sign",
        2,
        lambda a, b: T.where(a > 0, a, b * 0.5),
        lambda a, b: np.where(a > 0, a, b * a.dtype.type(0.5)),
        False,
    ),
    Operation("sine of product", 2, lambda a, b: T.sin(a * b), lambda a, b: np.sin(a * b)),
    Operation("sigmoid", 1, T.sigmoid, _sigmoid),
    Operation("reversed", 1, lambda a: a[::-1] if a.ndim else a, lambda a: a[::-1] if np.ndim(a) else a),
    Operation(
        "less its mean",
        1,
        lambda a: a - a.mean() if a.ndim else a,
        lambda a: a - a.mean() if np.ndim(a) else a,
    ),
    Operation(
        "joined and cut", 1, lambda a: T.concatenate([a, a])[: a.shape[0]] if a.ndim else a, lambda a: a
    ),
    Operation("the same", 1, lambda a: a, lambda a: a),
)

INTEGER_OPERATIONS = (
    Operation("sum modulo 97", 2, lambda a, b: (a + b) % 97, lambda a, b: (a + b) % 97),
    Operation("difference modulo 89", 2, lambda a, b: (a - b * 2) % 89, lambda a, b: (a - b * 2) % 89),
    Operation("product modulo 83", 2, lambda a, b: (a * b) % 83, lambda a, b: (a * b) % 83),
    Operation("larger", 2, T.maximum, np.maximum),
    Operation("exclusive or", 2, lambda a, b: (a ^ b) & 127, lambda a, b: (a ^ b) & 127),
    Operation("the same", 1, lambda a: a, lambda a: a),
)


class Expression(NamedTuple):
    """A recipe: which operation on which arguments or earlier results; the last result is the value.

    ``steps`` holds (operation, positions); positions count arguments first, then the results of earlier steps.
    ``final`` is the position of the value.
    """

    steps: tuple[tuple[Operation, tuple[int, ...]], ...]
    final: int

    def apply(self, arguments: Sequence[Any]) -> Any:
        """Return the value for arguments: symbolic for variables, an array for arrays."""
        symbolic = any(isinstance(each, Variable) for each in arguments)
        values = list(arguments)
        for operation, positions in self.steps:
            given = [values[k] for k in positions]
            values.append(operation.symbolic(*given) if symbolic else operation.plain(*given))
        return values[self.final]


@st.composite
def expressions(
    draw: st.DrawFn, arguments: int, integer: bool, most: int = 4, smooth: bool = False
) -> Expression:
    """Draw an expression of so many arguments, of smooth operations alone if that is asked for."""
    operations = [
        each for each in (INTEGER_OPERATIONS if integer else FLOAT_OPERATIONS) if each.smooth or not smooth
    ]
    steps: list[tuple[Operation, tuple[int, ...]]] = []
    for _ in range(draw(st.integers(0, most))):
        operation = draw(st.sampled_from(operations))
        positions = tuple(draw(st.integers(0, arguments + len(steps) - 1)) for _ in range(operation.arity))
        steps.append((operation, positions))
    return Expression(tuple(steps), draw(st.integers(0, arguments + len(steps) - 1)))
