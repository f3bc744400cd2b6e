"""A loop that takes its first steps alone, as many as readers of its rows need (rule ``fewer_steps``)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from scanviz.engine.errors import some
from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.nodes import Variable, build_one, describe
from scanviz.engine.ops import elementwise as e
from scanviz.engine.ops.control import always_computed
from scanviz.engine.ops.sizes import as_size, size_of, surely_at_most, surely_not_negative
from scanviz.engine.ops.support import constant
from scanviz.engine.rewrites.level import Level
from scanviz.engine.rewrites.loops import checked_rows
from scanviz.engine.rewrites.row_reads import Read, from_the_end
from scanviz.engine.rewrites.row_requests import cannot_fail, reindexed, work_of
from scanviz.engine.rewrites.rule import Match, Refusal
from scanviz.engine.scan.loop import ScanView
from scanviz.engine.scan.rebuild import rebuilt_loop
from scanviz.engine.scan.variables import ALL, LoopVariable, State, StepOutput
from scanviz.engine.scan.variables import Sequence as LoopSequence
from scanviz.engine.sizes.dims import SIZES, Dim


def with_first_steps(
    view: ScanView, level: Level, reads: Sequence[tuple[LoopVariable, Read]]
) -> Match | Refusal:
    """Return a loop of the steps that readers need, with what they ask it for, or why it takes them all."""
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
    return Match(mapping, _says(view, [read for _, read in reads], fewer))


def _says(view: ScanView, reads: Sequence[Read], fewer: Dim) -> str:
    name = view.op.scan_name
    if all(isinstance(read.front, int) for read in reads):
        most = max(read.front for read in reads)
        return f"`{name}` takes at most {some(most, 'step')}: nobody reads a row after them"
    if isinstance(fewer, int):
        return f"`{name}` takes {some(fewer, 'step')} fewer: nobody reads its last rows"
    shown = ", ".join(dict.fromkeys(f"`{describe(read.node.outputs[0])}`" for read in reads))
    return f"`{name}` takes no step after the last row that {shown} {'needs' if len(reads) == 1 else 'need'}"


def why_no_bound(read: Read, variable: State | StepOutput, view: ScanView, level: Level) -> str | None:
    """Return why a reader does not tell after which step nothing is read, None if it does."""
    name, n, work = describe(read.node.outputs[0]), size_of(view.n_steps), work_of(read)
    if view.op.until is not None and from_the_end(read):
        return f"`{name}` counts from the end of a loop that may end early"
    if variable.keep != ALL and not _counts_back(read):
        return f"`{variable.name}` keeps only its last rows"
    if view.node in work:
        return f"which row `{name}` is, the loop computes itself"
    if not cannot_fail(work) and read.node not in always_computed(level.outputs):
        return f"`{name}` is read by a branch that may not be taken, and what it asks for may be an error"
    if isinstance(read.exists, int) and isinstance(n, int) and n + read.exists < 0:
        return f"there is no row `{name}`"
    return None


def _counts_back(read: Read) -> bool:
    """Return whether a reader counts from the end by numbers known when building."""
    bounds = [bound for bound in (read.start, read.stop) if bound is not None]
    return bool(bounds) and all(isinstance(bound, int) and bound < 0 for bound in bounds)


def _steps(n: Dim, reads: Sequence[Read]) -> Dim:
    """Return how many steps are needed of n: the most that a reader needs; all where a row is read that there is not."""
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
    """Return whether all rows are there that are asked for by an index, None if they are for sure."""
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
