"""Calls of what sorts, searches, counts and finds places."""

from random import Random
from typing import Any

import numpy as np

from scanviz import tensor as T
from scanviz.engine.graph.nodes import Array
from scanviz.engine.graph.types import DTYPES, FLOATS, INTEGERS
from tests.support.numpy_calls.call import NumpyCall, a_dtype, a_shape, call_of, specials, uniform

numpy: Any = np  # texts that it takes are drawn


@call_of("searchsorted")
def _searchsorted(rng: Random) -> NumpyCall:
    shapes = [a_shape(rng, 1, 1), a_shape(rng)]
    dtypes = [a_dtype(rng), a_dtype(rng)]
    sorts = rng.random() < 0.3
    side: Any = rng.choice(("left", "right"))

    def fill(rng: Random) -> list[Array]:
        a, v = specials(shapes, dtypes)(rng)
        return [a, v, np.argsort(a, kind="stable")] if sorts else [np.sort(a), v]

    return NumpyCall(
        fill,
        lambda a, v, *sorter: T.searchsorted(a, v, side, *sorter),
        lambda a, v, sorter=None: np.searchsorted(a, v, side, sorter),
        f"searchsorted, {side}",
    )


@call_of("bincount")
def _bincount(rng: Random) -> NumpyCall:
    count, least = rng.choice((0, 1, 3, 6)), rng.choice((0, 0, 2, 9))
    dtype = a_dtype(rng, (*INTEGERS, "bool"))
    weights = rng.choice((None, *DTYPES))
    lowest = -1 if rng.random() < 0.1 and dtype.startswith("int") else 0

    def numbers(rng: Random) -> Array:
        return np.array([rng.randint(lowest, 1 if dtype == "bool" else 4) for _ in range(count)], dtype)

    def fill(rng: Random) -> list[Array]:
        return [numbers(rng), *(specials([(count,)], [weights])(rng) if weights else [])]

    return NumpyCall(
        fill,
        lambda x, *more: T.bincount(x, more[0] if more else None, least),
        lambda x, *more: (
            np.bincount(x.astype("int64"), more[0] if more else None, least) * (1.0 if more else 1)
        ),
        f"bincount, at least {least}",
        varying=True,
        points=(lambda rng: [np.abs(numbers(rng)), *uniform([(count,)])(rng)]) if weights else None,
    )


def _axes(rng: Random, shape: tuple[int, ...]) -> Any:
    rank = len(shape)
    if 0 in shape:  # NumPy cannot join several of these axes into one
        return rng.choice(range(-rank, rank))
    several = sorted(rng.sample(range(rank), rng.randint(1, rank))) if rank else []
    return rng.choice((None, *range(-rank, rank), tuple(several)))


def _apart(shapes: list[tuple[int, ...]]) -> Any:
    """Return what fills arrays with numbers that stay in their order when they are moved a little."""

    def fill(rng: Random) -> list[Array]:
        found = []
        for shape in shapes:
            numbers = np.arange(np.prod(shape, dtype=int)) / 4 - 1
            found.append(np.random.default_rng(rng.getrandbits(32)).permutation(numbers).reshape(shape))
        return found

    return fill


@call_of("median")
def _median(rng: Random) -> NumpyCall:
    shape = a_shape(rng)
    options = {"axis": _axes(rng, shape), "keepdims": rng.random() < 0.4}
    dtype = a_dtype(rng)
    return NumpyCall(
        specials([shape], [dtype]),
        lambda a: T.median(a, **options),
        lambda a: np.median(
            a if a.ndim else a[None], **(options if a.ndim else {})
        ),  # NumPy gives a bool of one
        f"median {options}",
        points=_apart([shape]) if 0 not in shape else None,
    )


def _shared(rng: Random, name: str, most: int) -> NumpyCall:
    shape = a_shape(rng)
    options = {"axis": _axes(rng, shape), "keepdims": rng.random() < 0.4}
    dtype = a_dtype(rng, (*FLOATS, *INTEGERS))
    kind = rng.choice(("number", "list", "matrix", "variable", "whole"))
    shares = {
        "number": rng.choice((0.0, 0.25, 0.5, 0.7, 1.0)),
        "list": [0.0, 0.3, 1.0],
        "matrix": [[0.1, 0.5], [0.75, 1.0]],
        "variable": 0.5,
        "whole": rng.choice((0, 1)),
    }[kind]
    q: Any = shares if most == 1 else (np.array(shares) * most).tolist()
    points = _apart([shape]) if 0 not in shape and kind != "whole" else None
    if kind == "variable":

        def moving(rng: Random) -> list[Array]:
            return [*_apart([shape])(rng), np.array([0.23, 0.61]) * most]

        return NumpyCall(
            lambda rng: [*specials([shape], [dtype])(rng), np.array([rng.random(), 1.0]) * most],
            lambda a, q: getattr(T, name)(a, q, **options),
            lambda a, q: getattr(np, name)(a, q, **options),
            f"{name} {options}",
            points=moving if points else None,
        )
    return NumpyCall(
        specials([shape], [dtype]),
        lambda a: getattr(T, name)(a, q, **options),
        lambda a: getattr(np, name)(a, q, **options),
        f"{name} {q} {options}",
        points=points,
    )


@call_of("quantile")
def _quantile(rng: Random) -> NumpyCall:
    return _shared(rng, "quantile", 1)


@call_of("percentile")
def _percentile(rng: Random) -> NumpyCall:
    return _shared(rng, "percentile", 100)


def _sizes(rng: Random) -> tuple[int, ...]:
    return tuple(rng.choice((1, 2, 3, 5)) for _ in range(rng.randint(1, 4)))


@call_of("unravel_index")
def _unravel_index(rng: Random) -> NumpyCall:
    sizes, shape, order = _sizes(rng), a_shape(rng, 0, 2), rng.choice(("C", "F"))
    dtype, counted = rng.choice(("int64", "int8", "uint16")), rng.random() < 0.4
    beyond = rng.random() < 0.1

    def fill(rng: Random) -> list[Array]:
        generator = np.random.default_rng(rng.getrandbits(32))
        indices = generator.integers(0, np.prod(sizes) + 3 * beyond, shape).astype(dtype)
        return [indices, np.array(sizes)] if counted else [indices]

    return NumpyCall(
        fill,
        lambda i, s=sizes: T.unravel_index(i, s, order),
        lambda i, s=sizes: [np.asarray(index, "int64") for index in numpy.unravel_index(i, tuple(s), order)],
        f"unravel_index of {sizes}, {order}",
        hidden=not counted,
    )


@call_of("ravel_multi_index")
def _ravel_multi_index(rng: Random) -> NumpyCall:
    sizes, shape, order = _sizes(rng), a_shape(rng, 0, 2), rng.choice(("C", "F"))
    several = tuple(rng.choice(("wrap", "clip")) for _ in sizes)
    mode: Any = rng.choice(("raise", "wrap", "clip", several))
    far = 1 if rng.random() < 0.1 or mode != "raise" else 0
    shapes = [rng.choice((shape, shape[1:])) for _ in sizes]

    def fill(rng: Random) -> list[Array]:
        generator = np.random.default_rng(rng.getrandbits(32))
        return [
            np.asarray(generator.integers(-7 * far, size + 7 * far, shape))
            for size, shape in zip(sizes, shapes, strict=True)
        ]

    return NumpyCall(
        fill,
        lambda *indices: T.ravel_multi_index(list(indices), sizes, mode, order),
        lambda *indices: np.asarray(numpy.ravel_multi_index(list(indices), sizes, mode, order), "int64"),
        f"ravel_multi_index of {sizes}, {mode}, {order}",
    )
