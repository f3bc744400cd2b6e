"""Calls of what decomposes matrices; vectors, whose signs are anyone's choice, are multiplied to what does not depend on them."""

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np

from scanviz import tensor as T
from scanviz.engine.graph.nodes import Array
from tests.support.numpy_calls.call import Fill, NumpyCall, call_of

_KINDS = ("float64", "float32", "int64", "bool")
_CLOSE = {"float64": 1e-8, "float32": 2e-3, "int64": 1e-8, "bool": 1e-8}


def _matrices(rng: Random, shapes: list[tuple[int, ...]], dtypes: list[str], symmetric: bool = False) -> Fill:
    """Return what fills matrices with small numbers, none of them near to singular."""

    def fill(rng: Random) -> list[Array]:
        generator = np.random.default_rng(rng.getrandbits(32))
        found = []
        for shape, dtype in zip(shapes, dtypes, strict=True):
            values = generator.uniform(-1, 1, shape)
            if len(shape) > 1:
                values = values + np.eye(shape[-2], shape[-1]) * np.arange(2, 2 + 2 * shape[-1], 2)
                values = (values + np.swapaxes(values, -1, -2)) / 2 if symmetric else values
            found.append(
                values.astype(dtype) if dtype.startswith("float") else (values * 2).round().astype(dtype)
            )
        return found

    return fill


def _shape(rng: Random, square: bool = False) -> tuple[int, ...]:
    rows = rng.choice((0, 1, 2, 2, 3, 4))
    columns = rows if square else rng.choice((0, 1, 2, 3, 4))
    return (*rng.choice(((), (), (2,), (0,), (2, 1))), rows, columns)


def _call(
    rng: Random,
    ours: Callable[..., Any],
    theirs: Callable[..., Any],
    written: str,
    square: bool = False,
    symmetric: bool = False,
    smooth: bool = True,
) -> NumpyCall:
    shape, dtype = _shape(rng, square), rng.choice(_KINDS)
    fill = _matrices(rng, [shape], [dtype], symmetric)
    return NumpyCall(
        fill,
        ours,
        theirs,
        f"{written} of {dtype}",
        tolerance=_CLOSE[dtype],
        points=_matrices(rng, [shape], ["float64"], symmetric) if smooth else None,
    )


def _half(x: Any) -> Any:
    """Return the symmetric part, so that both elements of a pair change where one is moved."""
    return (x + x.mT) / 2


def _whole(values: Any, vectors: Any) -> Any:
    """Return a function of the matrix that eigenvalues and vectors make, which no sign changes."""
    return (vectors * (values * values)[..., None, :]) @ vectors.mT


@call_of("linalg.eigh")
def _eigh(rng: Random) -> NumpyCall:
    uplo = rng.choice(("L", "U", "l"))

    def applied(module: Any, x: Any) -> list[Any]:
        values, vectors = module.linalg.eigh(x, uplo)
        return [values, _whole(values, vectors), abs(vectors)]

    found = _call(
        rng, lambda x: applied(T, x), lambda x: applied(np, x), f"eigh {uplo}", True, rng.random() < 0.7
    )
    return replace(found, smooth=lambda x: applied(T, _half(x)))


@call_of("linalg.eigvalsh")
def _eigvalsh(rng: Random) -> NumpyCall:
    uplo = rng.choice(("L", "U"))
    found = _call(
        rng,
        lambda x: T.linalg.eigvalsh(x, uplo),
        lambda x: np.linalg.eigvalsh(x, UPLO=uplo),  # type: ignore[call-overload]  # a text of two
        f"eigvalsh {uplo}",
        square=True,
    )
    return replace(found, smooth=lambda x: T.linalg.eigvalsh(_half(x), uplo))


@call_of("linalg.qr")
def _qr(rng: Random) -> NumpyCall:
    mode = rng.choice(("reduced", "complete", "r"))
    smooth = mode != "complete"

    def applied(module: Any, x: Any) -> list[Any]:
        if mode == "r":
            return [abs(module.linalg.qr(x, mode))]
        q, r = module.linalg.qr(x, mode)
        return [abs(q) if mode == "reduced" else q @ q.mT, abs(r)]

    return _call(rng, lambda x: applied(T, x), lambda x: applied(np, x), f"qr {mode}", smooth=smooth)


@call_of("linalg.svd")
def _svd(rng: Random) -> NumpyCall:
    full, vectors = rng.random() < 0.5, rng.random() < 0.8

    def applied(module: Any, x: Any) -> list[Any]:
        found = module.linalg.svd(x, full, vectors)
        if not vectors:
            return [found]
        u, s, vh = found
        if full:
            return [s, u @ u.mT, vh @ vh.mT]
        return [s, abs(u), abs(vh), (u * (s * s)[..., None, :]) @ vh]

    return _call(
        rng,
        lambda x: applied(T, x),
        lambda x: applied(np, x),
        f"svd {full} {vectors}",
        smooth=not (full and vectors),
    )


@call_of("linalg.svdvals")
def _svdvals(rng: Random) -> NumpyCall:
    return _call(rng, T.linalg.svdvals, np.linalg.svdvals, "svdvals")


@call_of("linalg.pinv")
def _pinv(rng: Random) -> NumpyCall:
    options: Any = rng.choice(({}, {"rcond": 1e-3}, {"rtol": None}, {"rtol": 1e-4}))

    def theirs(x: Array) -> Array:
        return np.asarray(np.linalg.pinv(x if x.dtype.kind == "f" else x.astype("float64"), **options))

    return _call(rng, lambda x: T.linalg.pinv(x, **options), theirs, f"pinv {options}")


@call_of("linalg.lstsq")
def _lstsq(rng: Random) -> NumpyCall:
    rows, columns = rng.choice((0, 1, 2, 3, 4)), rng.choice((0, 1, 2, 3))
    right = rng.choice(((), (0,), (1,), (2,)))
    dtypes = [rng.choice(_KINDS), rng.choice(("float64", "float32"))]
    shapes = [(rows, columns), (rows, *right)]

    def fill(given: list[str]) -> Fill:
        first, second = _matrices(rng, shapes[:1], given[:1]), _matrices(rng, shapes[1:], given[1:])
        return lambda rng: [*first(rng), *second(rng)]

    def applied(module: Any, a: Any, b: Any) -> Any:
        return module.linalg.lstsq(a, b)

    return NumpyCall(
        fill(dtypes),
        lambda a, b: applied(T, a, b),
        lambda a, b: _rank_as_int64(applied(np, a, b)),
        "lstsq",
        tolerance=2e-3,
        points=fill(["float64", "float64"]),
        smooth=lambda a, b: [applied(T, a, b)[k] for k in (0, 3)],
    )


def _rank_as_int64(results: Any) -> list[Array]:
    x, residuals, rank, values = results
    return [x, residuals, np.asarray(rank, "int64"), values]


@call_of("linalg.matrix_power")
def _matrix_power(rng: Random) -> NumpyCall:
    times = rng.choice((0, 1, 2, 3, 5, -1, -3))
    return _call(
        rng,
        lambda x: T.linalg.matrix_power(x, times),
        lambda x: np.linalg.matrix_power(x, times),
        f"matrix_power {times}",
        square=True,
    )


@call_of("linalg.expm")
def _expm(rng: Random) -> NumpyCall:
    def theirs(x: Array) -> Array:
        import scipy.linalg

        if not x.size:
            return np.zeros(x.shape, x.dtype if x.dtype.kind == "f" else "float64")
        return np.asarray(scipy.linalg.expm(x.astype(x.dtype if x.dtype.kind == "f" else "float64") / 4))

    return _call(rng, lambda x: T.linalg.expm(x / 4), theirs, "expm", square=True)


@call_of("linalg.norm")
def _norm(rng: Random) -> NumpyCall:
    order = rng.choice((None, "fro", "nuc", 1, -1, 2, -2, 3, np.inf, -np.inf))
    options: Any = {"ord": order, "keepdims": rng.random() < 0.4}
    shape = tuple(rng.choice((1, 2, 3)) for _ in range(rng.randint(1, 3)))
    if len(shape) > 2 or rng.random() < 0.5:
        several = tuple(rng.sample(range(-len(shape), 0), 2)) if len(shape) > 1 else -1
        options["axis"] = rng.choice((rng.randrange(-len(shape), len(shape)), several))
    dtype = rng.choice(_KINDS)
    return NumpyCall(
        _matrices(rng, [shape], [dtype]),
        lambda x: T.linalg.norm(x, **options),
        lambda x: np.linalg.norm(x if x.dtype.kind == "f" else x.astype("float64"), **options),
        f"norm {options} of {dtype}",
        tolerance=_CLOSE[dtype],
        points=_matrices(rng, [shape], ["float64"]),
    )
