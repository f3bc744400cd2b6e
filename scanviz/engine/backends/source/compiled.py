"""Compile generated source so that tracebacks and debuggers show it."""

from __future__ import annotations

import itertools
import linecache
import re
import weakref
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct

from scanviz.engine.runtime.calling import FAILED, Outcome

if TYPE_CHECKING:
    from scanviz.engine.backends.source.emitter import Emitter
    from scanviz.engine.program.instructions import Program
    from scanviz.engine.runtime.arena import LoopArena
    from scanviz.engine.runtime.errors import Failure

NOTE_FAILURE = "failed"  # what generated code of a loop calls where an error was raised
_numbers = itertools.count(1)


class CompiledSource(Struct, frozen=True):
    """A generated function.

    Attributes
    ----------
    function : callable
        The function.
    text : str
        Its source.
    file : str
        The file name in its code object.
    lines : dict[int, int]
        Line → index of its instruction.
    names : dict[int, str]
        Register → its name in the source.
    """

    function: Callable[..., Any]
    text: str
    file: str
    lines: dict[int, int]
    names: dict[int, str]


class Raised(NamedTuple):
    """The place where generated code raised: line (0 if elsewhere) and local names."""

    line: int
    names: dict[str, Any]


def compile_source(
    lines: list[str],
    entry: str,
    emitter: Emitter,
    where: dict[int, int],
    title: str,
    failed: Callable[..., Any] | None = None,
) -> CompiledSource:
    """Compile lines of generated source, and return their function ``entry``; ``title`` names its pseudo file.

    The function calls ``failed`` after an error, with itself before the arguments; by default :func:`note_failure`.
    """
    readable = re.sub(r"[^\w .:/-]", "_", title)[:60]
    file = f"<scanviz {readable} #{next(_numbers)}>"
    text, scope = "\n".join(lines) + "\n", dict(emitter.namespace)
    exec(compile(text, file, "exec"), scope)
    function = scope[entry]
    made = CompiledSource(function, text, file, where, emitter.names())
    scope[NOTE_FAILURE] = partial(failed or note_failure, made)
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    shown = weakref.finalize(
        function, linecache.cache.pop, file, None
    )  # kept for tracebacks while the code lives
    shown.atexit = False
    return made


def raised_in(error: BaseException, code: CompiledSource) -> Raised:
    """Return where generated code raised an error, from the traceback."""
    trace, found = error.__traceback__, Raised(0, {})
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == code.file:
            found = Raised(trace.tb_lineno, {**trace.tb_frame.f_globals, **trace.tb_frame.f_locals})
        trace = trace.tb_next
    return found


def failure_of(raised: Raised, code: CompiledSource, program: Program) -> Failure | None:
    """Return the instruction that raised an error, None if there is none."""
    index = code.lines.get(raised.line)
    if index is None:
        return None
    read = program.instructions[index].inputs
    from scanviz.engine.runtime.errors import Failure

    return Failure(index, None, tuple(raised.names.get(code.names.get(number, "")) for number in read))


def note_failure(code: CompiledSource, arena: LoopArena, first: int, error: BaseException) -> Outcome:
    """Put an error into the arena, and return the outcome of failed code."""
    raised = raised_in(error, code)
    failure = failure_of(raised, code, arena.loop.body)
    arena.error = error
    arena.error_values = failure.values if failure is not None else ()
    return raised.names.get("t", first), FAILED, failure.instruction if failure is not None else -1
