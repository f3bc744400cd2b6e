"""An index of an index is one index: ``x[i][j]`` is ``x[i, j]``, ``x[2:][3:]`` is ``x[5:]``, ``x[::-1][0]`` is ``x[-1]``.

What is done:

- parts that index different axes stand side by side;
- a slice or a row of a slice is guessed from what it picks of many rows, and tried at all numbers of rows that could make a
  difference: ``x[::-1][::-1]`` is ``x`` and ``x[::-1][0]`` is ``x[-1]``, whatever the number of rows;
- an index that picks everything, ``x[:]``, is left out.

A row of a slice that leaves out others, ``x[1:][-1]`` or ``x[:-1][0]``, is a row of the whole only where the slice surely has
it.  If x has one row, ``x[1:]`` has none, and the index is an error that must not become a value.
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
from scanviz.engine.rewrites.indexing.places import (
    IndexPart,
    as_slice,
    index_parts,
    indexed,
    is_whole,
    sizes_to_try,
    whole_number,
)
from scanviz.engine.rewrites.level import Level
from scanviz.engine.rewrites.rule import GENERAL, Refusal, rule


@rule(name="subtensor_chains", phase=GENERAL, on=(INDEX,), tags=("general",))
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


SizeOf = Callable[[int], Any]  # the size of an axis of the whole, asked for only where it matters
NOT_MERGED = Refusal("the merged slice depends on the number of rows", 1)


def one_index(node: Apply, source: Apply, level: Level) -> Variable | Refusal | None:
    """Combine two indices, one applied after the other; None if one of them is by arrays."""
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
    """Return the parts of an index equal to two, one applied after the other."""
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
    """Return the result of a part on a new axis, which has one row; None for an error or no rows."""
    entry = part.entry
    if entry.kind == "integer":
        return [] if entry.start in (0, -1) else None
    if part.inputs or len(range(1)[as_slice(entry)]) != 1:
        return None
    return [IndexPart(IndexEntry("newaxis"))]


def _both(first: IndexPart, second: IndexPart, axis: int, size_of: SizeOf) -> IndexPart | Refusal:
    """Combine a part of an index with a part that picks from its slice."""
    if is_whole(second.entry):
        return first
    if is_whole(first.entry):
        return second
    if first.inputs or second.inputs:
        return NOT_MERGED
    size = size_of(axis)
    sizes = sizes_to_try(size, first.entry, second.entry)
    tried = [sizes, [size]] if isinstance(size, int) else [sizes]
    if second.entry.kind == "slice":
        for rows in tried:
            numbers = one_slice(as_slice(first.entry), as_slice(second.entry), rows)
            if numbers is not None:
                return IndexPart(IndexEntry("slice", *numbers))
        return NOT_MERGED
    index = whole_number(second.entry.start)
    assert index is not None
    answers = [one_row(as_slice(first.entry), index, rows) for rows in tried]
    places = [answer for answer in answers if isinstance(answer, int)]
    if places:
        return IndexPart(IndexEntry("integer", places[0]))
    return next((answer for answer in answers if isinstance(answer, Refusal)), NOT_MERGED)


Numbers = tuple[int | None, int | None, int | None]


def one_slice(first: slice, second: slice, sizes: Sequence[int]) -> Numbers | None:
    """Return the numbers of one slice equal to a slice of a slice, for each of some numbers of rows.

    Bounds are guessed from the largest size, counted from the start or the end, and tried at all.

    Examples
    --------
    >>> one_slice(slice(1, None), slice(None, -2), range(20)), one_slice(slice(1, None), slice(-2, None), range(20))
    ((1, -2, None), None)
    """
    if not sizes:
        return None
    rows = sizes[-1]
    picked = range(rows)[first][second]
    if not picked:
        guesses: list[Numbers] = [(None, 0, None)]
    else:
        step = (first.step or 1) * (second.step or 1)
        after = picked[-1] + (1 if step > 0 else -1)
        starts = dict.fromkeys((None, picked[0], picked[0] - rows))
        stops = dict.fromkeys((None, after, after - rows, first.stop, second.stop))
        guesses = [(start, stop, None if step == 1 else step) for start in starts for stop in stops]
    for guess in guesses:
        if all(range(n)[slice(*guess)] == range(n)[first][second] for n in sizes):
            return guess
    return None


def one_row(first: slice, index: int, sizes: Sequence[int]) -> int | Refusal | None:
    """Return the index of a slice's row in the whole, of as many rows as each of some sizes.

    Where there is such an index for large sizes alone, a refusal names the needed number of rows.

    Examples
    --------
    >>> one_row(slice(1, None), 2, range(20)), one_row(slice(None, None, -1), 0, range(20))
    (3, -1)
    >>> one_row(slice(1, None), -1, range(20)).why
    'the array may have fewer than 2 rows, which the index needs'
    """
    if not sizes:
        return None
    rows = sizes[-1]
    place = _row(range(rows)[first], index)
    if place is None:
        there = len(range(rows)[first])
        why = f"the slice has only {some(there, 'row')}: the index is an error"
        return Refusal(why, 2) if len(sizes) == 1 else None
    for guess in (place, place - rows):
        wrong = [n for n in sizes if _row(range(n), guess) != _row(range(n)[first], index)]
        if not wrong:
            return guess
        if wrong[-1] + abs(first.step or 1) < rows:
            why = f"the array may have fewer than {some(wrong[-1] + 1, 'row')}, which the index needs"
            return Refusal(why, 2)
    return None


def _row(rows: range, index: int) -> int | None:
    """Return the row with an index, or None."""
    return rows[index] if -len(rows) <= index < len(rows) else None
