"""fewer_steps: a loop takes its first steps alone, as many as readers of its rows need."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from scanviz.engine.errors import some
from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.nodes import Apply, Variable, build_one, describe, rebuild, tensor_type
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.ops import elementwise as e
from scanviz.engine.ops.control import always_computed
from scanviz.engine.ops.index import INDEX
from scanviz.engine.ops.index_pattern import INPUT, IndexEntry, IndexParameters, Number, input_entries
from scanviz.engine.ops.sizes import as_size, size_of, surely_at_most, surely_not_negative
from scanviz.engine.ops.support import constant
from scanviz.engine.rewrites.level import Level
from scanviz.engine.rewrites.loops.loop_facts import checked_rows
from scanviz.engine.rewrites.loops.save_memory import Read, counted, from_start, from_the_end, read_of
from scanviz.engine.rewrites.rule import Match, Refusal, rule
from scanviz.engine.scan.dependence import effects_of
from scanviz.engine.scan.loop import SCAN, ScanView
from scanviz.engine.scan.rebuild import rebuilt_loop
from scanviz.engine.scan.variables import ALL, LoopVariable, State, StepOutput
from scanviz.engine.scan.variables import Sequence as LoopSequence
from scanviz.engine.sizes.dims import SIZES, Dim, called
from scanviz.engine.sizes.polynomial import Polynomial

Reads = list[tuple[LoopVariable, Read]]


@rule(name="fewer_steps", phase="keep", on=(SCAN,), single=True, tags=("scan",))
def fewer_steps(node: Apply, level: Level) -> Match | Refusal:
    """Take no step after the last row that is read."""
    view = ScanView(node)
    if view.op.settings.steps_read:
        return Refusal(f"`{view.op.scan_name}` already stops after the last row that is read", 4)
    if effects_of(view.op):
        return Refusal(f"steps of `{view.op.scan_name}` print or check something", 1)
    reads = _reads(view, level)
    if isinstance(reads, Refusal):
        return reads
    if not reads:
        return Refusal(f"no row is read of `{view.op.scan_name}`")

    return with_first_steps(view, level, reads)


def _reads(view: ScanView, level: Level) -> Reads | Refusal:
    """Return the readers of a loop's rows, or why the last step must be taken."""
    n = size_of(view.n_steps)
    found: Reads = []
    for variable in view.op.variables:
        result = view.outer_output(variable)
        if result is None or not level.is_read(result):
            continue
        if not isinstance(variable, State | StepOutput) or getattr(variable, "kind", None) == "mitmot":
            return Refusal(f"the final value of `{variable.name}` is read", 1)
        if result in level.wanted:
            return Refusal(f"all rows of `{variable.name}` are read", 1)
        for node, position in level.readers(result):
            read = read_of(node, position, n)
            if read is None:
                return Refusal(f"`{describe(node.outputs[0])}` may read the last row of `{variable.name}`", 2)

            why = why_no_bound(read, variable, view, level)
            if why is not None:
                return Refusal(why, 2)
            found.append((variable, read))
    return found


def with_first_steps(view: ScanView, level: Level, reads: Reads) -> Match | Refusal:
    """Return a loop of the steps that readers need, with the readers' new indices, or why it takes them all."""
    n = size_of(view.n_steps)
    steps = _steps(n, [read for _, read in reads])
    if isinstance(n, int) and (steps is None or (isinstance(steps, int) and steps >= n)):
        return Refusal(f"`{view.op.scan_name}` takes {some(n, 'step')}, and the last is read", 3)
    settings = view.op.settings._replace(steps_read=True)
    _, mapping = rebuilt_loop(
        view, {}, outer=_checked_sequences(view, level), n_steps=as_size(steps), settings=settings
    )
    fewer = _fewer(n, steps, [read for _, read in reads])
    for variable, read in reads:
        if from_the_end(read):
            result, kept = mapping[view.result(variable)], getattr(variable, "keep", ALL).last
            mapping[read.node.outputs[0]] = reindexed(read, result, n, steps, fewer, kept)
    return Match(mapping, _message(view, [read for _, read in reads], fewer))


def _message(view: ScanView, reads: Sequence[Read], fewer: Dim) -> str:
    name = view.op.scan_name
    if all(isinstance(read.front, int) for read in reads):
        most = max(read.front for read in reads)
        return f"`{name}` takes at most {some(most, 'step')}: no later row is read"
    if isinstance(fewer, int):
        return f"`{name}` takes {some(fewer, 'step')} fewer: its last rows are not read"
    shown = ", ".join(dict.fromkeys(f"`{describe(read.node.outputs[0])}`" for read in reads))
    return f"`{name}` takes no step after the last row that {shown} {'needs' if len(reads) == 1 else 'need'}"


def why_no_bound(read: Read, variable: State | StepOutput, view: ScanView, level: Level) -> str | None:
    """Return why a reader gives no bound on the steps needed, None if it does."""
    name, n, work = describe(read.node.outputs[0]), size_of(view.n_steps), work_of(read)
    if view.op.until is not None and from_the_end(read):
        return f"`{name}` counts from the end of a loop that may end early"
    if variable.keep != ALL and not _counts_back(read):
        return f"`{variable.name}` keeps only its last rows"
    if view.node in work:
        return f"the loop itself computes the position of the row `{name}`"
    if not cannot_fail(work) and read.node not in always_computed(level.outputs):
        return f"`{name}` is read by a branch that may not be taken, where its index may be an error"
    if isinstance(read.exists, int) and isinstance(n, int) and n + read.exists < 0:
        return f"there is no row `{name}`"
    return None


def _counts_back(read: Read) -> bool:
    """Return whether a reader counts from the end by numbers known when building."""
    bounds = [bound for bound in (read.start, read.stop) if bound is not None]
    return bool(bounds) and all(isinstance(bound, int) and bound < 0 for bound in bounds)


def _steps(n: Dim, reads: Sequence[Read]) -> Dim:
    """Return the number of steps needed of n: the most that a reader needs; all n if a missing row is read."""
    backs = [read.back for read in reads if read.back is not None]
    needs = [SIZES.subtract(n, min(backs))] if backs else []
    fronts = [read.front for read in reads if read.back is None]
    numbers = [front for front in fronts if isinstance(front, int)]
    needs += [max(numbers)] if numbers else []
    needs += [front for front in fronts if not isinstance(front, int)]
    most = reduce(SIZES.maximum, needs)
    # else it is 1 at least, or all steps are taken
    if not numbers and any(read.exists is None for read in reads):
        most = SIZES.maximum(most, 0)
    if fronts or not surely_not_negative(n):
        most = SIZES.minimum(n, most)
    there = _all_there(n, [read.exists for read in reads if read.exists is not None])
    return most if there is None else size_of(e.where(there, as_size(most), as_size(n)))


def _fewer(n: Dim, steps: Dim, reads: Sequence[Read]) -> Dim:
    """Return how many steps fewer than n are taken, as an int where it is the same for all n."""
    only_back = all(read.back is not None and read.exists is None for read in reads)
    return min(read.back or 0 for read in reads) if only_back else SIZES.subtract(n, steps)


def _all_there(n: Dim, rows: Sequence[Dim]) -> Variable | None:
    """Return the condition that all indexed rows exist, None if they surely do."""
    conditions: list[Variable] = []
    deepest = max((-row for row in rows if isinstance(row, int)), default=0)
    if deepest and not surely_not_negative(SIZES.subtract(n, deepest)):
        conditions.append(build_one(Op(e.greater_equal), as_size(n), constant(deepest, "int64")))
    for row in rows:
        if not isinstance(row, int):
            least = as_size(SIZES.subtract(0, n))
            conditions.append(build_one(Op(e.greater_equal), as_size(row), least))
            conditions.append(build_one(Op(e.less), as_size(row), as_size(n)))
    return reduce(lambda a, b: build_one(Op(e.logical_and), a, b), conditions) if conditions else None


def _checked_sequences(view: ScanView, level: Level) -> dict[LoopVariable, Variable]:
    """Return in place of sequences that may be too short for all steps their first rows, which are checked to be there."""
    found: dict[LoopVariable, Variable] = {}
    for sequence in view.op.of_type(LoopSequence):
        if not surely_at_most(view.n_steps, level.shape(view.outer(sequence))[0]):
            found[sequence] = checked_rows(view, sequence)
    return found


def work_of(read: Read) -> list[Apply]:
    """Return the nodes that compute a reader's bounds."""
    return toposort([as_size(bound) for bound in _bounds(read)])


def _bounds(read: Read) -> list[Polynomial]:
    """Return a reader's bounds that are computed."""
    return [bound for bound in (read.start, read.stop) if isinstance(bound, Polynomial)]


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
        Number of last rows that the loop keeps, None for all.
    """
    entry: IndexEntry = read.node.op.parameters.entries[read.entry]
    start: Dim
    stop: Dim
    if entry.kind == "integer":
        start, stop = _moved(read.start, fewer), None
        if isinstance(start, Polynomial):  # an error calls it what the user did
            given = read.start
            as_size(start).name = as_size(given).name if isinstance(given, Polynomial) else str(given)
    elif isinstance(fewer, int) and read.back is not None and not _bounds(read):
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
    """Return a bound of n rows as one from the start of the rows left when the first are lost."""
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
