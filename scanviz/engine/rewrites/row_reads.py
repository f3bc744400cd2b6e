"""Who reads which rows of a loop's result: how many first rows a reader needs, and how it asks for them of a shorter loop.

A :class:`Read` is an index with its bounds as sizes.  Of n rows ``out[-10]`` needs the first n - 9, and of a loop of so many steps
it is the last row.  :mod:`scanviz.engine.rewrites.fewer_steps` and :mod:`scanviz.engine.rewrites.keep` ask.
"""

from __future__ import annotations

from collections.abc import Sequence

from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.dims import SIZES, Dim, called
from scanviz.engine.graph.nodes import Apply, Variable, rebuild, tensor_type
from scanviz.engine.graph.polynomial import Polynomial
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.ops.index import INDEX
from scanviz.engine.ops.index_pattern import INPUT, IndexEntry, IndexParameters, Number, input_entries
from scanviz.engine.ops.sizes import as_size, size_of, surely_not_negative
from scanviz.engine.slotted import dataclass


@dataclass(frozen=True, slots=True)
class Read:
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
    if _counted(start) and isinstance(stop, int) and stop >= 0:
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


def _counted(bound: Dim) -> bool:
    """Return whether a bound is counted from the start, for sure and by a number known when building."""
    return bound is None or (isinstance(bound, int) and bound >= 0)


def _known(bound: Dim) -> bool:
    return not isinstance(bound, Polynomial)


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
        _counted(polynomial) or (isinstance(polynomial, Polynomial) and surely_not_negative(polynomial))
        for polynomial in (read.start, read.stop)
    )


def work_of(read: Read) -> list[Apply]:
    """Return what is computed for the numbers that a reader asks with."""
    return toposort(
        [as_size(polynomial) for polynomial in (read.start, read.stop) if isinstance(polynomial, Polynomial)]
    )


def cannot_fail(work: Sequence[Apply]) -> bool:
    """Return whether work is arithmetic on single numbers and sizes, which costs nothing and raises no error."""
    return all(
        node.op.facts.size != "no" and not node.op.facts.raises and tensor_type(node.outputs[0]).ndim == 0
        for node in work
    )


def reindexed(read: Read, result: Variable, n: Dim, steps: Dim, fewer: Dim, kept: int | None) -> Variable:
    """Return the same rows, of a result of fewer steps.

    Parameters
    ----------
    read : Read
        The reader, of the result of n steps.
    result : Variable
        The result of ``steps`` steps, or what is kept of it.
    n, steps, fewer : int or Polynomial
        Steps before, steps now, and the difference.
    kept : int or None
        How many last rows the loop keeps, None for all.
    """
    entry: IndexEntry = read.node.op.parameters.entries[read.entry]
    start: Dim
    stop: Dim
    if entry.kind == "integer":
        start, stop = _moved(read.start, fewer), None
        if isinstance(start, Polynomial):  # an error calls it what the user did
            given = read.start
            as_size(start).name = as_size(given).name if isinstance(given, Polynomial) else str(given)
    elif isinstance(fewer, int) and read.back is not None and _known(read.start) and _known(read.stop):
        start, stop = _moved(read.start, fewer), _moved(read.stop, fewer)
        stop = None if stop == 0 and read.stop < 0 else stop
    elif isinstance(entry.step, int) and entry.step < 0:
        start, stop = (_fallen(bound, n, steps) for bound in (read.start, read.stop))
    else:
        lost: Dim = 0 if kept is None else SIZES.subtract(steps, SIZES.minimum(kept, steps))
        start, stop = (_placed(bound, n, lost) for bound in (read.start, read.stop))
    return _with_numbers(read, result, start, stop)


def _moved(index: Dim, fewer: Dim) -> Dim:
    """Return an index from the end of as many rows as are there now; one from the start stays."""
    if index is None or _counted(index):
        return index
    if isinstance(index, int):
        return SIZES.add(fewer, index)
    return called("where", called("less", index, 0), SIZES.add(fewer, SIZES.minimum(index, 0)), index)


def _fallen(bound: Dim, n: Dim, steps: Dim) -> Dim:
    """Return a bound of n rows, walked down from the last, as one from the end of the rows of ``steps`` steps."""
    if bound is None:
        return None
    place = SIZES.maximum(from_start(bound, SIZES.subtract(n, 1), n), -1)
    return SIZES.minimum(SIZES.subtract(place, steps), -1)


def _placed(bound: Dim, n: Dim, lost: Dim) -> Dim:
    """Return a bound of n rows as one from the start of rows of which the first are lost."""
    if bound is None:
        return None
    place = SIZES.maximum(from_start(bound, n, n), 0)
    return place if lost == 0 else SIZES.maximum(SIZES.subtract(place, lost), 0)


def _with_numbers(read: Read, result: Variable, start: Dim, stop: Dim) -> Variable:
    node = read.node
    parameters: IndexParameters = node.op.parameters
    inputs: list[Variable] = []
    entries: list[IndexEntry] = []
    for k, (entry, first, count) in enumerate(input_entries(parameters)):
        if k != read.entry:
            entries.append(entry)
            inputs += node.inputs[1 + first : 1 + first + count]
            continue
        numbers: Sequence[Number] = [_written(bound, inputs) for bound in (start, stop)]
        entries.append(entry._replace(start=numbers[0], stop=numbers[1]))
    fresh = rebuild(node, [result, *inputs], Op(INDEX, IndexParameters(tuple(entries))))
    return fresh.outputs[0]


def _written(number: Dim, inputs: list[Variable]) -> Number:
    if not isinstance(number, Polynomial):
        written: int | None = number
        return written
    inputs.append(as_size(number))
    return INPUT
