"""Explain in the user's words why a variable has no derivative: the path to the cost, and where it breaks.

Of several ways the shortest is described.  Without a connection all of them break, so the shortest does.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from scanviz.engine.gradient.sweeps.reverse import reached_from
from scanviz.engine.gradient.table import connection
from scanviz.engine.graph.equality import structurally_equal
from scanviz.engine.graph.nodes import Apply, Variable, describe, is_floating
from scanviz.engine.graph.traversal import toposort, users, variables
from scanviz.engine.graph.types import TensorType
from scanviz.engine.ops.control import DISCONNECTED_GRAD
from scanviz.engine.ops.elementwise import CAST
from scanviz.engine.ops.subgraph import Subgraph
from scanviz.engine.scan.loop import Scan, ScanView
from scanviz.engine.scan.step import find_escaped
from scanviz.engine.scan.variables import Carry, State, inner_inputs, inner_outputs

Step = tuple[Variable, Apply, Variable]  # what a node reads, the node, what it gives
Way = list[Step]


def is_connected(variable: Variable, costs: Sequence[Variable], constants: Collection[Variable] = ()) -> bool:
    """Return whether ``costs`` have a derivative with respect to a variable, possibly zero; ``constants`` block it."""
    reached = reached_from([variable], costs, constants)
    return any(cost in reached for cost in costs)


def why_disconnected(
    variable: Variable, costs: Sequence[Variable], constants: Collection[Variable] = ()
) -> str:
    """Return why no derivative of ``costs`` comes to a variable.

    Parameters
    ----------
    variable : Variable
        Variable of the requested derivative.
    costs : sequence of Variable
        The differentiated variables.
    constants : collection of Variable
        Variables taken as constant.
    """
    if not is_floating(variable):
        return f"it holds {variable.type}, and only floating values have derivatives; cast it to float first"
    if variable in constants:
        return "consider_constant names it"
    way = _way([variable], costs)
    if way is None:
        escaped = find_escaped(costs)
        if escaped is not None:
            return escaped.what
        twice = variable.owner is not None and any(
            other.type == variable.type and structurally_equal([other], [variable])
            for other in variables(costs)
        )
        if twice:
            return "what is differentiated is computed from another one, built again: keep it, y = …, and use y in both"
        return "nothing that is differentiated is computed from it"
    for before, node, after in way:
        why = _stop(node, before, after, constants)
        if why is not None:
            return f"on the way {_written(variable, way, after)}, {why}"
    return f"on the way {_written(variable, way)}, its derivative is zero everywhere"


def why_unreached(wrt: Sequence[Variable], output: Variable) -> str:
    """Return why an output has no derivative with respect to any of several variables."""
    for variable in wrt:
        if not is_floating(variable) or _way([variable], [output]) is not None:
            subject = "" if len(wrt) == 1 else f"for `{describe(variable)}`, "
            return subject + why_disconnected(variable, [output])
    return f"`{describe(output)}` is not computed from " + ("it" if len(wrt) == 1 else "any of them")


def _stop(node: Apply, before: Variable, after: Variable, constants: Collection[Variable]) -> str | None:
    """Return why no derivative flows from a node's output to an input, or None if one does."""
    place = f" ({node.provenance.source})" if node.provenance.source is not None else ""
    name = f"`{describe(after)}`{place}"
    if after in constants:
        return f"consider_constant names {name}"
    if node.op.facts.size == "is":
        return f"{name} is a size, and no size depends on values"
    if node.op.declaration is DISCONNECTED_GRAD:
        return f"disconnected_grad{place} lets no derivative pass"
    if not is_floating(after):
        return f"{name} {_jumps(node, after)}"
    positions = [k for k, variable in enumerate(node.inputs) if variable is before]
    if not any(connection(node)[k][after.index] for k in positions):
        inside = _stop_in_step(node, before, after) if isinstance(node.op, Scan) else None
        if isinstance(node.op, Subgraph) and node.op.pullback is None:
            starts = [node.op.inputs[k] for k in positions]
            inside = _stop_inside(f"`{node.op}`", starts, [node.op.results[after.index]])
        return inside or f"{name} takes nothing from `{describe(before)}` that has a derivative"
    return None


def _stop_in_step(node: Apply, before: Variable, after: Variable) -> str | None:
    """Return why no derivative flows back through a loop's steps, or None if no step computes the result from the input."""
    view = ScanView(node)
    loop = f"loop `{view.op.scan_name}`"
    starts = [
        inner
        for variable in view.op.variables
        if view.outer_input(variable) is before
        for inner in inner_inputs(variable)
    ]
    again = {
        written: inner_inputs(variable)
        for variable in view.op.variables
        if isinstance(variable, State | Carry)
        for written in inner_outputs(variable)
    }
    why = _stop_inside(loop, starts, inner_outputs(view.loop_variable(after)), again)
    until = view.op.until
    if why is None and until is not None and _way(starts, [until.condition], again) is not None:
        return f"only the condition that ends {loop} is computed from `{describe(before)}`"
    return why


def _stop_inside(
    inside: str,
    starts: Sequence[Variable],
    ends: Sequence[Variable],
    again: Mapping[Variable, Sequence[Variable]] | None = None,
) -> str | None:
    """Return where a path through the graph of an operation breaks, or None without a path."""
    for before, node, after in _way(starts, ends, again) or ():
        why = _stop(node, before, after, ())
        if why is not None:
            return f"in {inside}, {why}"
    return None


def _jumps(node: Apply, after: Variable) -> str:
    """Describe a node's results without a derivative: truth values, whole numbers, or no numbers at all."""
    if node.op.facts.compares:
        return "compares: it jumps between true and false"
    kind = after.type
    if not isinstance(kind, TensorType):
        return f"is a {kind}, which has no derivative"
    if kind.dtype == "bool":
        return "is true or false, with nothing in between"
    return f"{'casts to' if node.op.declaration is CAST else 'gives'} {kind.dtype}, which has no derivative"


def _way(
    starts: Sequence[Variable],
    costs: Sequence[Variable],
    again: Mapping[Variable, Sequence[Variable]] | None = None,
) -> Way | None:
    """Return a shortest path from a variable to a cost, or None.

    ``again`` gives for what a step writes the variables that the next step reads it by.
    """
    again = again or {}
    readers, wanted = users(toposort([*costs, *again])), set(costs)
    previous: dict[Variable, Step] = {}
    frontier, seen = list(starts), set(starts)
    while frontier:
        following: list[Variable] = []
        for variable in frontier:
            if variable in wanted:
                return _steps(variable, previous)
            for node, _ in readers.get(variable, []):
                for output in node.outputs:
                    for reached in (output, *again.get(output, ())):
                        if reached not in seen:
                            seen.add(reached)
                            previous[reached] = (variable, node, output)
                            following.append(reached)
        frontier = following
    return None


def _steps(end: Variable, previous: Mapping[Variable, Step]) -> Way:
    steps: Way = []
    while end in previous:
        steps.append(previous[end])
        end = previous[end][0]
    return steps[::-1]


def describes_way(variable: Variable, costs: Sequence[Variable], through: Variable | None = None) -> str:
    """Describe the path from a variable to a cost by names, such as ``w → h → cost``; through another variable if possible."""
    first = None if through is None else _way([variable], [through])
    rest = None if through is None or first is None else _way([through], costs)
    way = _way([variable], costs) if first is None or rest is None else [*first, *rest]
    return _written(variable, way or [])


def _written(variable: Variable, way: Way, named: Variable | None = None) -> str:
    """Describe a way by its end, the names on it and the variable ``named``."""
    end = way[-1][2] if way else None
    names = [describe(variable)]
    for _, node, after in way:
        if after.name or after is named:
            names.append(describe(after))
        elif after is end:  # without its parameters: it is seldom what the message is about
            names.append(describe(after) if node.op.name == "index" else node.op.name)
    return " → ".join(f"`{name}`" for name in names)
