"""Gradients of loops over values of several shapes and dtypes, whole numbers and draws among them."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import scanviz
from scanviz import tensor as T
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.rewrites.history import RewriteHistory
from scanviz.engine.rewrites.selection import Selection
from scanviz.engine.scan.loop import Scan
from scanviz.testing import random_loops, run_plainly
from tests.engine.gradient.mixed_loops import MIXED_LOOPS, MODES, MixedLoop, Options, Value, gradients


def cost_of(results, seed):
    """Return a smooth function of some of the floating results."""
    rng = np.random.default_rng(seed)
    chosen = [result for result in results if result.dtype != "int64" and rng.random() < 0.7]
    return sum((T.sum(T.sin(each * rng.uniform(0.5, 1.5))) for each in chosen), T.constant(0.0))


def orders(results, wrt, seed, highest):
    cost = T.cast(cost_of(results, seed), "float64")
    found = [cost]
    for _ in range(highest):
        last = gradients(cost, wrt)
        found += last
        cost = sum((T.sum(T.sin(T.cast(g, "float64"))) for g in last), T.constant(0.0))
    return found


def check(loop, seed, highest, mode):
    """Compare a loop's gradients with those of the same unrolled, fed the numbers that the loop drew."""
    inputs = [variable for variable, _ in loop.inputs]
    results, drawn = loop.scan()
    mine = orders(results, loop.wrt, seed, highest)
    shown = [] if drawn is None else [drawn]
    f = scanviz.function(
        inputs, [*mine, *results, *shown], mode=mode, on_unused_input="ignore", no_default_updates=True
    )
    values = [value for _, value in loop.inputs]
    found = f(*values)
    numbers = T.vector("numbers")
    unrolled = loop.unrolled(numbers)
    theirs = [*orders(unrolled, loop.wrt, seed, highest), *unrolled]
    g = scanviz.function([*inputs, numbers], theirs, mode="reference", on_unused_input="ignore")
    expected = g(*values, found[-1] if shown else np.zeros(0))
    single = any(each.dtype == "float32" for each, _ in loop.inputs) or any(
        result.dtype == "float32" for result in results
    )
    tolerance = (2e-4 if highest == 1 else 2e-3) if single else 1e-9
    for a, b in zip(found[: len(expected)], expected, strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


@given(loop=MIXED_LOOPS, seed=st.integers(0, 99), mode=st.sampled_from(MODES))
def test_first_derivatives_agree_with_the_unrolled_loop(loop, seed, mode):
    check(loop, seed, 1, mode)


@settings(max_examples=max(10, settings.default.max_examples // 2))
@given(loop=MIXED_LOOPS, seed=st.integers(0, 99))
def test_second_derivatives_agree_with_the_unrolled_loop(loop, seed):
    check(loop, seed, 2, "numpy")


NUMBER = Value((), "float64", (-1,))


@pytest.mark.parametrize(
    ("loop", "seed"),
    [
        (([], [NUMBER], [], Options(0), 0), 0),
        (
            (
                [],
                [Value((2,), "int64", (-1,)), Value((), "float32", (-3,)), Value((2,), "float64", (-1,))],
                [],
                Options(0, 1, draws=True, nested=True, same=True, truncate_gradient=2),
                16385,
            ),
            48,
        ),
    ],
    ids=["one state", "with draws and a loop inside"],
)
def test_rules_find_nothing_more_to_do_in_a_second_order_gradient(loop, seed):
    """Rows that one reader is left of after loops were merged are picked before loops are merged again."""
    loop = MixedLoop(*loop)
    results, _ = loop.scan()
    once = RewriteHistory(orders(results, loop.wrt, seed, 2), Selection("all")).final
    assert [each.rule for each in RewriteHistory(once, Selection("all"))] == []


@given(case=random_loops(dtypes=("float64",), nesting=False))
def test_a_function_of_a_loop_and_its_gradient_runs_the_loop_once(case):
    results, _, inputs, state = case.build()
    assume(len(run_plainly(case)[0][0]) > 1 and case.n_steps != 1)
    cost = sum((T.sum(T.sin(each)) for each in results), T.constant(0.0))
    given = [variable for variable, _ in inputs]
    wrt = given if state is None else [*given, state]
    f = scanviz.function(
        given, [cost, *gradients(cost, wrt)], on_unused_input="ignore", no_default_updates=True
    )
    names = [node.op.scan_name for node in toposort(f.outputs) if isinstance(node.op, Scan)]
    assert len([name for name in names if not name.startswith("grad_of_")]) <= 1


@pytest.mark.parametrize("mode", MODES)
def test_deep_taps_let_the_last_steps_reach_initial_rows(mode):
    """Step t reads row t - 4 of a mitsot: the last two of five steps read initial row 3 and the row of step 0."""
    start, w = T.vector("start"), T.scalar("w")
    rows, _ = scanviz.scan(
        lambda old, w: w * old**2,
        outputs_info=dict(initial=start, taps=[-4]),
        non_sequences=w,
        n_steps=5,
        truncate_gradient=2,
    )
    f = scanviz.function([start, w], scanviz.grad(T.sum(rows), [start, w]), mode=mode)
    at = np.array([0.2, 0.3, 0.4, 0.5])
    to_start, to_w = f(at, 3.0)
    np.testing.assert_allclose(to_start, [0, 0, 0, 2 * 3 * 0.5])
    np.testing.assert_allclose(to_w, 0.5**2 + (3 * 0.2**2) ** 2)
