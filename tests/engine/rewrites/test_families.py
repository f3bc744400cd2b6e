"""Files of rules that are imported once one of their operations occurs: what is said of them beforehand is what is in them."""

import json
import subprocess
import sys

import pytest

from scanviz.engine.graph.declaration import declarations
from scanviz.engine.rewrites.families import LATER, all_rules
from scanviz.engine.scan.loop import SCAN

RULES = {rule.name: rule for rule in all_rules()}
BEYOND = {  # operations that a rule is asked at but does nothing at by themselves
    "simplify_assignments": {"index"},
    "split_factorisation": {SCAN.name},
    "batch_draws": {SCAN.name},
}


@pytest.mark.parametrize("name", LATER)
def test_what_is_known_of_a_rule_that_is_imported_later_is_what_it_says_itself(name):
    later, rule = LATER[name], RULES[name]
    assert (later.phases, later.tags) == (rule.phases, rule.tags)
    assert rule.file == f"scanviz/engine/rewrites/{later.file}.py"
    if later.operations is not None:
        on = {declaration.name for declaration in rule.on} - BEYOND.get(name, set())
        assert on <= set(later.operations)
        known = {word for declaration in declarations() for word in (declaration.name, declaration.family)}
        assert set(later.operations) <= known


CODE = """
import json, sys
import numpy as np
import scanviz
from scanviz import tensor as T
from scanviz.engine.rewrites import families

if sys.argv[1] == "before":
    families.all_rules()
x, w, v = T.matrix("x"), T.matrix("w"), T.vector("v")
draws = T.random.RandomStreams(seed=3)


def rows(step):
    return scanviz.scan(step, x, v)[0]


loops = {
    "plain": rows(lambda x_t, h: T.tanh(x_t + 0.5 * h)),
    "gradient": scanviz.grad(rows(lambda x_t, h: T.tanh(x_t @ w + h))[-1].sum(), w),
    "casts": rows(lambda x_t, h: h + T.cast(T.cast(x_t > 0, "int32"), "float64")),
    "reshapes": rows(lambda x_t, h: h + T.reshape(T.reshape(x_t, (1, -1)), (-1,))),
    "sums": rows(lambda x_t, h: h + T.sum(T.sum(x_t * w, axis=0))),
    "assignments": rows(lambda x_t, h: T.set_subtensor(T.set_subtensor(h[0], 1.0)[0], x_t[1])),
    "draws": rows(lambda x_t, h: h + draws.normal(size=(3,))),
    "solved": rows(lambda x_t, h: T.linalg.solve(w, h)),
    "rows": rows(lambda x_t, h: h[:2][0] + x_t)[-1],
    "lifted": (2.0 * rows(lambda x_t, h: h + x_t))[-1],
    "barriers": rows(lambda x_t, h: h * scanviz.disconnected_grad(x_t)),
}
told = {}
for name, found in loops.items():
    function = scanviz.function([x, w, v], found, mode="numpy", on_unused_input="ignore")
    told[name] = [[each.phase, each.rule, each.message, each.count] for each in function.rewrites]
    told[name] += [[each.rule, each.why] for each in function.rewrites.refusals()]
print(json.dumps(told))
"""


def test_rules_that_are_imported_when_they_are_needed_do_what_they_do_where_all_were_imported():
    found = []
    for when in ("before", "later"):
        done = subprocess.run([sys.executable, "-c", CODE, when], capture_output=True, text=True, check=True)
        found.append(json.loads(done.stdout))
    assert found[0] == found[1]
    fired = {step[1] for steps in found[0].values() for step in steps if len(step) == 4}
    assert fired >= set(LATER) - {"inline_subgraphs", "unsafe_arithmetic"}
