"""A call that returns NaN is looked into while the script is profiled: the first NaN has its operation, step and line."""

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.observation import calls, observer_overhead
from scanviz.engine.observe import Observer, observed_by
from scanviz.profiler.recording.recorder import MOST_CHECKED, ends_in_nan
from scanviz.profiler.values import first_nan
from scanviz.profiler.values.checking import Checker
from scanviz.profiler.values.nan_origins import NanOrigins
from scanviz.record.storage.file import load
from scanviz.record.storage.merging import merged
from scanviz.record.summary.run_breakdown import overhead_ns, parts_of
from scanviz.record.summary.verdict import verdict


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Search as long as this machine takes."""
    monkeypatch.setattr(first_nan, "LONGEST_NS", 600_000_000_000)


def outflow(mode=None):
    x = T.vector("x")
    (s, _), _ = scanviz.scan(lambda x_t, s: (s - T.sqrt(s - x_t), s), x, [4.0, None], name="tank")
    return scanviz.function([x], s, name="simulate", mode=mode)


@pytest.mark.parametrize("mode", ["numpy", "native"])
def test_the_step_and_the_line_of_the_first_nan_are_found(mode, tmp_path) -> None:
    with scanviz.profile() as p:
        outflow(mode)(np.zeros(400) + 1.0)
    found = p.record.first_nan
    assert found is not None and found.operation.startswith("sqrt(") and found.loop == "tank"
    s = [4.0]
    while s[-1] >= 1.0:
        s.append(s[-1] - np.sqrt(s[-1] - 1.0))
    assert found.step == len(s) - 1 and not found.was_given
    first = verdict(p.record)[0]
    assert first.topic == "unusual" and f"at step {found.step} of the loop `tank`" in first.text
    p.save(tmp_path / "a.scanviz")
    assert load(tmp_path / "a.scanviz").first_nan == found


@pytest.mark.parametrize(
    ("nan_in", "expected"),
    [
        ("input", "your input x[3]"),
        ("unnamed", "your input input1[3]"),
        ("shared", "shared variable w[3]"),
        ("constant", "a constant"),
    ],
)
def test_a_nan_that_came_from_outside_is_named(nan_in: str, expected: str) -> None:
    given = np.ones(9)
    given[3] = np.nan
    inputs = {"input": T.vector("x"), "unnamed": T.vector()}
    x = inputs | {"shared": scanviz.shared(given, name="w"), "constant": T.constant(given)}
    s, _ = scanviz.scan(lambda x_t, s: s + x_t, x[nan_in], 0.0, name="sums")
    f = scanviz.function([x[nan_in]] if nan_in in inputs else [], s[-1], name="add")
    with scanviz.profile() as p:
        f(given) if nan_in in inputs else f()
    text = verdict(p.record)[0].text
    assert text.startswith(f"`add` returned NaN. It came from {expected}, and is first read by ")


def test_rows_beside_a_constant_nan_are_not_blamed() -> None:
    x = T.vector("x")
    s, _ = scanviz.scan(lambda x_t, s: T.switch(T.gt(x_t, 3), np.nan, s + x_t), x, 1.0, name="lit")
    with scanviz.profile() as p:
        scanviz.function([x], s[-1])(np.array([1.0, 5.0, 2.0]))
    assert " came from a constant, and is first read by `where(x[t] > 3, nan" in verdict(p.record)[0].text


def test_a_nan_that_is_only_moved_is_in_the_inputs() -> None:
    x = T.matrix("x")
    with scanviz.profile() as p:
        scanviz.function([x], x.T[::-1], name="turn")(np.full((2, 3), np.nan))
    text = "`turn` returned NaN that no operation computed: look for it in the inputs of that call."
    assert verdict(p.record)[0].text == text


def test_the_search_for_a_nan_applies_updates_once() -> None:
    count = scanviz.shared(0.0, name="count")
    f = scanviz.function([], T.sqrt(-1.0 - count), updates=[(count, count + 1.0)])
    with scanviz.profile() as p:
        f()
    assert p.record.first_nan is not None and count.get_value() == 1.0
    with scanviz.profile() as p:
        scanviz.function([], count * 2.0)()
    assert p.record.first_nan is None


def test_a_search_that_takes_too_long_names_the_function(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first_nan, "LONGEST_NS", -1)
    with scanviz.profile() as p:
        outflow()(np.zeros(400) + 1.0)
    assert p.record.first_nan.operation == ""
    assert (
        verdict(p.record)[0].text == "`simulate` returned NaN: scanviz check SCRIPT finds where it appears."
    )


def test_searching_is_profiler_overhead() -> None:
    f = outflow()
    rates = np.full(3000, 4.0)  # as much flows out as is there, and more at the end
    rates[-1] = 5.0
    with scanviz.profile() as p:
        f(rates)
    (function,) = p.record.functions
    assert p.record.first_nan.step == 2999 and function.total_ns < p.record.wall_ns / 2


def test_a_merged_profile_keeps_the_first_nan() -> None:
    with scanviz.profile() as p:
        outflow()(np.zeros(400) + 1.0)
    with scanviz.profile() as other:
        scanviz.function([], T.constant(1.0) + 1.0)()
    both = merged([("a", other.record), ("b", p.record)])
    assert "`simulate" in verdict(both)[0].text and "returned NaN" in verdict(both)[0].text


def test_only_the_last_row_of_a_long_result_is_checked() -> None:
    long = np.zeros((MOST_CHECKED, 3))
    long[0] = np.nan
    assert not ends_in_nan([long]) and ends_in_nan([long[::-1]])
    wide = np.zeros((30, 5000))
    wide[-1, 5] = np.nan
    assert ends_in_nan([wide]) and not ends_in_nan([wide[::-1]]) and ends_in_nan([wide[-1]])
    assert not ends_in_nan([np.array([1]), np.array(["a"]), 3.0])


def test_the_search_ends_at_the_nan_or_at_its_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    x = T.vector("x")
    s, _ = scanviz.scan(lambda x_t, s: 0.5 * s + T.sqrt(x_t - 0.1 * s), x, 0.0, name="long")
    f = scanviz.function([x], s[-1], name="f", mode="numpy")
    given = np.ones(3_000)
    given[5] = -1.0
    steps = []
    counted = first_nan._Search.step_inputs

    def step_inputs(self, function, loop, step, values):
        steps.append(step)
        counted(self, function, loop, step, values)

    monkeypatch.setattr(first_nan._Search, "step_inputs", step_inputs)
    with scanviz.profile() as p:
        f(given)
    assert p.record.first_nan.step == 5 and 5 <= max(steps) < 1_000
    steps.clear()
    monkeypatch.setattr(first_nan, "LONGEST_NS", -1)
    with scanviz.profile() as p:
        f(given)
    assert p.record.first_nan.operation == "" and len(steps) < 1_000


class Counts(Observer):
    """Count the calls that begin observed, and those that are only counted."""

    samples = True

    def __init__(self) -> None:
        self.observed = self.counted = 0

    def function_begin(self, function, call) -> None:
        self.observed += 1

    def calls_counted(self, function, thread, elapsed_ns, *rest) -> None:
        self.counted += len(elapsed_ns)


def test_results_of_unobserved_calls_are_checked_for_nan(planted) -> None:
    planted(1_000)
    x = T.vector("x")
    s, _ = scanviz.scan(lambda x_t, s: 0.9 * s + T.sqrt(x_t + 0.1 * s), x, 0.0, name="short")
    f = scanviz.function([x], s[-1], name="f")
    with scanviz.profile() as p, observed_by(Counts()) as counts:
        before = 0
        while not counts.counted:  # reported where an observed call begins
            before = counts.observed
            f(np.ones(4))
        assert p.record.first_nan is None
        f(np.array([1.0, 1.0, -9.0, 1.0]))
        assert counts.observed == before + 1
    found = p.record.first_nan
    assert found is not None and found.step == 2 and found.loop == "short"


@pytest.mark.parametrize("calls_before", [0, 1_000])
def test_a_search_that_ctrl_c_ends_is_profiler_overhead(calls_before: int, planted, monkeypatch) -> None:
    planted(1_000)
    x = T.vector("x")
    f = scanviz.function([x], T.sqrt(x), name="roots")

    def searched(function, again):
        now[0] += 7_000_000_000
        raise KeyboardInterrupt

    now, usual = [0], calls.perf_counter_ns
    monkeypatch.setattr(first_nan, "first_nan", searched)
    for module in (calls, observer_overhead):
        monkeypatch.setattr(module, "perf_counter_ns", lambda: usual() + now[0])
    with scanviz.profile() as p:
        for _ in range(calls_before):
            f(np.ones(2))
        with pytest.raises(KeyboardInterrupt):
            f(-np.ones(2))
    (function,) = p.record.functions
    assert function.calls == calls_before + 1 and function.total_ns < 6e9 < overhead_ns(parts_of(p.record))


def missing_and_negative(step, results="all", values=False):
    """Return the record of a filter whose input 20 is missing, masked out, and whose input 173 is negative."""
    x, r = T.vector("x"), T.vector("r")
    m, _ = scanviz.scan(step, [x, r], 0.0, name="filter")
    f = scanviz.function([x, r], {"all": m, "last": m[-1]}[results], name="estimate", mode="numpy")
    rng = np.random.default_rng(0)
    given, rates = rng.uniform(1, 2, 300), np.ones(300)
    given[20], rates[173] = np.nan, -5.0
    if values:
        return scanviz.trace(f, given, rates).record
    with scanviz.profile() as p:
        assert np.isnan(f(given, rates)).any()
    return p.record


def masked_in_the_step(x_t, r_t, m):
    return T.switch(T.isnan(x_t), m, m + 0.1 * (x_t - m)) + 0.01 * T.sqrt(r_t + 0.01 * m)


def masked_behind_work_for_all_steps(x_t, r_t, m):
    return 0.9 * m + T.switch(T.isnan(x_t), 0.0, T.log(x_t)) + 0.01 * T.sqrt(r_t + 0.01 * m)


def mixed_in_one_operation(x_t, r_t, m):
    return 0.9 * m + T.switch(T.isnan(x_t), 0.0, T.log(x_t * r_t))


@pytest.mark.parametrize("results", ["all", "last"])
@pytest.mark.parametrize(
    ("step", "operation"),
    [
        (masked_in_the_step, "sqrt("),
        (masked_behind_work_for_all_steps, "sqrt("),
        (mixed_in_one_operation, "log("),
    ],
)
def test_a_masked_missing_value_is_not_the_first_nan(step, operation: str, results: str) -> None:
    found = missing_and_negative(step, results).first_nan
    assert found.operation.startswith(operation) and not found.was_given
    assert "[173]" in found.rows and "[20]" not in found.rows
    assert found.step in (173, None)


def test_a_missing_value_that_reaches_the_results_is_the_first_nan() -> None:
    found = missing_and_negative(lambda x_t, r_t, m: 0.9 * m + x_t + T.sqrt(r_t)).first_nan
    assert (found.step, found.rows, found.was_given) == (20, "your input x[20]", True)


def test_kept_values_name_the_returned_nan_before_a_masked_one() -> None:
    record = missing_and_negative(masked_in_the_step, values=True)
    first, second = [one for one in verdict(record) if one.topic == "unusual"][:2]
    assert "It first appears in `sqrt(" in first.text and (first.step, first.run) == (173, 0)
    assert second.text == "The first NaN in `filter` is `x[t]` at step 20." and second.step == 20


def test_a_search_that_ends_early_names_a_nan_that_is_still_held(monkeypatch: pytest.MonkeyPatch) -> None:
    followed = NanOrigins.instruction

    def instruction(self, *given):
        followed(self, *given)
        if self.number > 2_000:
            raise RuntimeError

    monkeypatch.setattr(NanOrigins, "instruction", instruction)
    found = missing_and_negative(masked_in_the_step).first_nan
    assert found.step == 173


def test_the_first_nan_of_a_loop_in_a_branch_is_found() -> None:
    x, c = T.vector("x"), T.scalar("c")
    z = T.switch(T.isnan(x), 0.0, x).sum()
    u, _ = scanviz.scan(lambda u: u * 0.5 + T.sqrt(z - u), None, T.zeros(()), n_steps=5, name="side")
    f = scanviz.function([x, c], T.ifelse(T.gt(c, 0), u[-1], T.zeros(())), name="choice")
    with scanviz.profile() as p:
        f([0.1, np.nan], 1.0)
    found = p.record.first_nan
    assert found.operation.startswith("sqrt(") and (found.loop, found.step) == ("side", 1)
    with observed_by(Checker(stops=False)) as checker:
        f([0.1, 0.0], 1.0)
    assert checker.finding.loops[-1].step == 1
