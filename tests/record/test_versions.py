"""Versions of a graph: each reads back as the graph it was, nothing is written twice, and what makes no sense is refused."""

import numpy as np
import pytest
from msgspec.structs import replace

import scanviz
from scanviz import tensor as T
from scanviz.engine.errors import ScanvizError
from scanviz.engine.function.names import with_distinct_names
from scanviz.engine.rewrites.history import RewriteHistory
from scanviz.engine.rewrites.selection import Selection
from scanviz.record.graphs.graph import (
    LoopVariableRecord,
    NodeRecord,
    ResultRecord,
    ScanRecord,
)
from scanviz.record.graphs.rewrites import RewriteRecord, RewritesRecord
from scanviz.record.graphs.rewrites_snapshot import rewrites_record
from scanviz.record.graphs.versions import VersionsRecord, WantedRecord
from scanviz.record.model import FunctionRecord, ProfileRecord
from scanviz.record.snapshot import snapshot
from scanviz.record.storage.check import check
from scanviz.testing.expressions import RandomExpression
from scanviz.testing.loop_case import LoopCase, OutputCase
from scanviz.testing.operations import operations_for
from tests.laws.frame import built
from tests.laws.versions import spelled_record


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
    loops = {loop.key: loop for loop in record.loops}
    assert {loop.key for loop in function.graph.loops} == set(loops)
    for node in function.graph.nodes:
        operation = function.operations[node.operation]
        assert (
            operation.label.startswith(node.op.split("{")[0][:4])
            or operation.kind == "loop"
            or {" ", ".", "[", "²"} & set(operation.label)  # written as mathematics
        )
        assert (operation.source is None) == (node.source == "")
        assert operation.source is None or str(operation.source) == node.source
    for loop in function.graph.loops:
        assert loop.name == loops[loop.key].name
        places = [each.operation for each in function.graph.step(loop).nodes]
        assert sorted(places) == list(range(len(loops[loop.key].operations)))


def test_a_node_keeps_its_key_through_rules_that_do_not_change_it():
    [function] = profiled().functions
    rewrites = function.rewrites
    first, last = rewrites.snapshot(0), rewrites.snapshot(len(rewrites.applications))
    assert {node.key: node.op for node in last.nodes} == {node.key: node.op for node in function.graph.nodes}
    ops = {node.key: node.op for node in first.nodes}
    both = [node for node in last.nodes if node.key in ops]
    assert len(both) >= 5 and all(ops[node.key] == node.op for node in both)


def leaf(key):
    return NodeRecord(0, key, "", 0, (ResultRecord(key, key, "float64[]", key),), role="input")


def node(key, *inputs, level=0, loop=None):
    return NodeRecord(level, key, "op", 1, (ResultRecord(key, "", "float64[]"),), inputs, loop=loop)


def versions(*nodes, outputs=("y",), **more):
    names = ("",) * len(outputs)
    wanted = (WantedRecord(0, outputs),)
    return VersionsRecord("f", wanted=wanted, output_names=names, nodes=nodes, **more)


@pytest.mark.parametrize(
    "graphs",
    [
        versions(outputs=("nowhere",)),
        versions(node("y", "nowhere")),
        versions(node("a", "y"), node("y", "a")),
        versions(leaf("x"), node("y", "x"), node("y")),
        versions(leaf("x"), leaf("x"), node("y")),
        versions(replace(leaf("x"), key="z"), node("y", "z")),
        versions(replace(leaf("x"), results=()), node("y", "x")),
        versions(leaf("x"), replace(node("y", "x"), results=node("y").results * 2)),
        versions(node("y", loop=ScanRecord("l", 0, ()))),
        versions(node("a", loop=ScanRecord("l", 1, ())), node("y", loop=ScanRecord("l", 1, ()))),
        versions(node("y", loop=ScanRecord("l", 1, (), "nowhere"))),
        versions(node("y", loop=ScanRecord("l", 1, (LoopVariableRecord("sitsot", "h", (-1,), (0,), (), (), None, None),)))),
        versions(node("y", loop=ScanRecord("l", 1, (LoopVariableRecord("nitsot", "h", (), (), (), (), None, "y", keep_last=-1),)))),
        versions(replace(node("y"), versions=())),
        versions(replace(node("y"), versions=(-1,))),
        versions(replace(node("y"), versions=(0, 0))),
        versions(replace(node("y"), versions=(0, 2, 1))),
        versions(replace(node("y"), versions=(0, 1)), last=1),
        versions(replace(node("y"), operation=-3)),
        replace(versions(node("y")), last=-1),
        replace(versions(node("y")), first=-1),
        replace(versions(node("y")), output_names=()),
    ],
)  # fmt: skip
def test_a_record_with_invalid_nodes_is_refused(graphs):
    with pytest.raises(ScanvizError, match="profile"):
        check(with_graphs(graphs))
    for k in (0, 1):
        RewritesRecord(graphs=graphs).lines(k)


def with_graphs(graphs):
    function = FunctionRecord(
        key=1, name="f", source=None, backend="numpy", rewrites=RewritesRecord(graphs=graphs)
    )
    return ProfileRecord(functions=(function,))


def test_an_invalid_intermediate_graph_is_reported_where_it_is_shown():
    graphs = versions(node("y"), replace(node("z", "z"), versions=(1, 2)), last=2)
    check(with_graphs(graphs))
    rewrites = RewritesRecord(graphs=graphs, applications=(RewriteRecord(0, "a", "b", "c", "d"),) * 2)
    assert rewrites.lines(1) == (
        "this graph cannot be read: an operation of a graph in the profile needs its own result",
    )
    assert [bool(edit) for edit in rewrites.edits()] == [True, True]
    with pytest.raises(ScanvizError, match="needs its own result"):
        rewrites.snapshot(1)


def test_a_record_writes_no_node_twice():
    rewrites = profiled().functions[0].rewrites
    nodes = [replace(each, versions=()) for each in rewrites.graphs.nodes]
    assert len(set(nodes)) == len(nodes)
    seen = {place for version in rewrites.graphs.versions() for place in version.live}
    assert seen == set(range(len(nodes)))


def test_the_last_version_alone_equals_the_last_of_all_versions():
    rewrites = profiled().functions[0].rewrites
    count = len(rewrites.applications)
    small = rewrites.list_only()
    assert spelled_record(small.snapshot(count)) == spelled_record(rewrites.snapshot(count))
    assert small.snapshot(count - 1) is None
    assert small.lines(count) == rewrites.lines(count) and small.lines(0) == ()
    assert not any(small.edits()) and len(small.edits()) == count


def test_a_node_that_becomes_the_first_of_its_id_is_written_as_such():
    named = {operation.name: operation for operation in operations_for("float64")}
    chosen = [("tanh of sum", (0, 0)), ("less its mean", (3,)), ("sine", (0,)), ("joined and cut", (6,))]
    rows = RandomExpression(tuple((named[name], positions) for name, positions in chosen), 8)
    rng = np.random.default_rng(0)
    case = LoopCase(
        dtype="float64",
        row=(2, 3),
        sequences=[],
        outputs=[
            OutputCase(RandomExpression((), 4), rng.normal(size=(3, 2, 3)), (-1, -2, -3), (2, 3)),
            OutputCase(rows, None, (), (3,)),
        ],
        constants=[rng.normal(size=3)],
        captured=None,
        update=None,
        shared_start=None,
        stop=None,
        n_steps=0,
        go_backwards=False,
        nested=RandomExpression((), 1),
    )
    history = RewriteHistory(with_distinct_names(built(case).wanted), Selection("all"))
    record = rewrites_record(history)
    for k, outputs in enumerate(history.all_graphs()):
        assert spelled_record(record.snapshot(k)) == spelled_record(snapshot(outputs))
