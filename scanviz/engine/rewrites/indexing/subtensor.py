"""An index of an index is one index: ``x[i][j]`` is ``x[i, j]``, ``x[2:][3:]`` is ``x[5:]``, ``x[::-1][0]`` is ``x[-1]``.

What is done:

- parts that index different axes stand side by side;
- a slice or a row of a slice is found by arithmetic on bounds (:mod:`scanviz.engine.rewrites.indexing.intervals`), so
  ``x[::-1][::-1]`` is ``x`` and ``x[::-1][0]`` is ``x[-1]``, whatever the number of rows; where that has a say, the one that is
  surely there at least decides;
- an index that picks everything, ``x[:]``, is left out.

A row of a slice that leaves out others, ``x[1:][-1]`` or ``x[:-1][0]``, is a row of the whole only where the slice surely has it:
of one row, ``x[1:]`` has none, and the index is an error that must not become a value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from scanviz.engine.errors import some
from scanviz.engine.graph.nodes import Apply, Variable, tensor_type
from scanviz.engine.ops.index import INDEX
from scanviz.engine.ops.index_pattern import INPUT, WHOLE, IndexEntry
from scanviz.engine.ops.sizes import surely_equal
from scanviz.engine.rewrites.arithmetic.identities import Answer, rewritten
from scanviz.engine.rewrites.indexing.intervals import RowInterval, interval_of, row_of, slice_of, taken
from scanviz.engine.rewrites.indexing.places import (
    IndexPart,
    as_slice,
    index_parts,
    indexed,
    is_whole,
    least_rows,
    whole_number,
)
from scanviz.engine.rewrites.level import Level
from scanviz.engine.rewrites.rule import GENERAL, Refusal, rule


@rule(name="subtensor_chains", phase=GENERAL, on=(INDEX,), alone=True, tags=("general",))
def subtensor_chains(node: Apply, level: Level) -> Answer:
    """Make one index of an index of an index, and leave out one that picks everything."""
    given = node.inputs[0]
    entries = node.op.parameters.entries
    if all(_may_be_whole(entry) for entry in entries) and _picks_all(node, level):
        return rewritten(node, given, "an index that picks everything is left out")
    source = given.owner
    if source is None or source.op.declaration is not INDEX:
        return None

    found = one_index(node, source, level)
    if found is None or isinstance(found, Refusal):
        return found
    return rewritten(node, found, "an index of an index is one index")


def _may_be_whole(entry: IndexEntry) -> bool:
    """Return whether a part may pick all rows in order, its stop left aside."""
    kind, start, stop, step, _ = entry
    if kind != "slice" or (step is not None and step != 1) or (start is not None and start != 0):
        return False
    return not isinstance(stop, int) or stop >= 0


def _picks_all(node: Apply, level: Level) -> bool:
    """Return whether slices pick all rows, in order."""
    from scanviz.engine.rewrites.indexing.places import index_parts, is_whole  # few indices may pick all

    shape: Sequence[Any] = ()
    for axis, (entry, inputs) in enumerate(index_parts(node)):
        if is_whole(entry):
            continue
        if entry.step not in (None, 1) or entry.start not in (None, 0):
            return False
        if isinstance(entry.stop, int) and (
            entry.stop < 0 or tensor_type(node.inputs[0]).shape[axis] is None
        ):
            return False
        shape = shape or level.shape(node.inputs[0])
        stop: Any = inputs[-1] if entry.stop == INPUT else entry.stop
        if not (isinstance(stop, int) and isinstance(shape[axis], int) and stop >= shape[axis]) and not (
            surely_equal(stop, shape[axis])
        ):
            return False
    return True


SizeOf = Callable[[int], Any]  # the size of an axis of the whole, asked for where it has a say
NOT_MERGED = Refusal("how the slices lie depends on how many rows there are", 1)


def one_index(node: Apply, source: Apply, level: Level) -> Variable | Refusal | None:
    """Return what an index picks of an index, by one; None where one of them is by arrays."""
    inner, outer = index_parts(source), index_parts(node)
    if any(part.entry.kind == "array" for part in (*inner, *outer)):
        return None
    whole = source.inputs[0]
    merged = _merged(inner, outer, lambda axis: level.shape(whole)[axis])
    if isinstance(merged, Refusal):
        return merged
    found = indexed(whole, merged)
    return NOT_MERGED if found is None else found


def _merged(
    inner: Sequence[IndexPart], outer: Sequence[IndexPart], size_of: SizeOf
) -> list[IndexPart] | Refusal:
    """Return the parts of an index that picks what two, one after the other, pick."""
    found: list[IndexPart] = []
    rest = iter(outer)
    axis = 0
    for index_part in inner:
        if index_part.entry.kind == "integer":
            found.append(index_part)
            axis += 1
            continue
        other = _next_axis(rest, found)
        if index_part.entry.kind == "newaxis":
            single = _of_one(other)
            if single is None:
                return NOT_MERGED
            found.extend(single)
            continue
        both = _both(index_part, other, axis, size_of)
        if isinstance(both, Refusal):
            return both
        found.append(both)
        axis += 1
    found.extend(rest)  # new axes behind
    return found


def _next_axis(rest: Iterator[IndexPart], found: list[IndexPart]) -> IndexPart:
    """Return the next part that indexes an axis; new axes before it are kept."""
    for index_part in rest:
        if index_part.entry.kind != "newaxis":
            return index_part
        found.append(index_part)
    return IndexPart(WHOLE)


def _of_one(part: IndexPart) -> list[IndexPart] | None:
    """Return what a part makes of a new axis, which has one row; None for an error or no rows."""
    entry = part.entry
    if entry.kind == "integer":
        return [] if entry.start in (0, -1) else None
    if part.inputs or len(range(1)[as_slice(entry)]) != 1:
        return None
    return [IndexPart(IndexEntry("newaxis"))]


def _both(first: IndexPart, second: IndexPart, axis: int, size_of: SizeOf) -> IndexPart | Refusal:
    """Return the part that picks what a part of a slice picks."""
    if is_whole(second.entry):
        return first
    if is_whole(first.entry):
        return second
    if first.inputs or second.inputs:
        return NOT_MERGED
    start, stop, step = (whole_number(number) for number in first.entry.numbers())
    interval = interval_of(start, stop, step)
    if second.entry.kind == "integer":
        return _row(interval, second.entry, axis, size_of)
    wanted = interval_of(*(whole_number(number) for number in second.entry.numbers()))
    together = taken(interval, wanted, 0) or taken(interval, wanted, least_rows(size_of(axis)))
    numbers = None if together is None else slice_of(together)
    if numbers is None and isinstance(size_of(axis), int):
        numbers = _numbers(range(size_of(axis))[as_slice(first.entry)][as_slice(second.entry)])
    return NOT_MERGED if numbers is None else IndexPart(IndexEntry("slice", *numbers))


def _row(interval: RowInterval, entry: IndexEntry, axis: int, size_of: SizeOf) -> IndexPart | Refusal:
    """Return the part that picks a row of an interval."""
    index = whole_number(entry.start)
    assert index is not None
    found = row_of(interval, index, 0)
    if found is not None and not found.needs:
        return IndexPart(IndexEntry("integer", found.place))
    size, numbers = size_of(axis), slice_of(interval)
    if isinstance(size, int) and numbers is not None:
        there = range(size)[slice(*numbers)]
        if not -len(there) <= index < len(there):
            return Refusal(f"the slice has only {some(len(there), 'row')}: the index is an error", 2)
        return IndexPart(IndexEntry("integer", found.place if found is not None else there[index]))
    rows = least_rows(size)
    found = row_of(interval, index, rows)
    if found is None:
        return NOT_MERGED
    if found.needs > rows:
        return Refusal(f"it is not known that there are {some(found.needs, 'row')}, which the index needs", 2)
    return IndexPart(IndexEntry("integer", found.place))


def _numbers(picked: range) -> tuple[int | None, int | None, int | None] | None:
    """Return a slice that picks known rows, None for none."""
    if not picked:
        return None
    end = picked[-1] + (1 if picked.step > 0 else -1)
    return picked[0], None if end < 0 else end, picked.step
