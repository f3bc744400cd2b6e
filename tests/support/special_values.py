"""Numbers at which identities fail: NaN, infinities, zeros of both signs, subnormals, the ends of integer dtypes, 0, 1 and -1."""

from random import Random
from typing import Any

import numpy as np

from scanviz.engine.graph.nodes import Array
from scanviz.engine.graph.types import BOOLEAN, FLOATS, INTEGERS


def special_numbers(dtype: str) -> list[Any]:
    """Return the special numbers of a dtype, the plainest first, as NumPy scalars of it.

    Examples
    --------
    >>> [int(number) for number in special_numbers("int8")]
    [0, 1, -1, 2, 3, 7, -128, 127]
    """
    kind = np.dtype(dtype)
    if dtype == BOOLEAN:
        return [np.False_, np.True_]
    if dtype in INTEGERS:
        ends = np.iinfo(dtype)
        numbers: list[Any] = [0, 1, -1, 2, 3, 7, ends.min, ends.max]
        return [kind.type(number) for number in dict.fromkeys(numbers) if ends.min <= number <= ends.max]
    limits = np.finfo(dtype)
    plain = [0.0, 1.0, -1.0, 2.0, 0.5, -2.5, 3.0, -0.0, np.inf, -np.inf, np.nan]
    small: list[Any] = [limits.smallest_subnormal, limits.tiny, limits.eps, limits.max, -limits.max]
    whole = [-1.5, 300.0, -3e9, 2.0**63]  # which some integer dtypes do not hold
    fitting = [number for number in whole if abs(number) <= float(limits.max)]
    return [kind.type(number) for number in (*plain, *small, *fitting)]


def moderate_numbers(dtype: str) -> list[Any]:
    """Return numbers; sums and products of a few of them do not overflow in any order."""
    if dtype not in FLOATS:
        return special_numbers(dtype)
    return [
        number
        for number in special_numbers(dtype)
        if not 4 < abs(number) < np.inf and not 0 < abs(number) < 0.1
    ]


def special_array(rng: Random, dtype: str, shape: tuple[int, ...], moderate: bool = False) -> Array:
    """Return an array of special numbers of a dtype, of moderate ones alone if that is asked for."""
    numbers = moderate_numbers(dtype) if moderate else special_numbers(dtype)
    count = int(np.prod(shape, dtype=int))
    return np.array([rng.choice(numbers) for _ in range(count)], dtype).reshape(shape)
