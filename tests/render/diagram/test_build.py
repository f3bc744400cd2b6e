"""Pictures of loops closed, alone, of a profile's times, and of names that are hostile."""

import pytest
from hypothesis import given
from msgspec.structs import replace

import scanviz
from scanviz.engine.errors import ScanvizError
from scanviz.record.graphs.rewrites import RewritesRecord
from scanviz.record.loops import LoopRecord
from scanviz.record.model import FunctionRecord, ProfileRecord, ThreadTimesRecord
from scanviz.record.operations import OperationRecord
from scanviz.record.snapshot import snapshot
from scanviz.record.values import DurationRecord
from scanviz.render.diagram.build import diagram_of
from scanviz.testing import random_loops
from tests.render.diagram.graphs import (
    assert_sound,
    compiled,
    dense,
    large_loop,
    operation,
    several_taps,
    table_of,
)


def test_a_picture_of_one_loop_has_its_ports_and_no_surroundings():
    graph = snapshot(several_taps())
    alone = diagram_of(graph, scan="grad_of_rnn")
    assert [cluster.label for cluster in alone.clusters] == ["grad_of_rnn"]
    assert {node.cluster for node in alone.nodes} == {alone.clusters[0].id}
    assert {node.loop_kind for node in alone.nodes if node.kind == "port"} >= {"mitmot", "sequence"}
    assert_sound(alone)
    whole = {(edge.source, edge.target, edge.role) for edge in diagram_of(graph).edges}
    assert {(edge.source, edge.target, edge.role) for edge in alone.edges} < whole


def test_loops_are_closed_by_name():
    picture = diagram_of(snapshot(several_taps()), closed=["rnn"], plumbing=True)
    assert [cluster.label for cluster in picture.clusters] == ["grad_of_rnn"]
    [loop] = [node for node in picture.nodes if node.kind == "loop"]
    assert loop.label == "rnn" and picture.notes == ("closed: rnn",)
    kinds = {(port.side, port.kind) for port in loop.ports}
    assert {("in", "n_steps"), ("in", "mitsot"), ("out", "mitsot"), ("in", "sequence")} <= kinds


@pytest.mark.parametrize("options", [{"scan": "rnm"}, {"closed": ["rnm"]}])
def test_an_unknown_loop_is_refused_with_the_names_that_there_are(options):
    with pytest.raises(ScanvizError, match="there is no loop `rnm`") as caught:
        diagram_of(snapshot(several_taps()), **options)
    assert "grad_of_rnn, rnn" in str(caught.value) and "did you mean `rnn`?" in str(caught.value)


def test_naming_a_loop_of_a_graph_without_loops_is_an_error():
    with pytest.raises(ScanvizError, match="a graph with a loop"):
        diagram_of(dense(3, 1), scan="rnn")


def test_small_constants_are_drawn_in_labels_and_named_ones_as_nodes():
    x = scanviz.tensor.vector("x")
    k = scanviz.tensor.constant([1.0, 2.0], name="k")
    picture = diagram_of(snapshot([(x - 0.5) * k]))
    assert "x - 0.5" in {node.label for node in picture.nodes if node.kind == "operation"}
    assert [node.label for node in picture.nodes if node.kind == "constant"] == ["k"]


@pytest.mark.parametrize(
    ("label", "build"),
    [
        ("alloc(0, x.shape[1], 3)", lambda T, x: T.zeros((x.shape[1], 3))),
        ("clip(tanh, 0, 1)", lambda T, x: T.clip(T.tanh(x), 0.0, 1.0)),
        ("input 1 * 2", lambda T, x: T.matrix() * 2.0),
        ("-1 + a_name_too_long…", lambda T, x: -1.0 + T.matrix("a_name_too_long_for_a_label")),
    ],
)
def test_labels_name_the_inputs_that_arrows_bring(label, build):
    picture = diagram_of(snapshot([build(scanviz.tensor, scanviz.tensor.matrix("x"))]))
    assert [node.label for node in picture.nodes if node.kind == "operation"][-1] == label


def test_a_diagram_shows_the_time_of_each_part():
    table = table_of(large_loop(3, 1))
    inside = iter(range(9))
    nodes = [
        replace(node, operation=next(inside) if node.level else 0) if node.op else node
        for node in table.nodes
    ]
    nodes = [node if node.loop is None else replace(node, loop=replace(node.loop, key=7)) for node in nodes]
    operations = [
        OperationRecord(k, "o", "operation", "", None, samples=n, typical_ns=100.0, mean_ns=25.0 * n or None)
        for k, n in enumerate((4, 2, 0))
    ]
    loop = LoopRecord(
        7,
        1,
        None,
        "large",
        None,
        operations=tuple(operations),
        runs=2,
        steps=50,
        total_ns=10_000,
        sampled_steps=4,
        body_ns=150.0,
    )
    function = FunctionRecord(
        1,
        "f",
        None,
        "numpy",
        calls=2,
        call_times=DurationRecord(2, 40_000),
        rewrites=RewritesRecord(graphs=replace(table, nodes=tuple(nodes))),
    )
    threads = ThreadTimesRecord(inside_ns=40_000)
    record = ProfileRecord(functions=(function,), loops=(loop,), wall_ns=80_000, threads=threads)
    graph = function.graph
    for picture in (diagram_of(graph, record=record), diagram_of(graph, record=record, function=1)):
        [box] = picture.clusters
        assert (box.time_ns, box.share, box.loop) == (10_000, 0.125, 7)
        times = [node.time_ns for node in picture.nodes if node.kind == "operation"]
        assert times == [5_000, 2_500, None], "of the second only every other step was one"
    closed = diagram_of(graph, record=record, depth=0)
    assert [(node.time_ns, node.share) for node in closed.nodes if node.kind == "loop"] == [(10_000, 0.125)]
    assert all(node.time_ns is None for node in diagram_of(graph).nodes)
    assert all(
        node.time_ns is None
        for node in diagram_of(graph, record=record, function=2).nodes
        if node.cluster is None
    )


@given(case=random_loops())
def test_loops_of_a_compiled_graph_are_those_of_the_record(case):
    record = compiled(case)
    picture = diagram_of(record.functions[0].graph, record=record)
    assert {cluster.loop for cluster in picture.clusters} - {None} <= {loop.key for loop in record.loops}
    assert len(picture.clusters) <= len(record.loops)
    assert_sound(picture)


def test_loops_of_one_name_are_all_drawn():
    graph = large_loop(20, 2)
    more = tuple(f"{key} more" for key in graph.outputs)
    others = tuple(
        replace(variable, outer_input=graph.outputs[k], outer_output=more[k])
        for k, variable in enumerate(graph.loops[0].variables)
    )
    again = operation(
        "scan", ("n", *graph.outputs), more, loop=replace(graph.loops[0], step=2, variables=others)
    )
    twice = replace(
        graph,
        nodes=(*graph.nodes, again),
        steps={1: graph.steps[1], 2: graph.steps[1]},
        outputs=more,
        output_names=("a", "b"),
    )
    picture = diagram_of(twice, scan="large")
    assert len(picture.clusters) == 2
    assert_sound(picture)
