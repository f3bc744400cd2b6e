"""fewer_steps: steps after the last row that anybody reads are not taken.

Each reader of a loop's results needs the first so many rows: ``out[2]`` three of them, ``out[-10]`` of n steps n - 9, ``out[:-10]``
n - 10, ``out[i]`` i + 1.  The loop takes the most that one of them needs.  Rows counted from the end would be others after a
shorter loop, so those readers ask for the same rows in another way.  Where a row is read that there is not, all steps are
taken and the reader asks as before: the error is the same.

A loop that ends by a condition has no end to count from before it has run: there, only rows counted from the start are a bound.  A
sequence that is too short for the steps that were asked for is an error of the loop with fewer steps too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scanviz.engine.graph.nodes import Apply, describe
from scanviz.engine.ops.sizes import size_of
from scanviz.engine.rewrites.level import Level
from scanviz.engine.rewrites.rule import Match, Refusal, rule
from scanviz.engine.scan.effects import effects_of
from scanviz.engine.scan.loop import SCAN, ScanView
from scanviz.engine.scan.variables import LoopVariable, State, StepOutput

if TYPE_CHECKING:
    from scanviz.engine.rewrites.row_reads import Read

    Reads = list[tuple[LoopVariable, Read]]


@rule(name="fewer_steps", phase="keep", on=(SCAN,), single=True, tags=("scan",))
def fewer_steps(node: Apply, level: Level) -> Match | Refusal:
    """Take no step after the last row that anybody reads."""
    view = ScanView(node)
    if view.op.settings.steps_read:
        return Refusal(f"`{view.op.scan_name}` takes no step already after the last row that is read", 4)
    if effects_of(view.op):
        return Refusal(f"steps of `{view.op.scan_name}` print or check something", 1)
    reads = _reads(view, level)
    if isinstance(reads, Refusal):
        return reads
    if not reads:
        return Refusal(f"nobody reads a row of `{view.op.scan_name}`")
    from scanviz.engine.rewrites.first_steps import with_first_steps

    return with_first_steps(view, level, reads)


def _reads(view: ScanView, level: Level) -> Reads | Refusal:
    """Return who reads rows of a loop, or why the last step must be taken."""
    n = size_of(view.n_steps)
    found: Reads = []
    for variable in view.op.variables:
        result = view.outer_output(variable)
        if result is None or not level.is_read(result):
            continue
        if not isinstance(variable, State | StepOutput) or getattr(variable, "kind", None) == "mitmot":
            return Refusal(f"what `{variable.name}` is after the last step is read", 1)
        if result in level.wanted:
            return Refusal(f"all rows of `{variable.name}` are wanted", 1)
        from scanviz.engine.rewrites.row_reads import read_of  # of most loops all rows are wanted

        for node, position in level.readers(result):
            read = read_of(node, position, n)
            if read is None:
                return Refusal(f"`{describe(node.outputs[0])}` may read the last row of `{variable.name}`", 2)
            from scanviz.engine.rewrites.first_steps import why_no_bound

            why = why_no_bound(read, variable, view, level)
            if why is not None:
                return Refusal(why, 2)
            found.append((variable, read))
    return found
