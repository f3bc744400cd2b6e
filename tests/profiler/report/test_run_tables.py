"""The report's rows about the whole run sum to it and account for loops removed by rewrites."""

import re
from functools import cache

import numpy as np
import pytest
from msgspec.structs import replace

import scanviz
from scanviz import tensor as T
from scanviz.profiler.report.overview import render_report
from scanviz.profiler.report.run_tables import by_line_lines, gone_lines, outside_lines, whole_lines
from scanviz.record.loops import TierRecord
from scanviz.record.model import ProfileRecord, ThreadTimesRecord
from scanviz.record.operations import OperationRecord
from scanviz.record.summary.run_breakdown import (
    OperationTimes,
    parts_of,
)
from scanviz.record.summary.totals import gone_loops, lines, totals
from tests.profiler.records import INNER, RNN, SMALL

X, W = T.matrix("X"), T.matrix("W")


@pytest.fixture(scope="module")
def record():
    return recorded()


def recorded():
    rng = np.random.default_rng(0)
    with scanviz.profile() as p:
        encoded, _ = scanviz.scan(lambda x, w: T.tanh(T.dot(x, w)), X, non_sequences=W, name="encoder")
        h, _ = scanviz.scan(lambda e, h: T.tanh(e + h), encoded, T.zeros(64), name="decoder")
        single, _ = scanviz.scan(lambda v: T.exp(v) * 2, outputs_info=h[-1], n_steps=1, name="single")
        f = scanviz.function([X, W], [h[-1].sum(), single], mode="numpy")
        for _ in range(20):
            f(rng.normal(size=(100, 64)), rng.normal(size=(64, 64)))
    return p.record


def numbers(texts, unit):
    """Return the numbers before a unit in lines of a table."""
    return [
        float(found.replace(",", "")) for text in texts for found in re.findall(rf"([\d.,]+) {unit}", text)
    ]


def test_most_of_the_time_of_a_run_belongs_to_one_of_its_parts():
    shares = []
    # of calls of 0.3 ms, on a machine that is busy
    while not shares or (min(shares) >= 0.2 and len(shares) < 20):
        record = recorded()
        shares.append(totals(parts_of(record))[-1].total_ns / record.wall_ns)
    assert min(shares) < 0.2, shares


def test_a_removed_loop_keeps_a_row_with_its_replacement(record):
    parts = parts_of(record)
    found = {loop.name: loop for loop in gone_loops(record, parts)}
    assert set(found) == {"encoder", "single"}
    assert found["encoder"].rule == "PushOutSeqScan" and found["encoder"].total_ns > 0
    assert found["encoder"].source.startswith("tests/profiler/report/test_run_tables.py:")
    shown = "\n".join(line.text for line in gone_lines(record, parts))
    assert "encoder: gone, 1 dot, 1 tanh of all rows at once" in shown
    assert "(PushOutSeqScan, tests/profiler/report/test_run_tables.py:" in shown
    assert "encoder" not in {loop.name for loop in record.loops}


def test_operations_outside_of_loops_have_their_line_and_the_loop_they_left(record):
    parts = [
        part for part in parts_of(record) if part.kind != "function"
    ]  # else they may be too small a part
    shown = [line.text for line in outside_lines(record, parts, 120, 30)]
    dot = next(text for text in shown if text.lstrip().startswith("dot(X, W)"))  # not its tanh
    assert "test_run_tables.py:" in dot and "out of encoder by PushOutSeqScan" in dot


def test_a_source_line_sums_its_operations_inside_and_outside_loops(record):
    encoder, decoder = (
        next(
            row
            for row in lines(parts_of(record))
            if row.source is not None and f'"{name}"' in row.source.text
        )
        for name in ("encoder", "decoder")
    )
    assert encoder.loops_ns == 0 < encoder.outside_ns
    assert decoder.loops_ns > 0
    table = [line.text for line in by_line_lines(parts_of(record), 120, 30)]
    assert sum(numbers(table, "%")) == pytest.approx(100, abs=4)


def test_times_of_other_threads_are_listed_beside_the_whole():
    record = ProfileRecord(script="a.py", wall_ns=100, threads=ThreadTimesRecord(60, 40, 2))
    parts = parts_of(record)
    assert parts[0].total_ns == 140 and totals(parts)[-1].total_ns == 100
    (head,) = (line.text for line in whole_lines(record, parts) if line.text.startswith("where"))
    assert head == "where the time goes: 140 ns, 40.0 ns of it in 2 other threads"
    record = replace(record, threads=replace(record.threads, recording_ns=35))
    parts = parts_of(record)
    (head,) = (line.text for line in whole_lines(record, parts) if line.text.startswith("where"))
    assert (
        head == "where the time goes: 105 ns; 140 ns with profiler overhead, 40.0 ns of it in 2 other threads"
    )


def test_the_report_of_a_real_run_names_its_parts(record):
    shown = render_report(record, width=80)
    for text in ("where the time goes", "your own code", "compilation", "by line"):
        assert text in shown


@cache
def two_draws() -> ProfileRecord:
    """Return the profile of a loop of two draws whose first steps are several times as long as the others."""
    random, counts = T.random.RandomStreams(seed=1), T.lvector("counts")

    def step(count):
        first = random.binomial(count, 0.5, size=60)
        return first.sum() + random.binomial(count, 0.3, size=60).sum()

    totals, updates = scanviz.scan(step, counts, name="draws")
    f = scanviz.function([counts], totals, updates=updates, mode="numpy")
    with scanviz.profile() as p:
        f([20_000] * 90 + [0] * 910)
    return p.record


def test_lines_have_the_time_of_all_steps_also_of_few_long_ones(planted) -> None:
    planted(step_ns=50_000)
    record = two_draws()
    spent = {row.source.text.split(" ")[0]: row.loops_ns for row in lines(parts_of(record)) if row.source}
    draws = spent["first"] + spent["return"]
    assert draws > 0.8 * sum(spent.values()), spent
    (loop,) = record.loops
    assert draws > 1.3 * loop.typical_ns * loop.steps, "a typical step is one of the short ones"


def test_a_nested_loop_takes_at_most_the_outer_loops_time() -> None:
    call = OperationRecord(
        4, "scan cells", "loop", "float64[8]", None, loop=12, samples=96, typical_ns=9_000.0
    )
    outer = replace(RNN, operations=(*RNN.operations, call))
    inner = replace(INNER, tiers=(TierRecord("native", "", 1, 200_000),))  # is in the time of the call
    times = OperationTimes(parts_of(replace(SMALL, loops=(outer, inner))))
    assert 0 < times.of(outer, call) == times.whole(inner) < times.whole(outer)
