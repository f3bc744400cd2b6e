"""Laws of loops whose steps are taken many at once, because all that a step does is add a row to a state, or the like."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any
from unittest import mock

import numpy as np
from hypothesis import strategies as st

from scanviz import grad, scan
from scanviz.engine.backends import accumulated
from scanviz.engine.function import function
from scanviz.engine.graph.nodes import Array, Variable
from scanviz.engine.mode import Mode
from scanviz.engine.runtime import specialised
from scanviz.tensor import tensor
from scanviz.testing.comparing import check_same
from tests.laws.law import law

CALLS = 4
DTYPES = ("float64", "float32", "int64", "int8", "uint8", "bool")
OF_ALL = (np.add, np.multiply, np.maximum, np.minimum)
OF_TRUTHS = (np.logical_and, np.logical_or)
SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0)


def _few_at_once() -> ExitStack:
    """Let few steps be many: two are taken at once, and five elements at most."""
    stack = ExitStack()
    for module, name, value in (
        (accumulated, "FEWEST", 2),
        (accumulated, "MOST", 5),
        (accumulated, "SHORTEST", 1),
        (specialised, "ENTERED", 1),
    ):
        stack.enter_context(mock.patch.object(module, name, value))
    return stack


def _rows(rng: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> Array:
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if np.dtype(dtype).kind in "iu":
        limits = np.iinfo(dtype)
        return rng.integers(limits.min, limits.max, size=shape, dtype=dtype)
    found = rng.normal(size=shape).astype(dtype)
    return np.where(rng.random(shape) < 0.1, rng.choice(np.array(SPECIAL, dtype), size=shape), found)


def _expected(ufunc: Any, start: Array, rows: Array, is_first: bool) -> Array:
    """Return what a plain Python loop gives."""
    found = [start]
    for row in rows:
        found.append(np.asarray(ufunc(found[-1], row) if is_first else ufunc(row, found[-1])))
    return np.stack(found)[1:]


@law(
    sample=20,
    dtype=st.sampled_from(DTYPES),
    which=st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=1, max_size=3),
    width=st.sampled_from([None, 1, 3]),
    steps=st.integers(0, 17),
    fewer=st.integers(0, 2),
    backwards=st.booleans(),
    keeps=st.sampled_from(["all", "last", "both"]),
    mode=st.tuples(st.sampled_from(["numpy", "auto"]), st.sampled_from(["none", "all"])),
    seed=st.integers(0, 2**32),
)
def many_steps_at_once_give_what_a_plain_python_loop_gives(
    dtype: str,
    which: list[tuple[int, bool]],
    width: int | None,
    steps: int,
    fewer: int,
    backwards: bool,
    keeps: str,
    mode: tuple[str, str],
    seed: int,
) -> None:
    """Several states beside one another have the bits of their steps, of all rows or the last, in every call."""
    rng, shape = np.random.default_rng(seed), () if width is None else (width,)
    ufuncs = [((*OF_ALL, *OF_TRUTHS) if dtype == "bool" else OF_ALL)[k] for k, _ in which]
    symbols = [_symbolic(ufunc) for ufunc in ufuncs]
    taken = max(0, steps - fewer)
    inputs = [tensor(dtype, shape=(None, *shape), name=f"x{k}") for k in range(len(which))]
    starts = [tensor(dtype, shape=shape, name=f"h{k}") for k in range(len(which))]

    def step(*given: Variable) -> list[Variable]:
        rows, states = given[: len(which)], given[len(which) :]
        return [
            symbol(state, row) if is_first else symbol(row, state)
            for symbol, row, state, (_, is_first) in zip(symbols, rows, states, which, strict=True)
        ]

    results, _ = scan(step, inputs, starts, n_steps=taken, go_backwards=backwards, return_list=True)
    given = [_rows(rng, dtype, (steps, *shape)) for _ in which]
    begun = [_rows(rng, dtype, (1, *shape))[0] for _ in which]
    wanted, expected = [], []
    for k, (ufunc, result) in enumerate(zip(ufuncs, results, strict=True)):
        rows = given[k][::-1] if backwards else given[k]
        found = _expected(ufunc, begun[k], rows[:taken], which[k][1]) if taken else given[k][:0]
        if keeps != "last" or not taken:
            wanted.append(result)
            expected.append(found)
        if keeps != "all" and taken:
            wanted.append(result[-1])
            expected.append(found[-1])
    f = function([*inputs, *starts], wanted, mode=Mode(*mode), on_unused_input="ignore")
    with _few_at_once(), np.errstate(all="ignore"):
        for _ in range(CALLS):
            _check(f(*given, *begun), expected, dtype, exact=mode[1] == "none")


def _symbolic(ufunc: Any) -> Any:
    from scanviz import tensor as module

    return getattr(module, ufunc.__name__)


def _check(found: list[Array], expected: list[Array], dtype: str, exact: bool) -> None:
    if not exact:  # rewrites add up a loop's terms in another order
        check_same(found, expected, dtype)
        return
    for mine, theirs in zip(found, expected, strict=True):
        assert mine.dtype == theirs.dtype and mine.shape == theirs.shape
        np.testing.assert_array_equal(mine, theirs)
        if mine.dtype.kind == "f":
            known = ~np.isnan(theirs)
            np.testing.assert_array_equal(np.signbit(mine)[known], np.signbit(theirs)[known])


@law(
    sample=10,
    steps=st.integers(1, 17),
    width=st.sampled_from([None, 1, 3]),
    backwards=st.booleans(),
    tier=st.sampled_from(["numpy", "auto"]),
    seed=st.integers(0, 2**32),
)
def the_gradient_of_a_sum_of_rows_is_the_sum_of_those_that_follow(
    steps: int, width: int | None, backwards: bool, tier: str, seed: int
) -> None:
    """A loop that adds up rows has a backward loop that adds up what its results are worth, in every call."""
    rng, shape = np.random.default_rng(seed), () if width is None else (width,)
    x, w = (tensor("float64", shape=(None, *shape), name=name) for name in ("x", "w"))
    start = tensor("float64", shape=shape, name="start")
    h = scan(lambda x_t, h: h + x_t, x, start, go_backwards=backwards, return_updates=False)
    f = function([x, w, start], grad((h * w).sum(), [x, start]), mode=tier, on_unused_input="ignore")
    rows, weights = rng.normal(size=(2, steps, *shape))
    following = np.cumsum(weights[::-1], axis=0)
    expected = [following if backwards else following[::-1], following[-1]]
    with _few_at_once():
        for _ in range(CALLS):
            check_same(f(rows, weights, np.zeros(shape)), expected, "float64")


__all__ = [
    "many_steps_at_once_give_what_a_plain_python_loop_gives",
    "the_gradient_of_a_sum_of_rows_is_the_sum_of_those_that_follow",
]
