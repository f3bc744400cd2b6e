"""The report that answers first: at most twenty lines, the slowest line of the script named at the top."""

import pytest
from msgspec.structs import replace

import scanviz
from scanviz import tensor as T
from scanviz.profiler.report.overview import render_report
from scanviz.profiler.report.summary import MOST_LINES, render_summary
from scanviz.record.model import OutcomeRecord, ProfileRecord
from scanviz.record.summary.verdict import VerdictSentence
from scanviz.record.traces.finding import FirstNanRecord
from tests.profiler.records import SMALL

MORE = ("Saved rnn.scanviz. More: scanviz report rnn.scanviz --full",)


def test_the_summary_of_a_small_record_is_as_expected() -> None:
    assert (
        render_summary(SMALL, width=90, more=MORE)
        == """\
rnn.py --layers 2 took 49.9 ms: your own code 84 %, compilation 8.3 %, loops 7.4 %.
rnn.py:6 is the slowest line: 6.5 % of run time, 3.23 µs per step of the loop `rnn`,
    mostly `dot(x[t], W)`.
  line      loop  share     time  per step
  rnn.py:6  rnn   6.5 %  3.23 ms   3.23 µs  h_t = T.tanh(T.dot(x_t, W) + T.dot(h, U))
Why: Steps are so short that per-operation overhead dominates.
Profiler overhead of 60.0 µs is in none of these figures.
Saved rnn.scanviz. More: scanviz report rnn.scanviz --full
"""
    )


@pytest.mark.parametrize("width", [80, 100, 160])
def test_a_summary_has_at_most_twenty_lines(width: int) -> None:
    busy = {"cpu_ns": 1e6, "involuntary_switches": 3.0}
    failed = OutcomeRecord("error", 1, "ValueError: " + "many words " * 12)
    record = replace(SMALL, measures=busy, outcome=failed, detail="values", left_out=7)
    to_try = VerdictSentence("try", "Move this out of the loop. " * 20)
    text = render_summary(record, width=width, to_try=to_try, more=MORE)
    assert text.count("\n") <= MOST_LINES and text.endswith(MORE[0] + "\n")
    assert all(len(line) <= width for line in text.splitlines())
    assert "ValueError: many words" in text and "is the slowest line" in text


@pytest.mark.parametrize("width", [80, 200])
def test_long_names_arguments_and_errors_are_cut(width: int) -> None:
    long = "名n" * 1000
    (function,) = SMALL.functions
    failed = OutcomeRecord("error", 1, "ValueError: " + long)
    nan = FirstNanRecord(function.key, long, None, long, 3, long)
    record = replace(
        SMALL,
        arguments=(long,),
        outcome=failed,
        functions=(replace(function, name=long),),
        loops=tuple(replace(loop, name=long) for loop in SMALL.loops),
        first_nan=nan,
    )
    text = render_summary(record, width=width, more=MORE)
    assert text.count("\n") <= MOST_LINES and text.endswith(MORE[0] + "\n")
    assert "ValueError: 名n" in text and "is the slowest line" in text and "returned NaN" in text


def test_a_summary_too_long_cuts_the_table_not_the_advice() -> None:
    to_try = VerdictSentence("try", "Move this out of the loop. " * 20)
    text = render_summary(SMALL, width=80, to_try=to_try)
    assert " ".join(text.split()).count("Move this out") == 20 and text.count("\n") <= MOST_LINES


def test_a_script_without_calls_is_summarised_as_such() -> None:
    text = render_summary(ProfileRecord(script="x.py", wall_ns=10**9, outcome=OutcomeRecord("ok", 0)))
    assert text == (
        "x.py took 1.00 s.\nNo scanviz function was called: scanviz records what scanviz.function compiles.\n"
    )


def test_a_script_that_only_compiles_is_summarised_as_such() -> None:
    x = T.vector("x")
    with scanviz.profile() as p:
        scanviz.function([x], T.exp(x))
    first, second, *_ = render_summary(p.record, width=200).splitlines()
    assert "compilation" in first
    assert second == "No scanviz function was called, only compiled: call it in the script to time it."
    assert second in render_report(p.record, width=200)


def test_profiler_overhead_and_a_busy_machine_stand_below_the_answer() -> None:
    record = replace(SMALL, measures={"cpu_ns": 20e6, "involuntary_switches": 3.0})
    first, *_, last = render_summary(record, width=160).splitlines()
    assert "off the CPU" not in first and "overhead" not in first
    assert "off the CPU 60 % (3 involuntary context switches)" in last
