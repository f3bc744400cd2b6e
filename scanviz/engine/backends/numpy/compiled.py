"""Compiling generated source so that tracebacks and debuggers show it."""

from __future__ import annotations

import itertools
import linecache
import re
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

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
    """

    function: Callable[..., Any]
    text: str
    file: str
    lines: dict[int, int]
    names: dict[int, str]


def compile_source(
    text: str, entry: str, namespace: dict[str, Any], lines: dict[int, int], names: dict[int, str], title: str
) -> CompiledSource:
    """Return the function ``entry`` of generated source; ``title`` is what its made-up file is called."""
    readable = re.sub(r"[^\w .:/-]", "_", title)[:60]
    file = f"<scanviz {readable} #{next(_numbers)}>"
    scope = dict(namespace)
    exec(compile(text, file, "exec"), scope)
    function = scope[entry]
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    weakref.finalize(function, linecache.cache.pop, file, None)  # shown as long as the code lives
    return CompiledSource(function, text, file, lines, names)


def failing_line(error: BaseException, code: CompiledSource) -> tuple[int, dict[str, Any]]:
    """Return the line of generated code that raised an error and the values of its names there; line 0 if none did."""
    trace = error.__traceback__
    found: tuple[int, dict[str, Any]] = (0, {})
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == code.file:
            found = (trace.tb_lineno, {**trace.tb_frame.f_globals, **trace.tb_frame.f_locals})
        trace = trace.tb_next
    return found
