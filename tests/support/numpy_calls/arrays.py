"""Calls of what makes arrays, limits them, looks at neighbours and pads edges."""

import operator
from random import Random
from typing import Any

import numpy as np

from scanviz import tensor as T
from scanviz.engine.graph.types import FLOATS, INTEGERS
from tests.support.comparing import ONE_OPERATION
from tests.support.numpy_calls.call import NumpyCall, a_dtype, a_shape, call_of, specials, uniform


@call_of("linspace")
def _linspace(rng: Random) -> NumpyCall:
    shape = a_shape(rng, most=2)
    second = rng.choice((shape, shape[1:], ()))
    num = rng.choice((0, 1, 2, 3, 7, 50))  # of many, rounding moves whole numbers
    axis = rng.choice((0, -1, len(shape)))
    options: dict[str, Any] = {"endpoint": rng.random() < 0.6, "axis": axis}
    options["retstep"] = rng.random() < 0.3 and num > 1  # without a step NumPy gives one NaN for all lines
    if rng.random() < 0.2:
        options["dtype"] = rng.choice(("float32", "float64", "int64"))
    counted = rng.random() < 0.5  # how many are asked for when it runs
    shapes, dtypes = [shape, second], [a_dtype(rng), a_dtype(rng)]
    if "int64" in options.values():  # casts of floats out of range are machine-dependent
        dtypes = [a_dtype(rng, ("int8", "int16", "uint8"))] * 2
    values = specials(shapes, dtypes)
    computed = np.result_type(*map(np.dtype, dtypes), 0.0).name
    number = np.asarray(num)
    return NumpyCall(
        (lambda rng: [*values(rng), number]) if counted else values,
        lambda a, b, n=num: T.linspace(a, b, n, **options),
        lambda a, b, n=num: np.linspace(a, b, int(n), **options),
        f"linspace to {num}, {options}",
        tolerance=ONE_OPERATION[computed],
        points=None if "dtype" in options else uniform(shapes),
        smooth=lambda a, b: T.linspace(a, b, num, **options),
    )


@call_of("diff")
def _diff(rng: Random) -> NumpyCall:
    shape = a_shape(rng, 1)
    axis, times = rng.randrange(-len(shape), len(shape)), rng.choice((0, 1, 1, 2, 3))
    edge = tuple(2 if k == axis % len(shape) else n for k, n in enumerate(shape))
    shapes = [shape, rng.choice(((), edge)), rng.choice(((), edge))][: rng.choice((1, 1, 2, 3))]
    dtypes = [a_dtype(rng)] * len(shapes)
    return NumpyCall(
        specials(shapes, dtypes),
        lambda a, *edges: T.diff(a, times, axis, *edges),
        lambda a, *edges: np.diff(a, times, axis, *edges),
        f"diff, {times} times along {axis}",
        points=uniform(shapes),
    )


@call_of("pad")
def _pad(rng: Random) -> NumpyCall:
    shape = a_shape(rng, 0)
    mode = rng.choice(("constant", "edge", "reflect", "symmetric", "wrap"))
    options: dict[str, Any] = {"mode": mode}
    if mode == "constant" and rng.random() < 0.7:
        options["constant_values"] = rng.choice((1, (1, 0), [(0, 1)] * len(shape) or 1))
    several: Any = [(rng.randint(0, 3), rng.randint(0, 5)) for _ in shape] or 1
    width: Any = rng.choice((rng.randint(0, 4), (1, 3), [(0, 2)], several, {0: 2, -1: (1, 0)}))
    return NumpyCall(
        specials([shape], [a_dtype(rng)]),
        lambda a: T.pad(a, width, **options),
        lambda a: np.pad(a, width, **options),
        f"pad by {width}, {options}",
        points=uniform([shape]),
    )


@call_of("clip")
def _clip(rng: Random) -> NumpyCall:
    shape = a_shape(rng)
    low, high = (rng.choice((None, -1, 0, 1.5, "array")) for _ in range(2))
    dtype = a_dtype(rng, (*FLOATS, *INTEGERS))
    if dtype in INTEGERS:
        low, high = (text if text in (None, "array") else abs(int(text)) for text in (low, high))
    count = 1 + (low == "array") + (high == "array")
    newer = rng.random() < 0.3

    def limits(more: tuple[Any, ...]) -> list[Any]:
        given = iter(more)
        return [next(given) if bound == "array" else bound for bound in (low, high)]

    def called(function: Any, a: Any, more: tuple[Any, ...]) -> Any:
        first, last = limits(more)
        return function(a, min=first, max=last) if newer else function(a, first, last)

    return NumpyCall(
        specials([shape] * count, [dtype] * count),
        lambda a, *more: called(T.clip, a, more),
        lambda a, *more: called(np.clip, a, more),
        f"clip to {low}, {high}",
        points=uniform([shape] * count),
    )


@call_of("round")
def _round(rng: Random) -> NumpyCall:
    decimals = rng.choice((0, 1, 2, 7, -1, -2))
    dtype = a_dtype(rng, (*FLOATS, "int64", "int16", "uint8"))
    return NumpyCall(
        specials([a_shape(rng)], [dtype]),
        lambda a: T.round(a, decimals),
        lambda a: np.round(a, decimals),
        f"round to {decimals} decimals",
    )


@call_of("where")
def _where(rng: Random) -> NumpyCall:
    shape = a_shape(rng, 1)
    if rng.random() < 0.5:
        return NumpyCall(specials([shape], [a_dtype(rng)]), T.where, np.where, "where alone", varying=True)
    dtypes = ["bool", a_dtype(rng), a_dtype(rng)]
    shapes = [shape, rng.choice((shape, ())), rng.choice((shape, shape[1:]))]

    def points(rng: Random) -> list[Any]:
        return [specials(shapes[:1], ["bool"])(rng)[0], *uniform(shapes[1:])(rng)]

    return NumpyCall(specials(shapes, dtypes), T.where, np.where, "where", points=points)


@call_of("power")
def _power(rng: Random) -> NumpyCall:
    shape, exponent = a_shape(rng), rng.choice((2, 0.5, 0, 1, 3, 2.0, 1.5, -0.5, -1.0))
    by_operator = rng.random() < 0.7
    return NumpyCall(
        specials([shape], [a_dtype(rng)]),
        lambda x: x**exponent if by_operator else T.power(x, exponent),
        lambda x: x**exponent if by_operator else np.power(x, exponent),
        f"to the power of {exponent}, by {'the operator' if by_operator else 'power'}",
        points=uniform([shape], 0.3, 2),
    )


@call_of("divmod")
def _divmod(rng: Random) -> NumpyCall:
    shape = a_shape(rng)
    dtypes = [a_dtype(rng, ("float32", "float64", "int64", "int8", "uint16"))] * 2
    function = rng.choice((T.divmod, divmod))
    return NumpyCall(
        specials([shape, rng.choice((shape, ()))], dtypes),
        function,
        np.divmod,
        "divmod",
        points=lambda rng: [*uniform([shape], 2.4, 2.6)(rng), *uniform([shape], 0.99, 1.01)(rng)],
    )


@call_of("matrix_transpose")
def _matrix_transpose(rng: Random) -> NumpyCall:
    shape = a_shape(rng, 1, 4)
    ours = rng.choice((T.matrix_transpose, operator.attrgetter("mT")))
    return NumpyCall(
        specials([shape], [a_dtype(rng)]), ours, np.matrix_transpose, "mT", points=uniform([shape])
    )
