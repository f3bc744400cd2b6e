"""The verdict: a run in a few sentences that come from its numbers."""

import numpy as np
import pytest
from msgspec.structs import replace

import scanviz
from scanviz import tensor as T
from scanviz.profiler.report.loops import loop_lines
from scanviz.profiler.report.tails import tail_lines
from scanviz.record.costs import CostNumbersRecord, GraphCostRecord, StepNumbersRecord
from scanviz.record.graphs.rewrites import EffectRecord, RewriteRecord, RewritesRecord
from scanviz.record.loops import LoopRecord, TierRecord
from scanviz.record.model import (
    BuildRecord,
    DurationRecord,
    FunctionRecord,
    OutcomeRecord,
    ProfileRecord,
    ThreadTimesRecord,
)
from scanviz.record.operations import OperationRecord
from scanviz.record.summary.run_breakdown import OperationTimes, RunPart, parts_of
from scanviz.record.summary.verdict import NOT_CALLED, ONLY_COMPILED, slow_lines, verdict
from scanviz.record.traces.model import TracedVariableRecord, TraceRecord
from scanviz.record.values import SourceRecord

LINE = SourceRecord("rnn.py", 7, "h = T.tanh(x)")


def run(*, operations=(), loop_ns=0, outside=(), rewrites=None, traces=(), measures=(), wall_ns=100_000):
    """Return a run of one function with one loop."""
    loop = LoopRecord(
        2, 1, None, "rnn", SourceRecord("rnn.py", 3), operations=tuple(operations), runs=1, steps=10, total_ns=loop_ns,
        sampled_steps=10, body_ns=loop_ns / 10, step_times=DurationRecord(10, loop_ns, p50_ns=loop_ns // 10), measures=dict(measures),
    )  # fmt: skip
    function = FunctionRecord(
        1, "train", None, "numpy", operations=tuple(outside), calls=1, call_times=DurationRecord(1, wall_ns - 10_000),
        rewrites=rewrites,
    )  # fmt: skip
    return ProfileRecord(
        script="rnn.py",
        wall_ns=wall_ns,
        functions=(function,),
        loops=(loop,) if loop_ns else (),
        traces=tuple(traces),
        threads=ThreadTimesRecord(inside_ns=wall_ns - 10_000),
    )


def texts(record, topic):
    return [sentence.text for sentence in verdict(record) if sentence.topic == topic]


def operation(label, took_ns, **more):
    return OperationRecord(
        0, label, "operation", "float64[]", source=LINE, samples=10, typical_ns=took_ns, **more
    )


def test_a_run_without_calls_is_described_once_it_has_ended():
    running = ProfileRecord(script="rnn.py", wall_ns=10)
    assert verdict(running) == ()
    ended = replace(running, outcome=OutcomeRecord("ok", 0))
    compiled = replace(ended, building=(BuildRecord("function", LINE, 1, 9),))
    assert [one.text for one in verdict(ended)] == [NOT_CALLED]
    assert [one.text for one in verdict(compiled)] == [ONLY_COMPILED]


def test_the_slowest_line_comes_first_with_its_share_its_loop_and_its_time_per_step():
    found = verdict(run(loop_ns=80_000, operations=[operation("tanh(h[t-1] + x[t])", 6_000)]))[0]
    assert found.text == (
        "rnn.py:7 is the slowest line: 60 % of run time, 6.00 µs per step of the loop `rnn`: `tanh(h[t-1] + x[t])`."
    )
    assert (found.topic, found.loop, found.source) == ("time", 2, LINE)


def test_a_line_counts_in_all_loops_without_compilation():
    step = SourceRecord("rnn.py", 7)
    whole = RunPart("run", "rnn.py", 100)
    parts = [
        whole,
        RunPart("code", "compilation", 60, 60, 0, SourceRecord("rnn.py", 3), loop=1),
        RunPart("operation", "tanh(x)", 10, 10, 0, step, loop=1),
        RunPart("operation", "∂x", 15, 15, 0, step, loop=2, rule="gradient"),
        RunPart("operation", "dot(x, W)", 20, 20, 0, SourceRecord("rnn.py", 8), loop=1),
    ]
    first, second = slow_lines(parts)
    assert (first.source.line, first.total_ns, first.loop) == (7, 25, 2)
    assert (second.source.line, second.total_ns, second.loop) == (8, 20, 1)


def test_a_run_that_mostly_compiles_names_the_line_that_does():
    record = run(loop_ns=10_000, operations=[operation("tanh(x)", 900)])
    built = BuildRecord("function", SourceRecord("rnn.py", 12), 1, 60_000)
    times = ThreadTimesRecord(inside_ns=90_000)
    calls = replace(record.functions[0].call_times, total_ns=30_000)
    function = replace(record.functions[0], call_times=calls)
    _, second = texts(replace(record, functions=(function,), building=(built,), threads=times), "time")
    assert second == "Compilation takes 60 % of run time, 60 % at rnn.py:12; each function compiles once."


def test_compilation_of_more_than_a_second_comes_before_the_slowest_line():
    record = run(loop_ns=10**6, operations=[operation("tanh(x)", 90_000)], wall_ns=3 * 10**9)
    built = BuildRecord("function", SourceRecord("rnn.py", 12), 1, 2 * 10**9)
    calls = replace(record.functions[0].call_times, total_ns=5 * 10**8)
    function = replace(record.functions[0], call_times=calls)
    first, second = texts(replace(record, functions=(function,), building=(built,)), "time")
    assert first.startswith("Compilation takes ") and "rnn.py:7 is the slowest line" in second


def test_a_loop_that_stays_on_numpy_is_explained():
    tiers = (TierRecord("numpy", "no native code: `sort` of strings", 1, 0),)
    record = run(loop_ns=80_000, operations=[operation("sort(x)", 6_000)])
    record = replace(record, loops=(replace(record.loops[0], tiers=tiers),))
    assert texts(record, "why") == ["The loop `rnn` runs on NumPy, not as machine code: `sort` of strings."]


def test_steps_of_short_numpy_operations_are_reported_as_overhead():
    tiers = (TierRecord("numpy", "not worth compiling yet", 1, 0),)
    for took, expected in ((300, ["Steps are so short that per-operation overhead dominates."]), (6_000, [])):
        record = run(loop_ns=80_000, operations=[operation("tanh(x)", took)])
        record = replace(record, loops=(replace(record.loops[0], tiers=tiers),))
        assert texts(record, "why") == expected


def test_steps_on_numpy_before_machine_code_are_reported_as_numpy():
    numbers = {"other_code_steps": 8.0, "other_code_ns": 9_000.0}
    record = run(loop_ns=80_000, measures=numbers)
    tiers = TierRecord("numpy", "", 1, 0), TierRecord("native", "", 1, 0)
    times = DurationRecord(10, 80_000, p50_ns=100)
    work = replace(operation("tanh(x[t])", 100), mean_ns=8_000.0)
    loop = replace(
        record.loops[0], tiers=tiers, step_times=times, body_ns=100.0, operations=(work,), sampled_steps=9
    )
    (found,) = texts(replace(record, loops=(loop,)), "why")
    assert found == "8 steps ran on NumPy before there was machine code, 9.00 µs each."
    lines = [line.text for line in tail_lines(loop)]
    assert lines == ["  slow: 8 steps ran on NumPy before there was machine code, 9.00 µs each"]
    assert tail_lines(replace(loop, measures={**numbers, "other_code_ns": 150.0})) == []
    times = OperationTimes(parts_of(record))
    text = [line.text for line in loop_lines(replace(loop, steps=100), "rnn", times, 100, 5)]
    assert any(line.startswith("  steps that have a time: mean 8.00 µs") for line in text), text


@pytest.mark.parametrize(
    ("cpu_ns", "typical_ns", "flops", "peak", "said"),
    [
        (20e6, 750_000, 6e6, None, "10 times its typical time"),
        (79e6, 750_000, 6e6, None, ""),  # it worked all the time
        (20e6, 7_500_000, 6e6, None, ""),  # no slower than as a rule: a machine may be slow
        (
            20e6,
            7_500_000,
            1.5e6,
            None,
            "5 times the least time on a slow machine",
        ),  # threads wait in each call
        (79e6, 7_500_000, 1.5e6, None, ""),
        (20e6, 7_500_000, 6e6, 40e9, "50 times the least time on this machine"),
        (20e6, 7_500_000, 6e6, 1.6e9, ""),  # half of what this machine can
    ],
)
def test_a_product_with_waiting_threads_is_advised_to_use_one_thread(cpu_ns, typical_ns, flops, peak, said):
    work = operation("dot(h, W)", typical_ns, measures={"product_flops": flops, "flops": flops})
    work = replace(work, mean_ns=7_500_000.0)
    made = run(loop_ns=80_000_000, operations=[work], measures={"cpu_ns": cpu_ns}, wall_ns=100_000_000)
    if peak is not None:
        made = replace(made, measures={"product_flops_per_s": peak, "large_copy_bytes_per_s": 9e9})
    (found, *_) = [*texts(made, "unusual"), ""]
    assert ("OPENBLAS_NUM_THREADS=1" in found) == bool(said)
    assert not said or found.startswith(
        f"`dot(h, W)` (rnn.py:7) takes {said}, and its loop was off the CPU 75 %"
    )


def test_profiler_overhead_is_never_the_verdict():
    record = run(loop_ns=80_000, operations=[operation("tanh(x[t])", 6_000)])
    recording = replace(record.functions[0].call_parts, recording_ns=800_000)
    function = replace(record.functions[0], call_parts=recording)
    times = ThreadTimesRecord(inside_ns=890_000)
    found = verdict(replace(record, functions=(function,), wall_ns=900_000, threads=times))[0]
    assert found.text.startswith("rnn.py:7 is the slowest line: 60 % of run time, 6.00 µs per step")


def test_the_hottest_operation_has_the_largest_total_over_all_steps():
    record = run(loop_ns=80_000)
    works = [
        replace(operation("tanh(x[t])", 100), mean_ns=1_000.0),
        replace(operation("dot(h, W)", 50), index=1, mean_ns=6_000.0),
    ]
    times = DurationRecord(10, 80_000, p50_ns=150)
    loop = replace(record.loops[0], step_times=times, body_ns=150.0, operations=tuple(works), sampled_steps=9)
    found = verdict(replace(record, loops=(loop,)))[0]
    assert "mostly `dot(h, W)`" in found.text


def test_work_pushed_out_of_a_loop_is_listed_with_the_loop():
    outside = [operation("dot(E[x], W)", 6_000, moved_from="encoder", rule="PushOutSeqScan")]
    (text,) = texts(run(outside=outside), "time")
    assert text == (
        "rnn.py:7 is the slowest line: 60 % of run time, moved out of the loop `encoder`: `dot(E[x], W)`."
    )


def test_measured_effects_of_rewriting_precede_counted_ones():
    fewer = RewriteRecord(0, "loops", "r", "f.py:1", "…", cost=GraphCostRecord("2·n", per_step={"rnn": 12}))
    cost = GraphCostRecord("3·n", per_step={"rnn": 28, "copy": 2})
    rewrites = RewritesRecord(cost=cost, applications=(fewer,))
    assert texts(run(rewrites=rewrites), "rewriting") == [
        "Rewriting cut each step of `rnn` from 28 to 12 operations; effect on time not measured."
    ]
    measured = RewritesRecord(
        cost=cost, applications=(fewer,), effects=(EffectRecord("PushOutDot1", 1.5, 1.4, 1.6),)
    )
    (text,) = texts(run(rewrites=measured), "rewriting")
    assert text == (
        "Rewriting cut each step of `rnn` from 28 to 12 operations;"
        " without PushOutDot1 a call of `train` takes 1.50 times as long."
    )


def test_effects_of_rewriting_use_the_shapes_of_the_last_call_if_known():
    numbers = [
        CostNumbersRecord(per_step={"rnn": StepNumbersRecord(*each)}) for each in ((28, 9000), (12, 4500))
    ]
    costs = [
        GraphCostRecord(per_step={"rnn": count}, numbers=each)
        for count, each in zip((28, 12), numbers, strict=True)
    ]
    fewer = RewriteRecord(0, "loops", "r", "f.py:1", "…", cost=costs[1])
    rewrites = RewritesRecord(cost=costs[0], applications=(fewer,))
    assert texts(run(rewrites=rewrites), "rewriting") == [
        "Rewriting cut each step of `rnn` from 28 to 12 operations (9,000 → 4,500 flops); effect on time not measured."
    ]


def test_flops_are_omitted_when_those_of_the_built_graph_are_unknown():
    after = GraphCostRecord(
        per_step={"rnn": 12}, numbers=CostNumbersRecord(per_step={"rnn": StepNumbersRecord(12, 4500)})
    )
    fewer = RewriteRecord(0, "loops", "r", "f.py:1", "…", cost=after)
    rewrites = RewritesRecord(cost=GraphCostRecord(per_step={"rnn": 28}), applications=(fewer,))
    assert texts(run(rewrites=rewrites), "rewriting") == [
        "Rewriting cut each step of `rnn` from 28 to 12 operations; effect on time not measured."
    ]


def test_an_effect_within_noise_is_not_reported():
    rewrites = RewritesRecord(effects=(EffectRecord("merge_equal", 1.02, 0.97, 1.06),))
    assert texts(run(rewrites=rewrites), "rewriting") == []


def test_the_first_nan_is_named_with_its_line():
    rows = np.array([[0.0, 1, 0.5, 0, 0], [0.0, 1, 0.5, 2, 0]])
    bad = TracedVariableRecord("gate", "operation", source=LINE, statistics=rows)
    found = texts(run(loop_ns=50_000, traces=[TraceRecord(2, 0, 9, (0, 7), variables=(bad,))]), "unusual")
    assert found == ["The first NaN in `rnn` is `gate` at step 7 (rnn.py:7)."]


def test_a_nan_of_an_inner_loop_is_named_with_its_own_step():
    x = T.matrix("x")

    def outer(row, total):
        y, _ = scanviz.scan(lambda r, y: 0.5 * y + T.log(r + 0.01 * y), row, total, name="inner")
        return y[-1]

    totals, _ = scanviz.scan(outer, x, 0.0, name="outer")
    given = np.ones((10, 12))
    given[4, 7] = -1
    record = scanviz.trace(scanviz.function([x], totals[-1], mode="numpy"), given).record
    kept = verdict(replace(record, first_nan=None))[0]
    assert kept.text.startswith("The first NaN in `inner` is `log(") and (kept.step, kept.run) == (7, 4)


def test_slow_steps_are_reported_if_they_take_much():
    assert texts(run(loop_ns=50_000, measures={"slowest_hundredth_ns": 30_000.0}), "unusual") == [
        "The slowest 1 % of the steps of `rnn` take 60 % of its time: cause unknown."
    ]
    assert texts(run(loop_ns=50_000, measures={"slowest_hundredth_ns": 900.0}), "unusual") == []


@pytest.mark.parametrize("share", [0.02, 0.09, 0.11, 0.24])
def test_the_verdict_mentions_slow_steps_if_the_report_does(share):
    record = run(loop_ns=50_000, measures={"slowest_hundredth_ns": share * 50_000})
    assert bool(texts(record, "unusual")) == bool(tail_lines(record.loops[0])) == (share > 0.1)
