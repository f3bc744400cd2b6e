"""The parts of a random call of a function, and its arrays."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np

from scanviz.engine.graph.nodes import Array
from scanviz.engine.graph.types import DTYPES
from tests.support.special_values import special_array

Fill = Callable[[Random], list[Array]]


@dataclass(frozen=True, slots=True)
class NumpyCall:
    """A call of a function.

    Attributes
    ----------
    fill : callable
        ``fill(rng)`` gives the arrays that are passed as variables: other values of the same shapes and dtypes at each call.
    symbolic, plain : callable
        The call with variables and with arrays; either returns one result or several.
    written : str
        What else it is called with, for messages.
    varying : bool
        Whether shapes of results depend on values.
    hidden : bool
        Whether sizes may be hidden from the types of variables.
    tolerance : float or None
        How far floating results may be off; None for what rounding of a few operations makes.
    points : callable or None
        ``points(rng)`` gives float64 arrays at which the derivative is compared with finite differences; None for no derivative.
    smooth : callable or None
        The differentiated function, if not ``symbolic``.
    """

    fill: Fill
    symbolic: Callable[..., Any]
    plain: Callable[..., Any]
    written: str = ""
    varying: bool = False
    hidden: bool = True
    tolerance: float | None = None
    points: Fill | None = field(default=None)
    smooth: Callable[..., Any] | None = None


CALLS: dict[str, Callable[[Random], NumpyCall]] = {}


def call_of(name: str) -> Callable[[Callable[[Random], NumpyCall]], Callable[[Random], NumpyCall]]:
    """Decorate the function that draws calls of a name."""

    def keep(draw: Callable[[Random], NumpyCall]) -> Callable[[Random], NumpyCall]:
        CALLS[name] = draw
        return draw

    return keep


def a_shape(rng: Random, least: int = 0, most: int = 3) -> tuple[int, ...]:
    """Return a small shape of some rank, now and then with a size of 0."""
    return tuple(rng.choice((0, 1, 2, 2, 3)) for _ in range(rng.randint(least, most)))


def specials(shapes: Sequence[tuple[int, ...]], dtypes: Sequence[str]) -> Fill:
    """Return a function that fills arrays with special numbers; a few of them may be added and multiplied."""
    return lambda rng: [
        special_array(rng, dtype, shape, moderate=True) for shape, dtype in zip(shapes, dtypes, strict=True)
    ]


def uniform(shapes: Sequence[tuple[int, ...]], low: float = -2.0, high: float = 2.0) -> Fill:
    """Return what fills arrays with float64 numbers between bounds, no two equal."""

    def fill(rng: Random) -> list[Array]:
        generator = np.random.default_rng(rng.getrandbits(32))
        return [generator.uniform(low, high, shape) for shape in shapes]

    return fill


def a_dtype(rng: Random, among: Sequence[str] = DTYPES) -> str:
    """Return a dtype, one of the usual ones half of the time."""
    usual = [text for text in ("float64", "float32", "int64", "bool") if text in among]
    return rng.choice(usual if usual and rng.random() < 0.5 else list(among))
