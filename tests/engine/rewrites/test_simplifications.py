"""All rules that simplify single operations, alone and together, change no bit of what random expressions give."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scanviz
from scanviz import Mode
from scanviz import tensor as T
from scanviz.engine.gradient.reverse import pull_back
from scanviz.engine.rewrites.families import all_rules
from scanviz.engine.rewrites.rule import UNSAFE
from scanviz.testing import random_loops, rewritten_by
from scanviz.testing.expressions import expressions
from tests.engine.rewrites.checking import check_kept, check_same, written

RULES = [
    "simplify_arithmetic",
    "simplify_casts",
    "simplify_axes",
    "simplify_reshapes",
    "subtensor_chains",
    "subtensor_lift",
    "simplify_assignments",
    "simplify_reductions",
]
VECTORS = expressions([(3,), (3,)], "float64", (3,)).filter(
    lambda each: each.shape([(3,), (3,)], "float64") == (3,)
)
SPECIAL = [0.0, -0.0, 1.0, -1.5, 0.3, np.nan, np.inf, 5e-324]


@pytest.mark.parametrize("rules", [*RULES, RULES], ids=lambda each: each if isinstance(each, str) else "all")
@given(data=st.data())
def test_no_bit_of_an_expression_or_its_derivatives_changes(rules, data):
    a, b = T.vector("a"), T.vector("b")
    value = data.draw(VECTORS).apply([a, b])
    wanted = [value, value[-1], value[1:][::-1][0], T.sum(value.dimshuffle("x", 0), axis=1), value[::2]]
    # a value need not depend on both
    wanted += [each for each in pull_back({T.sum(value): T.constant(1.0)}, [a, b]) if hasattr(each, "owner")]
    numbers = st.lists(st.sampled_from(SPECIAL), min_size=3, max_size=3).map(np.array)
    again = check_kept(rules, wanted, {a: data.draw(numbers), b: data.draw(numbers)})
    assert [written(each) for each in rewritten_by(rules, again)] == [written(each) for each in again]


@given(case=random_loops())
def test_no_bit_of_what_a_loop_gives_changes(case):
    results, updates, inputs, _ = case.build()
    givens = dict(inputs)
    wanted = [*results, *dict(updates).values()]
    options = {"on_unused_input": "ignore", "no_default_updates": True}
    found, expected = (
        scanviz.function(list(givens), wanted, mode=Mode("reference", rules), **options)(*givens.values())
        for rules in (RULES, "none")
    )
    for mine, theirs in zip(found, expected, strict=True):
        check_same(mine, theirs)


def test_rules_that_may_change_numbers_are_used_on_request_alone():
    (unsafe,) = [rule for rule in all_rules() if UNSAFE in rule.tags]
    assert unsafe.name == "unsafe_arithmetic"
    assert not Mode("numpy").rewrites.has(unsafe)
    assert not Mode("numpy", "none").including("general").rewrites.has(unsafe)
    assert Mode("numpy").including("unsafe").rewrites.has(unsafe)
