"""Calls of what joins arrays."""

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

from scanviz import tensor as T
from tests.support.numpy_calls.call import Fill, NumpyCall, a_dtype, a_shape, call_of, specials, uniform


def _joined(name: str, rng: Random, shapes: list[tuple[int, ...]], **options: Any) -> NumpyCall:
    ours: Callable[..., Any] = getattr(T, name)
    theirs: Callable[..., Any] = getattr(np, name)
    dtypes = [a_dtype(rng) for _ in shapes]
    return NumpyCall(
        specials(shapes, dtypes),
        lambda *arrays: ours(list(arrays), **options),
        lambda *arrays: theirs(list(arrays), **options),
        f"{name}{options}",
        points=None if "dtype" in options else uniform(shapes),
    )


def _alike(rng: Random, axis: int, least: int = 0) -> list[tuple[int, ...]]:
    """Return shapes that differ along an axis; now and then they do not fit."""
    shape = a_shape(rng, least)
    found = []
    for _ in range(rng.randint(1, 3)):
        other = list(shape)
        if len(other) > axis:
            other[axis] = rng.choice((0, 1, 2, 3))
        found.append(tuple(other))
    if rng.random() < 0.1:
        found.append(a_shape(rng, least))
    return found


def _wanted(rng: Random) -> dict[str, Any]:
    return {"dtype": rng.choice(("float32", "float64", "int64"))} if rng.random() < 0.3 else {}


@call_of("vstack")
def _vstack(rng: Random) -> NumpyCall:
    return _joined(
        "vstack", rng, _alike(rng, 0, least=2) if rng.random() < 0.6 else [(2,), (1, 2), (2,)], **_wanted(rng)
    )


@call_of("hstack")
def _hstack(rng: Random) -> NumpyCall:
    shapes = _alike(rng, 1, least=2) if rng.random() < 0.5 else [(), (rng.choice((0, 1, 2)),), (3,)]
    return _joined("hstack", rng, shapes, **_wanted(rng))


@call_of("dstack")
def _dstack(rng: Random) -> NumpyCall:
    return _joined(
        "dstack", rng, rng.choice([_alike(rng, 2, least=3), [(2,), (1, 2, 2)], [(2, 1), (2, 1, 0)], [(), ()]])
    )


@call_of("column_stack")
def _column_stack(rng: Random) -> NumpyCall:
    rows = rng.choice((0, 1, 2, 3))
    return _joined("column_stack", rng, rng.choices([(rows,), (rows, 0), (rows, 2)], k=rng.randint(1, 3)))


@call_of("stack")
def _stack(rng: Random) -> NumpyCall:
    shape = a_shape(rng)
    axis = rng.randint(-len(shape) - 1, len(shape))
    return _joined("stack", rng, [shape] * rng.randint(1, 3), axis=axis, **_wanted(rng))


@call_of("append")
def _append(rng: Random) -> NumpyCall:
    axis = rng.choice((None, 0, -1))
    shapes = [a_shape(rng), a_shape(rng)] if axis is None else (_alike(rng, 0, least=1) * 2)[:2]
    fill: Fill = specials(shapes, [a_dtype(rng) for _ in shapes])
    return NumpyCall(
        fill,
        lambda a, b: T.append(a, b, axis),
        lambda a, b: np.append(a, b, axis),
        f"append, axis {axis}",
        points=uniform(shapes),
    )


@call_of("atleast")
def _atleast(rng: Random) -> NumpyCall:
    name = rng.choice(("atleast_1d", "atleast_2d", "atleast_3d"))
    shapes = [a_shape(rng, most=4) for _ in range(rng.randint(1, 2))]
    return NumpyCall(
        specials(shapes, [a_dtype(rng) for _ in shapes]),
        getattr(T, name),
        getattr(np, name),
        name,
        points=uniform(shapes),
    )
