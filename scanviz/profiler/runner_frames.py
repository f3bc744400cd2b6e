"""Which frames of a traceback a user sees: those of the program, and none of scanviz's.

Frames between python and the program are never shown.  For an error of scanviz the message says what is wrong, so frames inside
scanviz say nothing more; likewise where scanviz called back into the program (the function of a step) and that failed.  An error
that breaks out inside scanviz by mistake keeps all its frames: they are what a report needs.  SCANVIZ_DEBUG=1 keeps them always.

Limits: the exceptions inside an exception group are shown as they are.
"""

from __future__ import annotations

import os
import sys
from types import CodeType, TracebackType

from scanviz.engine.errors import ScanvizError

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
# What scanviz itself calls: frames there are no more the program's than scanviz's own.
_CALLED_LIBRARIES = {"numpy", "scipy", "cupy"} | sys.stdlib_module_names


def show_program_only(error: BaseException, entry: CodeType) -> None:
    """Let ``sys.excepthook``, the program's own if it has set one, see the program's frames alone.

    Parameters
    ----------
    error : BaseException
        What ended the program.
    entry : CodeType
        The code of the function that ran it: its frame and those above are hidden.
    """
    print_it = sys.excepthook

    def hook(kind: type[BaseException], value: BaseException, trace: TracebackType | None) -> None:
        if value is error:
            value.__traceback__ = trace = _below(trace, entry)
            if not os.environ.get("SCANVIZ_DEBUG"):
                _tidy_chain(value)
                trace = value.__traceback__
            sys.last_traceback = trace
        print_it(kind, value, trace)

    sys.excepthook = hook


def _below(trace: TracebackType | None, entry: CodeType) -> TracebackType | None:
    """Return what stands below the entry's frame, less the frames that only loaded the program."""
    frames = _frames(trace)
    for position, each in enumerate(frames):
        if each.tb_frame.f_code is entry:
            trace = each.tb_next
            for below in frames[position + 1 :]:
                if not _is_own(below) and not below.tb_frame.f_code.co_filename.startswith(
                    "<frozen importlib"
                ):
                    return below
                trace = None
            return trace
    return trace


def _frames(trace: TracebackType | None) -> list[TracebackType]:
    found = []
    while trace is not None:
        found.append(trace)
        trace = trace.tb_next
    return found


def _is_own(trace: TracebackType) -> bool:
    file = trace.tb_frame.f_code.co_filename
    return file.startswith((_PACKAGE, "<scanviz")) and trace.tb_frame.f_globals.get("__name__") != "__main__"


def _is_program(trace: TracebackType) -> bool:
    module = str(trace.tb_frame.f_globals.get("__name__", ""))
    return not _is_own(trace) and module.partition(".")[0] not in _CALLED_LIBRARIES


def _tidy_chain(error: BaseException) -> None:
    """Hide scanviz's frames in an error and in those it came from, and scanviz's inner errors altogether."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        each = waiting.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        if isinstance(each, ScanvizError):
            _unlink_inner_errors(each)
        _tidy(each)
        waiting += [each.__cause__, each.__context__]


def _tidy(error: BaseException) -> None:
    frames = _frames(error.__traceback__)
    kept = [each for each in frames if not _is_own(each)]
    last_own = max((place for place, each in enumerate(frames) if _is_own(each)), default=-1)
    programs_error = any(_is_program(each) for each in frames[last_own + 1 :])
    if not kept or not (isinstance(error, ScanvizError) or programs_error):
        return
    shown: TracebackType | None = None
    for each in reversed(kept):
        shown = TracebackType(shown, each.tb_frame, each.tb_lasti, each.tb_lineno)
    error.__traceback__ = shown


def _unlink_inner_errors(error: BaseException) -> None:
    """Let an error come from what the program raised, not from what scanviz caught to explain it.

    Where scanviz itself cut the chain it cut off its own inner error: what stood behind that one is looked for all the same.
    """
    origin = error.__cause__ or error.__context__
    if origin is None or (error.__cause__ is not None and _has_program_frames(origin)):
        return
    while origin is not None and not _has_program_frames(origin):
        origin = origin.__cause__ or origin.__context__
    error.__cause__ = None
    error.__context__, error.__suppress_context__ = origin, origin is None


def _has_program_frames(error: BaseException) -> bool:
    return any(_is_program(each) for each in _frames(error.__traceback__))
