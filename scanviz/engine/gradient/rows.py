"""Rows of the kinds that most operations have: with one output, of one input, linear, passing a value on.

The sweeps ask a row only where something arrives: a pullback where an output has a cotangent, a pushforward where an input that
counts has a tangent (:mod:`scanviz.engine.gradient.reverse`, :mod:`scanviz.engine.gradient.forward`).  So what stands here gets
that one variable, and has no case for None.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from scanviz.engine.gradient.sizes import zeros_like
from scanviz.engine.gradient.table import (
    CONNECTIONS,
    PULLBACKS,
    PUSHFORWARDS,
    Arriving,
    Derivative,
    Derivatives,
    Pullback,
    only,
)
from scanviz.engine.graph.declaration import Declaration, MeaningTable
from scanviz.engine.graph.nodes import Apply, Variable, build_one

Rule = TypeVar("Rule")
Row = TypeVar("Row")
# (node, cotangent of its output, which inputs are wanted) → one entry an input
OfOutput = Callable[[Apply, Variable, Sequence[bool]], Derivatives]
# (node, tangent of its first input) → one entry an output
OfInput = Callable[[Apply, Variable], Derivatives]
# (node, cotangent of its output) → that of its first input; (node, tangent of its first input) → that of its output
OfOne = Callable[[Apply, Variable], Derivative]


def _kept(
    table: MeaningTable[Row], declarations: Sequence[Declaration], as_row: Callable[[Rule], Row]
) -> Callable[[Rule], Rule]:
    """Return a decorator that keeps in a table what a rule is as a row of it."""

    def keep(rule: Rule) -> Rule:
        table.row(*declarations)(as_row(rule))
        return rule

    return keep


def _arrived(arriving: Arriving) -> Variable:
    assert arriving[0] is not None
    return arriving[0]


def cotangents_of(*declarations: Declaration) -> Callable[[OfOutput], OfOutput]:
    """Decorate the pullback of operations with one output."""
    return _kept(
        PULLBACKS, declarations, lambda rule: lambda node, g, wanted: rule(node, _arrived(g), wanted)
    )


def cotangent_of(*declarations: Declaration) -> Callable[[OfOne], OfOne]:
    """Decorate the pullback of operations with one output of whose inputs the first alone has a derivative."""

    def as_row(rule: OfOne) -> Pullback:
        return lambda node, g, wanted: [rule(node, _arrived(g)), *[None] * (len(node.inputs) - 1)]

    return _kept(PULLBACKS, declarations, as_row)


def tangents_of(*declarations: Declaration) -> Callable[[OfInput], OfInput]:
    """Decorate the pushforward of operations of whose inputs the first alone has a derivative."""
    return _kept(PUSHFORWARDS, declarations, lambda rule: lambda node, t: rule(node, _arrived(t)))


def tangent_of(*declarations: Declaration) -> Callable[[OfOne], OfOne]:
    """Decorate the pushforward of operations with one output of whose inputs the first alone has a derivative."""
    return _kept(PUSHFORWARDS, declarations, lambda rule: lambda node, t: [rule(node, _arrived(t))])


def linear(*declarations: Declaration, inputs: Sequence[int] | None = None) -> None:
    """Say that operations are linear, in all inputs together or in those at some positions, and connected to no others.

    The tangent of the result is then the operation itself of the tangents.
    """
    if inputs is not None:
        CONNECTIONS.row(*declarations)(only(*inputs))

    @PUSHFORWARDS.row(*declarations)
    def row(node: Apply, tangents: Arriving) -> Derivatives:
        given = list(node.inputs)
        for k in range(len(given)) if inputs is None else inputs:
            tangent = tangents[k]
            given[k] = zeros_like(given[k]) if tangent is None else tangent
        return [build_one(node.op, *given)]


def passes(*declarations: Declaration) -> None:
    """Say that the result of operations is their first input, and that they are connected to no others."""
    CONNECTIONS.row(*declarations)(only(0))
    cotangent_of(*declarations)(lambda node, cotangent: cotangent)
    tangent_of(*declarations)(lambda node, tangent: tangent)
