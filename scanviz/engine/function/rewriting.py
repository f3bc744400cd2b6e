"""A function's graph rewritten: from its beginning, or from where it parts from that of the same function for another tier."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scanviz.engine.function.names import told_apart
from scanviz.engine.rewrites.history import RewriteHistory

if TYPE_CHECKING:
    from scanviz.engine.function.spec import FunctionSpec
    from scanviz.engine.graph.nodes import Apply


def rewrites_of(
    plan: FunctionSpec, checked: set[Apply], beside: RewriteHistory | None = None
) -> RewriteHistory:
    """Return what rules do to a function's graph.

    Parameters
    ----------
    plan : FunctionSpec
        What it was asked for.
    checked : set of Apply
        Filled with the nodes whose types were found to hold.
    beside : RewriteHistory, optional
        Of the same function with more rules: what both do is taken over.
    """
    found = None if beside is None else beside.without(plan.mode.rewrites, checked)
    if found is not None:
        return found
    other = plan.mode.for_machine_code()
    left_out = () if other is None else other.rewrites.left_out
    wanted = told_apart([*(output.variable for output in plan.outputs), *plan.updates.values()])
    return RewriteHistory(wanted, plan.mode.rewrites, checked, left_out)


__all__ = ["rewrites_of"]
