"""Costs before and after each rewrite agree with the costs of the graphs alone."""

from hypothesis import given, settings

import scanviz
from scanviz.engine.rewrites.cost import cost_of
from tests.laws.many_loops import many_loops


@settings(max_examples=15)
@given(graph=many_loops())
def test_incremental_costs_agree_with_those_of_each_graph(graph):
    inputs, wanted = graph
    history = scanviz.function(inputs, wanted, mode="numpy", on_unused_input="ignore").rewrites
    graphs = history.all_graphs()
    for each, found in zip(graphs, history.costs(), strict=True):
        assert found == cost_of(each)
