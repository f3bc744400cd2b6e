"""What a graph cost before and after each rewrite is what it costs when it is looked at alone."""

import pytest
from hypothesis import given, settings

import scanviz
from scanviz.engine.rewrites import cost, versions
from scanviz.engine.rewrites.cost import cost_of
from scanviz.record.rewrites_snapshot import rewrites_of
from scanviz.testing.many_loops import stacked, within
from tests.laws.many_loops import many_loops
from tests.support.work import lines_run


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
    assert work(10) < 2.25 * work(5)


@pytest.mark.slow
def test_a_loop_in_a_step_is_looked_at_again_only_for_what_a_rewrite_changed_in_it(monkeypatch):
    def looked_at(count):
        history, found = within(count).build(mode="numpy").rewrites, []
        with monkeypatch.context() as patched:
            for of, name in ((cost, "node_cost"), (cost.Scope, "_answers"), (cost, "_rows_kept")):
                asked = getattr(of, name)
                patched.setattr(of, name, lambda *given, asked=asked: found.append(1) or asked(*given))
            history.costs()
        return len(found)

    assert looked_at(16) < 2.4 * looked_at(8)


@pytest.mark.slow
def test_the_work_of_writing_all_versions_down_grows_as_the_number_of_loops():
    def work(count):
        function = stacked(count).build(mode="numpy")
        return sum(lines_run(lambda: rewrites_of(function)).values())

    work(2)
    assert work(8) < 2.25 * work(4)


def test_where_replacements_do_not_lead_to_the_graph_that_a_sweep_gave_its_graphs_are_built_one_by_one(
    monkeypatch,
):
    history = stacked(3).build(mode="numpy").rewrites
    wanted = [(version.cost, version.change) for version in history.versions()]
    asked = []

    def unclear(self, applied):
        asked.append(applied)
        if len(asked) % 2:
            raise versions._UnclearError
        return followed(self, applied)

    followed = versions.Versions._applied
    monkeypatch.setattr(versions.Versions, "_applied", unclear)
    found = [(version.cost, version.change) for version in history.versions()]
    assert asked and [cost for cost, _ in found] == [cost for cost, _ in wanted]
    for (_, mine), (_, theirs) in zip(found, wanted, strict=True):
        assert sorted(mine.removed) == sorted(theirs.removed) and sorted(mine.added) == sorted(theirs.added)
        assert mine.loop_variables == theirs.loop_variables
