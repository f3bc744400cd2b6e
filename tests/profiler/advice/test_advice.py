"""Advice: each kind is given where it was planted, with its line and figures, and not where something near it is.

Loops are real ones, so graphs, rewrites and lines are those of the recorder; their times are planted, so that nothing here
depends on the machine.
"""

from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pytest
from msgspec.structs import replace

import scanviz
from scanviz import tensor as T
from scanviz.engine.observe import WAITED
from scanviz.profiler.advice import Advice, advice_of
from scanviz.profiler.advice.report import advice_json, render_advice
from scanviz.profiler.report.text import columns
from scanviz.record.model import (
    CallPartsRecord,
    CostRecord,
    DurationRecord,
    FunctionRecord,
    LoopRecord,
    ProfileRecord,
    SourceRecord,
    ThreadTimesRecord,
    TierRecord,
)
from tests.profiler.records import RNN, SMALL
from tests.record.records import profiles

MS, MIB = 1_000_000, 2**20
HERE = Path(__file__).name
ROWS = np.ones((6, 4))
SQUARE, START = np.full((4, 4), 0.1), np.zeros(4)


def profiled(outputs: Any, inputs: list[Any], *values: Any, **options: Any) -> ProfileRecord:
    with scanviz.profile() as p:
        f = scanviz.function(inputs, outputs, name="f", **options)
        f(*values)
    return p.record


def planted(
    record: ProfileRecord,
    name: str,
    *,
    operations: dict[str, float] | None = None,
    steps: int = 10_000,
    wall_ms: float = 100.0,
    **given: Any,
) -> ProfileRecord:
    """Return a record in which a loop took so many steps; an operation 100 ns, except those whose label begins with a given text."""
    text = operations or {}

    def nanoseconds(label: str) -> float:
        return next((ns for start, ns in text.items() if label.startswith(start)), 100.0)

    loops = []
    for loop in record.loops:
        if loop.name == name:
            timed = [replace(one, samples=50, typical_ns=nanoseconds(one.label)) for one in loop.operations]
            body = sum(one.typical_ns for one in timed)
            figures: dict[str, Any] = {
                "operations": tuple(timed),
                "steps": steps,
                "longest_run": steps // max(loop.runs, 1),
                "sampled_steps": 50,
                "body_ns": body,
                "copy_ns": 0.0,
                "overhead_ns": 50.0,
                "total_ns": round((body + 50) * steps),
                "setup_ns": 0,
                "cost_ns": 0.0,
            }
            loop = replace(loop, **{**figures, **given})
            usual = loop.body_ns + loop.copy_ns + loop.overhead_ns
            loop = replace(loop, step_times=DurationRecord(steps, round(usual * steps), p50_ns=round(usual)))
        loops.append(loop)
    called = DurationRecord(1, round(90 * MS))
    calm = [
        replace(one, build_ns={}, call_times=called, call_parts=CallPartsRecord()) for one in record.functions
    ]
    return replace(
        record,
        loops=tuple(loops),
        functions=tuple(calm),
        wall_ns=round(wall_ms * MS),
        cost=CostRecord(),
        building=(),
        threads=ThreadTimesRecord(inside_ns=90 * MS * len(calm)),
        measures={},
    )


def kinds(record: ProfileRecord) -> list[str]:
    return [each.kind for each in advice_of(record)]


def only(record: ProfileRecord, kind: str) -> Advice:
    [found] = [each for each in advice_of(record) if each.kind == kind]
    return found


def line_of(text: str) -> int:
    """Return the number of the only line of this file that ends with a mark."""
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    [number] = [k for k, line in enumerate(lines, 1) if line.endswith(f"# {text}")]
    return number


INSIDE = "all,-PushOutNonSeqScan"


def rnn(until: bool = False, rewrites: str = "all") -> ProfileRecord:
    """Return a profile of a loop with work of its non-sequence, a product of its sequence and one of its state."""
    x, W, h0 = T.matrix("x"), T.matrix("W"), T.vector("h0")

    def step(x_t: Any, h: Any, W: Any) -> Any:
        k = T.exp(W).sum(axis=0)  # the same at every step
        p = T.dot(x_t, W)  # of rows
        h_t = T.tanh(p + T.dot(h, W) + k)
        return (h_t, scanviz.until(h_t.sum() > 1e9)) if until else h_t

    h, _ = scanviz.scan(step, x, h0, W, name="rnn")
    return profiled(h[-1], [x, W, h0], ROWS, SQUARE, START, mode=scanviz.Mode(rewrites=rewrites))


SLOW_EXP = {"exp(": 2000.0}
SLOW_PRODUCT = {"dot(x[t]": 2000.0}


def test_work_of_non_sequences_is_named_with_its_line() -> None:
    found = only(planted(rnn(rewrites=INSIDE), "rnn", operations=SLOW_EXP), "non_sequences")
    assert (found.function, found.loop) == ("f", "rnn")
    assert found.source is not None and found.source.line == line_of("the same at every step")
    assert found.source.file.endswith(HERE)
    assert found.gain_ns == pytest.approx(
        2100.0 * 9999
    )  # exp and sum, in every step but the first of the one run
    assert "2.10 µs" in found.evidence and "10,000 steps" in found.evidence and "21 %" in found.evidence


@pytest.mark.parametrize("selection", ["none", "all,-PushOutNonSeqScan", "all,-push_out"])
def test_an_excluded_rewrite_is_given_as_the_reason(selection: str) -> None:
    found = only(planted(rnn(rewrites=selection), "rnn", operations=SLOW_EXP), "non_sequences")
    assert f'left out by rewrites="{selection}"' in found.text


def test_cheap_or_pushed_out_work_of_non_sequences_gets_no_advice() -> None:
    moved = rnn()
    assert not any("exp" in operation.label for loop in moved.loops for operation in loop.operations)
    assert kinds(planted(moved, "rnn")) == []
    inside = rnn(rewrites=INSIDE)
    assert "non_sequences" not in kinds(planted(inside, "rnn", operations={"exp(": 99.0}, wall_ms=101.0))
    assert "non_sequences" in kinds(planted(inside, "rnn", operations={"exp(": 101.0}, wall_ms=100.0))


def test_advice_thresholds_use_cpu_time_on_a_busy_machine() -> None:
    alone = planted(rnn(rewrites=INSIDE), "rnn", operations={"exp(": 101.0}, wall_ms=100.0)
    busy = replace(alone, wall_ns=1000 * MS, measures={"cpu_ns": 100.0 * MS})
    assert "non_sequences" in kinds(busy)
    assert "non_sequences" not in kinds(replace(busy, measures={"cpu_ns": 1000.0 * MS}))
    assert "non_sequences" not in kinds(replace(busy, measures={}))


def test_no_more_is_promised_than_the_loop_took() -> None:
    record = planted(rnn(rewrites=INSIDE), "rnn", operations=SLOW_EXP, total_ns=5 * MS)
    assert only(record, "non_sequences").gain_ns == 5 * MS


def test_a_product_of_a_sequence_gets_advice_with_line_and_reason() -> None:
    found = only(planted(rnn(until=True), "rnn", operations=SLOW_PRODUCT), "sequence_product")
    assert found.source is not None and found.source.line == line_of("of rows")
    assert found.gain_ns == pytest.approx(0.5 * 2000.0 * 9999)  # the one large product takes the rest
    assert "may end early" in found.text and "this pays where most of the rows are reached" in found.text
    without = only(planted(rnn(rewrites="none"), "rnn", operations=SLOW_PRODUCT), "sequence_product")
    assert "PushOutSeqScan, is left out" in without.text and "end early" not in without.text


def test_products_of_states_or_outside_loops_get_no_advice() -> None:
    of_state = planted(rnn(until=True), "rnn", operations={"dot(h": 2000.0})
    assert "sequence_product" not in kinds(of_state)
    assert "sequence_product" not in kinds(planted(rnn(), "rnn", operations={"dot(": 2000.0}))


def halves(
    counted: bool = False, wanted: str = "shape", rewrites: str = "all", limit: bool = True
) -> ProfileRecord:
    """Return a profile of a loop with a stop condition or 200 steps; hardly more than one row is read."""
    a, n = T.vector("a"), T.lscalar("n")

    def step(x: Any) -> Any:
        return x / 2, scanviz.until(x.sum() < 1e-3)

    x, _ = scanviz.scan(step, None, a, n_steps=200 if limit else n, name="halves")  # kept
    results = {"shape": [x[-1], x.shape[0]], "last": [x[-1]], "rows": [x[-1], x[n]], "all": [x]}[wanted]
    return profiled(
        results, [a, n], np.ones(3), 3, on_unused_input="ignore", mode=scanviz.Mode(rewrites=rewrites)
    )


def with_room(record: ProfileRecord, room: int, **given: Any) -> ProfileRecord:
    [loop] = record.loops
    variables = tuple(
        replace(variable, row_bytes=room) if variable.kind not in ("sequence", "non_sequence") else variable
        for variable in loop.variables
    )
    return planted(record, loop.name, steps=100, variables=variables, **given)


def test_rows_read_at_the_last_one_alone_are_advised_about() -> None:
    found = only(with_room(halves(rewrites="none"), 80 * MIB), "rows_kept")
    assert "`x`" in found.title and "only its last row and how many there are is read" in found.title
    assert found.source is not None and found.source.line == line_of("kept")
    assert found.gain_ns is None
    assert found.gain_bytes == pytest.approx(
        0.98 * 40 * MIB
    )  # it took 100 of its 200 steps, and two rows are needed
    assert "count_steps" in found.text and "80.0 MiB" in found.evidence
    unknown = only(with_room(halves(rewrites="none", limit=False), 80 * MIB), "rows_kept")
    assert unknown.gain_bytes is None and "Estimate" not in unknown.text


def test_rows_that_a_rewrite_was_not_allowed_to_leave_out_are_named() -> None:
    found = only(with_room(halves(wanted="last", rewrites="none"), 80 * MIB), "rows_kept")
    assert found.title.endswith("only its last row is read") and "ScanSaveMem" in found.text


@pytest.mark.parametrize("wanted", ["shape", "last", "rows", "all"])
def test_rows_that_are_read_or_not_kept_get_no_advice(wanted: str) -> None:
    assert "rows_kept" not in kinds(with_room(halves(wanted=wanted), 80 * MIB))
    assert "rows_kept" not in kinds(with_room(halves(), 31 * MIB))


def gradient(save: bool = False, until: bool = False) -> ProfileRecord:
    h0, w = T.vector("h0"), T.vector("w")

    def step(h: Any, w: Any) -> Any:
        return (T.tanh(h * w), scanviz.until(h.sum() > 1e9)) if until else T.tanh(h * w)

    scan = scanviz.scan_checkpoints if save else scanviz.scan
    h, _ = scan(step, None, h0, w, n_steps=100, name="long")
    return profiled(scanviz.grad(T.sum(h[-1]), w), [h0, w], np.ones(3), np.ones(3))


def with_rows(record: ProfileRecord, room: int) -> ProfileRecord:
    """Return a record whose loops keep so much for their gradients and took 10,000 steps."""
    changed = replace(
        record,
        loops=tuple(
            replace(
                loop,
                steps=10_000,
                longest_run=10_000,
                total_ns=7 * MS,
                variables=tuple(replace(one, row_bytes=room * one.read_backwards) for one in loop.variables),
            )
            for loop in record.loops
        ),
    )
    return replace(changed, wall_ns=100 * MS)


def test_a_loop_with_large_residuals_is_advised_to_use_checkpoints() -> None:
    found = only(with_rows(gradient(), 100 * MIB), "checkpoints")
    assert found.loop == "long" and found.gain_ns is None
    assert found.gain_bytes == 98 * MIB  # 2 √n of n = 10,000 rows stay
    assert "2.00 MiB" in found.text and "7.00 ms more (" in found.text


def test_checkpoints_are_not_advised_without_need_or_possibility() -> None:
    assert "checkpoints" not in kinds(with_rows(gradient(), 31 * MIB))
    assert "checkpoints" not in kinds(with_rows(gradient(until=True), 100 * MIB))
    names = [
        each.loop
        for each in advice_of(with_rows(gradient(save=True), 100 * MIB))
        if each.kind == "checkpoints"
    ]
    assert not [name for name in names if name.endswith("_outer")]


def test_a_loop_that_stores_more_than_it_computes_is_named() -> None:
    rows = halves(wanted="all")
    found = only(with_room(rows, 2 * MIB, copy_ns=4e4, total_ns=50 * MS), "copies")
    assert found.gain_ns == pytest.approx(4e4 * 100) and "`x`" in found.text and "2.00 MiB" in found.evidence
    assert "copies" not in kinds(with_room(rows, 2 * MIB, copy_ns=4e4, overhead_ns=4e5, total_ns=50 * MS))
    assert "copies" not in kinds(with_room(rows, 2 * MIB, copy_ns=1e4, total_ns=50 * MS))


def test_rows_for_gradients_and_generated_loops_get_no_advice_to_store_less() -> None:
    full = with_room(halves(wanted="all"), 2 * MIB, copy_ns=4e4, total_ns=50 * MS)
    [loop] = full.loops
    needed = tuple(replace(variable, read_backwards=True) for variable in loop.variables)
    assert "copies" not in kinds(replace(full, loops=(replace(loop, variables=needed),)))
    assert "copies" not in kinds(replace(full, loops=(replace(loop, gradient_of=loop.key),)))


def tiny(calls: int = 20, shared: bool = False) -> ProfileRecord:
    h0, w = T.vector("h0"), T.vector("w")
    weight = scanviz.shared(np.ones(3), "weight") if shared else w
    h, _ = scanviz.scan(lambda h, w: T.tanh(h * w), None, h0, weight, n_steps=50, name="tiny")
    with scanviz.profile() as p:
        f = scanviz.function([h0] if shared else [h0, w], h[-1], name="f")
        for _ in range(calls):
            f(*([np.ones(3)] * (1 if shared else 2)))
    return p.record


def test_many_runs_of_tiny_steps_are_advised_to_run_together() -> None:
    found = only(planted(tiny(), "tiny", operations={"tanh": 300.0}, wall_ms=50.0), "tiny_steps")
    assert found.gain_ns == pytest.approx(0.5 * 400.0 * (10_000 - 500))
    assert "2 operations below 1.00 µs: 400 ns of 450 ns a step" in found.evidence
    assert "half the time of these operations" in found.text
    assert "If the calls of `f` do not need one another's results" in found.text


def test_dependent_different_or_heavy_runs_get_no_advice_to_run_together() -> None:
    slow = {"tanh": 300.0}
    assert kinds(planted(tiny(shared=True), "tiny", operations=slow)) == []
    assert kinds(planted(tiny(calls=1), "tiny", operations=slow)) == []
    assert kinds(planted(tiny(), "tiny", operations=slow, longest_run=5000)) == []
    shapes = (TierRecord("numpy", "generated for the shapes met", 2, 1000),)
    assert kinds(planted(tiny(), "tiny", operations=slow, tiers=shapes)) == []
    assert kinds(planted(tiny(), "tiny", operations={"tanh": 3000.0})) == []


def nested(known: bool = True) -> ProfileRecord:
    x, n = T.vector("x"), T.lscalar("n")

    def step(h: Any, n: Any) -> Any:
        steps = 4 if known else n
        inner, _ = scanviz.scan(lambda a: T.tanh(a) * h, None, h, n_steps=steps, name="inner")  # short
        return inner[-1]

    h, _ = scanviz.scan(step, None, x, n, n_steps=6, name="outer")
    return profiled(h[-1], [x, n], np.ones(3), 4, on_unused_input="ignore")


def test_an_inner_loop_dominated_by_its_start_is_advised_to_be_unrolled() -> None:
    found = only(started(12_000), "short_inner_loops")
    assert found.source is not None and found.source.line == line_of("short")
    assert found.gain_ns == pytest.approx(12 * MS) and "`outer`" in found.text
    assert "1,000 times for 4 steps each" in found.title and "60 %" in found.evidence


def started(start_ns: float, known: bool = True, steps: int = 4, **given: Any) -> ProfileRecord:
    """Return a profile of a loop that ran 1,000 times in another, 8 µs beside what starting it took."""
    step_ns = 8000 / steps
    inner = planted(
        nested(known), "inner", steps=1000 * steps, runs=1000, total_ns=round(1000 * (8000 + start_ns)),
        body_ns=step_ns - 50, **given,
    )  # fmt: skip
    return planted(inner, "outer", steps=1000, operations={"scan inner": 8000 + start_ns})


def test_an_inner_loop_of_unknown_or_many_steps_is_not_advised_to_be_unrolled() -> None:
    assert kinds(started(12_000, known=False)) == []
    assert kinds(started(12_000, steps=40)) == []
    assert kinds(started(3_000)) == []


def test_a_promised_gain_is_capped_at_the_usual_loop_overhead() -> None:
    """It holds what recording takes there, and preemptions: the promise is of the usual step around."""
    assert only(started(12_000, setup_ns=900 * MS), "short_inner_loops").gain_ns == pytest.approx(12 * MS)
    assert kinds(started(3_000, setup_ns=900 * MS)) == []
    without = started(12_000)
    outer = next(loop for loop in without.loops if loop.name == "outer")
    unobserved = replace(outer, operations=tuple(replace(one, samples=0) for one in outer.operations))
    loops = tuple(unobserved if loop is outer else loop for loop in without.loops)
    assert kinds(replace(without, loops=loops)) == []


def with_tiers(count: int, why: str = "generated for the shapes met") -> ProfileRecord:
    tiers = (TierRecord("numpy", why, count, 10 * MS),)
    return replace(SMALL, loops=(replace(RNN, tiers=tiers, total_ns=40 * MS),))


def test_code_made_for_many_shapes_is_named() -> None:
    found = only(with_tiers(20), "many_shapes")
    assert found.gain_ns == pytest.approx(9.5 * MS) and "20 sets of shapes" in found.evidence
    assert found.source == RNN.source
    assert kinds(with_tiers(3)) == []
    assert kinds(with_tiers(20, WAITED)) == []  # of threads for one compilation


def test_a_small_record_made_by_hand_without_graphs_or_rewrites_gives_no_advice() -> None:
    assert SMALL.functions[0].graph is None and SMALL.functions[0].rewrites is None
    assert advice_of(SMALL) == []


def function(key: int = 1, **given: Any) -> FunctionRecord:
    return FunctionRecord(key, "f", SourceRecord("run.py", 9, "f = scanviz.function(…)"), "numpy", **given)


def run(*functions: FunctionRecord, wall_ms: float = 1000.0, **given: Any) -> ProfileRecord:
    threads = ThreadTimesRecord(sum(function.total_ns for function in functions))
    return ProfileRecord(
        **{
            "script": "run.py",
            "wall_ns": round(wall_ms * MS),
            "functions": functions,
            "threads": threads,
            **given,
        }
    )


def built(number: int, different: bool = False) -> ProfileRecord:
    x = T.vector("x")
    with scanviz.profile() as p:
        for k in range(number):
            y = x
            for _ in range(k if different else 1):
                y = T.tanh(y)
            scanviz.function([x], y * (k + 2.5), name="again")(np.ones(3))  # built
    functions = [replace(each, build_ns={"rewrite": 10 * MS}) for each in p.record.functions]
    return replace(p.record, functions=tuple(functions), wall_ns=200 * MS, cost=CostRecord(), measures={})


def test_a_line_that_rebuilds_the_same_function_is_named() -> None:
    found = only(built(5), "rebuilding")
    assert found.source is not None and found.source.line == line_of("built")
    assert found.gain_ns == 40 * MS and "5 functions, which had 5 calls" in found.evidence
    assert kinds(built(5, different=True)) == []
    assert kinds(built(2)) == []
    unknown = built(5)
    assert (
        kinds(replace(unknown, functions=tuple(replace(each, rewrites=None) for each in unknown.functions)))
        == []
    )


def test_code_made_again_for_each_function_counts_as_rebuilding() -> None:
    record = built(5)
    code = (TierRecord("native", "machine code", 1, 30 * MS),)
    loops = tuple(replace(RNN, key=k, function=one.key, tiers=code) for k, one in enumerate(record.functions))
    assert only(replace(record, loops=loops), "rebuilding").gain_ns == 160 * MS


def test_shares_are_of_the_run_without_profiler_overhead() -> None:
    record = built(5)
    threads = ThreadTimesRecord(inside_ns=100 * MS, recording_ns=100 * MS)
    calls = tuple(
        replace(one, call_times=DurationRecord(1, 0), call_parts=CallPartsRecord())
        for one in record.functions
    )
    record = replace(record, threads=threads, functions=calls, building=())
    text = render_advice(record, advice_of(record))
    assert text.startswith("profile · 100 ms\n") and "(40 % of the run)" in text


def test_rewriting_that_took_far_longer_than_all_calls_is_named() -> None:
    def record(calls_ms: int) -> ProfileRecord:
        return run(
            function(
                build_ns={"rewrite": 200 * MS, "lower": MS},
                calls=1,
                call_times=DurationRecord(1, calls_ms * MS),
            )
        )

    found = only(record(10), "costly_building")
    assert (found.gain_ns, found.most_ns) == (None, 200 * MS) and "less than 20 times slower" in found.text
    assert str(found.source) == "run.py:9"
    assert "costly_building" not in kinds(record(60))
    busy = replace(record(10), measures={"cpu_ns": 300.0 * MS})  # 0.3 s of the 1 s that passed
    assert "costly_building" not in kinds(busy)


def test_many_calls_of_little_work_are_named() -> None:
    def record(inside_ns: float, calls: int = 20_000) -> ProfileRecord:
        operation = replace(RNN.operations[0], samples=calls, typical_ns=inside_ns)
        return run(
            function(operations=(operation,), calls=calls, call_times=DurationRecord(calls, calls * 10_000))
        )

    found = only(record(1000.0), "small_calls")
    assert found.gain_ns is None and found.most_ns == pytest.approx(180 * MS)
    assert "10.0 µs a usual call, 1.00 µs of it in operations" in found.evidence
    assert "small_calls" not in kinds(record(8000.0))
    assert "small_calls" not in kinds(record(1000.0, calls=100))


def test_a_slow_reference_tier_gets_advice() -> None:
    slow = replace(function(calls=3, call_times=DurationRecord(3, 700 * MS)), backend="reference")
    found = only(run(slow), "reference_tier")
    assert found.gain_ns is None and "70 % of the run" in found.evidence
    assert kinds(run(replace(slow, backend="numpy"))) == []
    assert "reference_tier" not in kinds(run(slow, wall_ms=20_000.0))


def test_a_function_built_without_rewrites_is_named() -> None:
    none, some = (planted(rnn(rewrites=each), "rnn") for each in ("none", "all,-PushOutDot1"))
    assert "90 % of the run" in only(none, "no_rewrites").evidence
    assert "no_rewrites" not in kinds(some)


def test_a_run_of_mostly_own_python_is_named_so_and_promised_nothing() -> None:
    calls = DurationRecord(3, 100 * MS)
    found = only(run(function(calls=3, call_times=calls)), "script")
    assert (found.gain_ns, found.most_ns) == (None, 900 * MS)
    assert found.source is None and "90 %" in found.evidence and "imports" in found.text
    many = run(function(calls=1000, call_times=DurationRecord(1000, 100 * MS)))
    assert "Between two calls it takes 900 µs" in only(many, "script").text
    measured = replace(many, threads=ThreadTimesRecord(inside_ns=600 * MS))  # building and recording too
    assert "script" not in kinds(measured)
    waiting = replace(many, threads=ThreadTimesRecord(inside_ns=100 * MS, beside_ns=600 * MS, others=2))
    assert "script" not in kinds(waiting)  # most of its own time it may have waited for its threads
    assert kinds(run(function(calls=3, call_times=calls), wall_ms=199.0)) == []
    assert kinds(run(function(calls=3, call_times=calls), left_out=2)) == []


def test_advice_is_sorted_by_gain_with_unknown_gains_last() -> None:
    record = planted(rnn(rewrites="none"), "rnn", operations={**SLOW_EXP, **SLOW_PRODUCT})
    found = advice_of(record)
    assert [each.kind for each in found] == ["non_sequences", "sequence_product", "no_rewrites"]
    gains = [each.gain_ns or 0.0 for each in found]
    assert gains == sorted(gains, reverse=True)


def test_times_of_a_record_of_values_are_those_of_runs_without_and_so_are_evidence() -> None:
    record = planted(rnn(rewrites="none"), "rnn", operations=SLOW_EXP)
    looked = replace(record, detail="values", cost=replace(record.cost, values_ns=100 * record.wall_ns))
    assert kinds(looked) == kinds(record) != []


def test_advice_without_graphs_or_rewrites_uses_the_remaining_evidence() -> None:
    record = planted(rnn(rewrites=INSIDE), "rnn", operations=SLOW_EXP)
    [text] = record.functions
    blind = replace(record, functions=(replace(text, rewrites=None),))
    assert advice_of(blind) == []
    unsaid = replace(
        record, functions=(replace(text, rewrites=replace(text.rewrites, selection="all", refusals=())),)
    )
    assert "does not say why" in only(unsaid, "non_sequences").text


@hypothesis.settings(max_examples=2 * hypothesis.settings.default.max_examples)
@hypothesis.given(profiles())
def test_any_record_gives_advice_that_fits_and_is_data(record: ProfileRecord) -> None:
    found = advice_of(record)
    text = render_advice(record, found, width=80)
    assert max(map(columns, text.splitlines())) <= 80
    assert found == advice_of(record)
    assert len(advice_json(record, found)["advice"]) == len(found)
    assert all(each.evidence and each.text and each.title for each in found)


def test_cyclic_loops_in_a_record_do_not_hang_advice() -> None:
    around: LoopRecord = replace(RNN, parent=RNN.key)
    assert kinds(replace(SMALL, loops=(around,))) == []
