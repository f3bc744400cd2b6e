"""Laws of whole random loops: every tier, with rewrites and without, agrees with a plain Python loop."""

from typing import Any

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st
from msgspec import structs

from scanviz.engine.errors import ScanvizError
from scanviz.engine.graph.nodes import Array
from scanviz.engine.mode import Mode
from scanviz.testing.loop_case import READINGS, LoopCase, Reading
from scanviz.testing.loops import EVERY_DTYPE, random_loops
from scanviz.testing.unrolled import run_plainly
from tests.laws.frame import MODES, built, modes
from tests.laws.law import law
from tests.support.comparing import check_same

LOOPS = random_loops(dtypes=EVERY_DTYPE, symbolic_steps=True, constants=True)
NO_STEPS = (
    random_loops(dtypes=EVERY_DTYPE, symbolic_steps=True, longest=0)
    | random_loops(dtypes=("float64", "float32"), symbolic_steps=True, longest=0, smooth=True)
).filter(lambda case: not len(run_plainly(case)[0][0]))


@law(sample=50, case=LOOPS, mode=MODES, reading=st.sampled_from(READINGS))
def a_loop_agrees_with_a_plain_python_loop(case: LoopCase, mode: Mode, reading: Reading) -> None:
    """Every read of a loop agrees with a plain Python loop, on every tier, rewritten or not."""
    rows, expected_state = run_plainly(case)
    count = len(rows[0])
    found, state = case.compute(mode, reading, count)
    expected = [reading.of(row, count) for row in rows]
    check_same([*found, state], [*expected, expected_state], case.dtype)


@law(sample=25, case=NO_STEPS, mode=modes("numpy", "reference"))
def a_loop_of_no_steps_gives_no_rows_of_the_right_shape(case: LoopCase, mode: Mode) -> None:
    """A loop without steps gives no rows of the right shape and zero gradients, on every tier, rewritten or not."""
    expected, expected_state = run_plainly(case)
    found, state = case.compute(mode)
    check_same([*found, state], [*expected, expected_state], case.dtype)
    loop = built(case)
    if slopes := loop.gradients():
        zeros = [np.zeros_like(loop.given[variable]) for variable in loop.floats]
        check_same(loop.computed(slopes, mode), zeros, case.dtype)


@st.composite
def disturbed(draw: st.DrawFn) -> LoopCase:
    """Draw a loop one of whose inputs has another shape than its step was made for, too few rows, or too many of a state."""
    case = draw(LOOPS)
    places = [
        (kind, k) for kind in ("sequences", "outputs", "constants") for k in range(len(getattr(case, kind)))
    ]
    kind, k = draw(st.sampled_from(places))
    parts = list(getattr(case, kind))
    cut = (Ellipsis, slice(draw(st.integers(1, 2))))
    if kind == "constants":
        assume(parts[k].ndim)
        parts[k] = parts[k][cut]
    elif kind == "sequences":
        rows = draw(
            st.sampled_from([parts[k].values, np.broadcast_to(parts[k].values[:1], parts[k].values.shape)])
        )
        parts[k] = structs.replace(parts[k], values=rows[draw(st.sampled_from([cut, slice(-1), slice(0)]))])
    else:
        assume(parts[k].initial is not None)
        initial = parts[k].initial
        if parts[k].taps != (-1,) and draw(st.booleans()):
            initial = draw(st.sampled_from([initial[1:], np.concatenate([initial, initial[-1:]])]))
        else:
            assume(parts[k].shape)
            initial = initial[cut]
        parts[k] = structs.replace(parts[k], initial=initial, shape=initial.shape[1:])
    changed: dict[str, Any] = {kind: parts}
    if kind == "sequences" and draw(st.booleans()):
        changed["constant"] = case.constant | {f"x{k}"}
    return structs.replace(case, **changed)


def plainly(case: LoopCase) -> list[Array] | None:
    """Return the rows that a plain Python loop gives, None where it fails."""
    try:
        return run_plainly(case)[0]
    except (ValueError, IndexError):
        return None


RUNNING = st.sampled_from([reading for reading in READINGS if reading.runs])


@law(sample=20, case=disturbed(), mode=MODES, reading=RUNNING)
def a_loop_fails_where_a_plain_python_loop_fails(case: LoopCase, mode: Mode, reading: Reading) -> None:
    """A loop with mismatched rows fails on every tier, rewritten or not, wherever a plain Python loop fails."""
    rows = plainly(case)
    assume(rows is None or len(rows[0]))  # work that left a loop of no steps is done all the same
    try:
        found, _ = case.compute(mode, reading, len(rows[0]) if rows else 1)
    except ScanvizError as error:
        assert rows is None, error
        return
    assert rows is not None, [array.shape for array in found]
    check_same(found, [reading.of(row, len(rows[0])) for row in rows], case.dtype)
