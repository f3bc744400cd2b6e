"""Which frames of a program's last traceback are shown under ``scanviz run``: none between python and the program.

Frames inside scanviz are hidden as everywhere (:mod:`scanviz.engine.tracebacks`).
"""

from __future__ import annotations

import sys
from types import CodeType, TracebackType

from scanviz.engine.config import config
from scanviz.engine.tracebacks import frames, is_own, tidy_chain


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
            if config.traceback != "full":
                tidy_chain(value)
                trace = value.__traceback__
            sys.last_traceback = trace
        print_it(kind, value, trace)

    sys.excepthook = hook


def _below(trace: TracebackType | None, entry: CodeType) -> TracebackType | None:
    """Return what stands below the entry's frame, less the frames that only loaded the program."""
    found = frames(trace)
    for position, each in enumerate(found):
        if each.tb_frame.f_code is entry:
            trace = each.tb_next
            for below in found[position + 1 :]:
                if not is_own(below) and not below.tb_frame.f_code.co_filename.startswith(
                    "<frozen importlib"
                ):
                    return below
                trace = None
            return trace
    return trace
