"""What a graph cost before and after each rewrite is what it costs when it is looked at alone."""

import pytest
from hypothesis import given, settings

import scanviz
from scanviz.engine.rewrites.cost import cost_of
from scanviz.testing.laws.many_loops import many_loops
from scanviz.testing.many_loops import stacked
from scanviz.testing.work import lines_run


@settings(max_examples=15)
@given(graph=many_loops())
def test_costs_found_from_one_graph_to_the_next_are_those_of_each_graph_alone(graph):
    inputs, wanted = graph
    history = scanviz.function(inputs, wanted, mode="numpy", on_unused_input="ignore").rewrites
    graphs = history.all_graphs()
    for each, found in zip(graphs, history.costs(), strict=True):
        assert found == cost_of(each)


@pytest.mark.slow
def test_the_cost_of_many_moments_looks_at_each_changed_loop_once():
    def work(count):
        history = stacked(count).build(mode="numpy").rewrites
        return lines_run(history.costs, "engine/rewrites/cost.py").total()

    work(2)
    assert work(16) < 2.4 * work(8)
