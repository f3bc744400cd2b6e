"""Every rule alone, every prefix of the pipeline and the whole keep values, shapes, dtypes, updates and draws."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scanviz
from scanviz import Mode
from scanviz import tensor as T
from scanviz.engine.gradient.reverse import is_differentiable, pull_back
from scanviz.engine.graph.equality import structurally_equal
from scanviz.engine.graph.shared import SharedVariable
from scanviz.engine.graph.traversal import leaves
from scanviz.engine.graph.typecheck import typecheck
from scanviz.engine.rewrites.history import RewriteHistory, places
from scanviz.engine.rewrites.rule import all_rules
from scanviz.engine.rewrites.selection import Selection
from scanviz.testing import random_loops
from tests.engine.gradient.mixed_loops import MIXED_LOOPS
from tests.engine.gradient.test_loop_mixed import orders

RULES = [each.name for each in all_rules() if "memory" not in each.phases]


def wanted_of(case, gradients=True, last=False):
    """Return what a random loop gives, its updates, and the gradient of a cost of it."""
    results, updates, inputs, _ = case.build()
    smooth = [each for each in results if is_differentiable(each)]
    wanted = [each[-1] if last and case.n_steps else each for each in results]
    wanted += [value for _, value in dict(updates).items()]
    if gradients and smooth:
        cost = sum((T.sum(T.sin(T.cast(each, "float64"))) for each in smooth), T.constant(0.0))
        wrt = [each for each, _ in inputs if is_differentiable(each)]
        found = pull_back({cost: T.constant(1.0)}, wrt)
        wanted += [cost, *(each for each in found if each is not None and hasattr(each, "owner"))]
    return wanted, dict(inputs)


def shared_of(graph):
    return [each for each in leaves(graph) if isinstance(each, SharedVariable)]


def run(graph, givens):
    """Return the values of a graph on the reference tier, as it is."""
    options = {"on_unused_input": "ignore", "no_default_updates": True}
    return scanviz.function(list(givens), graph, mode=Mode("reference", "none"), **options)(*givens.values())


def same(found, expected, dtype):
    tolerance = 1e-4 if dtype in ("float32", "float16") else 1e-9
    for a, b in zip(found, expected, strict=True):
        a, b = np.asarray(a), np.asarray(b)
        assert a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


@given(case=random_loops(), name=st.sampled_from(RULES), last=st.booleans())
def test_each_rule_alone_keeps_what_a_loop_gives(case, name, last):
    wanted, givens = wanted_of(case, last=last)
    expected = run(wanted, givens)
    after = RewriteHistory(wanted, Selection("none").including(name)).final
    typecheck([*givens, *shared_of(after)], after)
    same(run(after, givens), expected, case.dtype)


@settings(max_examples=max(10, settings.default.max_examples // 2))
@given(case=random_loops(), last=st.booleans())
def test_every_prefix_of_the_pipeline_keeps_what_a_loop_gives(case, last):
    wanted, givens = wanted_of(case, last=last)
    expected = run(wanted, givens)
    history = RewriteHistory(wanted, Selection("all"))
    graphs = history.all_graphs()
    for graph in graphs:
        typecheck([*givens, *shared_of(graph)], graph)
        same(run(graph, givens), expected, case.dtype)
    assert len(graphs) == len(history) + 1
    assert structurally_equal(graphs[-1], history.final)
    assert list(places(graphs[-1])) == list(places(history.final))


@given(case=random_loops(), seed=st.integers(0, 10_000))
def test_any_choice_of_rules_keeps_what_a_loop_gives_on_the_numpy_tier(case, seed):
    chosen = [name for name in RULES if np.random.default_rng([seed, RULES.index(name)]).random() < 0.6]
    wanted, givens = wanted_of(case)
    options = {"on_unused_input": "ignore", "no_default_updates": True}
    plain = scanviz.function(list(givens), wanted, mode=Mode("numpy", "none"), **options)
    mine = scanviz.function(list(givens), wanted, mode=Mode("numpy", chosen), **options)
    same(mine(*givens.values()), plain(*givens.values()), case.dtype)


@given(loop=MIXED_LOOPS, seed=st.integers(0, 99), tier=st.sampled_from(["numpy", "reference"]))
def test_loops_of_every_shape_and_kind_give_the_same_with_all_rules_and_with_none(loop, seed, tier):
    results, drawn = loop.scan()
    wanted = [*orders(results, loop.wrt, seed, 1), *results, *([] if drawn is None else [drawn])]
    inputs, values = [each for each, _ in loop.inputs], [value for _, value in loop.inputs]
    options = {"on_unused_input": "ignore", "no_default_updates": True}
    plain = scanviz.function(inputs, wanted, mode=Mode("reference", "none"), **options)(*values)
    mine = scanviz.function(inputs, wanted, mode=Mode(tier, "all"), **options)(*values)
    single = any(np.asarray(each).dtype == np.float32 for each in (*values, *plain))
    same(mine, plain, "float32" if single else "float64")


@given(case=random_loops())
def test_a_second_run_of_the_pipeline_changes_nothing(case):
    wanted, givens = wanted_of(case)
    once = RewriteHistory(wanted, Selection("all")).final
    again = RewriteHistory(once, Selection("all"))
    same(run(again.final, givens), run(once, givens), case.dtype)
    assert not [each.rule for each in again if "scan" in rule_tags(each.rule)]


def rule_tags(name):
    return next(each.tags for each in all_rules() if each.name == name)


def test_everything_runs_without_any_rewrite():
    x, w = T.matrix("x"), T.matrix("w")
    h, _ = scanviz.scan(lambda x_t, h, w: T.tanh(T.dot(h, w) + x_t), x, T.zeros(3), w)
    wanted = [h[-1], scanviz.grad(T.sum(h[-1] ** 2), w)]
    plain = scanviz.function([x, w], wanted, mode=Mode("numpy", "none"))
    assert len(plain.rewrites) == 0
    values = np.arange(12.0).reshape(4, 3) / 10, np.eye(3) / 2
    same(scanviz.function([x, w], wanted)(*values), plain(*values), "float64")


def test_unknown_rules_are_refused_with_the_closest_name():
    with pytest.raises(scanviz.ScanvizError, match="PushOutSeqScan"):
        Mode("numpy").excluding("PushOutSeq")
