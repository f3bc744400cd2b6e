"""All rules together on loops of every kind; laws of each rule are in :mod:`tests.laws.rewrites`."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import scanviz
from scanviz import Mode
from tests.engine.gradient.mixed_loops import MIXED_LOOPS
from tests.engine.gradient.test_loop_mixed import orders
from tests.support.comparing import check_same


@given(loop=MIXED_LOOPS, seed=st.integers(0, 99), tier=st.sampled_from(["numpy", "reference"]))
def test_loops_of_every_kind_agree_with_and_without_each_rule(loop, seed, tier):
    results, drawn = loop.scan()
    wanted = [*orders(results, loop.wrt, seed, 1), *results, *([] if drawn is None else [drawn])]
    inputs, values = [each for each, _ in loop.inputs], [value for _, value in loop.inputs]
    options = {"on_unused_input": "ignore", "no_default_updates": True}
    plain = scanviz.function(inputs, wanted, mode=Mode("reference", "none"), **options)(*values)
    mine = scanviz.function(inputs, wanted, mode=Mode(tier, "all"), **options)(*values)
    single = any(np.asarray(each).dtype == np.float32 for each in (*values, *plain))
    check_same(mine, plain, "float32" if single else "float64")
