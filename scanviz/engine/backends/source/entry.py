"""Entering a loop without an arena: one function that makes its rows, takes its steps and returns its results.

A short loop takes longer to enter than to run, where each run makes an arena first: a dozen objects for rows that may grow, for
observers and for errors.  Here all that is known from the plan stands in the source, around the very lines of the steps that the
plain variant has; rows are local variables.  Whatever is unusual is left to the arena: the function returns None, before it has
changed anything, where the shapes are others, where there is no step, or where something about the inputs is wrong.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from scanviz.engine.backends.source.around import AroundSteps, is_planned
from scanviz.engine.backends.source.assembly import put_steps
from scanviz.engine.backends.source.compiled import (
    NOTE_FAILURE,
    CompiledSource,
    compile_source,
    failure_of,
    raised_in,
)
from scanviz.engine.runtime.calling import FailedRun
from scanviz.engine.runtime.errors import in_words

if TYPE_CHECKING:
    from scanviz.engine.backends.source.loop import LoopWriter
    from scanviz.engine.program.instructions import LoopInstruction
    from scanviz.engine.runtime.calling import Entry


def written_entry(writer: LoopWriter) -> Entry | None:
    """Return what enters and runs a loop, with 0 for the number of its first step; None where the plan does not say all.

    The loop has no stop condition and no effects, and its arrays are NumPy's.
    """
    if not is_planned(writer.loop, writer.plan):
        return None
    made: Entry = _Entry(writer.write()).assembled().function
    return made


class _Entry(AroundSteps):
    """Writes an entry around the lines of the steps."""

    def __init__(self, writer: LoopWriter) -> None:
        super().__init__(writer.loop, writer.plan, writer.emitter, writer.library.tier.module, writer)
        self.writer = writer

    def assembled(self) -> CompiledSource:
        """Return the compiled function."""
        emitter, writer = self.emitter, self.writer
        name = emitter.fresh(f"enter_{self.loop.name}")
        lines = self.head(name)
        if writer.buffers:
            lines.append(f"    {', '.join(writer.buffers)}, = buffers")
        if writer.runners:
            lines.append("    probe = None")
        where: dict[int, int] = {}
        lines.append("    try:")
        put_steps(writer, lines, where)
        lines += ["    except Exception as error:", f"        return {NOTE_FAILURE}(error)"]
        lines += [f"    {text}" for text in writer.store_held("last")]
        looks = (
            {} if writer.accumulated else writer.looks
        )  # where many steps are taken at once they are not there
        results = [looks.get(source, source) for source in self.results()]
        lines.append(f"    return [{', '.join(results)}]")
        text, title = "\n".join(lines) + "\n", f"entry of loop {self.loop.name}"
        failed = partial(failed_run, self.loop)
        return compile_source(text, name, emitter.namespace, where, emitter.names(), title, failed)


def failed_run(loop: LoopInstruction, code: CompiledSource, error: BaseException) -> FailedRun:
    """Return how the run ended in which the code of a loop's entry raised an error."""
    raised = raised_in(error, code)
    step, failure = raised.names.get("t", 0), failure_of(raised, code, loop.body)
    if failure is not None:
        failure = failure._replace(step=step)
    return FailedRun(step, in_words(error, loop.body, failure, loop), error.__cause__)
