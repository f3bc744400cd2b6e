"""What rewrites for NumPy took out of a loop counts until machine code pays: by a planted clock, the forecast holds."""

import re
from contextlib import nullcontext

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.backends.auto import left
from scanviz.engine.backends.auto import loop as auto_loop
from scanviz.engine.backends.auto.left import left_ns
from scanviz.engine.backends.registry import availability

pytestmark = pytest.mark.skipif(not availability("native").works, reason="no LLVM")
STEPS, RULES = 1000, {"PushOutShortRows", "batch_draws"}
# times what pays for compiling pays for rewriting the function, too
REWRITTEN = 1 + auto_loop.REWRITING / (auto_loop.LOADING + auto_loop.USUAL_STEP)


def rows_before(mode="auto"):
    """Return a function whose loop has most of its work before it: elementwise, for all rows at once."""
    x, n = T.matrix("x"), T.lscalar("n")
    h, _ = scanviz.scan(
        lambda x_t, h: h * 0.5 + T.tanh(T.exp(x_t) + 1), x, T.zeros((64,)), n_steps=n, name="decay"
    )
    return scanviz.function([x, n], h[-1], mode=mode)


@pytest.fixture
def clock(monkeypatch):
    """Plant what a step costs, and what a call does outside for each of its rows; return what sets them, in nanoseconds."""

    def plant(step, outside):
        monkeypatch.setattr(auto_loop, "saved_ns", lambda program, plan: step)
        monkeypatch.setattr(left, "left_ns", lambda program, inputs, rules: {"decay": outside * STEPS})

    return plant


def calls_before(f, *given):
    """Return how many calls ran on NumPy before the function went over to machine code."""
    for call in range(400):
        f(*given)
        if f.for_machine_code is not None or f.executable.counted.compiled:
            return call
    return None


def test_calls_that_pay_and_have_no_code_of_the_whole_go_over_to_the_program_for_machine_code(monkeypatch):
    monkeypatch.setattr(scanviz.config.native, "pays_after", 0.02)
    n, streams = T.lscalar("n"), T.random.RandomStreams(1)
    # its draws leave the loop on NumPy: of that Program there is no code of whole calls, and its loop alone is half of what can be
    h, updates = scanviz.scan(
        lambda h: 0.9 * h + streams.normal(), None, np.float64(0), n_steps=n, name="walk"
    )
    f = scanviz.function([n], h, updates=updates)
    for _ in range(1000):
        f(1000)
        if f.for_machine_code is not None or f.executable.counted.compiled:
            break
    assert f.for_machine_code is not None and not f.executable.counted.compiled


@pytest.mark.parametrize("outside", [0.0, 500.0, 4_000.0, 19_000.0])
def test_a_loop_goes_over_when_all_that_is_saved_has_cost_as_much_as_rewriting_and_compiling(clock, outside):
    clock(step=1_000.0, outside=outside)
    f, given = rows_before(), (np.ones((STEPS, 64)), STEPS)
    numpy_ns = (1_000.0 + outside) * STEPS  # of a call, by the planted clock
    spent = calls_before(f, *given) * numpy_ns
    pays = REWRITTEN * scanviz.config.native.pays_after * 1e9
    ahead = auto_loop.THIS_RUN * numpy_ns  # what the call that begins counts
    assert pays - ahead - 2 * numpy_ns <= spent <= pays - ahead + 2 * numpy_ns


def test_the_forecast_of_a_profile_holds(clock):
    clock(step=1_000.0, outside=4_000.0)
    f, given = rows_before(), (np.ones((STEPS, 64)), STEPS)
    for _ in range(33):
        f(*given)  # what is outside is looked at when a tenth of what pays is done
    (runner,) = f.executable.flat.runners.values()
    (made,) = runner.tier.all_made()
    steps = int(re.search(r"pays after about ([\d,]+) steps", made.why)[1].replace(",", ""))
    assert steps == round(REWRITTEN * scanviz.config.native.pays_after * 1e9 / 5_000.0)
    assert abs(calls_before(f, *given) + 33 + auto_loop.THIS_RUN - steps / STEPS) <= 2


def test_of_a_loop_that_has_done_enough_no_code_for_numpy_is_written_in_the_version_for_machine_code(clock):
    clock(step=1_000.0, outside=4_000.0)
    f, rows = rows_before(), np.ones((STEPS, 64))
    while not f.executable.counted.due:
        f(rows, STEPS)
    f(rows, 3)  # too few steps to pay for anything alone
    (runner,) = f.for_machine_code.executable.flat.runners.values()
    assert [made.tier.name for made in runner.tier.all_made()] == ["native"]
    assert runner.tier.misses == 1


@pytest.mark.parametrize(("width", "times"), [(1, 0), (500, 0), (300_000, 1)])
def test_what_a_step_costs_is_not_asked_while_rows_are_too_short_for_it_to_matter(monkeypatch, width, times):
    asked = []
    monkeypatch.setattr(auto_loop, "saved_ns", lambda program, plan: asked.append(1) or 1e3)
    x = T.matrix("x")
    f = scanviz.function([x], scanviz.scan(lambda x_t, h: h * 0.5 - x_t, x, T.zeros_like(x[0]))[0][-1])
    for _ in range(20):
        f(np.ones((2, width)))
    assert len(asked) == times


@pytest.mark.parametrize("is_watched", [False, True])
def test_what_few_steps_cost_is_estimated_when_their_shapes_are_met_again_and_then_all_count(
    monkeypatch, is_watched
):
    asked = []
    monkeypatch.setattr(auto_loop, "saved_ns", lambda program, plan: asked.append(1) or 1e5)
    monkeypatch.setattr(scanviz.config.native, "pays_after", 0.1)
    x = T.matrix("x")
    h, _ = scanviz.scan(lambda x_t, h: h * 0.5 - x_t, x, T.zeros((3,)), name="few")
    f, given = scanviz.function([x], h), np.ones((10, 3))
    with scanviz.profile() if is_watched else nullcontext():
        f(given)
        assert len(asked) == is_watched  # a profile says when machine code pays
        assert (
            calls_before(f, given) + 1 == 100 - auto_loop.THIS_RUN
        )  # of a millisecond each, by what is planted
    assert len(asked) == 1


def test_a_single_run_is_compiled_at_once_where_it_saves_more_than_compiling_costs(monkeypatch):
    monkeypatch.setattr(auto_loop, "saved_ns", lambda program, plan: 1_000.0)
    for steps, expected in ((40_000, set()), (46_000, {"decay"})):
        x = T.vector("x")
        h, _ = scanviz.scan(lambda x_t, h: h * 0.5 - x_t, x, 0.0, name="decay")
        f = scanviz.function([x], h)
        f(np.ones(steps))
        assert f.executable.counted.compiled == expected


def test_work_before_a_loop_is_that_of_the_loop_which_reads_it():
    x, y = T.matrix("x"), T.matrix("y")
    one, _ = scanviz.scan(lambda x_t, h: h * 0.5 + T.tanh(x_t), x, T.zeros((64,)), name="one")
    two, _ = scanviz.scan(lambda y_t, h: h * 0.5 + y_t, y, T.zeros((64,)), name="two")
    f = scanviz.function([x, y], [one[-1], two[-1]], mode="auto")
    found = left_ns(f.program, [(STEPS, 64), (STEPS, 64)], RULES)
    assert set(found) == {"one"}
    assert 64 * STEPS * 0.1 < found["one"] < 64 * STEPS * 10


def test_nothing_is_known_of_sizes_that_depend_on_values_and_nothing_is_counted():
    f = rows_before()
    assert left_ns(f.program, [(None, None), ()], RULES) == {}
    assert left_ns(f.program, [(STEPS, 64), ()], set()) == {}


def test_a_profile_changes_nothing_about_the_call_that_goes_over(clock):
    clock(step=1_000.0, outside=4_000.0)
    given = (np.ones((STEPS, 64)), STEPS)
    plain = calls_before(rows_before(), *given)
    with scanviz.profile():
        watched = calls_before(rows_before(), *given)
    assert plain == watched
