"""A function whose rewriting for NumPy and for machine code part is finished for the tier that its first call takes."""

import copy
import pickle
import threading

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.backends.auto.loop import AutoLoop
from scanviz.engine.backends.registry import availability
from scanviz.engine.errors import ScanvizError
from scanviz.engine.function import callable as callables
from scanviz.engine.function import rewriting
from scanviz.engine.mode import Mode
from scanviz.profiler import profile

needs_llvm = pytest.mark.skipif(not availability("native").works, reason="no LLVM")
RNG = np.random.default_rng(5)
LONG, SHORT = RNG.normal(size=(4_000, 8)), RNG.normal(size=(40, 8))


def built(mode=None, **options):
    """Return a function of which rewrites for NumPy take work out of the loop."""
    x = T.matrix("x")
    rows, _ = scanviz.scan(
        lambda x_t, h: T.tanh(0.9 * h + T.exp(0.5 * x_t) + 0.1), x, T.zeros((8,)), name="smooth"
    )
    return scanviz.function([x], [rows, scanviz.grad((rows**2).sum(), x)], mode=mode, name="f", **options)


def pays_soon(monkeypatch):
    """Let machine code pay in a call of some thousand steps."""
    monkeypatch.setattr(rewriting, "SURELY", 0.1)
    monkeypatch.setattr(scanviz.config.native, "pays_after", 0.02)


def is_finished(f):
    return "program" in vars(f)


def rules_of(f):
    return [(record.phase, record.rule, record.message) for record in f.rewrites.of_graph]


@pytest.fixture
def asked(monkeypatch):
    """The functions that were lowered."""
    found, usual = [], callables.lower
    monkeypatch.setattr(
        callables, "lower", lambda reads, graph, name: found.append(name) or usual(reads, graph, name)
    )
    return found


@needs_llvm
def test_a_function_whose_first_call_surely_pays_for_machine_code_is_made_for_that_alone(asked, monkeypatch):
    pays_soon(monkeypatch)
    f, expected = built(), built("native")(LONG)
    del asked[:]
    np.testing.assert_allclose(f(LONG)[0], expected[0], rtol=1e-9)
    assert len(asked) == 1 and not is_finished(f)
    assert f.for_machine_code.executable.counted.compiled >= {"smooth"}
    f(LONG)
    assert len(asked) == 1 and not is_finished(f)


@needs_llvm
def test_what_it_is_for_numpy_is_there_when_somebody_asks_and_calls_stay_in_machine_code(monkeypatch):
    pays_soon(monkeypatch)
    f, plain = built(), built(Mode("auto", "all"))
    f(LONG)
    made = f.for_machine_code
    assert rules_of(f) == rules_of(plain) and "PushOutShortRows" in {record.rule for record in f.rewrites}
    assert set(f.build_ns) == {"graph", "rewrite", "lower", "compile"} and f.program.name == "f"
    f(LONG)
    assert f.for_machine_code is made and not f.executable.counted.compiled


def test_a_function_whose_first_call_is_short_is_made_for_numpy_in_it(asked):
    f = built()
    assert not asked and not is_finished(f)
    found = f(SHORT)
    assert asked == ["f"] and is_finished(f) and f.for_machine_code is None
    for mine, other in zip(found, built("numpy")(SHORT), strict=True):
        np.testing.assert_array_equal(mine, other)


def test_a_function_is_finished_when_it_is_built_where_somebody_watches_or_asked_for_a_tier(asked):
    assert is_finished(built(profile=True)) and is_finished(built("numpy"))
    with profile():
        assert is_finished(built())


@pytest.mark.parametrize("name", ["program", "rewrites", "build_ns", "executable", "outputs"])
def test_asking_what_was_made_of_it_finishes_it_once(name, asked):
    f = built()
    first = getattr(f, name)
    assert is_finished(f) and asked == ["f"]
    assert name == "outputs" or getattr(f, name) is first


def test_a_function_has_no_other_names_for_that():
    f = built()
    with pytest.raises(AttributeError, match="has no attribute 'programme'"):
        _ = f.programme
    assert not is_finished(f) and not hasattr(f, "__array__")


def test_it_is_pickled_and_copied_as_it_is_before_its_first_call():
    f = built()
    for other in (pickle.loads(pickle.dumps(f)), copy.copy(f)):
        assert not is_finished(f)
        np.testing.assert_array_equal(other(SHORT)[0], built("numpy")(SHORT)[0])
    np.testing.assert_array_equal(f(SHORT)[0], built("numpy")(SHORT)[0])


@needs_llvm
@pytest.mark.parametrize("given", [SHORT, LONG])
def test_threads_that_call_a_new_function_at_once_finish_it_once(given, asked, monkeypatch):
    pays_soon(monkeypatch)
    expected = built("numpy")(given)
    for _ in range(3):
        f, found = built(), []
        del asked[:]
        barrier = threading.Barrier(5)

        def call(number, f=f, found=found, barrier=barrier):
            barrier.wait()
            found.append(f.program.name if number == 4 else f(given))

        threads = [threading.Thread(target=call, args=(number,)) for number in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found.count("f") == 1 and len(found) == 5 and len(asked) <= 2
        for results in found:
            if results != "f":
                np.testing.assert_allclose(results[1], expected[1], rtol=1e-7, atol=1e-12)


def test_what_interrupts_a_first_call_leaves_a_function_that_is_finished_later(monkeypatch):
    f, plain, usual = built(), built(Mode("auto", "all")), callables.typecheck

    def interrupted(*given, **named):
        raise KeyboardInterrupt

    for name in ("typecheck", "lower"):
        with monkeypatch.context() as patched:
            patched.setattr(callables, name, interrupted)
            with pytest.raises(KeyboardInterrupt):
                f(SHORT)
        assert not is_finished(f)
    assert usual is callables.typecheck
    np.testing.assert_array_equal(f(SHORT)[0], built("numpy")(SHORT)[0])
    assert rules_of(f) == rules_of(plain)


@pytest.mark.parametrize("at", [1, 3, 6])
def test_rewriting_that_is_interrupted_in_the_first_call_is_done_again(at, monkeypatch):
    from scanviz.engine.rewrites import pipeline

    f, plain, usual, left = built(), built(Mode("auto", "all")), pipeline.apply_rule, [at]

    def interrupted(*given):
        left[0] -= 1
        if not left[0]:
            raise KeyboardInterrupt
        return usual(*given)

    with monkeypatch.context() as patched:
        patched.setattr(pipeline, "apply_rule", interrupted)
        with pytest.raises(KeyboardInterrupt):
            f(SHORT)
    np.testing.assert_array_equal(f(SHORT)[0], built("numpy")(SHORT)[0])
    assert rules_of(f) == rules_of(plain)
    assert len(f.rewrites.all_graphs()) == len(f.rewrites.of_graph) + 1


@needs_llvm
def test_a_first_call_that_fails_before_its_loops_is_looked_at_again(monkeypatch):
    pays_soon(monkeypatch)
    x, i = T.matrix("x"), T.lscalar("i")
    rows, _ = scanviz.scan(
        lambda x_t, h: T.tanh(0.9 * h + T.exp(0.5 * x_t)), x, T.zeros((8,)) + x[i], name="smooth"
    )
    f = scanviz.function([x, i], rows)
    with pytest.raises(ScanvizError):
        f(LONG, 10_000)
    assert f.for_machine_code is None
    f(SHORT, 0)
    assert f.for_machine_code is None and is_finished(f)
    assert not f.executable.counted.foreseen


@needs_llvm
def test_where_there_can_be_no_machine_code_it_is_tried_once(asked, monkeypatch):
    pays_soon(monkeypatch)
    monkeypatch.setattr(AutoLoop, "_machine_code", lambda self, *given: "there is no memory for it")
    f, expected = built(), built("numpy")(LONG)
    del asked[:]
    for _ in range(3):
        np.testing.assert_allclose(f(LONG)[1], expected[1], rtol=1e-9)
        assert f.for_machine_code is None
    assert len(asked) == 2 and is_finished(f) and not f.executable.counted.is_open


@needs_llvm
@pytest.mark.parametrize("scale", [np.nan, np.inf, 0.5])
def test_numbers_among_the_arguments_that_are_not_whole_say_nothing_of_sizes(scale, monkeypatch):
    pays_soon(monkeypatch)
    x, s = T.matrix("x"), T.scalar("s")
    rows, _ = scanviz.scan(lambda x_t, h: T.tanh(s * h + T.exp(0.5 * x_t)), x, T.zeros((8,)))
    outputs = [rows, scanviz.grad(rows.sum(), x)]
    found, expected = (scanviz.function([x, s], outputs, mode=mode)(LONG, scale) for mode in (None, "numpy"))
    for mine, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-7, atol=1e-12)


@needs_llvm
def test_rewriting_for_machine_code_that_is_interrupted_is_done_again(monkeypatch):
    from scanviz.engine.rewrites import pipeline

    def of_the_last_row():
        x = T.matrix("x")
        rows, _ = scanviz.scan(lambda x_t, h: T.tanh(h + T.exp(0.5 * x_t)), x, T.zeros((8,)))
        return scanviz.function([x], rows[-1])

    def interrupted(*given):
        raise KeyboardInterrupt

    pays_soon(monkeypatch)
    f, other = of_the_last_row(), of_the_last_row()
    other(LONG)
    with monkeypatch.context() as patched:
        patched.setattr(pipeline, "_application", interrupted)
        with pytest.raises(KeyboardInterrupt):
            f(LONG)
    f(LONG)
    assert rules_of(f.for_machine_code) == rules_of(other.for_machine_code)
    assert rules_of(f) == rules_of(other)


@needs_llvm
def test_a_call_goes_on_where_another_thread_fails_between_deciding_and_looking(monkeypatch):
    pays_soon(monkeypatch)
    f, expected = built(), built("numpy")(LONG)
    decide = f._decide

    def decided_and_failed_elsewhere(given):
        decide(given)
        f._look_again(f._made_for_machine_code())

    monkeypatch.setattr(f, "_decide", decided_and_failed_elsewhere)
    for mine, other in zip(f(LONG), expected, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-7, atol=1e-12)


@needs_llvm
def test_rewriting_in_the_first_call_is_told_as_building_by_a_profile():
    f = built()
    with profile() as session:
        f(SHORT)
    told = session.record.building
    assert [building.kind for building in told] == ["function"]
    assert sum(building.total_ns for building in told) > 0.3 * sum(f.build_ns.values())


@needs_llvm
def test_what_was_made_for_machine_code_and_did_not_pay_is_taken_when_it_does(monkeypatch, asked):
    monkeypatch.setattr(rewriting, "SURELY", 0.0)
    f = built()
    f(SHORT)
    assert len(asked) == 2 and is_finished(f) and f.for_machine_code is None
    f._counted.let(due=True)
    f(SHORT)
    assert len(asked) == 2 and f.for_machine_code is not None
