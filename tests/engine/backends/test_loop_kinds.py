"""Buffers, carries and kept rows on every tier, against the plain meaning of the Scan op (states and reads: laws of loops)."""

import numpy as np
import pytest

from scanviz import tensor as T
from scanviz.engine.ops.support import constant
from scanviz.engine.scan.variables import Carry, Keep, NonSequence, Sequence, State, StepOutput
from tests.engine.backends.running import TIERS, check, loop, run

N = T.lscalar("n")
X = T.matrix("X")
ROWS = np.arange(24.0).reshape(8, 3) / 10
START = np.array([0.1, -0.2, 0.3])


@pytest.mark.parametrize("steps", [0, 1, 5])
def test_a_buffer_with_several_taps_agrees_with_the_reference(steps):
    x, past, now, ahead = (T.vector(name) for name in ("x", "past", "now", "ahead"))
    buffer = T.matrix("buffer")
    writes = {0: now + past * x, 1: ahead - past}
    result = loop([Sequence("x", x), State("g", {-2: past, 0: now, 1: ahead}, writes)], N, [X, buffer])
    assert result[0].owner.op.variables[1].kind == "mitmot"
    check([N, X, buffer], result, [steps, ROWS, np.arange(27.0).reshape(9, 3)])


def test_a_buffer_with_swapped_rows_is_read_before_it_is_written():
    first, second, buffer = T.vector("first"), T.vector("second"), T.matrix("buffer")
    result = loop([State("s", {0: first, 1: second}, {0: second, 1: first})], N, [buffer])
    (swapped,) = check([N, buffer], result, [3, ROWS[:4]])
    np.testing.assert_array_equal(swapped, ROWS[[1, 2, 3, 0]])


def test_a_carry_of_a_buffer_row_keeps_its_old_value():
    now, kept, buffer, first = T.vector("now"), T.vector("kept"), T.matrix("buffer"), T.vector("first")
    variables = [State("g", {0: now}, {0: now * 2 + kept}), Carry("kept", kept, now[::-1])]
    check([N, buffer, first], loop(variables, N, [buffer, first]), [4, ROWS, START])


def test_a_carry_that_is_a_view_of_a_temporary_survives_the_next_step():
    x, kept, first = T.vector("x"), T.vector("kept"), T.vector("first")
    made = T.exp(x) + 1
    variables = [
        Sequence("x", x),
        StepOutput("seen", kept * 1.0),
        Carry("kept", kept, made[::-1]),
    ]
    check([N, X, first], loop(variables, N, [X, first]), [5, ROWS, START])


def test_a_carry_in_a_ring_of_one_row_keeps_its_old_value():
    h, kept, h0, first = T.vector("h"), T.vector("kept"), T.vector("h0"), T.vector("first")
    variables = [
        State("h", {-1: h}, {0: T.cos(h) + kept * 0.1}, Keep(1)),
        Carry("kept", kept, h),
    ]
    check([N, h0, first], loop(variables, N, [h0, first]), [6, START, START * 2])


def test_swapped_and_constant_carries_agree_with_the_reference():
    a, b, c = (T.vector(name) for name in "abc")
    a0, b0, c0 = (T.vector(name) for name in ("a0", "b0", "c0"))
    variables = [Carry("a", a, b), Carry("b", b, a), Carry("c", c, c)]
    for steps in (0, 1, 2, 3):
        check([N, a0, b0, c0], loop(variables, N, [a0, b0, c0]), [steps, START, START + 1, START + 2])


def test_outputs_that_are_the_inputs_or_constants_or_given_twice_are_rows_of_their_own():
    x, h, w, h0, w_outer = T.vector("x"), T.vector("h"), T.vector("w"), T.vector("h0"), T.vector("w_outer")
    fixed, moved = constant(np.array([1.0, 2.0, 3.0])), h + x
    variables = [
        Sequence("x", x),
        State("h", {-1: h}, {0: moved}),
        *(
            StepOutput(name, each)
            for name, each in zip("abcdef", (x, h, w, fixed, moved, moved), strict=True)
        ),
        NonSequence("w", w),
    ]
    results = loop(variables, N, [X, h0, w_outer])
    check([N, X, h0, w_outer], results, [4, ROWS, START, START * 5])
    for tier in TIERS:
        found = run(tier, [N, X, h0, w_outer], results, [4, ROWS, START, START * 5])
        for k, each in enumerate(found):
            assert each.flags.writeable
            assert not any(np.shares_memory(each, other) for other in found[k + 1 :])


@pytest.mark.parametrize("tier", TIERS)
def test_a_stopped_loop_has_rows_for_its_steps_alone(tier):
    count, start = T.lscalar("count"), constant(0)
    limit, limit_inside = T.lscalar("limit"), T.lscalar("limit_inside")
    variables = [
        State("count", {-1: count}, {0: count + 1}),
        StepOutput("wide", count * T.ones((100,))),
        NonSequence("limit", limit_inside),
    ]
    results = loop(variables, N, [start, limit], until=count + 1 >= limit_inside)
    for steps in (1, 1023, 1024, 1025, 5000):
        rows, wide = run(tier, [N, limit], results, [10**13, steps])  # 10**13 rows would not fit anywhere
        np.testing.assert_array_equal(rows, np.arange(1, steps + 1))
        assert wide.shape == (steps, 100)
        assert wide[-1, 0] == steps - 1


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("keep", [1, 2, 3])
@pytest.mark.parametrize("steps", [1, 2, 1023, 1024, 1025, 3001])
def test_the_last_rows_of_a_loop_that_stops_late_are_right_across_chunks(tier, keep, steps):
    count, row, start = T.lscalar("count"), T.vector("row"), T.vector("start")
    first, limit, inside = constant(0), T.lscalar("limit"), T.lscalar("inside")
    variables = [
        State("count", {-1: count}, {0: count + 1}, Keep(keep)),
        State("row", {-1: row}, {0: row + 1.0}, Keep(keep)),
        NonSequence("inside", inside),
    ]
    results = loop(variables, N, [first, start, limit], until=count + 1 >= inside)
    counts, rows = run(tier, [N, start, limit], results, [10**12, [0.0, 0.5], steps])
    expected = np.arange(max(0, steps - keep), steps) + 1
    np.testing.assert_array_equal(counts, expected)
    np.testing.assert_array_equal(rows, np.stack([expected, expected + 0.5], axis=1))
