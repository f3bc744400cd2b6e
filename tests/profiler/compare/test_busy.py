"""A busy machine: CPU time instead of wall time, no verdict for noisy runs, and a message."""

import pytest
from msgspec.structs import replace

from scanviz.profiler.compare.comparison import CHANGES, compare
from scanviz.profiler.compare.report import render_comparison
from scanviz.profiler.run.repeats import with_repeats
from scanviz.record.model import ProfileRecord
from tests.profiler.compare.test_compare import SLOW_DOT, run, verdicts


def waiting(record: ProfileRecord, times: float) -> ProfileRecord:
    """The run on a machine that let its calls wait: so many times as long on the clock, as long on the processor."""
    [function] = record.functions
    took = function.call_times
    longer = replace(took, total_ns=round(took.total_ns * times), p50_ns=round(took.p50_ns * times))
    function = replace(function, call_times=longer, measures={"cpu_ns": float(took.total_ns)})
    return replace(record, functions=(function,))


def series(waits: list[float], seed: int = 0, **wanted) -> ProfileRecord:
    runs = [waiting(run(seed=seed + k, jitter=0.01, **wanted), times) for k, times in enumerate(waits)]
    return with_repeats(runs[0], runs[1:])


WAITS = [1.5, 3.0, 1.2, 2.5, 2.0, 2.0, 1.4, 2.9]


def test_calls_are_compared_by_cpu_time_not_by_waiting() -> None:
    comparison = compare(series(WAITS), series(WAITS[::-1], 50), rounds=True)
    row = next(row for row in comparison.rows if row.figure.kind == "function")
    assert row.verdict == "same"
    assert row.interval.of == "cpu time"
    assert row.b_ns == pytest.approx(row.a_ns, rel=0.05)
    assert "the machine was busy: calls were off the CPU A 50 %, B 50 % of their time" in render_comparison(
        comparison
    )
    slower = compare(series(WAITS), series(WAITS[::-1], 50, times=SLOW_DOT), rounds=True)
    assert verdicts(slower)["train"] == "slower"
    assert "of CPU time" in render_comparison(slower)


def test_series_on_an_unequally_busy_machine_get_no_verdict() -> None:
    quiet, busy = series([1.0] * 6), series([2.0] * 6, 50, times=SLOW_DOT)
    comparison = compare(quiet, busy)
    assert not {row.verdict for row in comparison.rows} & set(CHANGES)
    text = " ".join(render_comparison(comparison).split())
    assert "the machine was not as busy for both: calls of A and B were off the CPU 0 % and 50 %" in text
    assert "scanviz compare --run runs both in turns" in text
    assert verdicts(compare(quiet, busy, rounds=True))["rnn"] == "slower"


def test_noisy_runs_of_one_program_get_no_verdict_and_a_message() -> None:
    series = [[run(seed=k + 20 * side, jitter=0.6) for k in range(8)] for side in (0, 1)]
    a, b = (with_repeats(runs[0], runs[1:]) for runs in series)
    comparison = compare(a, b, rounds=True)
    assert not set(verdicts(comparison).values()) & set(CHANGES)
    assert verdicts(comparison)["rnn"] == verdicts(comparison)["train"] == "no verdict"
    text = " ".join(render_comparison(comparison).split())
    assert "no verdict: loop rnn" in text
    assert "runs of one program differ too much, the machine was too busy" in text


def test_few_rounds_are_mentioned() -> None:
    few, many = (compare(series([1.0] * n), series([1.0] * n, 50), rounds=True) for n in (3, 8))
    assert "3 rounds: 8 or more tell smaller changes" in render_comparison(few)
    assert "tell smaller changes" not in render_comparison(many)
