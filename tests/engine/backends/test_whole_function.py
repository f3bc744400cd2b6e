"""Functions that are called often and do little: one piece of machine code from some call on, decided by counts."""

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.backends import registry
from scanviz.engine.backends.native.cache import jit
from scanviz.engine.backends.native.run.whole_function import WholeFunction
from scanviz.engine.backends.whole_function import WholeCalls
from scanviz.engine.config import config
from scanviz.engine.errors import ScanvizIndexError, ScanvizValueError
from scanviz.profiler.recording.session import profile
from tests.support.at_once import at_once
from tests.support.between_guards import between_guards

pytestmark = pytest.mark.skipif(
    not registry.availability("native").works, reason=registry.availability("native").why
)
RNG = np.random.default_rng(8)
PLACE, ROWS = np.array([0.5, -0.25]), RNG.normal(size=20)


@pytest.fixture(autouse=True)
def pays_after(monkeypatch):
    """Return what sets after how many seconds machine code pays."""

    def sets(seconds):
        monkeypatch.setattr(config.native, "pays_after", seconds)

    sets(0.0)
    return sets


def slope(mode="auto", updates=False):
    """Return a function of the value of a loop and its gradient, and a shared variable."""
    x, w, count = T.vector("x"), T.vector("w"), scanviz.shared(0.0, name="count")
    model, _ = scanviz.scan(lambda x_t, h, w: T.tanh(w[0] * h + w[1] * x_t), x, 0.0, w, name="model")
    loss = ((model - 0.5) ** 2).sum()
    changed = [(count, count + loss)] if updates else None
    return scanviz.function([w, x], [loss, scanviz.grad(loss, w)], mode=mode, updates=changed), count


def is_whole(f):
    return f.executable.runs_whole


def same(found, expected):
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9)


@pytest.mark.parametrize("mode", ["auto", "native"])
def test_value_and_gradient_are_compiled_whole_with_the_same_results(mode):
    (f, count), (plain, expected) = slope(mode, updates=True), slope("reference", updates=True)
    first = f(PLACE, ROWS)
    same(first, plain(PLACE, ROWS))
    assert is_whole(f)
    kept = [np.array(each) for each in first]
    same(f(PLACE * 2, ROWS), plain(PLACE * 2, ROWS))
    np.testing.assert_array_equal(first[1], kept[1])  # results held by a caller are not written to again
    assert count.get_value() == pytest.approx(float(expected.get_value()))


def test_calls_with_other_shapes_are_counted_apart(pays_after):
    pays_after(1e-2)
    (f, _), (plain, _) = slope(), slope("reference")
    for _ in range(400):
        found = f(PLACE, ROWS)
    assert is_whole(f)
    same(found, plain(PLACE, ROWS))
    same(f(PLACE, ROWS[:7]), plain(PLACE, ROWS[:7]))
    assert [met.whole is not None for met in f.executable._whole._met.values()] == [True, False]


def test_whole_function_code_begins_at_a_reproducible_call(pays_after):
    pays_after(1e-2)
    counts = []
    for _ in range(2):
        f, _ = slope()
        counts.append(next(k for k in range(1000) if f(PLACE, ROWS) and is_whole(f)))
    assert counts[0] == counts[1] > 60


def test_calls_in_threads_are_not_compiled_whole_after_fewer_calls(pays_after):
    pays_after(1e-2)
    f, _ = slope()
    alone = next(k for k in range(1000) if f(PLACE, ROWS) and is_whole(f))
    g, _ = slope()
    at_once([lambda: [g(PLACE, ROWS) for _ in range(alone // 6 - 1)]] * 6)
    assert not is_whole(g)


def test_numbers_of_steps_are_counted_apart_like_shapes():
    h, n = T.scalar("h"), T.lscalar("n")
    rows, _ = scanviz.scan(lambda h: h * 0.9 + 0.2, outputs_info=h, n_steps=n)
    f, plain = (scanviz.function([h, n], rows, mode=mode) for mode in ("auto", "reference"))
    for steps in (5, 3, 0, 5):
        np.testing.assert_allclose(f(1.0, steps), plain(1.0, steps))
    assert is_whole(f) and len(f.executable._whole._met) == 3
    with pytest.raises(ScanvizValueError, match="-1 steps"):
        f(1.0, -1)


def test_long_loops_and_value_dependent_steps_run_by_parts():
    f, _ = slope()
    f(PLACE, np.zeros(50_000))
    h, n = T.scalar("h"), T.lvector("n")
    rows, _ = scanviz.scan(lambda h: h * 0.9 + 0.1, outputs_info=h, n_steps=n.sum())
    g = scanviz.function([h, n], rows[-1])
    assert g(1.0, [2, 3]) == pytest.approx(1.0)
    assert not is_whole(f) and not is_whole(g)


def test_a_failed_call_names_the_failed_operation():
    x, k = T.vector("x"), T.lscalar("k")
    total, _ = scanviz.scan(lambda x_t, s: s + x_t, x, 0.0, name="total")
    f = scanviz.function([x, k], total[-1] * x[k])
    assert f(np.ones(4), 1) == 4 and is_whole(f)
    with pytest.raises(ScanvizIndexError, match="x\\[k\\]|index"):
        f(np.ones(4), 9)
    assert f(np.ones(4), -1) == 4


def test_an_observed_call_runs_by_parts_with_the_same_results():
    f, _ = slope()
    expected = f(PLACE, ROWS)
    with profile() as session:
        same(f(PLACE, ROWS), expected)
    assert {loop.name: loop.steps for loop in session.record.loops} == {"model": 20, "grad_of_model": 20}
    assert is_whole(f)
    same(f(PLACE, ROWS), expected)
    tiers = {tier.tier for loop in session.record.loops for tier in loop.tiers}
    assert tiers == {"native"}


def test_a_function_that_prints_runs_by_parts(capsys):
    x = T.vector("x")
    total, _ = scanviz.scan(lambda x_t, s: s + x_t, x, 0.0)
    f = scanviz.function([x], scanviz.Print("total")(total[-1]))
    assert f(np.ones(3)) == 3 and not is_whole(f)
    assert "total" in capsys.readouterr().err


def test_a_part_of_an_array_without_rows_is_not_written():
    x, held = T.vector("x"), scanviz.shared(np.ones((2, 3)), name="held")
    rows, updates = scanviz.scan(lambda x_t: (x_t * held.sum(), {held: held * x_t}), x, name="loop")
    cost = T.sin(rows).sum() + T.cos(updates[held]).sum()
    wanted = [cost, scanviz.grad(cost, x), scanviz.grad(cost, held)]
    f, plain = (
        scanviz.function([x], wanted, mode=mode, no_default_updates=True) for mode in ("auto", "reference")
    )
    with between_guards():
        same(f([]), plain([]))
        same(f([0.5, 2.0]), plain([0.5, 2.0]))
    assert is_whole(f)


@pytest.mark.parametrize("mode", ["auto", "native"])
def test_unobserved_calls_stay_compiled_whole_and_count_every_run(mode, monkeypatch, planted):
    planted(step_ns=50)
    asked, whole = 400, []
    f, _ = slope(mode)
    f(PLACE, ROWS)
    usual = WholeFunction.__call__
    monkeypatch.setattr(
        WholeFunction, "__call__", lambda self, *given: whole.append(1) or usual(self, *given)
    )
    with profile() as session:
        found = [f(PLACE, ROWS) for _ in range(asked)]
    same(found[0], found[-1])
    assert len(whole) > asked / 2
    loops = [loop for loop in session.record.loops if loop.runs]
    assert sum(loop.runs for loop in loops) == 2 * asked == sum(loop.steps for loop in loops) / 20
    text = session.record.functions
    assert sum(each.calls for each in text) == asked
    assert sum(loop.total_ns for loop in loops) <= sum(each.total_ns for each in text)


def test_calls_that_have_no_machine_code_are_decided_once(monkeypatch):
    x = T.vector("x", dtype="float16")
    rows, _ = scanviz.scan(lambda x_t, h: h + x_t, x, T.constant(np.float16(0)))
    f = scanviz.function([x], rows, mode="native")
    decided, usual = [], WholeCalls._decide
    monkeypatch.setattr(WholeCalls, "_decide", lambda *given: decided.append(1) or usual(*given))
    for _ in range(3):
        f(np.ones(5, np.float16))
    assert len(decided) == 1 and not is_whole(f)


def test_long_calls_with_compiled_loops_are_not_compiled_as_a_whole(pays_after):
    pays_after(1e-4)  # a few dozen calls by parts
    f, _ = slope()
    for _ in range(60):
        f(PLACE, np.zeros(15_000))
    assert not is_whole(f)
    assert [met.is_decided for met in f.executable._whole._met.values()] == [True]


def test_machine_code_of_a_whole_function_is_found_on_disk(monkeypatch, tmp_path):
    monkeypatch.setattr(config.native, "cache", str(tmp_path / "kept"))
    compiled, usual = [], jit.object_of
    monkeypatch.setattr(jit, "object_of", lambda text: compiled.append(text) or usual(text))
    found, times = [], []
    for _ in range(2):
        f, _ = slope("native")
        found += [f(PLACE, ROWS), f(PLACE, ROWS)]
        assert is_whole(f)
        with profile() as session:  # which counts runs of its loops
            found.append(f(PLACE, ROWS))
        assert [loop.runs for loop in session.record.loops if loop.name == "model"] == [1]
        times.append(len(compiled))
    assert times[0] and times[1] == times[0]
    for other in found[1:]:
        same(other, found[0])
