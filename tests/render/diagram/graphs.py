"""Graphs to draw: random loops with their gradients, the guide's network of several taps, and large ones made by hand."""

import random
from collections import Counter

import numpy as np
from msgspec.structs import replace

import scanviz
from scanviz import tensor as T
from scanviz.engine.graph.nodes import is_floating
from scanviz.engine.graph.traversal import leaves
from scanviz.engine.rewrites.history import RewriteHistory
from scanviz.engine.rewrites.selection import Selection
from scanviz.record.graphs.graph import (
    GraphSnapshot,
    LoopVariableRecord,
    NodeRecord,
    ResultRecord,
    ScanRecord,
)
from scanviz.record.graphs.rewrites import RewritesRecord
from scanviz.record.graphs.rewrites_snapshot import rewrites_record
from scanviz.record.graphs.versions import VersionsRecord, WantedRecord
from scanviz.record.model import ProfileRecord

NAMES = (
    '"quoted"',
    "<script>alert(1)</script>",
    "a\x1b[31m\nb",
    "x\u202ey",
    "\ud800",
    "",
    "x/in/x",
    "loop:x",
)


def with_gradients(case):
    """Return the results of a random loop, with its gradients if it has any, and its inputs."""
    results, updates, inputs, _ = case.build()
    wanted = [*results, *dict(updates).values()]
    smooth = [result for result in results if is_floating(result)]
    wrt = [each for each, _ in inputs if is_floating(each)]
    if smooth and wrt:
        cost = sum((T.sum(T.cast(each, "float64")) for each in smooth), T.constant(0.0))
        wanted += scanviz.grad(cost, wrt, disconnected_inputs="ignore")
    return wanted, inputs


def compiled(case) -> ProfileRecord:
    """Return the record of a random loop's run: graphs whose loops are those of the record."""
    wanted, inputs = with_gradients(case)
    with scanviz.profile() as p:
        f = scanviz.function([each for each, _ in inputs], wanted, on_unused_input="ignore")
        f(*(values for _, values in inputs))
    return p.record


def history(outputs, selection: str = "all") -> RewritesRecord:
    return rewrites_record(RewriteHistory(list(outputs), Selection(selection)))


def several_taps(gradient: bool = True, names: tuple[str, ...] = ("x", "y", "W", "W_feedback", "W_out")):
    """Return the guide's network, whose state x is read at t-3 and t-1, and a gradient through it."""
    x_name, y_name, *weights = names
    W, W_feedback, W_out = (T.matrix(weight) for weight in weights)
    u, x0, y0 = T.matrix("u"), T.matrix(f"{x_name}0"), T.vector(f"{y_name}0")

    def step(u_tm4, u_t, x_tm3, x_tm1, y_tm1):
        x_t = T.tanh(T.dot(x_tm1, W) + u_t + u_tm4 + T.dot(y_tm1, W_feedback))
        return [x_t, T.dot(x_tm3, W_out)]

    (x, y), _ = scanviz.scan(
        step,
        sequences=dict(input=u, taps=[-4, 0]),
        outputs_info=[dict(initial=x0, taps=[-3, -1]), y0],
        name="rnn",
    )
    cost = T.sum(y**2)
    return [cost, scanviz.grad(cost, W_feedback)] if gradient else [x, y]


def dense(count: int, reads: int, seed: int = 0, name: str = "n", level: int = 0) -> GraphSnapshot:
    """Return a graph of so many operations that read some earlier ones."""
    rng = random.Random(seed)
    known = [f"{name}{k}" for k in range(4)]
    leaves = leaves_of(known, "float64[]", level)
    nodes = []
    for k in range(count):
        inputs = tuple(rng.choice(known) for _ in range(reads))
        nodes.append(operation(rng.choice(["add", "dot", "tanh"]), inputs, (f"{name}v{k}",), level))
        known.append(f"{name}v{k}")
    return GraphSnapshot("dense", leaves, tuple(nodes), {}, (known[-1],), ("out",))


def leaves_of(keys, kind: str, level: int = 0, role: str = "input") -> dict[str, NodeRecord]:
    """Return inputs of a type."""
    return {
        key: NodeRecord(level, key, "", 0, (ResultRecord(key, key, kind, key),), role=role) for key in keys
    }


def operation(op: str, inputs, outputs, level: int = 0, kind: str = "float64[]", loop=None) -> NodeRecord:
    """Return a node that has the name of its first result."""
    results = tuple(ResultRecord(key, "", kind) for key in outputs)
    return NodeRecord(level, outputs[0], op, 0, results, tuple(inputs), "f.py:1", loop=loop)


def large_loop(count: int, states: int, name: str = "large") -> GraphSnapshot:
    """Return a graph with one loop: a dense step, states of several taps, and so recurrence in all directions."""
    inner = dense(count, 3, name="i", level=1)
    inputs = [f"s{k}" for k in range(2 * states)]
    moved = tuple(
        replace(each, inputs=(*each.inputs[:2], inputs[k % len(inputs)])) if inputs else each
        for k, each in enumerate(inner.nodes)
    )
    leaves = leaves_of(inputs, "float64[]", 1, "parameter") | inner.leaves
    keys = [*leaves, *(node.key for node in moved)]
    outputs = tuple(keys[len(keys) - states :])
    step = GraphSnapshot(name, leaves, moved, {}, outputs, ("",) * states)
    given = tuple(f"r{k}" for k in range(states))
    variables = tuple(
        LoopVariableRecord(
            "mitsot",
            f"s{k}",
            (-3, -1),
            (0,),
            (f"s{2 * k}", f"s{2 * k + 1}"),
            (outputs[k],),
            f"s{k}_0",
            given[k],
        )
        for k in range(states)
    )
    starts = [f"s{k}_0" for k in range(states)]
    outside = leaves_of(["n"], "int64[]") | leaves_of(starts, "float64[?]")
    node = operation("scan", ("n", *starts), given, 0, "float64[?]", ScanRecord(name, 1, variables))
    return GraphSnapshot("f", outside, (node,), {1: step}, given, ("",) * states)


def table_of(graph: GraphSnapshot) -> VersionsRecord:
    """Return a graph with the nodes of its loops' steps as the only version of a table."""
    graphs = [graph, *(placed.step for placed in graph.all_loops())]
    nodes = tuple(node for each in graphs for node in (*each.leaves.values(), *each.nodes))
    return VersionsRecord(
        graph.title, wanted=(WantedRecord(0, graph.outputs),), output_names=graph.output_names, nodes=nodes
    )


def ends_of(picture):
    return {node.id for node in picture.nodes} | {port.id for node in picture.nodes for port in node.ports}


def assert_sound(picture):
    names = [node.id for node in picture.nodes] + [p.id for node in picture.nodes for p in node.ports]
    names += [cluster.id for cluster in picture.clusters]
    assert [each for each, count in Counter(names).items() if count > 1] == []
    ends, boxes = ends_of(picture), set()
    for edge in picture.edges:
        assert edge.source in ends and edge.target in ends, edge
    for cluster in picture.clusters:
        assert cluster.parent is None or cluster.parent in boxes, "a loop stands before the one around it"
        boxes.add(cluster.id)
    assert all(node.cluster is None or node.cluster in boxes for node in picture.nodes)


def run_of_several_taps():
    outputs = several_taps()
    inputs = [leaf for leaf in leaves(outputs) if leaf.name]
    shapes = {"u": (9, 3), "x0": (3, 3), "y0": (2,), "W": (3, 3), "W_feedback": (2, 3), "W_out": (3, 2)}
    with scanviz.profile() as p:
        f = scanviz.function(inputs, outputs, name="train")
        f(*(np.ones(shapes[each.name]) for each in inputs))
    return p.record
