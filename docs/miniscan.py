"""A scan with taps, its gradient and one rewrite, to be read: docs/miniscan.md builds it up part by part."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Node:
    """An operation applied to nodes; ``parameter`` is what it needs beside them."""

    op: str
    inputs: tuple[Any, ...] = ()
    parameter: Any = None

    def __add__(self, other: Any) -> Node:
        return apply("add", self, other)

    def __sub__(self, other: Any) -> Node:
        return apply("add", self, apply("multiply", other, -1.0))

    def __mul__(self, other: Any) -> Node:
        return apply("multiply", self, other)

    __radd__, __rmul__ = __add__, __mul__


def apply(op: str, *inputs: Any, parameter: Any = None) -> Node:
    """Return an operation applied to nodes, or to numbers, which become constants."""
    nodes = (
        each if isinstance(each, Node) else Node("constant", parameter=np.asarray(each)) for each in inputs
    )
    return Node(op, tuple(nodes), parameter)


def variable(name: str) -> Node:
    """Return a node without an operation: its value is given when the graph is computed."""
    return Node("variable", parameter=name)


def tanh(a: Node) -> Node:
    """Return the hyperbolic tangent of each element."""
    return apply("tanh", a)


def dot(a: Node, b: Node) -> Node:
    """Return the product of a vector and a matrix."""
    return apply("dot", a, b)


def total(a: Node) -> Node:
    """Return the sum of all elements."""
    return apply("sum", a)


def in_order(outputs: Iterable[Node]) -> list[Node]:
    """Return all nodes that the outputs are made of, each behind its inputs."""
    found: dict[Node, None] = {}

    def visit(node: Node) -> None:
        if node not in found:
            for each in node.inputs:
                visit(each)
            found[node] = None

    for output in outputs:
        visit(output)
    return list(found)


def evaluate(outputs: Sequence[Node], given: dict[Node, Any]) -> list[Any]:
    """Return the values of the outputs, where those of all variables are given."""
    values = dict(given)
    for node in in_order(outputs):
        if node not in values:
            values[node] = COMPUTE[node.op](node.parameter, *(values[each] for each in node.inputs))
    return [values[output] for output in outputs]


def fitted(_: Any, a: Any, like: Any) -> Any:
    """Return ``a`` summed over what broadcasting had added to the shape of ``like``."""
    a = a.sum(axis=tuple(range(np.ndim(a) - np.ndim(like))))
    stretched = tuple(axis for axis, size in enumerate(np.shape(like)) if size == 1 and a.shape[axis] > 1)
    return a.sum(axis=stretched, keepdims=True)


COMPUTE: dict[str, Callable[..., Any]] = {
    "constant": lambda value: value,
    "add": lambda _, a, b: a + b,
    "multiply": lambda _, a, b: a * b,
    "tanh": lambda _, a: np.tanh(a),
    "dot": lambda _, a, b: a @ b,
    "transpose": lambda _, a: a.T,
    "outer": lambda _, a, b: np.outer(a, b),
    "sum": lambda _, a: np.sum(a),
    "sum of rows": lambda _, a: np.sum(a, axis=0),
    "fit": fitted,
    "fill": lambda _, a, like: np.broadcast_to(a, np.shape(like)),
    "zeros": lambda _, like: np.zeros(np.shape(like)),
    "from row": lambda first, a: a[first:],
    "to row": lambda last, a: a[:last],
    "rows before": lambda count, a: np.concatenate([np.zeros((count, *a.shape[1:])), a]),
    "loop": lambda loop, *values: run(loop, values),
    "buffer": lambda place, buffers: buffers[place],
}


def pull(cotangents: dict[Node, Node], wanted: Sequence[Node]) -> list[Node | None]:
    """Return the cotangents of nodes from those of outputs: None where no output depends on the node."""
    known: dict[Node, Any] = dict(cotangents)
    for node in reversed(in_order(cotangents)):
        if node in known and node.inputs:
            for each, part in zip(node.inputs, PULLBACK[node.op](node, known[node]), strict=True):
                if part is not None:
                    known[each] = added(known[each], part) if each in known else part
    return [known.get(node) for node in wanted]


def added(a: Any, b: Any) -> Any:
    """Return a sum; what came back to a loop is kept apart, buffer by buffer (`scan` picks each once)."""
    return a | b if isinstance(a, dict) else a + b


def grad(cost: Node, wanted: Sequence[Node]) -> list[Node]:
    """Return the gradient of a scalar with respect to nodes."""
    found = pull({cost: apply("fill", 1.0, cost)}, wanted)
    return [apply("zeros", node) if part is None else part for node, part in zip(wanted, found, strict=True)]


PULLBACK: dict[str, Callable[[Node, Any], list[Any]]] = {
    "add": lambda node, g: [apply("fit", g, each) for each in node.inputs],
    "multiply": lambda node, g: [
        apply("fit", g * node.inputs[1], node.inputs[0]),
        apply("fit", g * node.inputs[0], node.inputs[1]),
    ],
    "tanh": lambda node, g: [g - g * node * node],
    "dot": lambda node, g: [dot(g, apply("transpose", node.inputs[1])), apply("outer", node.inputs[0], g)],
    "sum": lambda node, g: [apply("fill", g, node.inputs[0])],
    "from row": lambda node, g: [apply("rows before", g, parameter=node.parameter)],
    "buffer": lambda node, g: [{node.parameter: g}],
    "loop": lambda node, g: input_cotangents(node, backward_loop(node, g)),
}


@dataclass(frozen=True, eq=False)
class Buffer:
    """A loop variable: step ``t`` reads rows ``t + r`` of its buffer and writes rows ``t + w``."""

    reads: tuple[int, ...]
    writes: tuple[int, ...]
    grows: bool = False  # by a row a step, behind the rows that are there before

    @property
    def kind(self) -> str:
        """What Theano calls such a loop variable."""
        if not self.writes:
            return "sequence"
        if not self.reads:
            return "nitsot"
        if len(self.writes) == 1 and self.writes[0] > max(self.reads):
            return "sitsot" if self.reads == (self.writes[0] - 1,) else "mitsot"
        return "mitmot"


@dataclass(frozen=True, eq=False)
class Loop:
    """A step as a graph: its inputs are the rows read, buffer by buffer, then the non-sequences; its outputs are written."""

    buffers: tuple[Buffer, ...]
    inputs: tuple[Node, ...]
    outputs: tuple[Node, ...]
    n_steps: int | None  # None: as many as the buffers that are only read have rows for
    backwards: bool = False  # from the last step to the first


def run(loop: Loop, values: Sequence[Any]) -> tuple[Any, ...]:
    """Return the buffers of a loop after its last step."""
    starts, non_sequences = values[: len(loop.buffers)], values[len(loop.buffers) :]
    n_steps = loop.n_steps
    if n_steps is None:
        whole = [(each, start) for each, start in zip(loop.buffers, starts, strict=True) if not each.grows]
        n_steps = min(len(start) - max(each.reads) for each, start in whole)
    rows = [
        list(start) + [None] * (n_steps if each.grows else 0)
        for each, start in zip(loop.buffers, starts, strict=True)
    ]
    for t in reversed(range(n_steps)) if loop.backwards else range(n_steps):
        read = [rows[k][t + r] for k, each in enumerate(loop.buffers) for r in each.reads]
        new = evaluate(loop.outputs, dict(zip(loop.inputs, [*read, *non_sequences], strict=True)))
        written = [(k, t + w) for k, each in enumerate(loop.buffers) for w in each.writes]
        for (k, row), value in zip(written, new, strict=True):
            rows[k][row] = value
    return tuple(np.stack(each) for each in rows)


def scan(
    step: Callable[..., Any],
    sequences: Sequence[tuple[Node, Sequence[int]]] = (),
    states: Sequence[tuple[Node, Sequence[int]] | None] = (),
    non_sequences: Sequence[Node] = (),
    n_steps: int | None = None,
) -> list[Node]:
    """Return what a loop computes: for each state, its rows but the initial ones.

    ``step`` gets the rows of the sequences, of the states, and the non-sequences, and returns a new row for each state.  A
    sequence is (its rows, taps), a state is (its initial rows, taps), or None for a result that no step reads.
    """
    buffers = [Buffer(tuple(tap - min(*taps, 0) for tap in taps), ()) for _, taps in sequences]
    starts = [rows for rows, _ in sequences]
    for state in states:
        rows, taps = state if state is not None else (apply("constant", parameter=np.zeros(0)), ())
        depth = -min(taps, default=0)
        buffers.append(Buffer(tuple(depth + tap for tap in taps), (depth,), grows=True))
        starts.append(rows)
    count = sum(len(each.reads) for each in buffers) + len(non_sequences)
    inputs = tuple(variable(f"input {k}") for k in range(count))
    given = step(*inputs)
    outputs = tuple(given) if isinstance(given, (tuple, list)) else (given,)
    loop = Node("loop", (*starts, *non_sequences), Loop(tuple(buffers), inputs, outputs, n_steps))
    first = len(sequences)
    return [
        apply("from row", apply("buffer", loop, parameter=k), parameter=buffers[k].writes[0])
        for k in range(first, len(buffers))
    ]


def pull_step(loop: Loop, incoming: Sequence[Node]) -> list[Node | None]:
    """Return the cotangents of what one step was given, from those of what it gave."""
    cotangents: dict[Node, Node] = {}
    for output, g in zip(loop.outputs, incoming, strict=True):
        cotangents[output] = cotangents[output] + g if output in cotangents else g
    return pull(cotangents, loop.inputs)


def backward_step(loop: Loop) -> tuple[tuple[Node, ...], tuple[Node, ...]]:
    """Return inputs and outputs of the step that walks back: its outputs are new cotangents."""
    complete = [[variable("cotangent of a row written") for _ in each.writes] for each in loop.buffers]
    so_far = [[variable("cotangent so far of a row read") for _ in each.reads] for each in loop.buffers]
    cells = [one for both in zip(complete, so_far, strict=True) for rows in both for one in rows]
    parts = pull_step(loop, list(chain(*complete)))
    sums = [old if part is None else old + part for old, part in zip(chain(*so_far), parts, strict=False)]
    rows_read, weights = loop.inputs[: len(sums)], loop.inputs[len(sums) :]
    of_weights = zip(weights, parts[len(sums) :], strict=True)
    collected = [apply("zeros", weight) if part is None else part for weight, part in of_weights]
    return (*rows_read, *cells, *weights), (*sums, *collected)


def backward_loop(node: Node, cotangents: dict[int, Node]) -> Node:
    """Return the loop that walks back over the rows of a loop, from the cotangents of its buffers."""
    loop: Loop = node.parameter
    if loop.backwards:
        raise NotImplementedError("the gradient of a gradient: scanviz has it, this page stops here")
    shared = node.inputs[len(loop.buffers) :]
    values = [apply("buffer", node, parameter=k) for k in range(len(loop.buffers))]
    reading = [(Buffer(each.reads, ()), values[k]) for k, each in enumerate(loop.buffers) if each.reads]
    cells = [
        (Buffer(each.writes + each.reads, each.reads), cotangents.get(k, apply("zeros", values[k])))
        for k, each in enumerate(loop.buffers)
    ]
    empty = apply("constant", parameter=np.zeros(0))
    collecting = [(Buffer((), (0,), grows=True), empty) for _ in shared]
    buffers, starts = zip(*reading, *cells, *collecting, strict=True)
    back = Loop(buffers, *backward_step(loop), loop.n_steps, backwards=True)
    return Node("loop", (*starts, *shared), back)


def input_cotangents(node: Node, back: Node) -> list[Node | None]:
    """Return the cotangents of a loop's inputs, from the buffers of its backward loop."""
    loop: Loop = node.parameter
    first = sum(bool(each.reads) for each in loop.buffers)
    found: list[Node | None] = []
    for k, each in enumerate(loop.buffers, start=first):
        whole = apply("buffer", back, parameter=k)
        found.append(apply("to row", whole, parameter=each.writes[0]) if each.grows else whole)
    for k in range(first + len(loop.buffers), len(back.parameter.buffers)):
        found.append(apply("sum of rows", apply("buffer", back, parameter=k)))
    return found


def substituted(outputs: Sequence[Node], replaced: dict[Node, Node]) -> list[Node]:
    """Return outputs with nodes replaced by others, and all that depends on them built anew."""
    new = dict(replaced)
    for node in in_order(outputs):
        if node not in new:
            inputs = tuple(new[each] for each in node.inputs)
            new[node] = node if inputs == node.inputs else replace(node, inputs=inputs)
    return [new[output] for output in outputs]


def push_out_non_sequences(outputs: Sequence[Node]) -> list[Node]:
    """Return the outputs with what is the same in every step computed before its loop."""
    new: dict[Node, Node] = {}
    for node in in_order(outputs):
        inputs = tuple(new[each] for each in node.inputs)
        again = node if inputs == node.inputs else replace(node, inputs=inputs)
        new[node] = pushed_out(again) if node.op == "loop" else again
    return [new[output] for output in outputs]


def pushed_out(node: Node) -> Node:
    """Return a loop without what its step computes from non-sequences alone."""
    loop: Loop = node.parameter
    shared = node.inputs[len(loop.buffers) :]
    names = loop.inputs[len(loop.inputs) - len(shared) :]
    same = set(names)
    for inner in in_order(loop.outputs):
        if inner.op == "constant" or (inner.inputs and all(each in same for each in inner.inputs)):
            same.add(inner)
    used = [each for inner in in_order(loop.outputs) if inner not in same for each in inner.inputs]
    moved = [inner for inner in dict.fromkeys([*used, *loop.outputs]) if inner in same and inner.inputs]
    if not moved:
        return node
    outside = substituted(moved, dict(zip(names, shared, strict=True)))
    handed_in = [variable(f"moved out {k}") for k in range(len(moved))]
    inside = substituted(loop.outputs, dict(zip(moved, handed_in, strict=True)))
    smaller = replace(loop, inputs=(*loop.inputs, *handed_in), outputs=tuple(inside))
    return Node("loop", (*node.inputs, *outside), smaller)
