"""Compiling generated source so that tracebacks and debuggers show it."""

from __future__ import annotations

import itertools
import linecache
import re
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
    """

    function: Callable[..., Any]
    text: str
    file: str
    lines: dict[int, int]


def compile_source(
    text: str, entry: str, namespace: dict[str, Any], lines: dict[int, int], name: str
) -> CompiledSource:
    """Return the function ``entry`` of generated source."""
    readable = re.sub(r"[^\w .:/-]", "_", name)[:60]
    file = f"<scanviz {readable} #{next(_numbers)}>"
    scope = dict(namespace)
    exec(compile(text, file, "exec"), scope)
    if len(linecache.cache) < 4000:  # a long-lived process that builds without end keeps its memory
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    return CompiledSource(scope[entry], text, file, lines)


def failing_line(error: BaseException, code: CompiledSource) -> tuple[int, dict[str, Any]]:
    """Return the line of generated code that raised an error and the values of its names there; line 0 if none did."""
    trace = error.__traceback__
    found: tuple[int, dict[str, Any]] = (0, {})
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == code.file:
            found = (trace.tb_lineno, {**trace.tb_frame.f_globals, **trace.tb_frame.f_locals})
        trace = trace.tb_next
    return found
