"""Runs of short loops in the default mode only count steps, and all is as if each were reckoned with."""

import sys
from itertools import count

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.backends import registry
from scanviz.engine.backends.auto.counted import Begun
from scanviz.engine.config import config
from scanviz.engine.runtime.specialised import ENTERED

needs_llvm = pytest.mark.skipif(
    not registry.availability("native").works, reason=registry.availability("native").why
)
ROWS = np.linspace(0, 1, 10)


def bent(until=False):
    x = T.vector("x")

    def step(x_t, s):
        following = T.tanh(x_t - s * 0.5)
        return (following, scanviz.until(following > 9)) if until else following

    return scanviz.function([x], scanviz.scan(step, x, np.float64(0), name="bent")[0])


def code_of(f):
    [runner] = f.executable.flat.runners.values()
    [made] = runner.tier.all_made()
    return made


@pytest.mark.parametrize("until", [False, True])
def test_what_was_only_counted_costs_what_its_steps_cost(until):
    f = bent(until)
    for _ in range(ENTERED + 20):
        f(ROWS)
    begun = code_of(f)
    assert begun.allowance.steps > 0 and (begun.entry is None) == until
    begun.left_ns = begun.left_ns
    if not until:
        assert begun.unknown_steps == (ENTERED + 20) * len(ROWS) and not begun.step_ns
        begun.costs(700.0)
    spent = begun.pays_after_ns - begun.left_ns
    assert spent == pytest.approx((ENTERED + 20) * len(ROWS) * begun.step_ns)
    begun.allow()
    assert begun.pays_after_ns - begun.left_ns == pytest.approx(spent)


def test_what_a_step_costs_is_estimated_when_that_may_matter():
    f = bent()
    f(ROWS)
    begun = code_of(f)
    most = begun.short_steps
    assert 100 * len(ROWS) < most < 1e9 / 1e4
    while begun.unknown_steps is not None:
        f(ROWS)
        assert begun.unknown_steps is None or begun.unknown_steps <= most
    assert begun.step_ns and begun.pays_after_ns - begun.left_ns < 0.1 * begun.pays_after_ns


@needs_llvm
@pytest.mark.parametrize("calls", [2, ENTERED + 5])
def test_a_long_run_is_compiled_for_however_many_short_ones_were_only_counted(calls):
    f = bent()
    for _ in range(calls):
        f(ROWS)
    assert type(code_of(f)) is Begun
    f(np.zeros(200_000))
    assert code_of(f).tier.name == "native"


def meanwhile(work, line, does):
    """Work, with something done where another thread might, before the given line of what counts; return whether there is one."""
    left = [line]

    def trace(frame, event, _):
        if "/backends/auto/" not in frame.f_code.co_filename.replace("\\", "/"):
            return None
        left[0] -= event == "line"
        if not left[0]:
            left[0] = -1
            does()
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return left[0] < 0


def test_another_thread_may_estimate_what_a_step_costs_at_any_moment():
    for line in count(1):
        f = bent()
        f(ROWS)
        begun = code_of(f)
        if not meanwhile(lambda f=f: f(ROWS), line, lambda begun=begun: begun.costs(700.0)):
            break
        assert begun.step_ns and abs(begun.pays_after_ns - begun.left_ns) < 1e5
    assert line > 20


def test_another_thread_may_run_steps_while_it_is_estimated_what_they_cost():
    for line in count(1):
        f = bent()
        f(ROWS)
        begun = code_of(f)
        if not meanwhile(lambda begun=begun: begun.costs(700.0), line, begun.allow):
            break
        assert begun.step_ns == 700 and begun.unknown_steps is None
    assert line > 5


def test_nothing_is_allowed_where_machine_code_pays_for_all_loops(monkeypatch):
    f = bent()
    for _ in range(ENTERED + 5):
        f(ROWS)
    expected, begun = f(ROWS), code_of(f)
    monkeypatch.setattr(begun, "pays_after_ns", 1e18)  # it is never due
    f.executable.parts_pay()
    assert begun.entry is None and not begun.allowance.steps
    before = begun.left_ns
    begun.left_ns = 1e18
    for _ in range(ENTERED + 5):
        np.testing.assert_array_equal(f(ROWS), expected)
    assert code_of(f) is begun and begun.entry is not None and not begun.allowance.steps
    assert before < begun.left_ns < 1e18


def test_calls_that_are_only_counted_go_on_where_no_machine_code_is_wanted(monkeypatch):
    monkeypatch.setattr(config.native, "pays_after", float("inf"))
    f = bent()
    for _ in range(ENTERED + 5):
        f(ROWS)
    assert code_of(f).entry is not None and code_of(f).left_ns == float("inf")
