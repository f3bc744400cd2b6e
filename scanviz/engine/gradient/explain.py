"""Why a variable has no derivative, in the user's words: the way from it to the cost, and where that way breaks."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from scanviz.engine.gradient.reverse import is_differentiable
from scanviz.engine.gradient.table import connection
from scanviz.engine.graph.nodes import Apply, Variable, describe
from scanviz.engine.graph.traversal import users


def why_disconnected(
    variable: Variable, costs: Sequence[Variable], constants: Collection[Variable] = ()
) -> str:
    """Return why no derivative of ``costs`` comes to a variable.

    Parameters
    ----------
    variable : Variable
        What a derivative was asked for.
    costs : sequence of Variable
        What is differentiated.
    constants : collection of Variable
        What was taken as constant.
    """
    if not is_differentiable(variable):
        return f"it holds {variable.type}: a step between whole numbers has no derivative"
    if variable in constants:
        return "consider_constant names it"
    way = _way(variable, costs)
    if way is None:
        return "nothing that is differentiated is computed from it"
    before = variable
    for node, after in way:
        place = f" ({node.provenance.source})" if node.provenance.source is not None else ""
        if after in constants:
            return f"it goes into `{describe(after)}`{place}, which consider_constant names"
        position = next(k for k, each in enumerate(node.inputs) if each is before)
        if not connection(node)[position][after.index]:
            return f"of it, `{describe(after)}`{place} takes no value that has a derivative"
        if not is_differentiable(after):
            return f"it goes into `{describe(after)}`{place}, which is {after.type} and has no derivative"
        before = after
    return "its derivative is zero everywhere on the way"


def _way(start: Variable, costs: Sequence[Variable]) -> list[tuple[Apply, Variable]] | None:
    """Return a shortest way from a variable to a cost: nodes and what they give; None if there is none."""
    readers, wanted = users(costs), set(costs)
    previous: dict[Variable, tuple[Variable, Apply]] = {}
    frontier, seen = [start], {start}
    while frontier:
        following: list[Variable] = []
        for each in frontier:
            if each in wanted:
                return _steps(each, start, previous)
            for node, _ in readers.get(each, []):
                for output in node.outputs:
                    if output not in seen:
                        seen.add(output)
                        previous[output] = (each, node)
                        following.append(output)
        frontier = following
    return None


def _steps(
    end: Variable, start: Variable, previous: dict[Variable, tuple[Variable, Apply]]
) -> list[tuple[Apply, Variable]]:
    steps: list[tuple[Apply, Variable]] = []
    while end is not start:
        before, node = previous[end]
        steps.append((node, end))
        end = before
    return steps[::-1]


def describes_way(variable: Variable, costs: Sequence[Variable]) -> str:
    """Return the way from a variable to a cost by the names on it, such as ``w → h → cost``."""
    way = _way(variable, costs) or []
    named = [after for _, after in way if after.name or after in set(costs)]
    return " → ".join(f"`{describe(each)}`" for each in (variable, *named))


__all__ = ["describes_way", "why_disconnected"]
