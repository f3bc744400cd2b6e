"""Loops and branches inside the steps of native loops, and operations that native code calls out for."""

import numpy as np
import pytest

import scanviz
from scanviz import Mode
from scanviz import tensor as T
from scanviz.engine.backends.native.cache.jit import assembly_of
from scanviz.engine.backends.native.emit import program
from scanviz.engine.backends.native.run import callouts
from scanviz.engine.errors import ScanvizError
from tests.engine.backends.native.emit.test_native_loops import RNG, agree, tiers_of


def called_out(f):
    """Return the called-out operations of a function's loops, with reasons."""
    return [why for _, why in tiers_of(f) if "called out" in why]


def written(inputs, wanted, *values, **options):
    """Check native code as ``agree`` does, and that nothing is called out."""
    for rewrites in ("all", "none"):
        f = agree(inputs, wanted, *values, rewrites=rewrites, **options)
        assert not called_out(f), called_out(f)
    return f


X = T.matrix("x")
ROWS = RNG.normal(size=(7, 5))


def fed(step, *more, state=None, x=X):
    """Return the states of a loop over the rows of ``x``."""
    state = T.zeros((5,)) if state is None else state
    h, _ = scanviz.scan(step, x, state, list(more), name="outer")
    return h


def test_an_inner_loop_may_stop_early():
    def step(x_t, h):
        def newton(root):
            following = 0.5 * (root + T.absolute(x_t[0]) / root)
            return following, scanviz.until(T.absolute(following - root) < 1e-9)

        roots, _ = scanviz.scan(newton, None, T.constant(1.0), n_steps=40, name="newton")
        return h + roots[-1]

    f = agree([X], fed(step, state=T.constant(0.0)), ROWS)
    assert not called_out(f)


def test_loops_three_deep_and_their_gradient_agree_with_numpy():
    w = T.vector("w")

    def step(x_t, h, w):
        def middle(m, w):
            def innermost(v, w):
                return T.sin(v * w) + m

            v, _ = scanviz.scan(innermost, None, m * x_t, [w], n_steps=2, name="innermost")
            return v[-1]

        m, _ = scanviz.scan(middle, None, h, [w], n_steps=3, name="middle")
        return T.tanh(m[-1])

    h = fed(step, w, state=T.ones((5,)) * 0.5)
    cost = T.sum(h[-1] ** 2)
    weights = RNG.normal(size=5)
    written([X, w], [h, *scanviz.grad(cost, [X, w])], ROWS, weights, tolerance=1e-10)


def test_an_error_inside_names_both_loops_and_both_steps_as_other_tiers_do():
    k = T.tensor("int64", (None, None), "k")

    def step(k_t, total):
        s, _ = scanviz.scan(
            lambda i, s, v: s + v[i], k_t, T.constant(0.0), T.constant(np.arange(4.0)), name="inner"
        )
        return total + s[-1]

    out, _ = scanviz.scan(step, k, T.constant(0.0), name="outer")
    table = np.array([[0, 1, 3], [3, 2, 9], [0, 0, 0]])
    text = []
    for tier in ("native", "reference"):
        f = scanviz.function([k], out, mode=Mode(tier, "none"))
        with pytest.raises(IndexError) as error:
            f(table)
        text.append(str(error.value))
    assert text[0] == text[1]
    assert "inner" in text[0] and "outer" in text[0]
    assert tiers_of(scanviz.function([k], out, mode="native")) == []


@pytest.fixture
def always_called(monkeypatch):
    """Let operations be called out whatever it costs."""
    monkeypatch.setattr(program, "A_CALL", 0)


def test_a_loop_with_expensive_calls_out_stays_on_numpy():
    x = T.tensor("float64", (None, 3, 3), "x")
    y, _ = scanviz.scan(lambda x_t, y: T.linalg.pinv(x_t) + y, x, T.zeros((3, 3)), name="inverse")
    f = scanviz.function([x], y, mode=Mode("native", "none"))
    given = RNG.normal(size=(4, 3, 3))
    np.testing.assert_allclose(f(given)[-1], sum(np.linalg.pinv(each) for each in given))
    reason = "no native code: callouts would cost more than native code gains: `pinv` has no native code"
    assert tiers_of(f) == [("numpy", reason)]


@pytest.mark.usefixtures("always_called")
def test_an_operation_without_native_code_is_called_out_and_recorded():
    x = T.tensor("float64", (None, 3, 3), "x")
    y, _ = scanviz.scan(
        lambda x_t, y: T.linalg.pinv(x_t) + T.tanh(y * 2.0), x, T.zeros((3, 3)), name="inverse"
    )
    f = agree([x], y, RNG.normal(size=(4, 3, 3)), rewrites="none")
    ((_, why),) = tiers_of(f)
    assert "called out: `pinv` has no native code" in why


def with_inner():
    """Return a function of a loop in each step of another, whose code is one piece."""

    def step(x_t, h):
        return h + scanviz.scan(lambda y: T.tanh(y + x_t), None, h, n_steps=3, name="inner")[0][-1]

    return scanviz.function([X], fed(step)[-1], mode="native")


def test_a_record_notes_that_inner_branches_run_slower_under_the_profiler():
    h = fed(lambda x_t, h: h + T.ifelse(x_t[0] > 0, T.tanh(h), x_t))
    f = scanviz.function([X], h, mode="native")
    with scanviz.profile() as session:
        f(ROWS)
    (outer,) = session.record.loops
    assert any("while it is recorded, loops and branches inside" in tier.why for tier in outer.tiers)
    f(ROWS)
    assert not called_out(f), "without a profile they are part of the code"


def test_a_profile_leaves_no_trace_in_the_code_that_runs_without_one():
    def code(f):
        (outer,) = f.executable.flat.runners.values()
        ((_, made),) = outer.cache.items()
        text = made.written("plain").text
        return text, assembly_of(text)

    f, g = with_inner(), with_inner()
    f(ROWS)
    with scanviz.profile():
        g(np.tile(ROWS, (50, 1)))
    g(ROWS)
    assert "readcyclecounter" not in code(g)[0]
    assert code(f) == code(g)


@pytest.mark.usefixtures("always_called")
def test_a_called_out_operation_fails_with_the_message_of_other_tiers():
    x = T.tensor("float64", (None, 2, 2), "x")

    def step(x_t, total):
        y, _ = scanviz.scan(
            lambda y: y + T.trace(T.linalg.cholesky(x_t)), None, total, n_steps=2, name="inner"
        )
        return y[-1]

    y, _ = scanviz.scan(step, x, T.constant(0.0), name="outer")
    given = np.stack([np.eye(2), np.eye(2), -np.eye(2)])
    text = []
    for tier in ("native", "reference"):
        with pytest.raises(ScanvizError) as error:
            scanviz.function([x], y, mode=Mode(tier, "none"))(given)
        text.append(str(error.value))
    assert text[0] == text[1]


@pytest.mark.usefixtures("always_called")
def test_ctrl_c_during_a_call_out_ends_the_loop(monkeypatch):
    x = T.tensor("float64", (None, 2, 2), "x")
    y, _ = scanviz.scan(lambda x_t, y: T.linalg.pinv(x_t) + y, x, T.zeros((2, 2)), name="inverse")
    f = scanviz.function([x], y, mode=Mode("native", "none"))
    given = np.stack([np.eye(2)] * 3)
    f(given)

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(callouts.Calls, "_finder", interrupted)
    with pytest.raises(KeyboardInterrupt):
        f(given)


@pytest.mark.parametrize("innermost", ["numpy", "reference", "native"])
@pytest.mark.parametrize("branch", [False, True])
def test_a_loop_on_another_tier_is_called_out_of_a_native_loop(innermost, branch, monkeypatch):
    monkeypatch.setattr(scanviz.config.native, "pays_after", 0)

    def row(a, b):
        return scanviz.scan(lambda a_t, h: T.tanh(a_t + h), a, b, mode=innermost)[0][-1] * 0.5 + b

    def chosen(a, b):
        return T.ifelse(b > 0, row(a, b), a[0]) if branch else row(a, b)

    def rows(x_t, h):
        inner, _ = scanviz.scan(lambda a, b: chosen(x_t, b) + a, x_t, T.sum(h), mode="native")
        return inner * 0.3

    h = T.vector("h")
    outer, _ = scanviz.scan(rows, X, h)
    outputs = [outer, scanviz.grad(T.sum(outer**2), h)]
    given = ROWS, np.ones(5)
    found = scanviz.function([X, h], outputs, mode="auto")(*given)
    expected = scanviz.function([X, h], outputs, mode="reference")(*given)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
