"""Laws of the oracle: the reference tier runs what was written, and nothing that it judges."""

from __future__ import annotations

from scanviz.engine.function import function
from scanviz.engine.graph.equality import structurally_equal
from scanviz.testing.loops import LoopCase, random_loops
from tests.laws.law import law


@law(sample=10, case=random_loops())
def the_reference_tier_runs_the_graph_as_it_was_built(case: LoopCase) -> None:
    """No rewrite touches what the reference tier computes."""
    results, updates, inputs, _ = case.build()
    built = function(
        [variable for variable, _ in inputs],
        results,
        updates=updates,
        mode="reference",
        on_unused_input="ignore",
    )
    assert len(built.rewrites) == 0
    assert structurally_equal(built.outputs, results)
