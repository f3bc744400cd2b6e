"""A check stops at the first invalid result and names its place and origins."""

import json
import threading
from typing import Any

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine import observe
from scanviz.profiler.report.check import check_as_json, render_check
from scanviz.profiler.values.checking import Checker, CheckOptions
from scanviz.record.traces.finding import CheckedRecord, FindingRecord, StepPlaceRecord


def found(f: Any, *values: Any, **wanted: Any) -> FindingRecord:
    """Return the finding of a check of one call; the call does not complete."""
    checker = Checker(CheckOptions(**wanted))
    with observe.observed_by(checker), pytest.raises(SystemExit):
        f(*values)
    assert checker.finding is not None
    return checker.finding


def nothing(f: Any, *values: Any, **wanted: Any) -> CheckedRecord:
    """Return the counts of a check of one call, which must have no finding."""
    checker = Checker(CheckOptions(**wanted))
    with observe.observed_by(checker):
        f(*values)
    assert checker.finding is None
    return checker.record


def rnn() -> Any:
    x, w = T.matrix("x"), T.matrix("w")

    def step(x_t: Any, h: Any, w: Any) -> Any:
        return T.tanh(h) + T.log(T.dot(h, w) + x_t + 2.0)

    h, _ = scanviz.scan(step, x, T.zeros(3), w, name="rnn")
    return scanviz.function([x, w], h[-1], name="train")


def _gradient_step(finding: FindingRecord) -> StepPlaceRecord:
    """Return the step of a gradient's loop that a finding is in, or that reads a value computed before it for all steps."""
    [place] = finding.loops or finding.read_at
    return place


def test_a_nan_planted_at_a_step_is_found_there() -> None:
    x = np.zeros((1000, 3))
    x[731, 1] = -40.0
    finding = found(rnn(), x, 0.1 * np.eye(3))
    [place] = finding.loops
    assert (finding.problem, finding.function, finding.cause) == ("nan", "train", "made")
    assert (place.loop, place.run, place.step) == ("rnn", 0, 731)
    assert finding.operation.startswith("log(")
    assert finding.source is not None and "T.log(T.dot(h, w)" in finding.source.text
    assert finding.result.where == (1,) and finding.result.statistics[3] == 1
    [given] = finding.inputs
    assert given.shape == (3,) and given.where is None and given.statistics[0] < -30
    names = {each.name: each for each in finding.step_inputs}
    assert names["x[t]"].numbers == (0.0, -40.0, 0.0)
    assert {"x[t]", "h[t-1]", "w"} <= set(names)


def test_the_same_loop_without_it_is_clean_and_counted() -> None:
    record = nothing(rnn(), np.zeros((1000, 3)), 0.1 * np.eye(3))
    assert record.calls == 1 and record.steps == 1000
    assert record.operations > 4000 and record.values > 3 * 4000


def test_an_infinity_in_a_gradient_names_the_forward_step() -> None:
    x = T.vector("x")
    h, _ = scanviz.scan(lambda x_t, h: h + T.sqrt(x_t * (1.0 + h * h)), x, T.constant(0.0), name="roots")
    slope = scanviz.function([x], scanviz.grad(h[-1], x), name="slope")
    data = np.full(50, 1e-4)
    data[12] = 0.0
    finding = found(slope, data)
    place = _gradient_step(finding)
    assert finding.problem == "inf" and place.loop == "grad_of_roots"
    assert (place.step, place.forward_loop, place.forward_step) == (37, "roots", 12)
    assert finding.source is not None and "T.sqrt" in finding.source.text
    text = render_check(CheckedRecord(finding=finding), width=200)
    assert "back over step 12 of loop roots" in text


def test_a_cell_of_a_mitmot_is_followed_to_its_forward_step_with_several_taps() -> None:
    x = T.vector("x")
    h, _ = scanviz.scan(
        lambda x_t, h2, h1: h1 + 0.5 * h2 + T.sqrt(x_t * (2.0 + T.tanh(h2))),
        x,
        {"initial": T.zeros(2), "taps": [-2, -1]},
        name="two taps",
    )
    f = scanviz.function([x], scanviz.grad(h[-1], x))
    data = np.full(30, 1e-3)
    data[7] = 0.0
    place = _gradient_step(found(f, data))
    assert (place.loop, place.forward_step, place.step) == ("grad_of_two taps", 7, 22)


def test_a_truncated_gradient_counts_back_from_the_last_step() -> None:
    x = T.vector("x")
    h, _ = scanviz.scan(
        lambda x_t, h: h + T.sqrt(x_t * (1.0 + h * h)),
        x,
        T.constant(0.0),
        name="roots",
        truncate_gradient=5,
    )
    f = scanviz.function([x], scanviz.grad(h[-1], x))
    data = np.full(50, 1e-4)
    data[47] = 0.0
    place = _gradient_step(found(f, data))
    assert (place.forward_step, place.step) == (47, 2)


def test_a_nan_from_an_input_is_traced_to_the_input() -> None:
    x, w = T.matrix("x"), T.matrix("w")
    h, _ = scanviz.scan(lambda x_t, h, w: T.tanh(T.dot(h, w) + x_t), x, T.zeros(3), w, name="rnn")
    f = scanviz.function([x, w], h[-1])
    data = np.zeros((100, 3))
    data[73, 2] = np.nan
    finding = found(f, data, np.eye(3))
    [place] = finding.loops
    assert place.step == 73 and finding.cause == "given"
    bad = [each for each in finding.inputs if each.where is not None]
    assert [(each.name, each.origin) for each in bad] == [("x[t]", "your input x")]
    assert "this operation did not make it" in render_check(CheckedRecord(finding=finding))


def test_a_finding_before_a_loop_names_the_step_that_reads_it() -> None:
    x, w = T.matrix("x"), T.matrix("w")
    h, _ = scanviz.scan(lambda x_t, h, w: T.tanh(T.dot(x_t, w) + h), x, T.zeros(3), w, name="rnn")
    data = np.zeros((100, 2))
    data[73, 1] = np.inf
    finding = found(scanviz.function([x, w], h[-1]), data, np.ones((2, 3)))
    assert finding.loops == () and finding.operation == "dot(x, w)"
    assert finding.result.where == (73, 0)
    assert [(each.loop, each.step) for each in finding.read_at] == [("rnn", 73)]
    assert finding.inputs[0].origin == "your input x"


def test_a_finding_in_work_pushed_behind_a_loop_names_its_step() -> None:
    x, w = T.matrix("x"), scanviz.shared(np.eye(2), "w")

    def step(x_t, level):
        level = level + x_t
        return level, T.dot(T.log(level), w)

    (level, scores), _ = scanviz.scan(step, x, [T.ones(2), None], name="tank")
    data = np.full((1000, 2), 0.1)
    data[730, 1] = -900.0
    finding = found(scanviz.function([x], scores), data)
    assert finding.loops == () and finding.moved_from == "tank"
    assert [(place.loop, place.step) for place in finding.made_of] == [("tank", 730)]
    text = render_check(CheckedRecord(finding=finding))
    assert "NaN computed for all steps at once, of what step 730 of loop tank gave" in text
    for rows, step in (
        (level, 730),
        (level[::-1], 999),
        (level[500:], 730),
        (level[-5:], 995),
        (level[::-3], 999),
        (T.exp(level[500:]) - 0.5, 730),
    ):
        places = found(scanviz.function([x], T.log(rows)), data).made_of
        assert [(place.loop, place.step) for place in places] == [("tank", step)]


def test_the_step_of_a_finding_behind_a_loop_follows_reshaping() -> None:
    x, start = T.matrix("x"), T.vector("start")
    tank, _ = scanviz.scan(lambda x_t, level: x_t + 0.1 * level, x, T.zeros(3), name="tank")
    unsized, _ = scanviz.scan(lambda x_t, level: x_t + 0.1 * level, x, start, name="tank")
    data = np.ones((10, 3))
    data[6, 1] = -50.0
    for rows, steps in (
        (tank.T, [6]),
        (tank[None], [6]),
        (T.dot(np.eye(3), tank.T), [6]),
        (tank.reshape((2, 5, 3)), [6]),
        (tank.reshape((-1,)), [6]),
        (abs(tank[1:]) + tank[:-1], [6, 7]),
        (tank.sum(axis=0), []),
        (unsized.T, [6]),
        (unsized.reshape((5, 2, -1)), [6]),
        (unsized.reshape((-1,)), []),
        (unsized[6] + T.zeros((4, 3)), [6]),
    ):
        f = scanviz.function([x, start], T.sqrt(rows), on_unused_input="ignore")
        assert [place.step for place in found(f, data, np.zeros(3)).made_of] == steps


def test_shared_variables_and_initial_states_are_named_as_origins() -> None:
    b = scanviz.shared(np.array([1.0, np.nan]), name="b")
    x = T.matrix("x")
    f = scanviz.function([x], scanviz.scan(lambda r, s: s * r + b, x, T.zeros(2), name="h")[0])
    origins = [each.origin for each in found(f, np.ones((3, 2))).inputs if each.where is not None]
    assert origins == ["shared variable b"]
    start = T.vector("start")
    g = scanviz.function([x, start], scanviz.scan(lambda r, s: s * r, x, start, name="h")[0])
    finding = found(g, np.ones((3, 2)), np.array([0.0, np.inf]))
    assert [each.origin for each in finding.inputs if each.where is not None] == ["your input start"]


def test_a_nan_constant_is_named_as_the_origin() -> None:
    x = T.vector("x")
    finding = found(scanviz.function([x], x * T.constant(np.array([np.nan, 1.0]))), np.ones(2))
    assert finding.cause == "given"
    assert [each.origin for each in finding.inputs if each.where is not None] == ["a constant"]


def test_a_given_nan_that_is_masked_out_is_no_finding() -> None:
    x = T.vector("x")
    f = scanviz.function([x], T.sum(T.switch(T.isnan(x[::-1]), 0.0, x[::-1])))
    assert nothing(f, np.array([1.0, np.nan, 2.0])).calls == 1


def test_only_requested_problems_are_found() -> None:
    x = T.vector("x")
    f = scanviz.function([x], T.log(x))
    assert found(f, np.array([1.0, 0.0])).problem == "inf"
    assert found(f, np.array([1.0, 0.0, -1.0]), inf=False).problem == "nan"
    assert nothing(f, np.array([1.0, 0.0]), inf=False)
    assert nothing(f, np.array([-1.0]), nan=False)


def test_big_numbers_are_found_without_their_sign() -> None:
    x = T.vector("x")
    h, _ = scanviz.scan(lambda x_t, h: h * x_t, x, T.constant(1.0), name="grow")
    f = scanviz.function([x], h)
    finding = found(f, np.full(20, -2.0), big=1000.0)
    assert finding.problem == "big" and finding.loops[0].step == 9
    assert finding.result.numbers == (1024.0,) and finding.cause == "made"
    assert nothing(f, np.full(20, -2.0), big=1e7)
    assert nothing(f, np.ones(5000), big=100.0)  # numbers of steps are no values of the user


def test_a_float64_result_of_float32_is_found_and_a_wanted_cast_is_not() -> None:
    x, counts = T.vector("x", dtype="float32"), T.vector("n", dtype="int64")
    mixed = scanviz.function([x, counts], T.exp(x) * counts)
    finding = found(mixed, np.ones(2, "float32"), np.ones(2, "int64"), dtype=True)
    assert (finding.problem, finding.result.dtype) == ("dtype", "float64")
    assert finding.expected == "float32, as one of its inputs is"
    assert {each.dtype for each in finding.inputs} == {"float32", "int64"}
    wanted = scanviz.function([x], T.exp(T.cast(x, "float64")))
    assert nothing(wanted, np.ones(2, "float32"), dtype=True)
    assert nothing(mixed, np.ones(2, "float32"), np.ones(2, "int64"))


def test_a_result_with_a_changing_shape_is_found() -> None:
    x = T.vector("x")
    h, _ = scanviz.scan(lambda t, s, x: s + T.sum(x[t:]), T.arange(4), T.constant(0.0), x, name="tails")
    f = scanviz.function([x], h)
    finding = found(f, np.ones(4), shape=True)
    assert finding.problem == "shape" and finding.loops[0].step == 1
    assert finding.result.shape == (3,) and finding.expected == "float64[4], as in the step before"
    assert "T.sum(x[t:])" in finding.source.text if finding.source is not None else False
    assert nothing(f, np.ones(4)).steps == 4
    assert nothing(rnn(), np.ones((9, 3)), np.eye(3), shape=True).steps == 9


def test_nested_loops_are_all_named() -> None:
    x = T.matrix("x")

    def outer(row: Any, total: Any) -> Any:
        inner, _ = scanviz.scan(lambda v, s: s + T.log(v + 0.0 * s), row, T.constant(0.0), name="inner")
        return total + inner[-1]

    sums, _ = scanviz.scan(outer, x, T.constant(0.0), name="outer")
    data = np.ones((6, 4))
    data[4, 2] = -1.0
    finding = found(scanviz.function([x], sums), data)
    assert [(loop.loop, loop.step) for loop in finding.loops] == [("outer", 4), ("inner", 2)]
    assert finding.loops[1].run == 4
    text = render_check(CheckedRecord(finding=finding))
    assert text.index("inner") < text.index("outer")


def test_a_loop_in_a_branch_is_looked_into() -> None:
    x, c = T.vector("x"), T.scalar("c")
    logs, _ = scanviz.scan(lambda v, s: s + T.log(v + 0.0 * s), x, T.constant(0.0), name="logs")
    f = scanviz.function([x, c], scanviz.ifelse(c > 0, logs[-1], T.constant(0.0)))
    finding = found(f, np.array([1.0, -1.0]), 1.0)
    assert [(loop.loop, loop.step) for loop in finding.loops] == [("logs", 1)]
    assert nothing(f, np.array([1.0, -1.0]), 0.0).calls == 1


def test_later_calls_and_runs_are_numbered() -> None:
    f, checker = rnn(), Checker()
    good, bad = np.zeros((5, 3)), np.full((5, 3), -9.0)
    with observe.observed_by(checker), pytest.raises(SystemExit):
        for data in (good, good, bad):
            f(data, np.eye(3))
    assert checker.finding is not None
    assert checker.finding.call == 2 and checker.finding.loops[0].run == 2


def test_after_a_finding_the_program_runs_unobserved() -> None:
    f, checker = rnn(), Checker()
    bad = np.full((5, 3), -9.0)
    with observe.observed_by(checker):
        with pytest.raises(SystemExit) as caught:
            f(bad, np.eye(3))
        first = checker.finding
        assert caught.value.code == 1 and checker not in observe.observers()
        assert np.isnan(f(bad, np.eye(3))).all()
    assert checker.finding is first


def test_shared_variables_are_not_updated_by_a_call_that_is_stopped() -> None:
    total = scanviz.shared(1.0, name="total")
    x = T.scalar("x")
    f = scanviz.function([x], total, updates={total: T.log(x)})
    found(f, -1.0)
    assert total.get_value() == 1.0


def test_several_threads_give_one_finding() -> None:
    f, checker = rnn(), Checker(stops=False)
    with observe.observed_by(checker):
        threads = [threading.Thread(target=f, args=(np.full((50, 3), -k - 3.5), np.eye(3))) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert checker.finding is not None and checker.finding.problem == "nan"


def test_the_finding_as_json_is_strict_json() -> None:
    checker = Checker()
    with observe.observed_by(checker), pytest.raises(SystemExit):
        rnn()(np.full((5, 3), -9.0), np.eye(3))
    data = json.loads(json.dumps(check_as_json(checker.record), allow_nan=False))
    assert data["finding"]["problem"] == "nan"
    assert "NaN" in data["finding"]["result"]["numbers"]


def test_both_loops_of_a_nested_gradient_are_named_with_the_steps_that_they_go_back_over() -> None:
    def inner(row: Any, h: Any) -> Any:
        cells, _ = scanviz.scan(lambda v, c: c + T.sqrt(v * (1.0 + c * c)), row, h, name="cells")
        return cells[-1]

    x = T.matrix("x")
    rows, _ = scanviz.scan(inner, x, T.constant(0.0), name="rows")
    data = np.full((6, 5), 1e-3)
    data[2, 1] = 0.0
    for rewrites in ("all", "none"):
        f = scanviz.function([x], scanviz.grad(rows[-1], x), mode=scanviz.Mode("numpy", rewrites))
        finding = found(f, data)
        text = " ".join(render_check(CheckedRecord(finding=finding)).split())
        heading = text.partition(" function ")[0]
        assert "loop grad_of_rows" in heading and "back over step 2 of loop rows" in heading
        assert "loop grad_of_cells" in heading and "back over step 1 of loop cells" in heading


@pytest.mark.parametrize("place", ["before", "after", "once"])
def test_work_pushed_out_of_a_loop_is_named_by_its_line(place: str) -> None:
    x, w = T.matrix("x"), T.matrix("w")

    def step(x_t: Any, h: Any, w: Any) -> Any:
        if place == "before":
            early = T.dot(T.log(x_t), w)  # the line
            return T.tanh(early + h), h
        if place == "once":
            same = T.log(w)  # the line
            return T.tanh(T.dot(h, same) + x_t), h
        h = T.tanh(x_t + h)
        late = T.log(T.dot(h, w))  # the line
        return h, late

    outputs, _ = scanviz.scan(step, x, [T.zeros(3), None], w, name="rnn")
    f = scanviz.function([x, w], outputs)
    data = np.ones((5, 3))
    data[3, 1] = -10
    finding = found(f, data, -np.eye(3) if place == "once" else np.eye(3))
    assert not finding.loops, "the test is about work that was moved"
    assert finding.source is not None and finding.source.text.endswith("# the line")


def test_a_given_infinity_is_followed_through_a_loop_that_has_ended() -> None:
    p = T.vector("p")
    (a, _), _ = scanviz.scan(lambda v, a, b: (b, v), p, [T.constant(0.0), T.constant(0.0)], name="delay")
    total, _ = scanviz.scan(lambda a, s: s + a, a, T.constant(0.0), name="use")
    f = scanviz.function([p], total)
    finding = found(f, np.array([0.0, -np.inf, 2.0, 3.0]))
    assert finding.cause == "given" and [loop.loop for loop in finding.loops] == ["use"]
    [origin] = [each.origin for each in finding.inputs if each.where is not None]
    assert "your input p, through loop delay" in origin
    text = " ".join(render_check(CheckedRecord(finding=finding)).split())
    assert "it came from outside: your input p, through loop delay" in text


def test_a_possibly_intended_infinity_names_the_option_to_ignore_it() -> None:
    x = T.vector("x")
    masked = scanviz.function([x], T.where(x > 0, x, -np.inf))
    text = render_check(CheckedRecord(finding=found(masked, np.array([1.0, -1.0]))), width=200)
    assert "to look for NaN alone: scanviz check --nan SCRIPT" in text
    nothing(masked, np.array([1.0, -1.0]), nan=True, inf=False)
    log = scanviz.function([x], T.log(x))
    assert "--nan" not in render_check(CheckedRecord(finding=found(log, np.array([-1.0]))), width=200)
