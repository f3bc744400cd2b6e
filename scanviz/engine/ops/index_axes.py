"""Which axes the result of an index or an assignment goes along, for the field ``axes`` of their declarations."""

from __future__ import annotations

from collections.abc import Sequence

from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.facts import Along, Shape
from scanviz.engine.ops.axes import Shapes, broadcast
from scanviz.engine.ops.index_pattern import IndexEntry, IndexParameters, input_entries, is_basic


def _is_whole(entry: IndexEntry) -> bool:
    return entry.kind == "slice" and entry.numbers() == (None, None, None)


def picked(op: Op, given: Shapes, made: Shapes) -> Sequence[Sequence[Along]]:
    """Return those of an index: the axes that it takes whole, and the axes of the arrays of places."""
    return (_of_pattern(op.parameters, given, 1, made[0]),)


def _of_pattern(parameters: IndexParameters, given: Shapes, before: int, part: Shape) -> list[Along]:
    """Return what the part that an index picks goes along; the arrays of places are inputs from ``before`` on."""
    found: list[Along] = []
    arrays: list[int] = []
    places: list[int] = []  # of entries that take part in advanced indexing
    at = axis = 0
    advanced = not is_basic(parameters)
    for k, (entry, position, _) in enumerate(input_entries(parameters)):
        if entry.kind == "newaxis":
            found.append({})
        elif entry.kind == "slice":
            found.append({0: axis} if _is_whole(entry) else {})
            axis += 1
        else:
            if advanced and not places:
                at = len(found)
            places.append(k)
            arrays += [position + before] if entry.kind == "array" else []
            axis += entry.consumed
    if advanced:
        together = places == list(range(places[0], places[0] + len(places)))
        at = at if together else 0
        found[at:at] = _of_places(parameters, given, arrays, part[at : at + len(part) - len(found)])
    return found


def _of_places(parameters: IndexParameters, given: Shapes, arrays: Sequence[int], made: Shape) -> list[Along]:
    """Return what the axes that arrays of places make go along: those arrays, unless one is a mask."""
    if any(entry.kind == "array" and entry.stop == "mask" for entry in parameters.entries):
        return [{} for _ in made]
    along = broadcast([given[k] for k in arrays], made)
    return [{arrays[k]: axis for k, axis in mapping.items()} for mapping in along]


def assigned(op: Op, given: Shapes, made: Shapes) -> Sequence[Sequence[Along]]:
    """Return all axes of the array, and of the value those that go along an axis which the index takes whole."""
    found: list[Along] = [{0: axis} for axis in range(len(given[0]))]
    if is_basic(op.parameters.pattern):
        part = _of_pattern(op.parameters.pattern, given, 2, ())
        sizes = tuple(given[0][mapping[0]] if mapping else None for mapping in part)
        for whole, value in zip(part, broadcast([given[1]], sizes), strict=True):
            if whole and value:
                found[whole[0]] = {**whole, 1: value[0]}
    return (found,)


def written_at(op: Op) -> frozenset[int]:
    """Return the axes of an array along which an assignment writes at some places alone."""
    found: set[int] = set()
    axis = 0
    for entry in op.parameters.pattern.entries:
        if entry.kind == "newaxis":
            continue
        consumed = 1 if entry.kind == "slice" else entry.consumed
        if not _is_whole(entry):
            found.update(range(axis, axis + consumed))
        axis += consumed
    return frozenset(found)
