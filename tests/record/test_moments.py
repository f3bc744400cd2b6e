"""Graphs as rows: every moment of a history reads back as the graph it was, and what makes no sense is refused."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

import scanviz
from scanviz import tensor as T
from scanviz.engine.errors import ScanvizError
from scanviz.engine.gradient.reverse import is_differentiable
from scanviz.engine.rewrites.history import RewriteHistory
from scanviz.engine.rewrites.selection import Selection
from scanviz.record.check import check
from scanviz.record.check_graph import check_graph
from scanviz.record.codec import decode, encode
from scanviz.record.file import load, save
from scanviz.record.graph import GraphSnapshot
from scanviz.record.graph_rows import graph_of_rows
from scanviz.record.model import ProfileRecord
from scanviz.record.rewrites import RewritesRecord
from scanviz.record.rewrites_snapshot import rewrites_record
from scanviz.record.snapshot import snapshot
from scanviz.testing import random_loops


def wanted_of(case):
    results, updates, inputs, _ = case.build()
    wanted = [*results, *dict(updates).values()]
    smooth = [each for each in results if is_differentiable(each)]
    wrt = [each for each, _ in inputs if is_differentiable(each)]
    if smooth and wrt:
        cost = sum((T.sum(T.cast(each, "float64")) for each in smooth), T.constant(0.0))
        wanted += scanviz.grad(cost, wrt, disconnected_inputs="ignore")
    return wanted


def spelled(graph: GraphSnapshot) -> dict:
    """Return a graph by what its outputs are, whatever the order of its nodes."""
    values = {k: (each.label, each.type, each.role) for k, each in enumerate(graph.variables)}
    steps = []
    for node in graph.nodes:
        loop = graph.loops[node.loop] if node.loop is not None else None
        inside = (
            () if loop is None else (loop.name, loop.gradient_of, variables_of(loop), str(spelled(loop.step)))
        )
        for place, number in enumerate(node.outputs):
            known = graph.variables[number]
            reads = tuple(hash(values[each]) for each in node.inputs)
            values[number] = (node.op, place, known.name, known.type, reads, node.source, node.text, inside)
            steps.append(hash(values[number]))
    wanted = [hash(values[each]) for each in graph.outputs]
    return {"outputs": wanted, "names": graph.output_names, "nodes": sorted(steps)}


def variables_of(loop):
    return tuple(
        (each.kind, each.name, each.reads, each.writes, each.inner_inputs, each.keep_last)
        for each in loop.variables
    )


@given(case=random_loops())
def test_every_moment_reads_back_as_the_graph_it_was(case):
    history = RewriteHistory(wanted_of(case), Selection("all"))
    record = rewrites_record(history)
    for k, outputs in enumerate(history.all_graphs()):
        found, live = record.snapshot(k), snapshot(outputs)
        check_graph(found)
        assert spelled(found) == spelled(live)
        assert len({each.key for each in found.nodes}) == len(found.nodes)
    assert decode(RewritesRecord, json.loads(json.dumps(encode(record)))) == record


def profiled():
    x, w = T.matrix("x"), T.matrix("w")
    h, _ = scanviz.scan(lambda x_t, h: T.tanh(T.dot(x_t, w) + h), x, T.zeros(3), name="rnn")
    cost = T.sum(h[-1] ** 2)
    f = scanviz.function([x, w], [cost, scanviz.grad(cost, w)], name="train")
    with scanviz.profile() as p:
        f(np.ones((4, 3)), np.ones((3, 3)))
    return p.record


def test_the_graph_of_a_function_names_its_operations_and_loops():
    record = profiled()
    [function] = record.functions
    loops = {each.key: each for each in record.loops}
    assert {each.key for each in function.graph.loops} == set(loops)
    for node in function.graph.nodes:
        operation = function.operations[node.operation]
        assert (
            operation.label.startswith(node.op.split("{")[0][:4])
            or operation.kind == "loop"
            or " " in operation.label
        )
        assert (operation.source is None) == (node.source == "")
        assert operation.source is None or str(operation.source) == node.source
    for loop in function.graph.loops:
        assert loop.name == loops[loop.key].name
        places = [each.operation for each in loop.step.nodes]
        assert sorted(places) == list(range(len(loops[loop.key].operations)))


def test_a_node_has_the_same_key_before_and_after_a_rule_that_left_it_alone():
    [function] = profiled().functions
    rewrites = function.rewrites
    first, last = rewrites.snapshot(0), rewrites.snapshot(len(rewrites.applications))
    assert {node.key: node.op for node in last.nodes} == {node.key: node.op for node in function.graph.nodes}
    ops = {node.key: node.op for node in first.nodes}
    both = [node for node in last.nodes if node.key in ops]
    assert len(both) >= 5 and all(ops[node.key] == node.op for node in both)


def test_a_saved_profile_has_its_graphs(tmp_path):
    record = profiled()
    save(record, tmp_path / "p.scanviz")
    again = load(tmp_path / "p.scanviz")
    assert again == record
    assert again.functions[0].graph is not None
    assert again.functions[0].rewrites.snapshot(1) == record.functions[0].rewrites.snapshot(1)


@pytest.mark.parametrize(
    "rows",
    [
        ["[0]"],
        ["nonsense"],
        ['[0,"o",["nowhere"],[""],"f"]'],
        [
            '[0,"n","a","exp",["b"],[["a","",""]],""]',
            '[0,"n","b","exp",["a"],[["b","",""]],""]',
            '[0,"o",["b"],[""],"f"]',
        ],
        ['[0,"v","x",1,"x","float64","input"]', '[0,"o",["x"],[""],"f"]'],
        ['[0,"v","x","x","x","float64","input"]'],
    ],
)
def test_rows_that_describe_no_graph_are_refused(rows):
    with pytest.raises(ScanvizError, match="a graph of the profile makes no sense"):
        graph_of_rows(rows)


def test_a_record_whose_graph_has_numbers_of_nothing_is_refused():
    record = profiled()
    [function] = record.functions
    node = replace(function.graph.nodes[0], inputs=(10_000,))
    broken = replace(function.graph, nodes=(node, *function.graph.nodes[1:]))
    check(record)
    with pytest.raises(ScanvizError, match="reads a value that is not made yet"):
        check(replace(record, functions=(replace(function, graph=broken),)))
    late = replace(function.graph, nodes=function.graph.nodes[::-1])
    with pytest.raises(ScanvizError, match="a graph of the profile"):
        check(replace(record, functions=(replace(function, graph=late),)))
    with pytest.raises(ScanvizError, match="has loops that are nowhere"):
        check(
            ProfileRecord(
                functions=(
                    replace(function, graph=replace(function.graph, nodes=(), outputs=(), output_names=())),
                )
            )
        )
