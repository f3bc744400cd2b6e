"""Set the exit code or signal of the process at its very end, after the program's own handlers and threads.

A program interrupted by ctrl+c dies by SIGINT, as under python, so that an enclosing shell loop ends too.  A profile that could not
be saved never gives exit code 0, although python accepts no exit code while its exit handlers run.

A forked process gets the default signal handlers again, as under python.  With inherited handlers it would lose a signal that
arrives at once, since Python first drops pending signals after a fork; the default handler ends the process.  So signals are
blocked while a process forks (:func:`answer`).

A program may use up all file descriptors, and the end of a run needs some: to import, to save, to start the drawing of a picture.
They are reserved while the program runs (:func:`descriptors_held`).
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import signal
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType

from msgspec import Struct

Handler = Callable[[int, FrameType | None], None]

_DESCRIPTORS = 16  # a helper process needs ten of them
_HELD: list[int] = []  # reserved descriptors of this process
_TERMINATIONS = ("SIGTERM", "SIGHUP")


class Exit(Struct):
    """The state of the process's exit.

    Attributes
    ----------
    began : bool
        Whether code of the program has run.
    ended_by_program : bool
        Whether the current KeyboardInterrupt came from the program and has its own traceback.
    number : int or None
        The signal by which the process dies.
    failed : bool
        Whether a requested result is missing, which excludes exit code 0.
    """

    began: bool = False
    ended_by_program: bool = False
    number: int | None = None
    failed: bool = False


EXIT = Exit()  # of this process


class Terminated(KeyboardInterrupt):
    """SIGTERM or SIGHUP, treated like ctrl+c."""


def register_final_exit() -> None:
    """Register the final exit handler.

    Call this before registering other exit handlers: python calls the first one last.
    """
    at_the_end(_finish)


def at_the_end(action: Callable[[], None]) -> None:
    """Register an exit handler that runs even if ctrl+c arrives at the moment of its call.

    An interrupt before the handler's first instruction ends the handler and cannot be caught.  So python calls it twice, and the
    handler must do its work once.  That interrupt is not reported.
    """
    atexit.register(action)
    atexit.register(action)
    _WITHOUT_A_WORD.add(getattr(action, "__code__", None))
    if getattr(sys.unraisablehook, "func", None) is not _hear:
        sys.unraisablehook = partial(_hear, sys.unraisablehook)


_WITHOUT_A_WORD: set[object] = set()  # handlers whose interruption at the first instruction is not reported


def _hear(report: Callable[[sys.UnraisableHookArgs], object], found: sys.UnraisableHookArgs) -> None:
    """Note a ctrl+c during exit handlers, which Python would ignore.

    ``report``, the previous hook, reports interrupts of the program's own code and all other errors, but no interrupt of python's
    call of a handler.
    """
    if isinstance(found.exc_value, KeyboardInterrupt) and "atexit" in (found.err_msg or ""):
        EXIT.number = signal.SIGINT
        trace = found.exc_traceback
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        if trace is None or trace.tb_frame.f_code in _WITHOUT_A_WORD:
            return
        if trace.tb_frame.f_globals.get("__name__") == "weakref":
            return
    report(found)


def note_interrupts() -> None:
    """Defer ctrl+c to the very end, once all requested work is done; a second one ends the process at once.

    Only python's own cleanup is left then: an interrupt would stop it halfway and print a misleading KeyboardInterrupt.
    """
    _exchange_interrupts(_note)


def _note(number: int, frame: FrameType | None) -> None:
    EXIT.number = number
    signal.signal(number, signal.SIG_DFL)


def _exchange_interrupts(answer: Callable[[int, FrameType | None], None] | signal.Handlers) -> None:
    """Replace the handler of ctrl+c, unless it is the program's own; only the main thread may."""
    here = threading.current_thread() is threading.main_thread()
    if here and signal.getsignal(signal.SIGINT) in (signal.default_int_handler, _note):
        signal.signal(signal.SIGINT, answer)


def _finish() -> None:
    _exchange_interrupts(signal.SIG_DFL)  # no code is left to catch a KeyboardInterrupt
    if EXIT.number is not None and sys.platform != "win32":
        die_by(EXIT.number)
    if EXIT.failed:
        _end_with(1)


def die_by(number: int) -> None:
    """End the process by a signal, after flushing its output."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # a closed stream has nothing to lose
            stream.flush()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def _end_with(code: int) -> None:
    """Finalize python with another exit code; call this in the last exit handler."""
    atexit._clear()
    ctypes.pythonapi.Py_Exit(code)


@contextmanager
def descriptors_held() -> Iterator[None]:
    """Reserve file descriptors while a program runs."""
    with contextlib.suppress(OSError):
        _HELD.extend(os.open(os.devnull, os.O_RDONLY) for _ in range(_DESCRIPTORS))
    try:
        yield
    finally:
        free_descriptors()


def free_descriptors() -> None:
    """Free the reserved descriptors, except those that the program has closed and reused."""
    while _HELD:
        number = _HELD.pop()
        with contextlib.suppress(OSError):
            found = os.fstat(number)
            if stat.S_ISCHR(found.st_mode) and found.st_rdev == os.stat(os.devnull).st_rdev:
                os.close(number)


class _Forks:
    """Signals that are blocked while a process forks.

    Attributes
    ----------
    handlers : dict
        Handlers that :func:`answer` set in this process, by signal.
    hooked : bool
        Whether the fork hooks are registered, in this process or a parent.
    """

    def __init__(self) -> None:
        self.handlers: dict[int, Handler] = {}
        self.hooked = False
        self._before: dict[int, set[signal.Signals | int]] = {}  # signals already blocked, by thread

    def begin(self) -> None:
        if self.handlers:
            before = signal.pthread_sigmask(signal.SIG_BLOCK, self.handlers)
            self._before[threading.get_ident()] = before

    def end(self) -> None:
        before = self._before.pop(threading.get_ident(), None)
        if before is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        elif self.handlers:  # an interrupt came before the assignment
            signal.pthread_sigmask(signal.SIG_UNBLOCK, self.handlers)

    def end_in_child(self) -> None:
        for number, handler in self.handlers.items():
            if signal.getsignal(number) is handler:
                signal.signal(number, signal.SIG_DFL)
        self.end()
        self.handlers = {}
        self._before.clear()


_FORKS = _Forks()


def answer(number: int, handler: Handler) -> None:
    """Set a signal handler for this process, but not for its forks; call this in the main thread.

    Parameters
    ----------
    number : int
        The signal.
    handler : callable
        Called as ``handler(number, frame)``.
    """
    _FORKS.handlers[number] = handler
    if not _FORKS.hooked and hasattr(os, "register_at_fork"):
        _FORKS.hooked = True
        os.register_at_fork(
            before=_FORKS.begin, after_in_parent=_FORKS.end, after_in_child=_FORKS.end_in_child
        )
    signal.signal(number, handler)


@contextmanager
def terminations_as_interrupts() -> Iterator[None]:
    """Raise ``Terminated`` in the block on SIGTERM or SIGHUP instead of dying at once; the process dies by it at its end."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        EXIT.number = number
        raise Terminated

    numbers = [getattr(signal, termination) for termination in _TERMINATIONS if hasattr(signal, termination)]
    caught = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]
    for number in caught:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number in caught:
            signal.signal(number, signal.SIG_DFL)
