"""Give the loops of a function distinct names: loops of the same name are numbered in order of computation.

Users select loops by name, and texts about rewrites, errors and profiles name them.  So a function with two loops called ``rnn``
renames them ``rnn#1`` and ``rnn#2`` before its graph is rewritten; their gradients are ``grad_of_rnn#1`` and ``grad_of_rnn#2``.
The user's own graph stays unchanged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from scanviz.engine.graph.nodes import Apply, Variable, rebuild
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.scan.loop import Scan, nodes_of
from scanviz.engine.scan.rebuild import with_results
from scanviz.engine.scan.settings import ScanSettings

# Node ids of the outer loops and of the loop itself.  A gradient rebuilds its forward loop with more results: the rebuilt loop
# has the same node id and takes the same name.
Place = tuple[int, ...]


def with_distinct_names(outputs: Sequence[Variable]) -> list[Variable]:
    """Return a graph whose loops have distinct names; the graph itself if they are distinct already.

    Examples
    --------
    >>> import scanviz
    >>> from scanviz import tensor as T
    >>> x = T.vector("x")
    >>> a, _ = scanviz.scan(lambda x_t: x_t + 1, x, name="rows")
    >>> b, _ = scanviz.scan(lambda x_t: x_t * 2, x, name="rows")
    >>> [variable.owner.op.scan_name for variable in with_distinct_names([a, b])]
    ['rows#1', 'rows#2']
    """
    loops = list(_loops(outputs, ()))
    settings = _settings(dict(loops))
    if all(settings[place] == own for place, own in loops):
        return list(outputs)
    return _renamed(outputs, (), settings)


def _loops(outputs: Sequence[Variable], around: Place) -> Iterator[tuple[Place, ScanSettings]]:
    """Iterate over the loops of a graph in order of computation, each before those in its step."""
    yield from _loops_among(toposort(outputs), around)


def _loops_among(nodes: Sequence[Apply], around: Place) -> Iterator[tuple[Place, ScanSettings]]:
    for node in nodes:
        if isinstance(node.op, Scan):
            place = (*around, node.node_id)
            yield place, node.op.settings
            yield from _loops_among(node.op.once(nodes_of), place)


def _settings(loops: Mapping[Place, ScanSettings]) -> dict[Place, ScanSettings]:
    """Return the settings of each loop with its number among loops of the same name, or 0 if the name is unique."""
    count = Counter(own.name for own in loops.values())
    taken = {name for name, several in count.items() if several == 1}
    found: dict[Place, ScanSettings] = {}
    by_node_id: dict[int, ScanSettings] = {}  # the gradient of a loop in a step stands in another step
    latest: Counter[str] = Counter()  # the largest number of a name so far
    for place, own in loops.items():
        known = own.gradient_of if len({one.gradient_of for one in own.members(place[-1])}) == 1 else None
        of = None
        if known is not None:
            of = found.get((*place[:-1], known.node_id), by_node_id.get(known.node_id))
        number = 0
        if count[own.name] > 1:
            number = _free(own.name, of.number if of is not None else 0, latest[own.name], taken)
            latest[own.name] = max(number, latest[own.name])
        if known is not None and of is not None:
            own = own._replace(gradient_of=known._replace(name=of.label))
        found[place] = own._replace(number=number)
        by_node_id.setdefault(place[-1], found[place])
        taken.add(found[place].label)
    return found


def _free(name: str, wanted: int, latest: int, taken: set[str]) -> int:
    """Return an unused number for a name: the wanted one if possible, else one past the latest."""
    number = wanted or latest + 1
    while f"{name}#{number}" in taken:
        number = max(number, latest) + 1
    return number


def _renamed(
    outputs: Sequence[Variable], around: Place, settings: Mapping[Place, ScanSettings]
) -> list[Variable]:
    new_of: dict[Variable, Variable] = {}
    for node in toposort(outputs):
        inputs, op = [new_of.get(variable, variable) for variable in node.inputs], node.op
        if isinstance(op, Scan):
            op = _renamed_loop(op, (*around, node.node_id), settings)
        if op is not node.op or any(new is not old for new, old in zip(inputs, node.inputs, strict=True)):
            new_of.update(zip(node.outputs, rebuild(node, inputs, op).outputs, strict=True))
    return [new_of.get(output, output) for output in outputs]


def _renamed_loop(op: Scan, place: Place, settings: Mapping[Place, ScanSettings]) -> Scan:
    """Return a loop with its new settings and those of its inner loops; the same loop if nothing changes."""
    results = op.inner_outputs
    fresh = _renamed(results, place, settings)
    if any(new is not old for new, old in zip(fresh, results, strict=True)):
        op = with_results(op, fresh)
    return op if op.settings == settings[place] else Scan(op.variables, op.until, settings[place])
