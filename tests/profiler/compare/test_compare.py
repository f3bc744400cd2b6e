"""Two runs compared: verdicts, noise, matching, and refusals."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from scanviz.profiler.compare.comparison import CHANGES, Comparison, compare
from scanviz.profiler.compare.intervals import CONFIDENCE
from scanviz.profiler.compare.report import render_comparison, render_refusal
from scanviz.profiler.run.repeats import times_only, with_repeats
from scanviz.record.model import (
    CostRecord,
    DurationRecord,
    FunctionRecord,
    LoopRecord,
    LoopVariableRecord,
    OperationRecord,
    OutcomeRecord,
    ProfileRecord,
    SourceRecord,
    TierRecord,
)
from scanviz.record.statistics import Histogram
from tests.profiler.records import SMALL

CALLS, STEPS = 40, 50
TEXTS = {
    "dot(x[t], W)": "a = T.dot(x_t, W)",
    "dot(h[t-1], U)": "b = T.dot(h, U)",
    "tanh(·)": "return T.tanh(a + b)",
}
USUAL = {"dot(x[t], W)": 1500.0, "dot(h[t-1], U)": 900.0, "tanh(·)": 700.0}


def run(
    times: dict[str, float] | None = None,
    jitter: float = 0.0,
    seed: int = 0,
    name: str = "rnn",
    line: int = 6,
    outliers: int = 0,
) -> ProfileRecord:
    """A run whose step is the sum of its operations; each has a jitter in this process, and so has, smaller, each step."""
    random = np.random.default_rng(seed)
    taken = {label: ns * float(np.exp(random.normal(0, jitter))) for label, ns in (times or USUAL).items()}
    step_ns = sum(taken.values()) + 400
    steps = np.round(step_ns * np.exp(random.normal(0, jitter / 4, CALLS * STEPS))).astype(np.int64)
    steps[0] *= 30  # code made on demand
    steps[random.integers(1, len(steps), outliers)] *= 50
    calls = steps.reshape(CALLS, STEPS).sum(1) + 20_000
    kinds = np.where(np.argsort(np.argsort(-steps)) < 32, 3, 0)
    rows = np.stack([np.repeat(np.arange(CALLS), STEPS), np.tile(np.arange(STEPS), CALLS), steps, kinds], 1)
    operations = tuple(
        OperationRecord(k, label, "operation", "", source(line + k, TEXTS.get(label, label)), None, 96, ns)
        for k, (label, ns) in enumerate(taken.items())
    )
    loop = LoopRecord(
        11,
        1,
        None,
        name,
        source(line + 5, "h, _ = scanviz.scan(step, x, h0, [W, U])"),
        operations=operations,
        variables=(LoopVariableRecord("sitsot", "h", (-1,), (0,), type="float64[8]"),),
        var_mappings={"outer_inp_from_outer_out": {"0": (0,)}},
        runs=CALLS,
        steps=len(steps),
        longest_run=STEPS,
        total_ns=int(calls.sum()),
        first_run_ns=int(calls[0]),
        step_times=durations(steps),
        tiers=(TierRecord("numpy", "", 1, 10),),
        series=rows,
    )
    function = FunctionRecord(
        1,
        "train",
        source(line + 9, "f = scanviz.function([x], h)"),
        "numpy",
        calls=CALLS,
        first_ns=int(calls[0]),
        call_times=durations(calls),
    )
    return ProfileRecord(
        scanviz="0.1.0",
        machine="two processors",
        script="rnn.py",
        wall_ns=int(calls.sum()),
        outcome=OutcomeRecord("ok", 0),
        cost=CostRecord(stamp_ns=50.0),
        functions=(function,),
        loops=(loop,),
    )


def source(line: int, text: str) -> SourceRecord:
    return SourceRecord("rnn.py", line, text)


def durations(times: np.ndarray) -> DurationRecord:
    histogram = Histogram()
    histogram.add(times)
    return histogram.record()


def repeated(count: int, seed: int = 0, **wanted) -> ProfileRecord:
    runs = [run(seed=seed + k, **wanted) for k in range(count)]
    return with_repeats(runs[0], runs[1:])


def with_loop(record: ProfileRecord, **changes) -> ProfileRecord:
    return replace(record, loops=(replace(record.loops[0], **changes),))


def verdicts(comparison: Comparison) -> dict[str, str]:
    return {row.figure.name: row.verdict for row in comparison.rows}


SLOW_DOT = USUAL | {"dot(h[t-1], U)": 1800.0}
ALL_SAME = dict.fromkeys(["train", "rnn", *USUAL], "same")


@pytest.mark.parametrize("record", [run(), repeated(4, jitter=0.05), run(outliers=20), SMALL])
def test_a_run_is_the_same_as_itself_everywhere(record: ProfileRecord) -> None:
    comparison = compare(record, record)
    assert comparison.rows
    assert not comparison.unlike
    assert not comparison.warnings
    for row in comparison.rows:
        assert row.verdict == "same"
        assert row.lost_ns == 0
        assert row.interval.low < row.interval.ratio == 1 < row.interval.high
    assert "no difference was found" in render_comparison(comparison)


@pytest.mark.parametrize("runs", [1, 5])
def test_an_operation_of_twice_the_time_is_found_with_its_line(runs: int) -> None:
    before, after = repeated(runs, 1, jitter=0.01), repeated(runs, 50, jitter=0.01, times=SLOW_DOT)
    found = verdicts(compare(before, after))
    assert found == ALL_SAME | dict.fromkeys(("train", "rnn", "dot(h[t-1], U)"), "slower")
    text = render_comparison(compare(before, after))
    assert "slower  operation dot(h[t-1], U) in train > rnn" in text
    assert "rnn.py:7: b = T.dot(h, U)" in text


def test_swapped_runs_give_mirrored_verdicts() -> None:
    runs = repeated(5, 1, jitter=0.01), repeated(5, 50, jitter=0.01, times=SLOW_DOT)
    there = {row.figure.key: row for row in compare(*runs).rows}
    for row in compare(*runs[::-1]).rows:
        other = there[row.figure.key]
        assert {row.verdict, other.verdict} in ({"slower", "faster"}, {"same"}, {"no verdict"})
        assert row.interval.ratio == pytest.approx(1 / other.interval.ratio)
        assert row.interval.low == pytest.approx(1 / other.interval.high)


def test_the_times_are_those_of_calls_and_steps_without_their_start() -> None:
    rows = {row.figure.name: row for row in compare(run(), run()).rows}
    assert rows["rnn"].a_ns == pytest.approx(3500, rel=0.01)
    assert rows["train"].a_ns == pytest.approx(50 * 3500 + 20_000, rel=0.01)
    assert rows["tanh(·)"].a_ns == 700
    assert rows["rnn"].figure.count == CALLS * STEPS
    assert rows["train"].figure.count == CALLS


def test_rows_are_sorted_by_lost_time_with_unchanged_rows_last() -> None:
    times = {"dot(x[t], W)": 6000.0, "dot(h[t-1], U)": 300.0, "tanh(·)": 705.0}
    rows = compare(repeated(4, jitter=0.01), repeated(4, 9, jitter=0.01, times=times)).rows
    changed = [row for row in rows if row.verdict != "same"]
    assert [each.lost_ns for each in changed] == sorted((each.lost_ns for each in changed), reverse=True)
    assert [row.figure.name for row in rows[3:]] == ["dot(h[t-1], U)", "tanh(·)"]
    assert rows[3].verdict == "faster"
    assert rows[3].lost_ns == pytest.approx(-600 * CALLS * STEPS, rel=0.05)


@pytest.mark.parametrize("runs", [2, 3, 6])
def test_noise_alone_gives_a_verdict_in_fewer_comparisons_than_stated(runs: int) -> None:
    count = 150
    wrong = 0
    for k in range(count):
        seed = 1000 * runs + 20 * k
        a, b = (repeated(runs, seed + 10 * side, jitter=0.3) for side in (0, 1))
        wrong += any(row.verdict in CHANGES for row in compare(a, b).rows)
    assert wrong <= 2 * (1 - CONFIDENCE) * count  # twice the rate: 3 standard deviations above it


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**31), st.integers(0, 20), st.integers(1, 4))
def test_noise_below_the_floor_is_never_a_verdict(seed: int, outliers: int, other: int) -> None:
    scale = 1 + 0.01 * (seed % 9) if other == 1 else 1.0
    before, after = run(seed=seed, outliers=outliers), repeated(other, seed + 1, outliers=outliers)
    if other == 1:
        after = run({label: scale * ns for label, ns in USUAL.items()}, seed=seed + 1, outliers=outliers)
    assert verdicts(compare(before, after)) == ALL_SAME
    assert verdicts(compare(after, before)) == ALL_SAME


def test_a_few_very_slow_steps_give_no_verdict_on_the_step() -> None:
    assert verdicts(compare(run(), run(outliers=30)))["rnn"] == "same"
    rows = compare(repeated(5), repeated(5, outliers=30)).rows
    row = next(row for row in rows if row.figure.name == "rnn")
    assert row.verdict == "same"
    assert row.interval.of == "median"


def test_an_operation_of_a_single_run_is_slower_only_if_the_step_is() -> None:
    record = run()
    operations = tuple(
        replace(operation, typical_ns=operation.typical_ns * 40) for operation in record.loops[0].operations
    )
    hit = with_loop(record, operations=operations)  # its timings met something else on the machine
    comparison = compare(record, hit)
    assert verdicts(comparison) == ALL_SAME
    assert all(row.interval.low <= 1 <= row.interval.high for row in comparison.rows)
    found = verdicts(compare(with_repeats(record, [record]), with_repeats(hit, [hit])))
    assert found == ALL_SAME | dict.fromkeys(USUAL, "slower")


def test_one_slow_run_of_several_is_no_verdict() -> None:
    runs = [run(jitter=0.005, seed=k) for k in range(5)]
    slow = run({label: 3 * ns for label, ns in USUAL.items()})
    found = verdicts(compare(with_repeats(runs[0], runs[1:]), with_repeats(slow, runs[1:])))
    assert set(found) == set(ALL_SAME)
    assert not set(found.values()) & set(CHANGES)


def test_a_difference_below_one_time_stamp_is_no_verdict_on_an_operation() -> None:
    a, b = (run({"tiny": ns, "tanh(·)": 3000.0}) for ns in (20.0, 60.0))
    assert verdicts(compare(a, b))["tiny"] == "same"
    assert verdicts(compare(with_repeats(a, [a]), with_repeats(b, [b])))["tiny"] == "same"
    a, b = (replace(each, cost=CostRecord(stamp_ns=1.0)) for each in (a, b))
    assert verdicts(compare(with_repeats(a, [a]), with_repeats(b, [b])))["tiny"] == "slower"


def test_operations_in_another_order_match_and_their_numbers_play_no_part() -> None:
    turned = dict(reversed(list(USUAL.items())))
    assert verdicts(compare(run(), run(turned))) == ALL_SAME
    slow = dict(reversed(list(SLOW_DOT.items())))
    assert verdicts(compare(repeated(3), repeated(3, times=slow)))["dot(h[t-1], U)"] == "slower"


def test_a_renamed_loop_with_the_same_step_is_matched_and_both_names_are_shown() -> None:
    comparison = compare(run(), run(name="cells"))
    found = verdicts(comparison)
    assert set(found.values()) == {"same"}
    assert "cells" in found and "rnn" not in found
    assert comparison.warnings == ("loop rnn is called cells in B",)


def test_a_loop_with_another_step_is_new_and_its_operations_are_not_listed() -> None:
    comparison = compare(run(), run(dict.fromkeys(("exp(y)", "log(y)"), 1550.0), name="cells"))
    found = verdicts(comparison)
    assert (found["rnn"], found["cells"], found["train"]) == ("gone", "new", "same")
    shown = render_comparison(comparison)
    assert "new     loop cells" in shown
    assert "operation exp" not in shown
    assert all(
        row.of_new == (row.figure.kind == "operation") for row in comparison.rows if row.verdict != "same"
    )


def test_a_new_operation_is_listed_with_its_line_and_cost() -> None:
    comparison = compare(repeated(3), repeated(3, times=USUAL | {"sin(·)": 5000.0}))
    new = next(row for row in comparison.rows if row.verdict == "new")
    assert (new.figure.name, new.verdict, new.interval, new.of_new) == ("sin(·)", "new", None, False)
    assert new.lost_ns == pytest.approx(5000 * CALLS * STEPS)
    assert "new     operation sin(·) in train > rnn\n        5.00 µs each, 10.0 ms lost in all" in (
        render_comparison(comparison)
    )


def test_two_operations_that_look_the_same_are_matched_in_their_order() -> None:
    record = run()
    first = record.loops[0].operations[0]
    twice = with_loop(record, operations=(first, replace(first, index=1, typical_ns=90.0)))
    rows = [row for row in compare(twice, twice).rows if row.figure.kind == "operation"]
    assert [row.verdict for row in rows] == ["same", "same"]
    assert {row.a_ns for row in rows} == {1500.0, 90.0}


def test_an_operation_that_was_never_timed_is_not_measured() -> None:
    record = run()
    unseen = tuple(replace(operation, samples=0, typical_ns=0.0) for operation in record.loops[0].operations)
    comparison = compare(record, with_loop(record, operations=unseen))
    assert {verdicts(comparison)[label] for label in USUAL} == {"not measured"}
    assert "not measured in both: 3" in render_comparison(comparison)


H = LoopVariableRecord("sitsot", "h", (-1,), (0,), type="float64[8]")
UNLIKE = {
    "script": (
        ProfileRecord(
            scanviz="0.1.0", machine="two processors", script="other.py", outcome=OutcomeRecord("ok", 0)
        ),
        "one program",
    ),
    "arguments": (replace(run(), arguments=("--layers", "2")), "same arguments"),
    "machine": (replace(run(), machine="another"), "one machine"),
    "detail": (replace(run(), detail="ops"), "--detail"),
    "ending": (replace(run(), outcome=OutcomeRecord("error", 1, "no")), "end alike"),
    "backend of function train": (
        replace(run(), functions=(replace(run().functions[0], backend="reference"),)),
        "--mode",
    ),
    "tier of loop rnn": (with_loop(run(), tiers=(TierRecord("native", "", 1, 1),)), "--mode"),
    "variable h of loop rnn": (with_loop(run(), variables=(replace(H, type="float32[8]"),)), "dtypes"),
    "steps a run of loop rnn": (with_loop(run(), steps=STEPS * CALLS + CALLS), "n_steps"),
}


@pytest.mark.parametrize("what", UNLIKE)
def test_unlike_runs_are_recognized_with_advice_to_make_them_alike(what: str) -> None:
    other, fix = UNLIKE[what]
    comparison = compare(run(), other)
    assert [each.what for each in comparison.unlike] == [what]
    assert fix in comparison.unlike[0].fix
    assert comparison.unlike[0].a != comparison.unlike[0].b
    text = render_refusal(comparison)
    assert what in text
    assert "--anyway" in text


def test_loops_match_if_variables_are_added_but_not_if_kinds_differ() -> None:
    other = with_loop(run(), variables=(replace(H, kind="nitsot"),))
    assert [each.what for each in compare(run(), other).unlike] == ["variable h of loop rnn"]
    assert not compare(run(), with_loop(run(), variables=(H, replace(H, name="c")))).unlike


def test_a_loop_that_ends_by_a_condition_may_take_a_few_steps_more() -> None:
    loop = run().loops[0]
    runs = [with_loop(run(), has_until=True, steps=loop.steps + more) for more in (0, 100, 1000)]
    assert not compare(runs[0], runs[1]).unlike
    assert compare(runs[0], runs[2]).unlike


def test_another_version_is_a_warning() -> None:
    comparison = compare(run(), replace(run(), scanviz="0.2.0"))
    assert not comparison.unlike
    assert comparison.warnings == ("scanviz 0.1.0 made A, 0.2.0 made B",)


def test_compare_fails_only_if_the_whole_interval_exceeds_the_share() -> None:
    comparison = compare(repeated(5, 1, jitter=0.01), repeated(5, 50, jitter=0.01, times=SLOW_DOT))
    names = [each.figure.name for each in comparison.slower_than(0.05)]
    assert sorted(names) == ["dot(h[t-1], U)", "rnn", "train"]
    assert [each.figure.name for each in comparison.slower_than(0.5)] == ["dot(h[t-1], U)"]
    assert comparison.slower_than(2.0) == []
    assert "fails: slower by more than 50 %" in render_comparison(comparison, fail_over=0.5)
    assert "passes: nothing is slower by more than 200 %" in render_comparison(comparison, fail_over=2.0)


def test_json_holds_every_row_and_is_strict() -> None:
    comparison = compare(repeated(3), repeated(3, times=SLOW_DOT | {"new": 3.0}))
    data = json.loads(json.dumps(comparison.to_json(0.05), allow_nan=False))
    assert data["failed"] is True
    assert data["a"]["runs"] == data["b"]["runs"] == 3
    assert [each["verdict"] for each in data["rows"]].count("new") == 1
    slow = next(each for each in data["rows"] if each["name"] == "dot(h[t-1], U)")
    assert slow["source"] == {"file": "rnn.py", "line": 7, "text": "b = T.dot(h, U)"}
    assert slow["fails"] is True
    assert slow["low"] < slow["ratio"] == pytest.approx(2.0)
    assert comparison.to_json()["failed"] is False


def test_a_repeat_keeps_times_alone() -> None:
    record = run()
    kept = times_only(record)
    assert len(kept.loops[0].series) == 64
    assert kept.loops[0].var_mappings == {}
    assert kept.loops[0].step_times == record.loops[0].step_times
    assert verdicts(compare(with_repeats(kept, [kept]), with_repeats(record, [record]))) == ALL_SAME
