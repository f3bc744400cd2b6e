"""Derivatives of named subgraphs: those of their operations, or the user's own rule."""

from __future__ import annotations

from collections.abc import Sequence

from scanviz.engine.errors import ScanvizTypeError
from scanviz.engine.gradient.explain import is_connected
from scanviz.engine.gradient.sweeps.choices import CHOICES, FLOWS, Choice, choices_of, flowing_into
from scanviz.engine.gradient.sweeps.forward import push_forward
from scanviz.engine.gradient.sweeps.reverse import pull_back
from scanviz.engine.gradient.table import (
    CONNECTIONS,
    PULLBACKS,
    PUSHFORWARDS,
    Arriving,
    Derivative,
    Derivatives,
    zeros_like,
)
from scanviz.engine.graph.nodes import Apply, Variable, is_floating, tensor_type
from scanviz.engine.graph.replace import replace
from scanviz.engine.graph.traversal import depending_on, toposort
from scanviz.engine.graph.types import TensorType, fits
from scanviz.engine.ops.elementwise import cast
from scanviz.engine.ops.subgraph import SUBGRAPH, Subgraph
from scanviz.engine.ops.support import as_value


def _op(node: Apply) -> Subgraph:
    assert isinstance(node.op, Subgraph)
    return node.op


@CONNECTIONS.row(SUBGRAPH)
def _connection(node: Apply) -> Sequence[Sequence[bool]]:
    """Return the connection pattern; with the user's rule, each result reaches the own inputs that it reads."""
    op = _op(node)
    if op.pullback is None:
        return [[is_connected(variable, [result]) for result in op.results] for variable in op.inputs]
    reached = [depending_on([variable], op.results) for variable in op.inputs]
    return [
        [
            k < op.parameters.own and result in reached[k] and is_floating(variable) and is_floating(result)
            for result in op.results
        ]
        for k, variable in enumerate(op.inputs)
    ]


@FLOWS.row(SUBGRAPH)
def _flow(node: Apply) -> Sequence[Sequence[bool]]:
    op, nodes = _op(node), toposort(_op(node).results)
    into = [flowing_into(nodes, [result]) for result in op.results]
    return [[variable in found for found in into] for variable in op.inputs]


@CHOICES.row(SUBGRAPH)
def _chosen(node: Apply) -> list[Choice]:
    """Return the random choices inside that depend on an input."""
    op = _op(node)
    nodes = toposort(op.results)
    made = [(inner, choice) for inner in nodes for choice in choices_of(inner)]
    if not made:
        return []
    found: list[Choice] = []
    for i, variable in enumerate(op.inputs):
        reached = depending_on([variable], op.results)
        for j, result in enumerate(op.results):
            flowing = flowing_into(nodes, [result])
            found += [
                Choice(i, j, choice.why)
                for inner, choice in made
                if inner.inputs[choice.input] in reached and inner.outputs[choice.output] in flowing
            ]
    return found


def _at(node: Apply, inner: Derivatives, seeds: dict[Variable, Variable]) -> list[Derivative]:
    """Return derivatives in a subgraph's own variables over the node's inputs and the seeds that stand for others."""
    mapping = {**dict(zip(_op(node).inputs, node.inputs, strict=True)), **seeds}
    known = [variable for variable in inner if isinstance(variable, Variable)]
    fresh = iter(replace(known, mapping, check=False))
    return [next(fresh) if isinstance(derivative, Variable) else derivative for derivative in inner]


def _seeds(
    own: Sequence[Variable], given: Arriving
) -> tuple[dict[Variable, Variable], dict[Variable, Variable]]:
    """Return placeholder variables for seeds, by their variable and by their value."""
    by: dict[Variable, Variable] = {}
    stands: dict[Variable, Variable] = {}
    for variable, seed in zip(own, given, strict=True):
        if seed is not None and is_floating(variable):
            by[variable] = Variable(seed.type, "seed")
            stands[by[variable]] = seed
    return by, stands


@PULLBACKS.row(SUBGRAPH)
def _pullback(node: Apply, cotangents: Arriving, wanted: Sequence[bool]) -> Derivatives:
    op = _op(node)
    if op.pullback is not None:
        given = [zeros_like(y) if c is None else c for y, c in zip(node.outputs, cotangents, strict=True)]
        return _by_rule(op, node.inputs, node.outputs, given)
    seeds, stands = _seeds(op.results, cotangents)
    return _at(node, pull_back(seeds, op.inputs), stands)


def _by_rule(
    op: Subgraph, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
) -> list[Derivative]:
    """Apply the user's rule, in the dtypes of the inputs; captured inputs are constants to it."""
    assert op.pullback is not None
    own = range(op.parameters.own)
    found = list(op.pullback([inputs[k] for k in own], list(outputs), list(cotangents)))
    if len(found) != len(own):
        raise ScanvizTypeError(
            f"the pullback of {op} gives the wrong number of derivatives", expected=len(own), found=len(found)
        )
    results: list[Derivative] = [None] * len(op.inputs)
    for k, given in zip(own, found, strict=True):
        if given is None or not is_floating(inputs[k]):
            continue
        kind, derivative = tensor_type(inputs[k]), as_value(given)
        found_type = derivative.type
        if not isinstance(found_type, TensorType) or not fits(found_type.with_dtype(kind.dtype), kind):
            raise ScanvizTypeError(
                f"the pullback of {op} gives a derivative that does not fit",
                expected=kind,
                found=found_type,
            )
        results[k] = cast(derivative, kind.dtype)
    return results


@PUSHFORWARDS.row(SUBGRAPH)
def _pushforward(node: Apply, tangents: Arriving) -> Derivatives:
    """Return tangents: of the operations, or as the transpose of the user's rule, which is linear in cotangents."""
    op = _op(node)
    if op.pullback is None:
        seeds, stands = _seeds(op.inputs, tangents)
        return _at(node, push_forward(seeds, op.results), stands)
    dummies = [zeros_like(output) * 1.0 if is_floating(output) else output for output in node.outputs]
    pulled = _by_rule(op, node.inputs, node.outputs, dummies)
    pairs = zip(pulled, tangents, strict=True)
    seeds = {p: t for p, t in pairs if isinstance(p, Variable) and t is not None}
    return pull_back(seeds, dummies) if seeds else [None] * len(node.outputs)
