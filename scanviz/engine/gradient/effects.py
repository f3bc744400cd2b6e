"""Derivatives of ``Print`` and ``Assert``: those of the value pass, conditions have none."""

from __future__ import annotations

from collections.abc import Sequence

from scanviz.engine.gradient.table import CONNECTIONS, PULLBACKS, PUSHFORWARDS, Derivative
from scanviz.engine.graph.nodes import Apply, Variable
from scanviz.engine.ops.effects import ASSERT, PRINT


@CONNECTIONS.row(PRINT, ASSERT)
def _connection(node: Apply) -> Sequence[Sequence[bool]]:
    return [[k == 0] for k in range(len(node.inputs))]


@PULLBACKS.row(PRINT, ASSERT)
def _pullback(
    node: Apply, cotangents: Sequence[Variable | None], wanted: Sequence[bool]
) -> Sequence[Derivative]:
    return [cotangents[0], *[None] * (len(node.inputs) - 1)]


@PUSHFORWARDS.row(PRINT, ASSERT)
def _pushforward(node: Apply, tangents: Sequence[Variable | None]) -> Sequence[Derivative]:
    return [tangents[0]]
