"""Memory is planned: what does not fit is kept smaller, then left out."""

from __future__ import annotations

from scanviz.profiler.recording.budget import Budget, affordable_function, affordable_loop
from tests.profiler.records import FORWARD, RNN


def test_a_loop_that_fits_is_kept_whole() -> None:
    assert affordable_loop(RNN, Budget(100_000)) is RNN


def test_a_loop_that_does_not_fit_loses_what_describes_its_step() -> None:
    kept = affordable_loop(RNN, Budget(4_000))
    assert kept is not None
    assert (kept.name, kept.operations, kept.variables, kept.var_mappings) == ("rnn", (), (), {})


def test_nothing_is_kept_where_nothing_fits() -> None:
    assert affordable_loop(RNN, Budget(1_000)) is None
    assert affordable_function(FORWARD, Budget(1_000)) is None


def test_a_function_that_does_not_fit_loses_its_operations() -> None:
    kept = affordable_function(FORWARD, Budget(3_000))
    assert kept is not None
    assert (kept.name, kept.operations) == ("forward", ())


def test_a_budget_is_never_exceeded() -> None:
    budget, taken = Budget(10_000), 0
    for _ in range(100):
        taken += 700 * budget.take(700)
    assert taken <= 8_750
    for _ in range(100):
        taken += 100 * budget.take(100, last=True)
    assert 9_900 <= taken <= 10_000
