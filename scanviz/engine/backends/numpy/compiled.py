"""Compiling generated source so that tracebacks and debuggers show it."""

from __future__ import annotations

import itertools
import linecache
import re
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from scanviz.engine.program.instructions import Program
from scanviz.engine.runtime.errors import Failure

_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class CompiledSource:
    """A generated function.

    Attributes
    ----------
    function : callable
        What to call.
    text : str
        Its source.
    file : str
        The made-up file name that its code carries.
    lines : dict[int, int]
        Line → index of the instruction it runs.
    names : dict[int, str]
        Register → the name that holds its value.
    steps : bool
        Whether it runs steps of a loop, the number of which it calls ``t``.
    """

    function: Callable[..., Any]
    text: str
    file: str
    lines: dict[int, int]
    names: dict[int, str]
    steps: bool


def compile_source(
    text: str,
    entry: str,
    namespace: dict[str, Any],
    lines: dict[int, int],
    names: dict[int, str],
    title: str,
    steps: bool = False,
) -> CompiledSource:
    """Return the function ``entry`` of generated source; ``title`` is what its made-up file is called."""
    readable = re.sub(r"[^\w .:/-]", "_", title)[:60]
    file = f"<scanviz {readable} #{next(_numbers)}>"
    scope = dict(namespace)
    exec(compile(text, file, "exec"), scope)
    function = scope[entry]
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    weakref.finalize(function, linecache.cache.pop, file, None)  # shown as long as the code lives
    return CompiledSource(function, text, file, lines, names, steps)


def failure_of(error: BaseException, code: CompiledSource, program: Program) -> Failure | None:
    """Return the instruction and step at which generated code raised an error, None if it was not there.

    The line is found in the traceback, which costs nothing while no error is raised.
    """
    trace, line = error.__traceback__, 0
    names: dict[str, Any] = {}
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == code.file:
            line, names = trace.tb_lineno, {**trace.tb_frame.f_globals, **trace.tb_frame.f_locals}
        trace = trace.tb_next
    index = code.lines.get(line)
    if index is None:
        return None
    read = program.instructions[index].inputs
    values = tuple(names.get(code.names.get(number, "")) for number in read)
    return Failure(index, names.get("t") if code.steps else None, values)
