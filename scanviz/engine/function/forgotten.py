"""Warn of a loop's updates that a function forgets: the shared variable would silently keep its value.

The warning comes once per loop, when a function that computes a result of the loop is built.  An update is not forgotten if the
function updates the variable, if the graph uses the value after the loop (``updates[s]``), or if ``no_default_updates`` excludes
it.  Random states are never forgotten: their updates are default updates.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from scanviz.engine.graph.traversal import toposort
from scanviz.engine.scan.loop import Scan, ScanView, nodes_of
from scanviz.engine.scan.variables import State

if TYPE_CHECKING:
    from scanviz.engine.graph.nodes import Apply, Variable
    from scanviz.engine.graph.shared import SharedVariable

WARNED = "warned of forgotten updates"  # key in a loop's derived facts, once the user has been warned


class ForgottenUpdateWarning(UserWarning):
    """A loop updates a shared variable, and the function that runs the loop does not."""


def warn_of_forgotten_updates(
    graph: Sequence[Variable], updated: Collection[Variable], excluded: bool | Sequence[SharedVariable]
) -> None:
    """Warn of shared variables whose updates by loops of a graph are unused.

    Parameters
    ----------
    graph : sequence of Variable
        The outputs and new values of a function.
    updated : collection of Variable
        Variables that the function updates or replaces.
    excluded : bool or sequence of SharedVariable
        As ``no_default_updates``: variables that deliberately keep their values.
    """
    if excluded is True:
        return
    left: set[Variable] = {*updated, *(() if excluded is False else excluded)}
    for view, forgotten in _forgotten(toposort(graph), graph, left):
        if WARNED not in view.op.derived:
            view.op.derived[WARNED] = True
            _warn(view, forgotten)


def _forgotten(
    nodes: Sequence[Apply], graph: Sequence[Variable], taken: Collection[Variable]
) -> Iterator[tuple[ScanView, list[SharedVariable]]]:
    """Iterate over the user's loops at every depth, with the shared variables whose updates are unused."""
    loops = [node for node in nodes if isinstance(node.op, Scan)]
    if not loops:
        return
    read = {variable for node in nodes for variable in node.inputs} | set(graph)
    views = [ScanView(node) for node in loops]
    # by loop variable: a gradient's forward loop with more results shares the loop variables of the user's loop
    kept = {
        variable for view in views for variable in view.op.variables if view.outer_output(variable) in read
    }
    for node, view in zip(loops, views, strict=True):
        states = view.op.of_type(State)
        forgotten = [
            state.shared
            for state in states
            if state.shared is not None and state.shared not in taken and state not in kept
        ]
        if forgotten and node.provenance.rule is None:
            yield view, forgotten
        left = [state.shared for state in states if state.shared is not None]
        yield from _forgotten(view.op.once(nodes_of), view.op.inner_outputs, left)


def _warn(view: ScanView, forgotten: Sequence[SharedVariable]) -> None:
    names = ", ".join(f"`{shared_variable.name or shared_variable.type}`" for shared_variable in forgotten)
    where, inside = view.node.provenance.source, view.node.provenance.scans
    what = (
        f"the step of loop `{inside[-1]}` runs it and does not return {_its(forgotten)}\n"
        "  write:    outputs, updates = scan(…), and return outputs, updates from the step around it"
        if inside
        else f"a function runs it without {_its(forgotten)}\n"
        "  write:    outputs, updates = scan(…), and function(…, updates=updates); "
        f"no_default_updates=[{', '.join(shared_variable.name or '…' for shared_variable in forgotten)}] if that is meant"
    )
    text = f"{where}: loop `{view.op.scan_name}` updates {names}, but {what}"
    if where is None:
        warnings.warn(text, ForgottenUpdateWarning, stacklevel=4)
    else:
        warnings.warn_explicit(text, ForgottenUpdateWarning, where.file, where.line)


def _its(forgotten: Sequence[SharedVariable]) -> str:
    return "its update" if len(forgotten) == 1 else "its updates"
