"""ScanSaveMem: of a loop's result, keep only the rows that someone reads, and take no step that nobody asks for.

A result that is only ever read as ``out[-k]`` or ``out[-k:]`` with known k (or as its last row, by an update) needs its last
rows alone: the loop then runs in a ring of them.  ``out[-k]`` stays ``out[-k]``: it is the number of rows kept that
changes, in the Scan, and never an index.  Where all that is read lies before a known row, the steps after it are left
out; a loop of fewer steps, or of none, gives the same rows or the same error.  Both hold for loops that end by a condition
too: the step that ends them is the same.
"""

from __future__ import annotations

from scanviz.engine.graph.nodes import Apply, Variable, describe
from scanviz.engine.ops.elementwise import minimum
from scanviz.engine.ops.index import INDEX, LAST_ROW
from scanviz.engine.ops.index_pattern import Entry
from scanviz.engine.ops.support import constant, constant_integer
from scanviz.engine.rewrites.level import Level
from scanviz.engine.rewrites.loops import at_least, outer_of, rebuilt_loop, sequences_of
from scanviz.engine.rewrites.rule import Match, Refusal, rule
from scanviz.engine.rewrites.words import some
from scanviz.engine.scan.loop import SCAN, ScanView
from scanviz.engine.scan.variables import ALL, Carry, Keep, LoopVariable, State, StepOutput


@rule(name="ScanSaveMem", phase="keep", on=(SCAN,), single=True, tags=("scan", "memory"))
def save_memory(node: Apply, level: Level) -> Match | Refusal:
    """Keep only the rows of results that are read, and take only the steps that are asked for."""
    view = ScanView(node)
    kept: dict[LoopVariable, LoopVariable] = {}
    said: list[str] = []
    refusals: list[Refusal] = []
    for variable in view.op.variables:
        found = _rows_read(variable, view, level)
        if isinstance(found, Refusal):
            refusals.append(found)
        elif found is not None:
            kept[variable] = _with_keep(variable, found)
            rows = "only its last row" if found.last == 1 else f"only its last {found.last} rows"
            said.append(f"`{variable.name}` keeps {rows}")
    steps = _steps_asked_for(view, level)
    if steps is not None:
        said.append(f"`{view.op.scan_name}` takes at most {some(steps, 'step')}")
    if not said:
        why = max(
            refusals,
            key=lambda each: each.near,
            default=Refusal("no result of the loop has rows to leave out"),
        )
        return why
    n_steps = view.n_steps if steps is None else minimum(view.n_steps, constant(steps, "int64"))
    _, mapping = rebuilt_loop(view, kept, n_steps=n_steps)
    return Match(mapping, "; ".join(said))


def _with_keep(variable: LoopVariable, keep: Keep) -> LoopVariable:
    if isinstance(variable, State):
        return State(variable.name, variable.reads, variable.writes, keep, variable.shared)
    assert isinstance(variable, StepOutput)
    return StepOutput(variable.name, variable.value, keep)


def _rows_read(variable: LoopVariable, view: ScanView, level: Level) -> Keep | Refusal | None:
    """Return how many last rows of a result are read, fewer than it keeps now; None where there is no question."""
    result = view.outer_output(variable)
    if not isinstance(variable, State | StepOutput) or result is None or not level.is_read(result):
        return None
    if variable.keep != ALL:
        return Refusal(f"`{variable.name}` keeps only its last rows already", 3)
    if isinstance(variable, State) and variable.kind == "mitmot":
        return Refusal(f"`{variable.name}` is a buffer that steps write at several places", 0)
    if result in level.wanted:
        return Refusal(f"all rows of `{variable.name}` are wanted", 1)
    depths: list[int] = []
    for node, position in level.readers(result):
        depth = _depth(node, position)
        if depth is None:
            return Refusal(f"`{describe(node.outputs[0])}` may read any row of `{variable.name}`", 2)
        depths.append(depth)
    return Keep(max(depths))


def _depth(node: Apply, position: int) -> int | None:
    """Return how far from the end a reader looks, None if it looks elsewhere too."""
    if node.op.declaration is LAST_ROW and position == 0:
        return 1
    first = _first_entry(node, position)
    if first is None:
        return None
    if first.kind == "integer":
        return -first.start if isinstance(first.start, int) and first.start < 0 else None
    if first.kind != "slice" or first.step not in (None, 1):
        return None
    from_end = isinstance(first.start, int) and first.start < 0
    to_end = first.stop is None or (isinstance(first.stop, int) and first.stop < 0)
    return -int(first.start or 0) if from_end and to_end else None


def _steps_asked_for(view: ScanView, level: Level) -> int | None:
    """Return the number of steps after which nothing is read, None where it is not known or not less.

    A sequence that may be too short is an error of the loop: then all its steps are asked for.
    """
    given = [level.shape(outer_of(view, each))[0] for each in sequences_of(view.op)]
    if not all(at_least(size, view.n_steps) for size in given):
        return None
    furthest = 0
    for variable in view.op.variables:
        result = view.outer_output(variable)
        if result is None or not level.is_read(result):
            continue
        if isinstance(variable, Carry) or result in level.wanted:
            return None
        if isinstance(variable, State) and variable.kind == "mitmot":
            return None
        if not isinstance(variable, State | StepOutput) or variable.keep != ALL:
            return None
        for node, position in level.readers(result):
            end = _end(node, position)
            if end is None:
                return None
            furthest = max(furthest, end)
    return furthest if furthest and not _at_most(view.n_steps, furthest) else None


def _end(node: Apply, position: int) -> int | None:
    """Return how many first rows a reader looks at, None if that is not known."""
    first = _first_entry(node, position)
    if first is None:
        return None
    if first.kind == "integer":
        return first.start + 1 if isinstance(first.start, int) and first.start >= 0 else None
    rising = first.step is None or (isinstance(first.step, int) and first.step > 0)
    early = isinstance(first.stop, int) and first.stop > 0
    counted = first.start is None or (isinstance(first.start, int) and first.start >= 0)
    return int(first.stop or 0) if first.kind == "slice" and rising and early and counted else None


def _first_entry(node: Apply, position: int) -> Entry | None:
    if node.op.declaration is not INDEX or position != 0:
        return None
    return next((each for each in node.op.parameters.entries if each.kind != "newaxis"), None)


def _at_most(n_steps: Variable, limit: int) -> bool:
    """Return whether a number of steps is known not to be above a limit."""
    known = constant_integer(n_steps)
    if known is not None:
        return known <= limit
    node = n_steps.owner
    if node is None or node.op.declaration is not minimum:
        return False
    return any(_at_most(each, limit) for each in node.inputs)
