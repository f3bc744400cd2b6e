"""Laws of rewrites: each rule alone, any choice and every prefix of the pipeline keep values and gradients of loops."""

from collections.abc import Sequence

from hypothesis import strategies as st

from scanviz import tensor as T
from scanviz.engine.function.callable import target_of
from scanviz.engine.gradient.sweeps.reverse import pull_back
from scanviz.engine.graph.equality import structurally_equal
from scanviz.engine.graph.nodes import Variable, is_floating
from scanviz.engine.graph.shared import SharedVariable
from scanviz.engine.graph.traversal import leaves
from scanviz.engine.graph.typecheck import typecheck
from scanviz.engine.mode import Mode
from scanviz.engine.rewrites.families import all_rules
from scanviz.engine.rewrites.history import RewriteHistory
from scanviz.engine.rewrites.level import TargetTier
from scanviz.engine.rewrites.selection import Selection
from scanviz.engine.rewrites.versions import places
from scanviz.testing.loop_case import LAST_ROW, READINGS, LoopCase, Reading
from scanviz.testing.loops import EVERY_DTYPE, random_loops
from scanviz.testing.unrolled import run_plainly
from tests.laws.frame import PLAIN, TIERS, Built, built
from tests.laws.law import law
from tests.support.comparing import check_same

LOOPS = random_loops(dtypes=EVERY_DTYPE, symbolic_steps=True, constants=True)
SMOOTH = random_loops(smooth=True, symbolic_steps=True, constants=True)
READ = st.lists(st.just(LAST_ROW) | st.sampled_from(READINGS), min_size=3, max_size=3)
# targets of rewriting: machine code wherever it runs a loop, and NumPy everywhere
TARGETS = st.sampled_from([target_of(Mode("native")), target_of(Mode("numpy"))])
RULES = [rule.name for rule in all_rules() if "memory" not in rule.phases]


def graph_of(case: LoopCase, readings: Sequence[Reading]) -> tuple[Built, list[Variable]]:
    """Return a loop and its outputs: reads, updates, and the gradient of a cost of the reads."""
    loop = built(case)
    count = len(run_plainly(case)[0][0])
    read = [reading.of(result, count) for result, reading in zip(loop.results, readings, strict=False)]
    wanted = [*read, *loop.updates.values()]
    smooth = [variable for variable in read if is_floating(variable)]
    if smooth and case.dtype != "float16":
        cost = sum((T.sum(T.sin(T.cast(variable, "float64"))) for variable in smooth), T.constant(0.0))
        found = pull_back({cost: T.constant(1.0)}, loop.floats)
        wanted += [cost, *(gradient for gradient in found if isinstance(gradient, Variable))]
    return loop, wanted


def check_types(loop: Built, outputs: Sequence[Variable]) -> None:
    """Raise unless a graph that was made of a loop's is well typed."""
    shared = [leaf for leaf in leaves(outputs) if isinstance(leaf, SharedVariable)]
    typecheck([*loop.given, *shared], outputs)


@law(
    sample=55,
    case=LOOPS,
    rules=st.lists(st.sampled_from(RULES), min_size=1, max_size=1)
    | st.lists(st.sampled_from(RULES), unique=True, min_size=2),
    readings=READ,
    target=TARGETS,
)
def any_choice_of_rules_keeps_results(
    case: LoopCase, rules: list[str], readings: list[Reading], target: TargetTier
) -> None:
    """Each rule alone, and any choice of rules, keeps a loop's results, updates and gradients."""
    loop, wanted = graph_of(case, readings)
    after = RewriteHistory(wanted, Selection("none").including(*rules), target=target).final
    check_types(loop, after)
    check_same(loop.computed(after, PLAIN), loop.computed(wanted, PLAIN), case.dtype, ", ".join(rules))


@law(sample=8, case=LOOPS, readings=READ, target=TARGETS)
def every_prefix_of_the_pipeline_keeps_results(
    case: LoopCase, readings: list[Reading], target: TargetTier
) -> None:
    """Every version of a graph in its history computes the same results."""
    loop, wanted = graph_of(case, readings)
    expected = loop.computed(wanted, PLAIN)
    history = RewriteHistory(wanted, Selection("all"), target=target)
    versions = history.all_graphs()
    for number, version in enumerate(versions):
        check_types(loop, version)
        check_same(loop.computed(version, PLAIN), expected, case.dtype, f"after {number}")
    assert len(versions) == len(history) + 1
    assert structurally_equal(versions[-1], history.final)
    assert list(places(versions[-1])) == list(places(history.final))


@law(sample=15, case=LOOPS, readings=READ, tier=TIERS)
def all_rules_together_keep_results(case: LoopCase, readings: list[Reading], tier: str) -> None:
    """All rules together keep results and gradients, on every tier."""
    loop, wanted = graph_of(case, readings)
    check_same(loop.computed(wanted, Mode(tier, "all")), loop.computed(wanted, PLAIN), case.dtype, tier)


@law(
    sample=8,
    case=LOOPS,
    readings=READ,
    excluded=st.just([]) | st.lists(st.sampled_from(RULES), min_size=1, max_size=4, unique=True),
    target=TARGETS,
)
def the_pipeline_is_idempotent(
    case: LoopCase, readings: list[Reading], excluded: list[str], target: TargetTier
) -> None:
    """Rewriting a graph again keeps its results; after a run with all rules, no rule applies.

    A first run without some of the rules leaves the others graphs that late phases have been over.
    """
    loop, wanted = graph_of(case, readings)
    first = RewriteHistory(wanted, Selection("all").excluding(*excluded), target=target).final
    whole = RewriteHistory(first, Selection("all"), target=target).final if excluded else first
    check_same(loop.computed(whole, PLAIN), loop.computed(first, PLAIN), case.dtype)
    check_unchanged(whole, target)


@law(sample=15, case=SMOOTH, readings=READ, order=st.integers(1, 2), target=TARGETS)
def a_rewritten_gradient_of_any_order_has_nothing_left_to_rewrite(
    case: LoopCase, readings: list[Reading], order: int, target: TargetTier
) -> None:
    """No rule applies to the rewritten gradient of a gradient of a loop."""
    loop, count = built(case), len(run_plainly(case)[0][0])
    wanted: list[Variable] = [
        reading.of(x, count) for x, reading in zip(loop.results, readings, strict=False)
    ]
    wrt = list(loop.given)
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


@law(sample=10, case=random_loops())
def the_reference_tier_runs_the_unrewritten_graph(case: LoopCase) -> None:
    """No rewrite changes the graph that the reference tier runs."""
    loop = built(case)
    f = loop.function(loop.results, "reference", updates=loop.updates)
    assert len(f.rewrites) == 0
    assert structurally_equal(f.outputs, loop.results)
