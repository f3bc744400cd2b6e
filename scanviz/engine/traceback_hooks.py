"""Install hooks that hide scanviz's frames while Python prints a traceback.

The rules are in :mod:`scanviz.engine.tracebacks`, which is imported at the first error.
"""

from __future__ import annotations

import sys
import threading
from contextlib import AbstractContextManager, nullcontext
from types import TracebackType
from typing import Any


def _program_frames(error: BaseException) -> AbstractContextManager[None]:
    try:
        from scanviz.engine.tracebacks import program_frames
    except (
        ImportError,
        OSError,
    ):  # at the end of Python, or without free file descriptors
        return nullcontext()
    return program_frames(error)


def install() -> None:
    """Hide scanviz's frames in tracebacks that Python prints, for all threads."""
    print_it, print_of_thread = sys.excepthook, threading.excepthook

    def hook(kind: type[BaseException], value: BaseException, trace: TracebackType | None) -> None:
        with _program_frames(value):
            print_it(kind, value, value.__traceback__ if trace is not None else None)

    def thread_hook(arguments: threading.ExceptHookArgs) -> None:
        if arguments.exc_value is None:
            print_of_thread(arguments)
            return
        with _program_frames(arguments.exc_value):
            shown = (
                arguments.exc_type,
                arguments.exc_value,
                arguments.exc_value.__traceback__,
                arguments.thread,
            )
            print_of_thread(threading.ExceptHookArgs(shown))

    sys.excepthook, threading.excepthook = hook, thread_hook
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is not None:
        _answer_in(shell)


def _answer_in(shell: Any) -> None:
    """Add the answer for foreign keywords and imports to IPython's own tracebacks."""
    show_it = shell.showtraceback

    def shown(exc_tuple: Any = None, *arguments: Any, **options: Any) -> None:
        from scanviz.engine.tracebacks import with_answer

        value = exc_tuple[1] if exc_tuple else sys.exc_info()[1]
        with with_answer(value) if value is not None else nullcontext():
            show_it(exc_tuple, *arguments, **options)

    shell.showtraceback = shown
