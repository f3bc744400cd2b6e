"""Rewrites checked and measured on real inputs; a rule that is wrong is found, by all and by halves."""

import itertools

import numpy as np
import pytest

import scanviz
from scanviz import Mode
from scanviz import tensor as T
from scanviz.cli.rewrites_measured import ablated_lines
from scanviz.engine.backends import registry
from scanviz.engine.config import config
from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.nodes import build_one
from scanviz.engine.measurement.ablation import NONE, Effect, ablate
from scanviz.engine.measurement.captured_calls import CapturedCalls, Uncalled
from scanviz.engine.measurement.verification import CannotRunAgainError, bisect, compare, verify
from scanviz.engine.ops import elementwise as e
from scanviz.engine.program.lower import lower
from scanviz.engine.rewrites import families
from scanviz.engine.rewrites import rule as rules
from scanviz.engine.rewrites.history import RewriteHistory
from scanviz.engine.rewrites.rule import Match
from scanviz.engine.rewrites.selection import Selection

RNG = np.random.default_rng(2)


def train():
    x, w = T.matrix("x"), scanviz.shared(np.eye(3) / 2, "w")
    h, _ = scanviz.scan(lambda x_t, h, w: T.tanh(x_t + T.dot(h, w)), x, T.zeros(3), w, name="rnn")
    cost = T.sum(h[-1] ** 2)
    return scanviz.function([x], cost, updates={w: w - 0.1 * scanviz.grad(cost, w)}, name="train")


@pytest.fixture
def wrong_rule(monkeypatch):
    """Register a rule that makes a sine of a hyperbolic tangent."""
    families.all_rules()  # a file that is imported meanwhile would not be imported again
    monkeypatch.setattr(rules, "RULES", dict(rules.RULES))
    monkeypatch.setattr(rules, "ORDER", (*rules.ORDER, "wrong"))

    @rules.rule(name="wrong", phase="simplify", on=(e.tanh,))
    def wrong(node, level):
        """Make a mistake."""
        return Match({node.outputs[0]: build_one(Op(e.sin), node.inputs[0])}, "tanh is nearly sin")


def test_the_run_program_is_compared_with_the_graph_as_built_too(monkeypatch):
    f = train()
    arrays = [RNG.normal(size=(4, 3)), np.eye(3) / 2]
    assert verify(f, arrays).whole is None
    run = type(f.executable).run
    monkeypatch.setattr(
        type(f.executable), "run", lambda self, inputs, probe: [each + 1 for each in run(self, inputs, probe)]
    )
    found = verify(f, arrays, gradients=False)
    assert found.first_wrong is None and "off by 1" in found.whole.what


def test_calls_are_kept_with_the_values_that_shared_variables_had():
    f = train()
    captured = CapturedCalls()
    values = [RNG.normal(size=(4, 3)) for _ in range(5)]
    before = []
    with captured.observing():
        for value in values:
            before.append(f.spec.shared[0].get_value())
            f(value)
    f(values[0])
    (call,) = captured.calls
    assert call.calls == 5 and call.function is f
    np.testing.assert_array_equal(call.arrays[0], values[3])  # of the fourth call, the last power of two
    np.testing.assert_array_equal(call.arrays[1], before[3])


def test_inputs_that_are_too_large_are_left_out_and_listed():
    f = train()
    captured = CapturedCalls(most_bytes=50)
    with captured.observing():
        f(np.ones((4, 3)))
    assert captured.calls == [] and captured.left_out == [f]


def test_rewrites_that_are_right_agree_in_values_and_gradients():
    f = train()
    arrays = [RNG.normal(size=(5, 3)), f.spec.shared[0].get_value()]
    found = verify(f, arrays)
    assert found.first_wrong is None and len(found.checked) == len(f.rewrites.of_graph) > 4
    assert found.skipped == "" and found.gradients
    assert bisect(f, arrays) is None
    np.testing.assert_array_equal(f.spec.shared[0].get_value(), np.eye(3) / 2)  # nothing was updated


def test_a_wrong_rule_is_named_by_both(wrong_rule):
    f = train()
    assert "wrong" in {rewrite.rule for rewrite in f.rewrites}
    arrays = [RNG.normal(size=(5, 3)), f.spec.shared[0].get_value()]
    found = verify(f, arrays).first_wrong
    assert found is not None and found.rule == "wrong" and "off by" in found.difference.what
    halved = bisect(f, arrays)
    assert (halved.index, halved.rule) == (found.index, "wrong")


def test_differences_are_described_in_words():
    a = np.array([1.0, np.nan, 3.0])
    assert compare([a], [a.copy()], ["x"]) is None
    assert compare([a], [a.astype("float32")], ["x"]).what == "float64[3] became float32[3]"
    assert compare([np.array([1, 2])], [np.array([1, 3])], ["n"]).what == "1 of 2 numbers differ"
    assert "off by 0.5" in compare([a], [a + np.array([0.5, 0, 0])], ["x"]).what
    assert compare([a], [np.array([1.0, 2.0, 3.0])], ["x"]) is not None


def test_effects_are_ratios_of_interleaved_rounds_with_their_noise():
    f = train()
    arrays = [RNG.normal(size=(5, 3)), f.spec.shared[0].get_value()]
    ticks = itertools.count(0, 1000)
    found = list(ablate(f, arrays, seconds=0.001, clock=lambda: next(ticks)))
    assert [each.rule for each in found][-1] == NONE
    assert {each.rule for each in found[:-1]} == {rewrite.rule for rewrite in f.rewrites}
    for each in found:
        assert each.ratio == 1.0 and each.is_noise and each.rounds >= 5  # every call takes one tick
        assert each.agrees and each.with_bytes > 0 < each.without_bytes
    np.testing.assert_array_equal(f.spec.shared[0].get_value(), np.eye(3) / 2)


def test_a_rule_that_saves_memory_is_measured_as_such():
    a, n = T.vector("a"), T.lscalar("n")
    power, _ = scanviz.scan(
        lambda p, a: p * a, outputs_info=T.ones_like(a), non_sequences=a, n_steps=n, name="power"
    )
    f = scanviz.function([a, n], power[-1], mode=Mode("numpy"))
    found = {each.rule: each for each in ablate(f, [np.ones(100), np.array(500)], seconds=0.2)}
    kept = found["ScanSaveMem"]
    assert kept.without_bytes > 20 * kept.with_bytes
    assert 20 < kept.memory_low <= kept.memory_ratio <= kept.memory_high and not kept.is_memory_noise
    (alone,) = ablate(f, [np.ones(100), np.array(500)], seconds=0.01, among=["ScanSaveMem", "merge_equal"])
    assert alone.rule == "ScanSaveMem"
    plain = scanviz.function([a], a + 1.0)
    assert list(ablate(plain, [np.ones(3)], seconds=0.01)) == []


def test_a_rule_replaced_by_another_when_excluded_is_reported():
    x, g = T.tensor3("x"), T.tensor3("g")
    sums, _ = scanviz.scan(lambda x_t, g_t, s: s + T.dot(x_t.T, g_t), [x, g], T.zeros((2, 3)), name="sums")
    f = scanviz.function([x, g], sums[-1], mode=Mode("numpy"))
    given = [np.ones((4, 5, 2)), np.ones((4, 5, 3))]
    found = {one.rule: one for one in ablate(f, given, seconds=0.01)}
    assert found["PushOutDot1"].instead == ("PushOutSeqScan", "PushOutScanOutput")
    assert found["resolve_shapes"].instead == ()
    without = Mode("numpy", "all,-PushOutSeqScan,-PushOutScanOutput")
    f = scanviz.function([x, g], sums[-1], mode=without)
    (alone,) = ablate(f, given, seconds=0.01, among=["PushOutDot1"])
    assert alone.instead == ()


def effect(low, high, with_bytes=100, without_bytes=100, memory=(1.0, 1.0)):
    return Effect("r", (low + high) / 2, low, high, 5, 1.0, 1.0, with_bytes, without_bytes, *memory, True)


def test_differences_within_the_noise_are_called_noise():
    assert effect(0.9, 1.1).is_noise and not effect(1.01, 1.1).is_noise and not effect(0.8, 0.9).is_noise
    assert effect(1, 1).is_memory_noise and effect(1, 1, 1000, 1003, (1.002, 1.004)).is_memory_noise
    assert effect(1, 1, 100, 110, (0.99, 1.2)).is_memory_noise
    assert not effect(1, 1, 100, 110, (1.09, 1.11)).is_memory_noise


def test_rewrites_of_one_rule_alone_are_checked():
    f = train()
    arrays = [RNG.normal(size=(5, 3)), f.spec.shared[0].get_value()]
    found = verify(f, arrays, among=lambda each: each.rule == "PushOutDot1")
    assert (
        {each.rule for each in found.checked}
        == {"PushOutDot1"}
        == {gradient.rule for gradient in found.gradients}
    )
    none = verify(f, arrays, among=lambda each: False)
    assert none.checked == () and none.first_wrong is None and "nothing to compare" in none.skipped


@pytest.fixture
def failing_rule(monkeypatch):
    """Register a rule whose result cannot be computed."""
    families.all_rules()  # a file that is imported meanwhile would not be imported again
    monkeypatch.setattr(rules, "RULES", dict(rules.RULES))
    monkeypatch.setattr(rules, "ORDER", (*rules.ORDER, "failing"))

    @rules.rule(name="failing", phase="simplify", on=(e.tanh,))
    def failing(node, level):
        """Read a row that is not there."""
        (given,) = node.inputs
        return Match({node.outputs[0]: T.exp(given) + given[99]}, "a row that is not there is read")


def test_a_rewrite_after_which_a_function_fails_is_wrong(failing_rule):
    x = T.vector("x")
    f = scanviz.function([x], T.sum(T.tanh(x)) + T.sum(T.exp(x)) * T.sum(T.exp(x)), name="f")
    found = verify(f, [np.ones(3)])
    assert found.first_wrong is not None and found.first_wrong.rule == "failing"
    assert "it ends in an error now: " in found.first_wrong.difference.what
    assert found.checked[-1] is found.first_wrong and found.gradients == ()
    halved = bisect(f, [np.ones(3)])
    assert (halved.index, halved.rule) == (found.first_wrong.index, "failing")


def test_inputs_on_which_the_function_itself_fails_are_distinguished():
    x, y = T.vector("x"), T.vector("y")
    f = scanviz.function([x, y], T.exp(x) * T.exp(x) + y)
    for check in (verify, bisect):
        with pytest.raises(CannotRunAgainError, match="it ends in an error on these inputs: ShapeError: "):
            check(f, [np.ones(3), np.ones(4)])


def test_gradients_are_compared_before_unread_rows_are_dropped():
    x = T.vector("x")
    h, _ = scanviz.scan(lambda v, h: T.tanh(h + T.exp(v) * T.exp(v)), x, T.constant(0.0), name="rnn")
    f = scanviz.function([x], h[-1])
    phases = [each.phase for each in f.rewrites.of_graph]
    assert "keep" in phases and phases.index("keep") > 0
    found = verify(f, [np.ones(4)])
    assert found.gradients and max(gradient.index for gradient in found.gradients) < phases.index("keep")


def test_functions_that_are_never_called_are_known():
    x = T.scalar("x")
    with Uncalled().observing() as uncalled:
        f, g = scanviz.function([x], x + 1.0, name="f"), scanviz.function([x], x * 2.0, name="g")
        assert uncalled.functions == [f, g]
        assert g(3.0) == 6.0
    later = scanviz.function([x], x + 5.0)
    assert uncalled.functions == [f] and later(1.0) == 6.0


def test_progress_is_notified_and_never_decreases():
    f = train()
    arrays = [RNG.normal(size=(5, 3)), f.spec.shared[0].get_value()]
    text: list[tuple[float, str]] = []
    notify = lambda done, what: text.append((done, what))  # noqa: E731
    verify(f, arrays, notify=notify)
    assert text[0][0] == 0.0 and text[-1] == (1.0, "the function as it runs")
    assert text == sorted(text, key=lambda each: each[0])
    assert {what for _, what in text[:-1]} == {each.rule for each in f.rewrites.of_graph} | {"gradients"}
    text.clear()
    effects = list(ablate(f, arrays, seconds=0.05, notify=notify))
    assert text[0][0] == 0.0 and 0.9 < text[-1][0] <= 1.0
    assert [done for done, _ in text] == sorted(done for done, _ in text)
    assert list(dict.fromkeys(what for _, what in text)) == [each.rule for each in effects]


@pytest.mark.parametrize(("pays_after", "tier"), [(0.0, "native"), (float("inf"), "numpy")])
def test_both_sides_of_a_measured_rule_run_on_the_functions_current_tier(monkeypatch, pays_after, tier):
    if not registry.availability("native").works:
        pytest.skip(registry.availability("native").why)
    monkeypatch.setattr(config.native, "pays_after", pays_after)
    x = T.matrix("x")
    h, _ = scanviz.scan(lambda x_t, h: T.tanh(x_t * 2 + h * 3), x, T.zeros(3), name="rnn")
    f = scanviz.function([x], h[-1], mode="auto")
    rows = RNG.normal(size=(5000, 3))
    f(rows)
    monkeypatch.setattr(config.native, "pays_after", 1e-9 if tier == "numpy" else 10.0)
    for selection in (f.rewrites.selection, Selection("none")):
        program = lower([x], RewriteHistory([h[-1]], selection).final, "f")
        made = f.compile_alike(program)
        for _ in range(3):
            made.run([rows], None)
        tiers = {each.tier.name for run in made.flat.runners.values() for each in run.all_made()}
        assert getattr(made, "runs_whole", False) if not tiers else tiers == {tier}


@pytest.mark.parametrize(
    ("measured", "message"),
    [
        (effect(0.4, 0.6), "makes this function 2.0 times slower"),
        (effect(0.6, 1.1), ""),
        (effect(1.0, 1.2, 100 << 20, 50 << 20, (0.5, 0.5)), "takes 2.0 times the memory"),
        (effect(1.0, 1.2, 10 << 20, 5 << 20, (0.5, 0.5)), ""),
    ],
)
def test_a_harmful_rule_is_named_with_the_mode_that_excludes_it(measured, message):
    lines = [line.text for line in ablated_lines(iter([measured]), 120, [])]
    found = [line for line in lines if "excluding('r')" in line]
    assert len(found) == bool(message) and all(message in line for line in found)
