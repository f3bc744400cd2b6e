"""All rules together on loops of every kind, none at all, and rules that do not exist; laws of each rule are in
:mod:`tests.laws.rewrites`."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scanviz
from scanviz import Mode
from scanviz import tensor as T
from scanviz.engine.rewrites.families import all_rules
from scanviz.engine.rewrites.rule import UNSAFE
from scanviz.testing.comparing import check_same
from tests.engine.gradient.mixed_loops import MIXED_LOOPS
from tests.engine.gradient.test_loop_mixed import orders


@given(loop=MIXED_LOOPS, seed=st.integers(0, 99), tier=st.sampled_from(["numpy", "reference"]))
def test_loops_of_every_shape_and_kind_give_the_same_with_all_rules_and_with_none(loop, seed, tier):
    results, drawn = loop.scan()
    wanted = [*orders(results, loop.wrt, seed, 1), *results, *([] if drawn is None else [drawn])]
    inputs, values = [each for each, _ in loop.inputs], [value for _, value in loop.inputs]
    options = {"on_unused_input": "ignore", "no_default_updates": True}
    plain = scanviz.function(inputs, wanted, mode=Mode("reference", "none"), **options)(*values)
    mine = scanviz.function(inputs, wanted, mode=Mode(tier, "all"), **options)(*values)
    single = any(np.asarray(each).dtype == np.float32 for each in (*values, *plain))
    check_same(mine, plain, "float32" if single else "float64")


def test_everything_runs_without_any_rewrite():
    x, w = T.matrix("x"), T.matrix("w")
    h, _ = scanviz.scan(lambda x_t, h, w: T.tanh(T.dot(h, w) + x_t), x, T.zeros(3), w)
    wanted = [h[-1], scanviz.grad(T.sum(h[-1] ** 2), w)]
    plain = scanviz.function([x, w], wanted, mode=Mode("numpy", "none"))
    assert len(plain.rewrites) == 0
    values = np.arange(12.0).reshape(4, 3) / 10, np.eye(3) / 2
    check_same(scanviz.function([x, w], wanted)(*values), plain(*values), "float64")


def test_unknown_rules_are_refused_with_the_closest_name():
    with pytest.raises(scanviz.ScanvizError, match="PushOutSeqScan"):
        Mode("numpy").excluding("PushOutSeq")


def test_rules_that_may_change_numbers_are_used_on_request_alone():
    (unsafe,) = [rule for rule in all_rules() if UNSAFE in rule.tags]
    assert unsafe.name == "unsafe_arithmetic"
    assert not Mode("numpy").rewrites.has(unsafe)
    assert not Mode("numpy", "none").including("general").rewrites.has(unsafe)
    assert Mode("numpy").including("unsafe").rewrites.has(unsafe)
