"""Graphs to draw: random loops with their gradients, the guide's network of several taps, and large ones made by hand."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

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
    LoopSnapshot,
    LoopVariableRecord,
    NodeSnapshot,
    VariableSnapshot,
)
from scanviz.record.graphs.rewrites import RewritesRecord
from scanviz.record.graphs.rewrites_snapshot import rewrites_record
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
    """Return what a random loop gives, with its gradients where there are any, and its inputs."""
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


def all_loops(graph: GraphSnapshot) -> Iterator[tuple[GraphSnapshot, NodeSnapshot, LoopSnapshot]]:
    """Iterate over loops in the order of their drawing, each with the graph around it."""
    for node in graph.nodes:
        if node.loop is not None:
            loop = graph.loops[node.loop]
            yield graph, node, loop
            yield from all_loops(loop.step)


def dense(count: int, reads: int, seed: int = 0, name: str = "n") -> GraphSnapshot:
    """Return a graph of so many operations, each of which reads some of those before it."""
    rng = random.Random(seed)
    variables = {f"{name}{k}": leaf(f"{name}{k}", "float64[]") for k in range(4)}
    nodes = []
    for k in range(count):
        inputs = tuple(rng.choice(list(variables)) for _ in range(reads))
        key = f"{name}v{k}"
        nodes.append(NodeSnapshot(rng.choice(["add", "dot", "tanh"]), inputs, (key,), "f.py:1", "", key=key))
        variables[key] = VariableSnapshot("", "", "float64[]", "computed", key)
    return GraphSnapshot("dense", variables, tuple(nodes), (), (list(variables)[-1],), ("out",))


def leaf(key: str, kind: str) -> VariableSnapshot:
    return VariableSnapshot(key, key, kind, "input", key)


def large_loop(count: int, states: int, name: str = "large") -> GraphSnapshot:
    """Return a graph with one loop: a dense step, states of several taps, and so recurrence in all directions."""
    inner = dense(count, 3, name="i")
    inputs = [f"s{k}" for k in range(2 * states)]
    moved = tuple(
        replace(each, inputs=(*each.inputs[:2], inputs[k % len(inputs)])) if inputs else each
        for k, each in enumerate(inner.nodes)
    )
    variables = {key: leaf(key, "float64[]") for key in inputs} | inner.variables
    outputs = tuple(list(variables)[len(variables) - states :])
    step = GraphSnapshot(name, variables, moved, (), outputs, ("",) * states)
    given = tuple(f"r{k}" for k in range(states))
    loop = LoopSnapshot(
        name,
        tuple(
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
        ),
        step,
    )
    starts = [f"s{k}_0" for k in range(states)]
    outside = {"n": leaf("n", "int64[]")} | {key: leaf(key, "float64[?]") for key in starts}
    outside |= {key: VariableSnapshot("", "", "float64[?]", "computed", key) for key in given}
    node = NodeSnapshot("scan", ("n", *starts), given, "f.py:1", "", 0)
    return GraphSnapshot("f", outside, (node,), (loop,), given, ("",) * states)


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
