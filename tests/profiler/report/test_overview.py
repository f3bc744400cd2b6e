"""The report: one screen that reads well, whatever the record, the width and the terminal."""

import io
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from scanviz.profiler.report.overview import own_ns, print_report, render_report
from scanviz.profiler.report.text import columns
from scanviz.record.loops import TierRecord
from scanviz.record.model import DurationRecord, FunctionRecord, LoopRecord, OutcomeRecord, ProfileRecord
from tests.profiler.records import FORWARD, INNER, RNN, SMALL
from tests.record.records import profiles

GOLDEN = """\
rnn.py --layers 2 · 49.9 ms · 2 calls of 1 function · numpy
rnn.py:6 is the slowest line: 6.5 % of run time, 3.23 µs per step of the loop `rnn`,
    mostly `dot(x[t], W)`.
Steps are so short that per-operation overhead dominates.

where the time goes: 49.9 ms
  your own code                 41.9 ms    84 %
  compilation                   4.15 ms   8.3 %
  loops                         3.69 ms   7.4 %
  operations outside of loops   40.0 ns  <0.1 %
  unattributed                   200 µs   0.4 %
  profiler overhead (excluded)  60.0 µs       –

forward (rnn.py:11): 2 calls, 4.54 ms (9.1 %) · first 2.70 ms, then 1.90 ms per call
loop                   time  of run   steps      p50      p95      max  operations
  rnn               3.69 ms   7.4 %   1,000  4.00 µs  5.10 µs  52.0 µs        88 %
    cells                 –       –  50,000  4.00 µs  5.10 µs  52.0 µs           –
  outside of loops  40.0 ns  <0.1 %
  unattributed       200 µs   0.4 %
  compilation        650 µs   1.3 %

  by line       time  of run  in loops  outside
  rnn.py:11  3.50 ms   7.0 %         –        –  forward = scanviz.function([x], h)
  rnn.py:6   3.23 ms   6.5 %   3.23 ms        –  h_t = T.tanh(T.dot(x_t, W) + T.dot(h, U))
  rnn.py:9   1.11 ms   2.2 %    461 µs        –  h, _ = scanviz.scan(step, x, h0, [W, U],…
  no line    42.1 ms    84 %

rnn (rnn.py:9) · 2 runs, 1,000 steps · 3.69 ms · buffers 32.0 KiB
  typical step 4.00 µs = operations 3.50 µs + storing rows 0.10 µs + the loop itself
      0.40 µs (96 timed)
  steps: mean 4.20 µs, p95 5.10 µs, max 52.0 µs (step 17 of run 1)
  compilation 200 µs, first run 2.50 ms
  steps 0–488 of run 0 ▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃ █ ≥ 10.0 µs
  operation       per step  of run  line
  dot(x[t], W)     1.50 µs   2.8 %  rnn.py:6  h_t = T.tanh(T.dot(x_t, W) + T.dot(h, U))
  dot(h[t-1], U)    900 ns   1.7 %  rnn.py:6  h_t = T.tanh(T.dot(x_t, W) + T.dot(h, U))
  tanh(·)           700 ns   1.3 %  rnn.py:6  h_t = T.tanh(T.dot(x_t, W) + T.dot(h, U))
  · + ·             400 ns   0.7 %  rnn.py:6  h_t = T.tanh(T.dot(x_t, W) + T.dot(h, U))

cells (rnn.py:9) · 2 runs, 50,000 steps · buffers 32.0 KiB
  1,000 of 50,000 steps have a time
  steps: median 4.00 µs, mean 4.20 µs, p95 5.10 µs, max 52.0 µs (step 17 of run 1)
  compilation 200 µs, first run 2.50 ms
  steps 0–488 of run 0 ▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃ █ ≥ 10.0 µs
"""


def loop_changed(**changes: object) -> ProfileRecord:
    return replace(SMALL, loops=(replace(RNN, **changes), INNER))


def test_compilation_time_of_a_loop_is_part_of_the_time_around_its_steps() -> None:
    code = (TierRecord("native", "it pays", 1, 1_500_000), TierRecord("native", "other shapes", 1, 500_000))
    text = render_report(loop_changed(tiers=code, setup_ns=2_100_000), width=90)
    assert "  before and after the steps 100 µs, compilation 2.00 ms, first run 2.50 ms" in text


def test_the_report_of_a_small_record_is_as_expected() -> None:
    assert render_report(SMALL, width=90) == GOLDEN


@pytest.mark.parametrize("width", [80, 100])
def test_a_small_record_fits_one_screen(width: int) -> None:
    assert render_report(SMALL, width=width).count("\n") <= 46


@given(
    record=profiles(),
    width=st.integers(40, 160),
    top=st.integers(1, 12),
    scan=st.none() | st.text(max_size=5),
)
def test_any_record_is_shown_within_the_width_and_without_control_characters(
    record: ProfileRecord, width: int, top: int, scan: str | None
) -> None:
    text = render_report(record, width=width, top=top, scan_name=scan)
    assert text.endswith("\n")
    assert all(columns(line) <= width for line in text.split("\n"))
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", text)


@given(record=profiles(), width=st.integers(40, 160))
def test_a_report_can_be_written_in_any_encoding(record: ProfileRecord, width: int) -> None:
    for encoding in ("utf-8", "ascii", "cp1252", "latin-1"):
        raw = io.BytesIO()
        file = io.TextIOWrapper(raw, encoding=encoding, newline="")
        print_report(record, file, width=width)
        file.flush()
        assert all(
            len(line) <= width for line in raw.getvalue().decode(encoding).split("\n") if line.isascii()
        )


def test_zero_width_marks_lengthen_no_line_in_other_encodings() -> None:
    name = "e\u0301" * 60
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding="ascii", newline="")
    print_report(replace(SMALL, loops=(replace(RNN, name=name), INNER)), file, width=80)
    file.flush()
    lines = raw.getvalue().decode("ascii").split("\n")
    assert any("eee" in line for line in lines) and max(map(len, lines)) <= 80


@pytest.mark.parametrize("unit", [1, 1e-3, 1e-6, 1e-9, 1e3])
def test_nonzero_times_are_never_shown_as_zero(unit: float) -> None:
    def scaled(value: float) -> float:
        return value * unit

    operations = tuple(
        replace(operation, typical_ns=scaled(operation.typical_ns)) for operation in RNN.operations
    )
    record = loop_changed(
        body_ns=scaled(3500.0), copy_ns=scaled(100.0), overhead_ns=scaled(400.0), operations=operations
    )
    text = render_report(record)
    assert not re.search(r"(?<![\d.])0(\.0*)? (s|ms|µs|ns|%)", text)
    assert not re.search(r"(operations|copies|loop) 0(?![.\d])", text)


def test_a_report_of_one_loop_has_its_variables_and_code() -> None:
    text = render_report(SMALL, scan_name="rnn")
    assert "sitsot" in text
    assert "last 1" in text
    assert "generated for the shapes met (×1, 350 µs)" in text
    assert "forward" not in text


def test_an_unknown_loop_gives_the_nearest_names() -> None:
    assert "no loop named 'rmn'; did you mean rnn?" in render_report(SMALL, scan_name="rmn")
    assert "no loop named 'zzz'; loops: rnn, cells" in render_report(SMALL, scan_name="zzz")
    assert "loops: none" in render_report(ProfileRecord(), scan_name="zzz")


def test_an_ambiguous_loop_name_is_refused_with_the_numbered_names() -> None:
    record = replace(SMALL, loops=(RNN, replace(INNER, name="rnn")))
    assert "2 loops are named 'rnn': rnn#1, rnn#2" in render_report(record, scan_name="rnn")
    assert render_report(record, scan_name="rnn#2").count("rnn#2 (rnn.py:") == 1


def test_the_report_of_a_failed_run_begins_with_its_error() -> None:
    record = replace(SMALL, outcome=OutcomeRecord("error", 1, "ValueError: bad\nmore"))
    head = render_report(record).split("\n")
    assert " · error · " in head[0]
    assert head[1] == "ValueError: bad"
    assert "exit code 3" in render_report(replace(SMALL, outcome=OutcomeRecord("exit", 3)))
    assert "interrupted" in render_report(replace(SMALL, outcome=OutcomeRecord("interrupted", 130)))


def test_runs_that_did_not_end_well_are_noted() -> None:
    text = render_report(loop_changed(failed_runs=1, running=2, cost_ns=2_200_000.0))
    assert "1 run ended by an error · 2 runs had not ended" in text
    assert "profiling made it about 2 times slower" in text and "in all" not in text
    text = render_report(loop_changed(recorder_ns=440_000_000))
    assert "times slower, by 440 ms in all" in " ".join(text.split())


def test_the_median_of_very_short_steps_is_at_most_the_95th_percentile() -> None:
    times = DurationRecord(20_000, 66_000, p50_ns=3, p95_ns=3, p99_ns=4, max_ns=80)
    text = render_report(
        loop_changed(body_ns=2.0, copy_ns=0.75, overhead_ns=0.5, step_times=times), width=100
    )
    assert "3.25 ns  3.25 ns  80.0 ns" in text and "p95 3.25 ns, max 80.0 ns" in text


def test_more_functions_and_loops_than_wanted_are_summed_up() -> None:
    functions = tuple(
        replace(FORWARD, key=k, call_times=DurationRecord(1, 1000 - k), calls=1) for k in range(1, 21)
    )
    loops = tuple(replace(INNER, key=100 + k, parent=None, name=f"loop{k}") for k in range(20))
    text = render_report(replace(SMALL, functions=functions, loops=loops))
    assert "12 more functions" in text
    assert "--top 20 shows them" in text
    assert "12 more " in text
    assert render_report(replace(SMALL, functions=functions), top=20).count("forward (rnn.py:11)") == 20


def test_a_loop_without_operation_times_is_reported_as_such() -> None:
    operations = tuple(replace(operation, samples=0, typical_ns=0.0) for operation in RNN.operations)
    text = render_report(loop_changed(operations=operations, sampled_steps=0))
    assert "operations were not timed one by one in this tier" in text


@pytest.mark.parametrize("timed, is_reported", [(900, False), (100, True)])
def test_the_number_of_timed_steps_is_given_if_most_ran_untimed(timed: int, is_reported: bool) -> None:
    record = loop_changed(
        steps=1000, control_steps=1000 - timed, step_times=DurationRecord(timed, 10**6, 5, 9, 9, 9)
    )
    assert (f"{timed} of 1,000 steps have a time" in render_report(record, width=200)) == is_reported


def test_a_slow_step_stands_out_in_the_line_of_steps() -> None:
    rows = [[0, step, 4000, 0] for step in range(400)]
    rows[200][2] = 90_000
    line = next(word for word in report_of(RNN, rows).split("\n") if word.startswith("  steps 0"))
    bars = line.split(" ")[-5]
    assert bars.count("█") == 1
    assert set(bars) == {"█", "▃"}
    assert bars.index("█") == pytest.approx(len(bars) / 2, abs=1)


def report_of(loop: LoopRecord, rows: list[list[int]]) -> str:

    return render_report(replace(SMALL, loops=(replace(loop, runs=1, series=np.array(rows)),)))


def test_the_number_that_distinguishes_equal_labels_is_not_cut_off() -> None:
    label = "dot(exp(one + two), exp(three + four) + five)"
    operations = tuple(
        replace(operation, label=f"{label}#{k + 1}") for k, operation in enumerate(RNN.operations)
    )
    shown = render_report(loop_changed(operations=operations), width=80)
    for k in range(len(operations)):
        assert f"…#{k + 1} " in shown


@pytest.mark.parametrize("width", [60, 80, 100])
def test_the_line_of_an_operation_is_not_cut_off(width: int) -> None:
    label, measures = "dot(exp(one + two), exp(three + four))", {"bytes": 8e3, "flops": 1e3}
    operations = tuple(
        replace(
            operation, label=label, measures=measures, mean_ns=1.5e6, source=replace(RNN.source, line=120 + k)
        )
        for k, operation in enumerate(RNN.operations)
    )
    shown = render_report(loop_changed(operations=operations), width=width, scan_name="rnn")
    for k in range(len(operations)):
        assert f"rnn.py:{120 + k} " in shown


def test_colours_are_codes_around_whole_lines() -> None:
    colored = render_report(SMALL, width=90, color=True)
    assert re.sub("\x1b\\[[0-9;]*m", "", colored) == GOLDEN
    assert colored.count("\x1b[") % 2 == 0


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in ("NO_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    return monkeypatch


@pytest.mark.parametrize(
    ("file", "environment", "colored"),
    [
        (Terminal(), {}, True),
        (Terminal(), {"NO_COLOR": "1"}, False),
        (Terminal(), {"NO_COLOR": ""}, True),
        (Terminal(), {"TERM": "dumb"}, False),
        (io.StringIO(), {}, False),
    ],
)
def test_colours_are_on_for_supporting_terminals(
    file: io.StringIO, environment: dict[str, str], colored: bool, terminal: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        terminal.setenv(name, value)
    print_report(SMALL, file)
    assert ("\x1b[" in file.getvalue()) == colored


def test_the_width_is_that_of_columns_or_100(terminal: pytest.MonkeyPatch) -> None:
    wide, narrow = io.StringIO(), io.StringIO()
    print_report(SMALL, wide, top=8)
    assert wide.getvalue() == render_report(SMALL, width=100)
    terminal.setenv("COLUMNS", "62")
    print_report(SMALL, narrow, top=8)
    assert narrow.getvalue() == render_report(SMALL, width=62)


def test_the_own_time_of_a_loop_is_without_the_loops_in_it() -> None:
    assert own_ns(SMALL, RNN) == RNN.total_ns - INNER.total_ns
    assert own_ns(SMALL, INNER) == INNER.total_ns


def test_a_record_without_calls_is_reported_as_such() -> None:
    assert "No scanviz function was called" in render_report(
        ProfileRecord(script="x.py", outcome=OutcomeRecord("ok", 0))
    )


def test_the_report_of_traced_values_names_the_command_that_shows_them() -> None:
    assert "scanviz report FILE --values shows them" in render_report(replace(SMALL, detail="values"))
    assert "--values" not in render_report(SMALL)


def test_the_report_explains_missing_rates_on_the_reference_tier() -> None:
    function = FunctionRecord(1, "f", None, "reference", calls=1, call_times=DurationRecord(1, 10))
    text = "1 function ran on the reference tier, which makes no plan of shapes and memory"
    assert text in render_report(ProfileRecord(wall_ns=20, functions=(function,)), width=200)
    other = replace(function, backend="numpy")
    assert "plan of shapes" not in render_report(ProfileRecord(wall_ns=20, functions=(other,)), width=200)


def test_the_reason_for_the_code_of_a_loop_is_not_cut() -> None:
    why = "no native code: callouts would cost more than native code gains: `sort` has no native code, and more of it"
    loop = replace(RNN, tiers=(TierRecord("numpy", why, 1, 1000),))
    text = render_report(replace(SMALL, loops=(loop, *SMALL.loops[1:])), width=80, scan_name="rnn")
    assert why in " ".join(text.split())
