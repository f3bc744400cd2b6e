"""Native sorting, searching and cumulative operations along an axis."""

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from tests.engine.backends.native.emit.test_native_loops import agree, tiers_of

DTYPES = ["float64", "float32", "int64", "int8", "uint8", "bool"]
SPECIAL = [0.0, -0.0, 1.5, np.nan, -np.inf, np.inf, 1.5, -3.0]
FUNCTIONS = {"cumsum": T.cumsum, "cumprod": T.cumprod, "argmax": T.argmax, "argmin": T.argmin}


def natively(step, values, *others, called_out=False):
    """Compare a loop over rows of an array with the reference, exactly, and see whether something was called out."""
    x = T.tensor(values.dtype.name, (None,) * values.ndim, "x")
    given = [T.tensor(other.dtype.name, (None,) * other.ndim, f"w{k}") for k, other in enumerate(others)]
    out, _ = scanviz.scan(step, x, None, given, name="in_order")
    f = agree([x, *given], out, values, *others, rewrites="none", tolerance=0)
    assert any("called out" in why for _, why in tiers_of(f)) == called_out, tiers_of(f)


def rows_of(dtype, shape, seed=0):
    """Return an array with few different elements, so that many are equal, and with NaN, infinities and both zeros."""
    rng = np.random.default_rng(seed)
    if dtype.startswith("float"):
        return rng.choice(SPECIAL, shape).astype(dtype)
    return rng.integers(0, 3, shape).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_sorting_along_every_axis_agrees_with_numpy(function, dtype):
    along = FUNCTIONS[function]

    def step(a):
        parts = [along(a, axis) for axis in (0, 1, 2, None)]
        parts += [
            along(a[:, ::-2], 1),
            along(a.T, None),
            along(a[0], 0),
            along(a[:1, :1, 0], None),
            along(a[0, 0]),
        ]
        if function.startswith("arg"):
            parts += [along(a, 1, keepdims=True), along(a, None, keepdims=True)]
        else:
            parts += [along(a[:, :0], 1), along(a[:, :0], None)]
        return parts

    natively(step, rows_of(dtype, (3, 4, 5, 9)))


@pytest.mark.parametrize("dtype", [*DTYPES, "uint64"])
def test_places_in_a_vector_are_those_of_numpy(dtype):
    vectors = []
    for size in (0, 1, 2, 33):
        some = rows_of(dtype, size, seed=size)
        vectors.append(np.sort(some))

    def step(v, *vectors):
        wholes = [T.cast(T.where(T.isnan(v), 1.0, T.clip(v, -3, 3)), "int64"), T.gt(v, 0)]
        return [
            T.searchsorted(vector[::way], keys, side)
            for vector in vectors
            for way in (1, -1)
            for keys in (v, *wholes)
            for side in ("left", "right")
        ]

    natively(step, rows_of("float64", (2, 3, 5)), *vectors)


def test_an_argmax_of_nothing_is_the_same_error_on_every_tier():
    x = T.tensor3("x")
    out, _ = scanviz.scan(lambda a: T.argmax(a, 0), x, None, [], name="empty")
    for mode in ("numpy", "native"):
        with pytest.raises(scanviz.ScanvizError, match="argmax"):
            scanviz.function([x], out, mode=mode)(np.zeros((2, 0, 3)))


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
def test_a_loop_with_enough_other_work_calls_sorts_out(dtype):
    def step(a):
        wave = a
        for _ in range(20):
            wave = wave * wave % 7 + a
        return [T.sort(wave, 1), T.argsort(wave, 0)]

    natively(step, rows_of("int64", (30, 4, 5)).astype(dtype), called_out=True)


@pytest.mark.parametrize("function", ["argmax", "argmin"])
@pytest.mark.parametrize("width", [0, 3])
def test_searching_no_elements_is_refused_even_for_no_values(function, width):
    x = T.tensor3("x")
    out, _ = scanviz.scan(lambda m: FUNCTIONS[function](m, 0), x)
    for name in ("reference", "native"):
        f = scanviz.function([x], out, mode=scanviz.Mode(name, "none"))
        with pytest.raises(scanviz.ScanvizError, match=f"{function} of an array without elements"):
            f(np.ones((2, 0, width)))
