"""ScanSaveMem and count_steps: of a loop's result, keep only the rows that someone reads.

If a result is only read as ``out[-k]`` or ``out[-k:]`` with known k, or as its last row by an update, only its last rows are
needed.  The loop then runs in a ring of them.  ``out[-k]`` stays ``out[-k]``: the number of rows kept changes, in the Scan, and
never an index.  A loop that ends by a condition counts its steps where only the length of a result is read.

Who reads which rows: a :class:`Read` is an index with its bounds as sizes.  Of n rows ``out[-10]`` needs the first n - 9, and is
the last row of a loop of so many steps (:mod:`scanviz.engine.rewrites.loops.fewer_steps`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from scanviz.engine.graph.nodes import Apply, Variable, describe
from scanviz.engine.graph.types import TensorType
from scanviz.engine.ops.elementwise import add
from scanviz.engine.ops.index import INDEX, LAST_ROW, STATE_HISTORY, last_row
from scanviz.engine.ops.index_pattern import INPUT, IndexEntry, input_entries, is_basic
from scanviz.engine.ops.shape import DIMENSION, dimension
from scanviz.engine.ops.sizes import size_of, surely_not_negative
from scanviz.engine.ops.support import constant
from scanviz.engine.rewrites.indexing.places import is_known, rows_at, sizes_to_try
from scanviz.engine.rewrites.level import Level
from scanviz.engine.rewrites.rule import Match, Refusal, rule
from scanviz.engine.scan.loop import SCAN, ScanView, loop_of
from scanviz.engine.scan.rebuild import rebuilt_loop
from scanviz.engine.scan.variables import Keep, LoopVariable, State, StepOutput, with_keep
from scanviz.engine.scan.variables import Sequence as LoopSequence
from scanviz.engine.sizes.dims import SIZES, Dim, called
from scanviz.engine.sizes.polynomial import Polynomial, arguments_of


class Read(Struct, frozen=True):
    """A reader of some rows of a result of a loop of n steps.

    Attributes
    ----------
    node : Apply
        The index.
    entry : int
        Position of the entry for rows.
    start, stop : int, Polynomial or None
        The numbers written there; a row's index is a start.
    front : int, Polynomial or None
        Number of first rows that it needs, if n is no more than an upper bound of it.
    back : int or None
        Number of last rows that it does not need, if it counts from the end.
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


def rows_entry(node: Apply, position: int) -> int | None:
    """Return the number of an index's entry for rows, None for another node or input."""
    if node.op.declaration is not INDEX or position != 0:
        return None
    entries = node.op.parameters.entries
    return next((k for k, entry in enumerate(entries) if entry.kind != "newaxis"), None)


def read_of(node: Apply, position: int, n: Dim) -> Read | None:
    """Return the rows that a reader needs of n; None if it may need the last one."""
    k = rows_entry(node, position)
    if k is None or node.op.parameters.entries[k].kind == "array":
        return None
    entry, first, _ = list(input_entries(node.op.parameters))[k]
    given, numbers = map(size_of, node.inputs[1 + first :]), list[Dim](entry.numbers())
    start, stop, step = (next(given) if number == INPUT else number for number in numbers)
    if isinstance(step, Polynomial):
        return None
    is_row = entry.kind == "integer"
    front: Dim
    if is_known([entry]):
        front, back = _first_rows(entry)
        there = start if is_row and start < 0 else None
        return None if back == 0 else Read(node, k, start, stop, front, back, there)
    # the bound of the last row, and how many rows it means beyond itself
    bound, beyond = (start, 1) if is_row or (step is not None and step < 0) else (stop, 0)
    if bound is None or bound == -beyond:
        return None
    if isinstance(bound, int):
        front, back = (None, -bound - beyond) if bound < 0 else (bound + beyond, None)
        return Read(node, k, start, stop, front, back, None)
    front = SIZES.add(from_start(bound, SIZES.subtract(n, beyond), n), beyond)
    exists = bound if is_row and not surely_not_negative(bound) else None
    return Read(node, k, start, stop, front, None, exists)


def _first_rows(entry: IndexEntry) -> tuple[int | None, int | None]:
    """Return how many first rows a part by known numbers needs, or how many of the last it can do without; the other is None."""
    sizes = sizes_to_try(0, entry)
    needed = {n: max(rows) + 1 for n in sizes if (rows := rows_at(entry, n))}
    most = _bound(needed, entry, sizes)
    if most is not None:
        return most, None
    return None, min((n - rows for n, rows in needed.items()), default=0)


def _bound(found: Mapping[int, int], entry: IndexEntry, sizes: Sequence[int]) -> int | None:
    """Return the most that is found for any number of rows, or None if it grows with that."""
    if not sizes:
        return None
    last = sizes[-1] - (abs(entry.step) if isinstance(entry.step, int) else 1)
    most = max(found.values(), default=0)
    return most if most <= max((number for n, number in found.items() if n < last), default=0) else None


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


@rule(name="count_steps", phase="keep", on=(SCAN,), single=True, tags=("scan",))
def count_steps(node: Apply, level: Level) -> Match | Refusal | None:
    """Count the steps of a loop with a stop condition, where rows are kept for their number alone."""
    view = ScanView(node)
    if view.op.until is None:
        return None
    given = {one: view.outer_output(one) for one in view.op.counters}
    read = [one for one, result in given.items() if result is not None and level.is_read(result)]
    lengths = {one: _lengths(view.result(one), level) for one in read}
    wanted = [one for one in read if lengths[one] and _is_short(one, lengths[one], view, level)]
    if not wanted:
        return Refusal("no result of the loop is read for its length alone")
    whole = [one for one in read if one not in wanted and isinstance(_rows_read(one, view, level), Refusal)]
    if whole:
        mapping: dict[Variable, Variable] = {}
        done = dimension(view.result(whole[0]), 0)
    else:
        before, none = Variable(TensorType("int64", ()), "steps[t-1]"), constant(0, "int64")
        steps = State("steps", {-1: before}, {0: add(before, 1)})
        counting, mapping = rebuilt_loop(view, {}, added=[steps], outer={steps: none})
        done = last_row(counting.result(steps), none)
    mapping |= {length: done for one in wanted for length in lengths[one]}
    return Match(mapping, f"`{view.op.scan_name}` counts its steps: no row is kept for their number")


def _lengths(result: Variable, level: Level) -> list[Variable]:
    """Return the variables that are the number of a result's rows."""
    sizes = [node for node, _ in level.readers(result) if node.op.declaration is DIMENSION]
    return [node.outputs[0] for node in sizes if node.op.parameters.axis == 0]


def _is_short(variable: LoopVariable, lengths: list[Variable], view: ScanView, level: Level) -> bool:
    """Return whether of a result its last rows are read alone, or none, beside its length; a short loop has no other rows."""
    result, n = view.result(variable), size_of(view.n_steps)
    readers = [reader for reader in level.readers(result) if reader[0].outputs[0] not in lengths]
    depths = [_depth(node, position, level) for node, position in readers]
    return result not in level.wanted and all(
        depth is not None and not (isinstance(n, int) and n <= depth) for depth in depths
    )


@rule(name="ScanSaveMem", phase="keep", on=(SCAN,), single=True, tags=("scan", "memory"))
def save_memory(node: Apply, level: Level) -> Match | Refusal:
    """Keep only the rows of results that are read."""
    view = ScanView(node)
    kept: dict[LoopVariable, LoopVariable] = {}
    messages: list[str] = []
    refusals: list[Refusal] = []
    for variable in view.op.variables:
        found = _rows_read(variable, view, level)
        if isinstance(found, Refusal):
            refusals.append(found)
        elif found is not None:
            kept[variable] = with_keep(variable, found)
            rows = "only its last row" if found.last == 1 else f"only its last {found.last} rows"
            messages.append(f"`{variable.name}` keeps {rows}")
    if not messages:
        none = Refusal("no result of the loop has rows to leave out")
        return max(refusals, key=lambda refusal: refusal.preconditions_met, default=none)
    _, mapping = rebuilt_loop(view, kept)
    return Match(mapping, "; ".join(messages))


def _rows_read(variable: LoopVariable, view: ScanView, level: Level) -> Keep | Refusal | None:
    """Return the number of last rows read of a result, fewer than it keeps now; None if that does not apply."""
    result = view.outer_output(variable)
    if not isinstance(variable, State | StepOutput) or result is None or not level.is_read(result):
        return None
    if isinstance(variable, State) and variable.kind == "mitmot":
        return Refusal(f"`{variable.name}` is a buffer that steps write at several places", 0)
    if result in level.wanted:
        return Refusal(f"all rows of `{variable.name}` are read", 1)
    depths: list[int] = []
    for node, position in level.readers(result):
        depth = _depth(node, position, level)
        if depth is None:
            return Refusal(f"`{describe(node.outputs[0])}` may read any row of `{variable.name}`", 2)
        depths.append(depth)
    kept = variable.keep.last
    if kept is not None and kept <= max(depths):
        return Refusal(f"`{variable.name}` keeps only its last rows already", 3)
    n = size_of(view.n_steps)
    if isinstance(n, int) and n <= max(depths):
        return Refusal(f"all {n} rows of `{variable.name}` are read", 3)
    return Keep(max(depths))


def _depth(node: Apply, position: int, level: Level) -> int | None:
    """Return how far from the end a reader looks, None if it looks elsewhere too."""
    if node.op.declaration is LAST_ROW and position == 0:
        return 1
    if node.op.declaration is DIMENSION and node.op.parameters.axis:
        return 1  # of whichever row
    if node.op.declaration is STATE_HISTORY and position == 0:
        return _greatest(node.outputs[0], level, _depth)

    k = rows_entry(node, position)
    first = None if k is None else node.op.parameters.entries[k]
    if first is None or not is_known([first]):
        return None
    return _last_rows(first) or (_falling_depth(node, first, level) if first.step == -1 else None)


def _last_rows(entry: IndexEntry) -> int | None:
    """Return the number of last rows that a part with known bounds picks from; None if it counts from the start."""
    sizes = sizes_to_try(0, entry)
    found = {n: rows for n in sizes if (rows := rows_at(entry, n)) is not None}
    kept = _bound({n: n - min(rows) for n, rows in found.items() if rows}, entry, sizes)
    if not kept:
        return None
    for n, rows in found.items():
        of_kept = rows_at(entry, min(n, kept))
        if of_kept is None or [row + max(n - kept, 0) for row in of_kept] != list(rows):
            return None
    return kept


def _falling_depth(node: Apply, first: IndexEntry, level: Level) -> int | None:
    """Return how far from the end a reversed slice reaches, None if that is unknown."""
    start, stop = -1 if first.start is None else first.start, -1 if first.stop is None else first.stop
    if not isinstance(start, int) or not isinstance(stop, int) or start >= 0:
        return None
    if first.stop is not None and stop < 0:
        return max(1, -stop - 1)
    index = node.op.parameters
    if index.entries[0] is not first or not is_basic(index):
        return None  # another axis than that of rows may be the first of what is read
    read = _greatest(node.outputs[0], level, _front)
    return None if read is None else read - start + stop  # so many that there are as many to take


def _front(node: Apply, position: int, level: Level) -> int | None:
    """Return how many first rows a reader takes at most, None if unknown: as many as a loop has steps."""
    if node.op.name == "first_rows" and position == 0:
        return _at_most(size_of(node.inputs[1]))
    if node.op.declaration is SCAN and position:
        reader = loop_of(node).readers[position - 1]
        return _at_most(size_of(node.inputs[0])) if isinstance(reader, LoopSequence) else None
    return None


def _at_most(size: Dim) -> int | None:
    """Return an upper bound of a size, or None if none is known."""
    return min((number for number in arguments_of(size, "minimum") if isinstance(number, int)), default=None)


def _greatest(rows: Variable, level: Level, of: Callable[[Apply, int, Level], int | None]) -> int | None:
    """Return the greatest answer of a function over all readers of rows, at least 1; None if one answer is None."""
    found = [None] if rows in level.wanted else [of(node, k, level) for node, k in level.readers(rows)]
    return None if None in found else max([1, *(number for number in found if number is not None)])
