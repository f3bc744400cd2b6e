"""The rows of a :class:`~scanviz.engine.rewrites.row_reads.Read`, asked for in another way: of a result of fewer steps."""

from __future__ import annotations

from collections.abc import Sequence

from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.nodes import Apply, Variable, rebuild, tensor_type
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.ops.index import INDEX
from scanviz.engine.ops.index_pattern import INPUT, IndexEntry, IndexParameters, Number, input_entries
from scanviz.engine.ops.sizes import as_size
from scanviz.engine.rewrites.row_reads import Read, counted, from_start
from scanviz.engine.sizes.dims import SIZES, Dim, called
from scanviz.engine.sizes.polynomial import Polynomial


def _known(bound: Dim) -> bool:
    return not isinstance(bound, Polynomial)


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
    if index is None or counted(index):
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
