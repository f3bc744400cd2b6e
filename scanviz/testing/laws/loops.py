"""Laws of whole random loops: every tier, with rewrites and without, gives what a plain Python loop gives."""

from __future__ import annotations

import dataclasses

from hypothesis import assume
from hypothesis import strategies as st

from scanviz.engine.errors import ShapeError
from scanviz.engine.mode import Mode
from scanviz.testing.comparing import check_same
from scanviz.testing.laws.law import law
from scanviz.testing.loop_case import LoopCase
from scanviz.testing.loops import EVERY_DTYPE, random_loops
from scanviz.testing.plain import run_plainly
from scanviz.testing.readings import READINGS, Reading

LOOPS = random_loops(dtypes=EVERY_DTYPE, symbolic_steps=True)
NO_STEPS = random_loops(dtypes=EVERY_DTYPE, symbolic_steps=True, longest=0).filter(
    lambda case: not len(run_plainly(case)[0][0])
)
TIERS = st.sampled_from(["numpy", "reference"])


@law(sample=25, case=LOOPS, tier=TIERS, rewrites=st.booleans(), reading=st.sampled_from(READINGS))
def a_loop_gives_what_a_plain_python_loop_gives(
    case: LoopCase, tier: str, rewrites: bool, reading: Reading
) -> None:
    """What is read of a loop is on every tier, rewritten or not, what is read of the rows of a plain Python loop."""
    rows, expected_state = run_plainly(case)
    count = len(rows[0])
    found, state = case.compute(Mode(tier, "all" if rewrites else "none"), reading, count)
    expected = [reading.of(each, count) for each in rows]
    check_same([*found, state], [*expected, expected_state], case.dtype)


@law(sample=15, case=NO_STEPS)
def a_loop_of_no_steps_gives_no_rows_of_the_right_shape(case: LoopCase) -> None:
    """A loop of no steps gives on every tier, rewritten or not, no rows of the shape that rows would have had."""
    expected, expected_state = run_plainly(case)
    for tier in ("numpy", "reference"):
        for rewrites in ("all", "none"):
            found, state = case.compute(Mode(tier, rewrites))
            check_same([*found, state], [*expected, expected_state], case.dtype, f"{tier}, {rewrites}")


@st.composite
def misfits(draw: st.DrawFn) -> LoopCase:
    """Draw a loop of at least a step, of which a state starts with another shape than the step then gives it."""
    case = draw(LOOPS)
    wide = [k for k, each in enumerate(case.outputs) if each.taps and each.shape and each.shape[-1] > 1]
    assume(wide and len(run_plainly(case)[0][0]))
    place = draw(st.sampled_from(wide))
    state = case.outputs[place]
    assert state.initial is not None
    cut = dataclasses.replace(state, initial=state.initial[..., :1], shape=(*state.shape[:-1], 1))
    outputs = [*case.outputs[:place], cut, *case.outputs[place + 1 :]]
    found = dataclasses.replace(case, outputs=outputs)
    try:
        assume(cut.value.shape(found.shapes(), case.dtype) != cut.shape)
    except ValueError:
        assume(False)  # an operation that is meant for the shape that the state had
    return found


RUNNING = st.sampled_from([each for each in READINGS if each.runs])


@law(sample=10, case=misfits(), tier=TIERS, rewrites=st.booleans(), reading=RUNNING)
def a_state_that_changes_its_shape_is_an_error(
    case: LoopCase, tier: str, rewrites: bool, reading: Reading
) -> None:
    """A state that starts with another shape than the step gives it is an error on every tier, rewritten or not."""
    try:
        found, _ = case.compute(Mode(tier, "all" if rewrites else "none"), reading)
    except ShapeError:
        return
    raise AssertionError([each.shape for each in found])
