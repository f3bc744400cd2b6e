"""Who reads which rows of a loop's result: how many first rows a reader needs, and how it asks for them of a shorter loop.

A :class:`Read` is an index with its bounds as sizes.  Of n rows ``out[-10]`` needs the first n - 9, and of a loop of so many steps
it is the last row.  :mod:`scanviz.engine.rewrites.loops.fewer_steps` and :mod:`scanviz.engine.rewrites.loops.save_memory` ask.
"""

from __future__ import annotations

from msgspec import Struct

from scanviz.engine.graph.nodes import Apply
from scanviz.engine.ops.index import INDEX
from scanviz.engine.ops.index_pattern import INPUT, IndexEntry, input_entries
from scanviz.engine.ops.sizes import size_of, surely_not_negative
from scanviz.engine.sizes.dims import SIZES, Dim, called
from scanviz.engine.sizes.polynomial import Polynomial


class Read(Struct, frozen=True):
    """A reader of some rows of a result of a loop of n steps.

    Attributes
    ----------
    node : Apply
        The index.
    entry : int
        Which of its entries is about rows.
    start, stop : int, Polynomial or None
        The numbers written there; a row's index is a start.
    front : int, Polynomial or None
        How many first rows it needs, if that does not depend on n but as an upper bound.
    back : int or None
        How many of the last rows it can do without, if it counts from the end.
    exists : int, Polynomial or None
        The row's index, of a reader that is an error where there is no such row and counts, or may count, from the end.
    """

    node: Apply
    entry: int
    start: Dim
    stop: Dim
    front: Dim
    back: int | None
    exists: Dim


def first_entry(node: Apply, position: int) -> IndexEntry | None:
    """Return the part of an index that is about rows, None of what is no index of its input at ``position``."""
    found = _rows_entry(node, position)
    return None if found is None else node.op.parameters.entries[found]


def _rows_entry(node: Apply, position: int) -> int | None:
    if node.op.declaration is not INDEX or position != 0:
        return None
    entries = node.op.parameters.entries
    return next((k for k, entry in enumerate(entries) if entry.kind != "newaxis"), None)


def read_of(node: Apply, position: int, n: Dim) -> Read | None:
    """Return what a reader needs of a result with n rows; None if that may be the last row."""
    k = _rows_entry(node, position)
    if k is None:
        return None
    entry = node.op.parameters.entries[k]
    start, stop, step = _numbers(node, k)
    if isinstance(step, Polynomial):
        return None
    if entry.kind == "integer":
        return _read_of_row(node, k, start, n)
    if entry.kind != "slice":
        return None
    if step is None or step > 0:
        return _read_of_rising(node, k, start, stop, step or 1, n)
    return _read_of_falling(node, k, start, stop, n)


def _numbers(node: Apply, k: int) -> tuple[Dim, Dim, Dim]:
    """Return start, stop and step of an entry: ints, sizes, or None where nothing is written."""
    entry, first, _ = list(input_entries(node.op.parameters))[k]
    given = map(size_of, node.inputs[1 + first :])
    start, stop, step = (next(given) if number == INPUT else number for number in entry.numbers())
    return start, stop, step


def _read_of_row(node: Apply, k: int, index: Dim, n: Dim) -> Read | None:
    if isinstance(index, int):
        if index == -1:
            return None
        if index >= 0:
            return Read(node, k, index, None, index + 1, None, None)
        return Read(node, k, index, None, None, -index - 1, index)
    certain = surely_not_negative(index)
    row = SIZES.minimum(index, SIZES.subtract(n, 1)) if certain else from_start(index, n, n)
    return Read(node, k, index, None, SIZES.add(row, 1), None, None if certain else index)


def _read_of_rising(node: Apply, k: int, start: Dim, stop: Dim, step: int, n: Dim) -> Read | None:
    if stop is None:
        return None
    if counted(start) and isinstance(stop, int) and stop >= 0:
        rows = range(start or 0, stop, step)
        return Read(node, k, start, stop, rows[-1] + 1 if rows else 0, None, None)
    if isinstance(start, int) and isinstance(stop, int) and stop <= start < 0:
        return Read(node, k, start, stop, 0, None, None)  # no rows
    if isinstance(stop, int):
        back, front = (-stop, None) if stop < 0 else (None, stop)
        return Read(node, k, start, stop, front, back, None)
    return Read(node, k, start, stop, from_start(stop, n, n), None, None)


def _read_of_falling(node: Apply, k: int, start: Dim, stop: Dim, n: Dim) -> Read | None:
    if start is None or start == -1:
        return None
    if isinstance(start, int) and isinstance(stop, int) and start <= stop and (start < 0) == (stop < 0):
        return Read(node, k, start, stop, 0, None, None)  # no rows
    if isinstance(start, int):
        back, front = (-start - 1, None) if start < 0 else (None, start + 1)
        return Read(node, k, start, stop, front, back, None)
    return Read(node, k, start, stop, SIZES.add(from_start(start, SIZES.subtract(n, 1), n), 1), None, None)


def counted(bound: Dim) -> bool:
    """Return whether a bound is counted from the start, for sure and by a number known when building."""
    return bound is None or (isinstance(bound, int) and bound >= 0)


def from_start(index: Dim, most: Dim, n: Dim) -> Dim:
    """Return an index of n rows as one from the start, at most ``most``; below 0 where it lies before the first row."""
    if isinstance(index, int):
        return SIZES.add(n, index) if index < 0 else SIZES.minimum(index, most)
    if surely_not_negative(index):
        return SIZES.minimum(index, most)
    below = SIZES.add(SIZES.minimum(index, 0), n)
    return called("where", called("less", index, 0), below, SIZES.minimum(index, most))


def from_the_end(read: Read) -> bool:
    """Return whether a reader may count from the end, so that it must ask another way after fewer steps."""
    return not all(
        counted(polynomial) or (isinstance(polynomial, Polynomial) and surely_not_negative(polynomial))
        for polynomial in (read.start, read.stop)
    )
