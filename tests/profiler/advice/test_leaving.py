"""Advice on work that could be done elsewhere: draws before a loop, work of shared variables once instead of at every call."""

from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

import scanviz
from scanviz import tensor as T
from scanviz.record.model import DurationRecord, ProfileRecord
from tests.profiler.advice.test_advice import MS, kinds, only, planted

SLOW = {"draw_": 50_000.0}


STAY = scanviz.Mode().excluding("batch_draws")


def walk(draw: Any, until: bool = False, mode: scanviz.Mode = STAY) -> ProfileRecord:
    """Return a profile of a walk whose step draws what ``draw(stream, h, k)`` gives, where it was written; k is a non-sequence."""
    stream = T.random.RandomStreams(seed=1)
    h0, k = T.vector("h0"), T.scalar("k")

    def step(h: Any, k: Any) -> Any:
        now = 0.9 * h + draw(stream, h, k)
        return (now, scanviz.until(now.sum() > 1e9)) if until else now

    h, updates = scanviz.scan(step, None, h0, k, n_steps=6, name="walk")
    with scanviz.profile() as p:
        f = scanviz.function([h0, k], h[-1], updates=updates, name="f", on_unused_input="ignore", mode=mode)
        f(np.ones(4), 2.0)
    return p.record


@pytest.mark.parametrize(
    "draw",
    [
        lambda s, h, k: s.normal(size=(4,)),
        lambda s, h, k: s.normal(k, size=(4,)),
        lambda s, h, k: s.normal(T.exp(k) + 1.0, size=(4,)),
        lambda s, h, k: s.integers(3, size=(4,)),
    ],
    ids=["constants", "a non-sequence", "work of a non-sequence", "integers"],
)
def test_draws_independent_of_the_step_are_advised_to_leave_the_loop(draw: Any) -> None:
    found = only(planted(walk(draw), "walk", operations=SLOW, wall_ms=600.0), "draws")
    assert found.gain_ns == pytest.approx(
        (50_000.0 - 4 * 350.0) * 9999
    )  # four numbers are drawn all the same
    assert found.source is not None and found.source.text.startswith("lambda s, h, k: s.")
    assert "for all steps at once before the loop" in found.text and "other ones of the same" in found.text
    assert "early" not in found.text


@pytest.mark.parametrize(
    "draw",
    [
        lambda s, h, k: s.normal(h, size=(4,)),
        lambda s, h, k: s.normal(size=(4,), std=T.exp(h.sum())),
        lambda s, h, k: s.permutation(4) * 1.0,
    ],
    ids=["a state", "work of a state", "a permutation"],
)
def test_state_dependent_draws_get_no_advice(draw: Any) -> None:
    assert "draws" not in kinds(planted(walk(draw), "walk", operations=SLOW, wall_ms=600.0))


def test_draws_that_left_the_loop_are_not_advised_on() -> None:
    left = walk(lambda s, h, k: s.normal(size=(4,)), mode=scanviz.Mode("numpy"))
    assert "draw_normal of all steps at once" in repr(left.functions[0].rewrites)
    assert "draws" not in kinds(planted(left, "walk", operations=SLOW, wall_ms=600.0))


def test_draws_that_machine_code_makes_in_the_step_are_not_advised_on() -> None:
    stays = walk(lambda s, h, k: s.normal(size=(4,)), mode=scanviz.Mode())
    assert "machine code runs `walk`" in repr(stays.functions[0].rewrites)
    assert "draws" not in kinds(planted(stays, "walk", operations=SLOW, wall_ms=600.0))


def test_the_reason_for_draws_left_in_the_loop_is_shown() -> None:
    left = walk(lambda s, h, k: s.normal(size=(4,)), until=True, mode=scanviz.Mode())
    assert "may end early" in only(planted(left, "walk", operations=SLOW, wall_ms=600.0), "draws").evidence


def test_draws_of_many_numbers_are_not_promised_to_become_faster() -> None:
    many = planted(walk(lambda s, h, k: s.gamma(2.0, size=(1000,)).sum()), "walk", operations=SLOW)
    assert "draws" not in kinds(many)  # 1,000 numbers take as long in one large draw


def test_draws_of_a_size_that_is_not_known_promise_no_figure() -> None:
    found = only(
        planted(walk(lambda s, h, k: s.normal(size=(T.cast(k, "int64"),)).sum()), "walk", operations=SLOW),
        "draws",
    )
    assert found.gain_ns is None and found.most_ns is not None and "pays where that is small" in found.text


def test_the_report_of_a_loop_with_early_end_counts_unneeded_draws() -> None:
    record = planted(walk(lambda s, h, k: s.normal(size=(4,)), until=True), "walk", operations=SLOW)
    assert "are wasted" in only(record, "draws").text


def mixing(updated: bool = False, elsewhere: bool = False, named: bool = True) -> ProfileRecord:
    """Return a profile of a function that inverts a shared matrix at each of its calls."""
    x, W = T.vector("x"), scanviz.shared(np.eye(3), "W" if named else None)
    result = T.dot(x, T.linalg.inv(W + 1.0))
    with scanviz.profile() as p:
        f = scanviz.function([x], result, updates=[(W, W * 0.9)] if updated else None, name="f")
        if elsewhere:
            scanviz.function([], [], updates=[(W, W * 0.9)], name="train")()
        for _ in range(5):
            f(np.ones(3))
    return p.record


def called(
    record: ProfileRecord, inv_ns: float = 8000.0, p50_ns: int = 10_000, calls: int = 1000
) -> ProfileRecord:
    """Return the record as if its function had been called so often; an operation took 500 ns, the inverse more."""
    [f, *others] = record.functions
    took = [inv_ns if one.label.startswith("inv") else 500.0 for one in f.operations]
    timed = [
        replace(one, samples=40, typical_ns=mean, mean_ns=mean)
        for one, mean in zip(f.operations, took, strict=True)
    ]
    times = DurationRecord(calls, calls * 10_000, p50_ns=p50_ns)
    f = replace(f, operations=tuple(timed), calls=calls, call_times=times)
    return replace(record, functions=(f, *others), wall_ns=100 * MS, measures={})


def test_work_of_shared_variables_alone_is_named_with_its_line() -> None:
    found = only(called(mixing()), "same_at_every_call")
    assert found.source is not None and "T.linalg.inv" in found.source.text
    assert found.gain_ns == pytest.approx(8500.0 * 999)  # inv and the sum in it, not the product with x
    assert "`inv(" in found.text and "85 %" in found.evidence


@pytest.mark.parametrize("how", ["updated", "elsewhere"])
def test_work_of_an_updated_shared_variable_gets_no_advice(how: str) -> None:
    assert "same_at_every_call" not in kinds(called(mixing(**{how: True})))


def test_work_of_an_unnamed_shared_variable_is_left_out() -> None:
    assert "same_at_every_call" not in kinds(called(mixing(named=False)))


def test_a_known_median_of_an_operation_bounds_the_gain() -> None:
    record = called(mixing(), inv_ns=300_000.0)
    [f] = record.functions
    medians = tuple(
        replace(one, typical_ns=6000.0 if one.label.startswith("inv") else 400.0) for one in f.operations
    )
    known = replace(record, functions=(replace(f, operations=medians),))
    assert only(known, "same_at_every_call").gain_ns == pytest.approx(6400.0 * 999)
