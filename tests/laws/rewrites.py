"""Laws of rewrites: each rule alone, any choice and every prefix of the pipeline keep values and gradients of loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from scanviz import function
from scanviz import tensor as T
from scanviz.engine.function.callable import target_of
from scanviz.engine.gradient.sweeps.reverse import pull_back
from scanviz.engine.graph.equality import structurally_equal
from scanviz.engine.graph.nodes import Array, Variable, is_floating
from scanviz.engine.graph.shared import SharedVariable
from scanviz.engine.graph.traversal import leaves
from scanviz.engine.graph.typecheck import typecheck
from scanviz.engine.mode import Mode
from scanviz.engine.rewrites.families import all_rules
from scanviz.engine.rewrites.history import RewriteHistory
from scanviz.engine.rewrites.level import TargetTier
from scanviz.engine.rewrites.selection import Selection
from scanviz.engine.rewrites.versions import places
from scanviz.testing.comparing import check_same
from scanviz.testing.loop_case import LAST_ROW, READINGS, LoopCase, Reading
from scanviz.testing.loops import EVERY_DTYPE, random_loops
from scanviz.testing.unrolled import run_plainly
from tests.laws.law import law
from tests.laws.tiers import TIERS

LOOPS = random_loops(dtypes=EVERY_DTYPE, symbolic_steps=True, constants=True)
NO_STEPS = random_loops(dtypes=("float64", "float32"), symbolic_steps=True, longest=0).filter(
    lambda case: not len(run_plainly(case)[0][0])
)
SMOOTH = random_loops(smooth=True, symbolic_steps=True, constants=True)
READ = st.lists(st.just(LAST_ROW) | st.sampled_from(READINGS), min_size=3, max_size=3)
# what a graph is rewritten for: machine code wherever it runs a loop, and NumPy everywhere
TARGETS = st.sampled_from([target_of(Mode("native")), target_of(Mode("numpy"))])
RULES = [rule.name for rule in all_rules() if "memory" not in rule.phases]


@dataclass(frozen=True, slots=True)
class Graph:
    """A graph of a loop: what is wanted of it, and its inputs with their values."""

    wanted: list[Variable]
    givens: dict[Variable, Array]

    def run(self, mode: Mode, wanted: Sequence[Variable] | None = None) -> list[Array]:
        """Return the values of what is wanted."""
        outputs = self.wanted if wanted is None else list(wanted)
        f = function(list(self.givens), outputs, mode=mode, on_unused_input="ignore", no_default_updates=True)
        found: list[Array] = f(*self.givens.values())
        return found

    def check_types(self, outputs: Sequence[Variable]) -> None:
        """Raise unless a graph that was made of this one is well typed."""
        shared = [leaf for leaf in leaves(outputs) if isinstance(leaf, SharedVariable)]
        typecheck([*self.givens, *shared], outputs)


def graph_of(case: LoopCase, readings: Sequence[Reading]) -> Graph:
    """Return what is read of a loop, its updates, and the gradient of a cost of what is read."""
    results, updates, inputs, _ = case.build()
    count = len(run_plainly(case)[0][0])
    read = [reading.of(result, count) for result, reading in zip(results, readings, strict=False)]
    wanted = [*read, *dict(updates).values()]
    smooth = [variable for variable in read if is_floating(variable)]
    if smooth and case.dtype != "float16":
        cost = sum((T.sum(T.sin(T.cast(variable, "float64"))) for variable in smooth), T.constant(0.0))
        wrt = [variable for variable, _ in inputs if is_floating(variable)]
        gradients = pull_back({cost: T.constant(1.0)}, wrt)
        wanted += [cost, *(gradient for gradient in gradients if isinstance(gradient, Variable))]
    return Graph(wanted, dict(inputs))


PLAIN = Mode("reference", "none")


@law(sample=40, case=LOOPS, rule=st.sampled_from(RULES), readings=READ, target=TARGETS)
def a_rule_alone_keeps_what_is_computed(
    case: LoopCase, rule: str, readings: list[Reading], target: TargetTier
) -> None:
    """Each rule alone keeps what is read of a loop, its updates and its gradients."""
    graph = graph_of(case, readings)
    after = RewriteHistory(graph.wanted, Selection("none").including(rule), target=target).final
    graph.check_types(after)
    check_same(graph.run(PLAIN, after), graph.run(PLAIN), case.dtype, rule)


@law(sample=8, case=LOOPS, readings=READ, target=TARGETS)
def every_prefix_of_the_pipeline_keeps_what_is_computed(
    case: LoopCase, readings: list[Reading], target: TargetTier
) -> None:
    """Whatever version of a graph is picked from its history, it computes the same."""
    graph = graph_of(case, readings)
    expected = graph.run(PLAIN)
    history = RewriteHistory(graph.wanted, Selection("all"), target=target)
    versions = history.all_graphs()
    for number, version in enumerate(versions):
        graph.check_types(version)
        check_same(graph.run(PLAIN, version), expected, case.dtype, f"after {number}")
    assert len(versions) == len(history) + 1
    assert structurally_equal(versions[-1], history.final)
    assert list(places(versions[-1])) == list(places(history.final))


@law(sample=15, case=LOOPS, readings=READ, rules=st.lists(st.sampled_from(RULES), unique=True, min_size=2))
def any_choice_of_rules_keeps_what_is_computed(
    case: LoopCase, readings: list[Reading], rules: list[str]
) -> None:
    """Any choice of rules, on the numpy tier, keeps what is computed."""
    graph = graph_of(case, readings)
    check_same(graph.run(Mode("numpy", rules)), graph.run(PLAIN), case.dtype, ", ".join(rules))


@law(sample=15, case=LOOPS, readings=READ, tier=TIERS)
def all_rules_together_keep_what_is_computed(case: LoopCase, readings: list[Reading], tier: str) -> None:
    """All rules together keep what is computed, gradients too, on every tier."""
    graph = graph_of(case, readings)
    check_same(graph.run(Mode(tier, "all")), graph.run(PLAIN), case.dtype, tier)


@law(
    sample=8,
    case=LOOPS,
    readings=READ,
    excluded=st.just([]) | st.lists(st.sampled_from(RULES), min_size=1, max_size=4, unique=True),
    target=TARGETS,
)
def the_pipeline_run_over_its_own_result_changes_nothing(
    case: LoopCase, readings: list[Reading], excluded: list[str], target: TargetTier
) -> None:
    """Rewritten again, a graph gives the same; after a run with all rules, no rule finds anything to do.

    A first run without some of the rules leaves the others graphs that late phases have been over.
    """
    graph = graph_of(case, readings)
    first = RewriteHistory(graph.wanted, Selection("all").excluding(*excluded), target=target).final
    whole = RewriteHistory(first, Selection("all"), target=target).final if excluded else first
    check_same(graph.run(PLAIN, whole), graph.run(PLAIN, first), case.dtype)
    check_unchanged(whole, target)


@law(sample=15, case=SMOOTH, readings=READ, order=st.integers(1, 2), target=TARGETS)
def a_rewritten_gradient_of_any_order_has_nothing_left_to_rewrite(
    case: LoopCase, readings: list[Reading], order: int, target: TargetTier
) -> None:
    """No rule finds anything to do in the rewritten gradient of a gradient of a loop."""
    results, _, inputs, _ = case.build()
    count = len(run_plainly(case)[0][0])
    wanted: list[Variable] = [reading.of(x, count) for x, reading in zip(results, readings, strict=False)]
    wrt = [variable for variable, _ in inputs]
    for _ in range(order if wrt else 0):
        cost = sum((T.sum(T.sin(T.cast(variable, "float64"))) for variable in wanted), T.constant(0.0))
        found = pull_back({cost: T.constant(1.0)}, wrt)
        wanted = [gradient for gradient in found if isinstance(gradient, Variable)]
    check_unchanged(RewriteHistory(wanted, Selection("all"), target=target).final, target)


def check_unchanged(outputs: Sequence[Variable], target: TargetTier) -> None:
    """Raise where a rule finds something to do in a graph."""
    again = [
        f"{record.phase}, {record.rule}: {record.message}"
        for record in RewriteHistory(outputs, Selection("all"), target=target)
    ]
    assert not again, "; ".join(again)


@law(sample=8, case=NO_STEPS)
def gradients_of_a_loop_of_no_steps_are_zeros(case: LoopCase) -> None:
    """Gradients of what a loop of no steps gives are zeros of the right shape, on every tier, rewritten or not."""
    results, _, inputs, _ = case.build()
    cost = sum((T.sum(T.sin(result)) for result in results), T.constant(0.0))
    wrt = [(variable, value) for variable, value in inputs if is_floating(variable)]
    found = pull_back({cost: T.constant(np.ones((), cost.dtype))}, [variable for variable, _ in wrt])
    pairs = [
        (variable, value)
        for variable, (_, value) in zip(found, wrt, strict=True)
        if isinstance(variable, Variable)
    ]
    graph = Graph([variable for variable, _ in pairs], dict(inputs))
    for tier in ("numpy", "reference"):
        for rewrites in ("all", "none"):
            zeros = [np.zeros_like(value) for _, value in pairs]
            check_same(graph.run(Mode(tier, rewrites)), zeros, case.dtype, f"{tier}, {rewrites}")
