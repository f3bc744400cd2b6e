"""Indices as lists of parts, each with its own inputs: helpers of rules about indexing.

An :class:`IndexPart` is one axis' entry with the variables it reads, so that parts can be dropped, joined and put in other places
before one index is made of them again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from scanviz.engine.errors import ScanvizError
from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.nodes import Apply, Variable, build_one
from scanviz.engine.ops.index import INDEX
from scanviz.engine.ops.index_pattern import INPUT, WHOLE, IndexEntry, IndexParameters, input_entries
from scanviz.engine.ops.sizes import surely_at_most


class IndexPart(NamedTuple):
    """One part of an index with its run-time numbers."""

    entry: IndexEntry
    inputs: tuple[Variable, ...] = ()


def parts_of(parameters: IndexParameters, inputs: Sequence[Variable]) -> list[IndexPart]:
    """Return the parts of an index from its pattern and the inputs that belong to it."""
    return [
        IndexPart(entry, tuple(inputs[position : position + count]))
        for entry, position, count in input_entries(parameters)
    ]


def is_whole(entry: IndexEntry) -> bool:
    """Return whether a part picks all rows in order, whatever there are."""
    kind, start, stop, step, _ = entry
    return kind == "slice" and stop is None and (start is None or start == 0) and (step is None or step == 1)


def is_known(entries: Iterable[IndexEntry]) -> bool:
    """Return whether parts are integers and slices, all of their numbers known."""
    return all(
        entry.kind in ("integer", "slice") and INPUT not in (entry.start, entry.stop, entry.step)
        for entry in entries
    )


def indexed(variable: Variable, parts: Sequence[IndexPart]) -> Variable | None:
    """Return a variable indexed by parts, itself if they pick everything; None if that is surely an error."""
    if all(is_whole(part.entry) for part in parts):
        return variable
    entries = tuple(WHOLE if is_whole(part.entry) else part.entry for part in parts)
    inputs = [given for part in parts for given in part.inputs]
    try:
        return build_one(Op(INDEX, IndexParameters(entries)), variable, *inputs)
    except ScanvizError:
        return None  # an error that belongs to run time


def picked(variable: Variable, entries: Sequence[IndexEntry]) -> Variable | None:
    """Return a variable at entries without inputs (see :func:`indexed`)."""
    return indexed(variable, [IndexPart(entry) for entry in entries])


def whole_number(number: Any) -> int | None:
    """Return a number of a pattern that is known, or None if nothing is written."""
    return number if isinstance(number, int) else None


def as_slice(entry: IndexEntry) -> slice:
    """Return the Python slice of a slice part whose numbers are known."""
    return slice(*(whole_number(number) for number in entry.numbers()))


MOST_SIZES = 2_048  # numbers of rows that patterns are tried at


def sizes_to_try(size: Any, *entries: IndexEntry) -> Sequence[int]:
    """Return the numbers of rows, of an axis of a size, that show how parts with known numbers compare at all numbers of rows.

    Beyond the numbers of all parts nothing new happens, for bounds move alike, and slices with steps repeat.  None are returned
    where they would be very many.

    Examples
    --------
    >>> sizes_to_try(2, IndexEntry("integer", -1), IndexEntry("slice", 1))
    range(2, 9)
    """
    reach, period = 0, 1
    for entry in entries:
        reach += period * (2 + sum(abs(number) for number in entry.numbers()[:2] if isinstance(number, int)))
        period *= abs(entry.step) if isinstance(entry.step, int) else 1
    if reach > MOST_SIZES:
        return ()
    least: int = size if isinstance(size, int) else size.terms.get((), 0)
    least = least if least >= 0 and surely_at_most(least, size) else 0
    return range(least, max(least, reach) + 2 * period + 1)


def rows_at(entry: IndexEntry, size: int) -> range | None:
    """Return the rows that a part with known numbers picks of so many, None for an error."""
    if entry.kind == "slice":
        return range(size)[as_slice(entry)]
    index = int(entry.start or 0)
    return range(size)[index : index + 1 or None] if -size <= index < size else None


def has_row(size: Any, index: int) -> bool:
    """Return whether an axis of a size surely has a row."""
    return surely_at_most(index + 1 if index >= 0 else -index, size)


def surely_exists(entries: Sequence[IndexEntry], shape: Sequence[Any]) -> bool:
    """Return whether an index of integers and slices is surely no error."""
    axis = 0
    for entry in entries:
        if entry.kind == "newaxis":
            continue
        if entry.kind == "array":
            return False
        if entry.kind == "integer" and not (
            isinstance(entry.start, int) and has_row(shape[axis], entry.start)
        ):
            return False
        if entry.kind == "slice" and entry.step == INPUT:
            return False  # it may be 0
        axis += 1
    return True


def index_parts(node: Apply) -> list[IndexPart]:
    """Return the parts of an ``index`` node."""
    return parts_of(node.op.parameters, node.inputs[1:])
