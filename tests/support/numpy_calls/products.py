"""Calls of products of vectors, matrices and tensors."""

from random import Random
from typing import Any

import numpy as np

from scanviz import tensor as T
from scanviz.engine.graph.types import FLOATS, INTEGERS
from tests.support.numpy_calls.call import NumpyCall, a_dtype, a_shape, call_of, specials, uniform

_PRODUCTS = 2e-3  # float16 and float32 among them


@call_of("einsum")
def _einsum(rng: Random) -> NumpyCall:
    letters = "ijklAz"[: rng.choice((1, 2, 3, 3, 4, 6))]
    sizes = {letter: rng.choice((0, 1, 2, 2, 3)) for letter in letters}
    dots = a_shape(rng, 0, 2)
    terms, shapes, ones = [], [], set()
    for _ in range(rng.choice((1, 2, 2, 3, 4))):
        chosen = [rng.choice(letters) for _ in range(rng.choice((0, 1, 2, 3, 3)))]
        shape = [sizes[text] if rng.random() < 0.7 or chosen.count(text) > 1 else 1 for text in chosen]
        ones |= {text for text, size in zip(chosen, shape, strict=True) if size == 1}
        if rng.random() < 0.25:
            place, own = rng.randint(0, len(chosen)), dots[rng.randint(0, len(dots)) :]
            chosen[place:place], shape[place:place] = ["..."], own
        terms.append("".join(chosen))
        shapes.append(tuple(shape))
    subscripts = ",".join(terms)
    if rng.random() < 0.8:
        there = sorted({subscript for subscript in subscripts if subscript.isalpha()})
        kept = rng.sample(there, rng.randint(0, len(there)))
        if "..." in subscripts or rng.random() < 0.1:
            kept.insert(rng.randint(0, len(kept)), "...")
        subscripts += "->" + "".join(kept)
    else:
        kept = [text for text in letters if subscripts.count(text) == 1]
    options: dict[str, Any] = {}
    optimize = rng.choice(
        (False, True, "optimal")
    )  # where NumPy multiplies operands of int8 among themselves first, in int8
    dtypes = [a_dtype(rng, ("float32", "float64", "int64", "int8", "bool")) for _ in shapes]
    if rng.random() < 0.2:
        options["dtype"] = "float64"
    return NumpyCall(
        _tame(shapes, dtypes, exact=not options and not any(dtype in FLOATS for dtype in dtypes)),
        lambda *arrays: T.einsum(subscripts, *arrays, optimize=optimize, **options),
        lambda *arrays: _in_dtype(np.einsum(subscripts, *arrays, **options), options),
        f"einsum {subscripts}, {options}",
        hidden=ones.issubset(kept),  # a size of 1 that is summed over is stretched where it is known
        tolerance=_PRODUCTS if "float32" in dtypes else 1e-9,
        points=uniform(shapes),
    )


def _in_dtype(value: Any, options: dict[str, Any]) -> Any:
    """Return a result in the dtype that was asked for, which NumPy forgets where it gives a view of its only operand."""
    return np.asarray(value).astype(options["dtype"]) if "dtype" in options else value


def _tame(shapes: list[tuple[int, ...]], dtypes: list[str], exact: bool = True) -> Any:
    """Return what fills arrays with finite numbers: which product comes first decides where others become NaN.

    Integers summed as floats are small: with large ones the order of subtractions changes the result.
    """

    def fill(rng: Random) -> list[Any]:
        found = specials(shapes, dtypes)(rng)
        finite = [np.nan_to_num(array, nan=0.25, posinf=-1.5, neginf=4.0) for array in found]
        return finite if exact else [_small(array) for array in finite]

    return fill


def _small(array: Any) -> Any:
    return np.clip(array, -99, 99) if array.dtype.name in INTEGERS else array


@call_of("cross")
def _cross(rng: Random) -> NumpyCall:
    rest = a_shape(rng, 0, 2)
    places = [rng.randrange(-len(rest) - 1, len(rest) + 1) for _ in range(3)]
    shapes = []
    for place in places[:2]:
        shape = list(rest)
        shape.insert(place % (len(rest) + 1), 3)
        shapes.append(tuple(shape))
    dtypes = [a_dtype(rng, (*FLOATS, *INTEGERS)) for _ in shapes]
    return NumpyCall(
        specials(shapes, dtypes),
        lambda a, b: T.cross(a, b, *places),
        lambda a, b: np.cross(a, b, *places),
        f"cross along {places}",
        points=uniform(shapes),
    )


@call_of("vdot")
def _vdot(rng: Random) -> NumpyCall:
    shape = a_shape(rng)
    shapes = [shape, rng.choice((shape, tuple(reversed(shape))))]
    dtypes = [a_dtype(rng, ("float32", "float64", "int64", "int8", "bool")) for _ in shapes]
    return NumpyCall(
        _tame(shapes, dtypes), T.vdot, np.vdot, "vdot", tolerance=_PRODUCTS, points=uniform(shapes)
    )
