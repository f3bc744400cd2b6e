"""Laws of ``vmap``: the result over all rows agrees, row by row, with the function of a row."""

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from scanviz import tensor as T
from scanviz import vmap
from scanviz.engine.errors import ScanvizError
from scanviz.engine.function import function
from scanviz.engine.graph.nodes import Array, Variable
from scanviz.engine.graph.replace import replace
from scanviz.testing.loop_case import READINGS, LoopCase, Reading
from scanviz.testing.loops import random_loops
from scanviz.testing.unrolled import run_plainly
from tests.laws.frame import TIERS, Built, built
from tests.laws.law import law
from tests.support.comparing import WHOLE_LOOP, assert_close
from tests.support.graphs import GraphCase, random_graphs, values_of

ROWS = 3
FLAGS = st.lists(st.booleans(), min_size=6, max_size=6)
AXES = st.lists(st.integers(0, 2), min_size=6, max_size=6)
READ = st.sampled_from(  # operations whose result shape is independent of the number of rows
    [
        reading
        for reading in READINGS
        if reading.name.startswith(("the last row", "the sum")) and "each" not in reading.name
    ]
)
OF_NAN = {"signbit", "copysign"}  # which NaN comes out is left open
GRAPHS = random_graphs(most=12, rows=ROWS, moderate=True).filter(
    lambda case: not OF_NAN & {declaration.name for declaration in case.declarations()}
)
LOOPS = random_loops(symbolic_steps=True, updates=False)
SMOOTH = random_loops(dtypes=("float64",), smooth=True, updates=False, stops=False)


def _mapped(
    inputs: list[Variable],
    outputs: list[Variable],
    rows: list[list[Array]],
    axes: list[int | None],
    tier: str,
) -> list[Array]:
    """Return a graph's outputs over all rows; an input without an axis has its value of the first row."""

    def fn(*given: Variable) -> list[Variable]:
        return replace(outputs, dict(zip(inputs, given, strict=True)))

    values = [
        rows[0][k] if axis is None else np.stack([row[k] for row in rows], axis)
        for k, axis in enumerate(axes)
    ]
    whole = [T.tensor(value.dtype, (None,) * value.ndim, f"rows{k}") for k, value in enumerate(values)]
    results = vmap(fn, in_axes=axes)(*whole)
    found: list[Array] = function(whole, results, mode=tier, on_unused_input="ignore")(*values)
    return found


def _check(found: list[Array], expected: list[list[Array]]) -> None:
    """Raise unless batched results agree with each row's; results of row-dependent shape are left out."""
    for k, mine in enumerate(found):
        for row, theirs in zip(mine, expected, strict=True):
            tolerance = WHOLE_LOOP.get(theirs[k].dtype.name)
            assert_close(row, theirs[k], f"result {k}", tolerance)


@law(sample=25, case=GRAPHS, flags=FLAGS, places=AXES, tier=TIERS)
def a_batched_operation_agrees_with_each_row(
    case: GraphCase, flags: list[bool], places: list[int], tier: str
) -> None:
    """Every operation over a new axis, at any place, gives in each row the operation's result for that row."""
    axes = [
        place % (value.ndim + 1) if flag else None
        for flag, place, value in zip(flags, places, case.rows[0], strict=False)
    ]
    assume(any(axis is not None for axis in axes))
    rows = [[case.rows[0][k] if axis is None else row[k] for k, axis in enumerate(axes)] for row in case.rows]
    try:
        with np.errstate(all="ignore"):
            expected = [values_of(case.outputs, case.inputs, row) for row in rows]
    except Exception:
        assume(False)
    alike = [k for k in range(len(case.outputs)) if len({row[k].shape for row in expected}) == 1]
    assume(alike)
    found = _mapped(case.inputs, [case.outputs[k] for k in alike], rows, axes, tier)
    _check(found, [[row[k] for k in alike] for row in expected])


def _loop_rows(loop: Built, flags: list[bool]) -> tuple[list[list[Array]], list[int | None]]:
    """Return values of a loop's inputs for each row, and the axis of those that have one; others are the same for all."""
    axes: list[int | None] = [
        0 if flag and value.dtype.kind == "f" else None
        for flag, value in zip([*flags, *flags], loop.values, strict=False)
    ]
    assume(any(axis is not None for axis in axes))
    factors = [1.0, 0.7, 0.4]
    rows = [
        [
            value if axis is None else (value * factor).astype(value.dtype)
            for axis, value in zip(axes, loop.values, strict=True)
        ]
        for factor in factors
    ]
    return rows, axes


@law(sample=12, case=LOOPS, flags=FLAGS, reading=READ, tier=TIERS)
def a_batched_loop_agrees_with_each_row(
    case: LoopCase, flags: list[bool], reading: Reading, tier: str
) -> None:
    """One loop over batched states gives in each row the result of that row's loop, stop conditions included."""
    loop = built(case)
    rows, axes = _loop_rows(loop, flags)
    outputs = [reading.of(result, len(run_plainly(case)[0][0])) for result in loop.results]
    names, one = list(loop.given), loop.function(outputs, "reference")
    try:
        expected = [one(*row) for row in rows]
    except ScanvizError:
        assume(False)
    _check(_mapped(names, outputs, rows, axes, tier), expected)


@law(sample=8, case=SMOOTH, flags=FLAGS, tier=TIERS)
def a_batched_gradient_agrees_with_each_row(case: LoopCase, flags: list[bool], tier: str) -> None:
    """The gradient of a batched loop, itself a loop, gives each row's gradient."""
    loop = built(case)
    names, slopes = list(loop.given), loop.gradients()
    rows, axes = _loop_rows(loop, flags)
    one = loop.function(slopes, "reference")
    _check(_mapped(names, slopes, rows, axes, tier), [one(*row) for row in rows])
