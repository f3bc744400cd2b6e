"""What Python calls to print a traceback: whatever did it before, while an error has the program's frames alone.

What that means stands in :mod:`scanviz.engine.tracebacks`, which is imported when there is an error to be printed.
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
    ):  # Python is about to end, or no file can be opened: the error is shown as it is
        return nullcontext()
    return program_frames(error)


def install() -> None:
    """Let tracebacks that Python prints, of the main thread and of others, show the program's frames alone."""
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
    """Let IPython, which prints tracebacks in its own way, say of a keyword or an import what to write."""
    show_it = shell.showtraceback

    def shown(exc_tuple: Any = None, *arguments: Any, **options: Any) -> None:
        from scanviz.engine.tracebacks import with_answer

        value = exc_tuple[1] if exc_tuple else sys.exc_info()[1]
        with with_answer(value) if value is not None else nullcontext():
            show_it(exc_tuple, *arguments, **options)

    shell.showtraceback = shown
