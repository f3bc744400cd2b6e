"""Hide scanviz's frames in tracebacks, so that users see the frames of their program.

A scanviz error names the problem and the line already, so scanviz's frames add nothing; nor do they if a step's function raised, or
ctrl+c interrupted scanviz.  An internal error keeps all frames, for a bug report.  ``SCANVIZ_TRACEBACK=full``, or
``config.traceback = "full"``, keeps them always.

Frames are hidden only while a traceback is printed (:mod:`scanviz.engine.traceback_hooks`): debuggers and test runners see all, and
calls without errors cost nothing.

Limits: exceptions inside an exception group are shown unchanged; notebooks print tracebacks in their own way.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from scanviz.engine.config import config
from scanviz.engine.errors import ScanvizError

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
# Libraries that scanviz calls: their frames are hidden like scanviz's own.
_CALLED_LIBRARIES = {"numpy", "scipy", "cupy", "llvmlite"} | sys.stdlib_module_names


@contextmanager
def program_frames(error: BaseException) -> Iterator[None]:
    """Hide scanviz's frames of an error and its causes in the block, unless the user wants all."""
    with with_answer(error):
        if config.traceback == "full":
            yield
            return
        with _tidied(error):
            yield


@contextmanager
def with_answer(error: BaseException) -> Iterator[None]:
    """Add scanviz's name for a foreign keyword or import to an error in the block."""
    found = frames(error.__traceback__)
    answer = None
    if isinstance(error, TypeError | ImportError) and found:
        # only for errors
        from scanviz.engine.other_keywords import import_answer, keyword_answer

        frame = found[-1].tb_frame
        answer = import_answer(error) or keyword_answer(error, {**frame.f_globals, **frame.f_locals})
    if answer is None:
        yield
        return
    error.add_note(f"  write:    {answer}")
    try:
        yield
    finally:
        error.__notes__.pop()


@contextmanager
def _tidied(error: BaseException) -> Iterator[None]:
    before = [
        (link, link.__traceback__, link.__cause__, link.__context__, link.__suppress_context__)
        for link in _chain(error)
    ]
    try:
        tidy_chain(error)
        yield
    finally:
        for link, trace, cause, context, suppressed in before:
            link.__traceback__, link.__cause__, link.__context__ = trace, cause, context
            link.__suppress_context__ = suppressed


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Iterate over an error and its causes."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        link = waiting.pop()
        if link is not None and id(link) not in seen:
            seen.add(id(link))
            yield link
            waiting += [link.__cause__, link.__context__]


def frames(trace: TracebackType | None) -> list[TracebackType]:
    """Return the frames of a traceback, outermost first."""
    found = []
    while trace is not None:
        found.append(trace)
        trace = trace.tb_next
    return found


def is_own(trace: TracebackType) -> bool:
    """Return whether a frame is one of scanviz's."""
    file = trace.tb_frame.f_code.co_filename
    return file.startswith((_PACKAGE, "<scanviz")) and trace.tb_frame.f_globals.get("__name__") != "__main__"


def _is_program(trace: TracebackType) -> bool:
    module = str(trace.tb_frame.f_globals.get("__name__", ""))
    return not is_own(trace) and module.partition(".")[0] not in _CALLED_LIBRARIES


def tidy_chain(error: BaseException) -> None:
    """Hide scanviz's frames in an error and its causes, and drop scanviz's inner errors."""
    for link in _chain(error):
        if isinstance(link, ScanvizError | KeyboardInterrupt):
            _unlink_inner_errors(link)
        _tidy(link)


def _tidy(error: BaseException) -> None:
    found = frames(error.__traceback__)
    kept = _without_own(found)
    last_own = max((place for place, traceback in enumerate(found) if is_own(traceback)), default=-1)
    programs_error = any(_is_program(traceback) for traceback in found[last_own + 1 :])
    is_explained = (
        isinstance(error, (ScanvizError, KeyboardInterrupt)) or programs_error or _is_of_a_name(error, found)
    )
    if not kept or not is_explained:
        return
    shown: TracebackType | None = None
    for traceback in reversed(kept):
        shown = TracebackType(shown, traceback.tb_frame, traceback.tb_lasti, traceback.tb_lineno)
    error.__traceback__ = shown


def _is_of_a_name(error: BaseException, found: list[TracebackType]) -> bool:
    """Return whether an error reports a missing name of a scanviz module."""
    return isinstance(error, AttributeError) and found[-1].tb_frame.f_code.co_name == "__getattr__"


def _without_own(found: list[TracebackType]) -> list[TracebackType]:
    """Return the frames without those of scanviz and of libraries that it called."""
    kept, is_inside = [], False
    for traceback in found:
        is_inside = is_own(traceback) or (is_inside and not _is_program(traceback))
        if not is_inside:
            kept.append(traceback)
    return kept


def _unlink_inner_errors(error: BaseException) -> None:
    """Link an error to the program's own error, not to the inner error that scanviz explains, or was handling when ctrl+c came.

    If scanviz cut the chain itself, it cut off its inner error; the program's error behind that one is found all the same.
    """
    origin = error.__cause__ or error.__context__
    if origin is None or (error.__cause__ is not None and _has_program_frames(origin)):
        return
    while origin is not None and not _has_program_frames(origin):
        origin = origin.__cause__ or origin.__context__
    error.__cause__ = None
    error.__context__, error.__suppress_context__ = origin, origin is None


def _has_program_frames(error: BaseException) -> bool:
    return any(_is_program(frame) for frame in frames(error.__traceback__))
