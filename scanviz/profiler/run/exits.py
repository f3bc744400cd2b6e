"""How the process ends when that is known only at its very end, after the program's own handlers and threads.

A program that ctrl+c ended dies by SIGINT, as under python, so that a shell's loop around it ends too.  A profile that could not be
saved is never exit code 0, although python takes no exit code any more when its handlers run.

A process that is forked has the system's answer to signals again, as under python.  It would inherit handlers, and the first that
Python does there is to forget signals that have come: one that is sent to it at once would be lost, where the system's answer ends
it.  So signals are held back while a process forks (:func:`answer`).

A program may leave no file descriptor, and the end of a run needs some: to import, to save, to start what draws a picture.  They
are held while the program runs (:func:`descriptors_held`).
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

_DESCRIPTORS = 16  # a helper process takes ten of them
_HELD: list[int] = []  # descriptors of this process
_TERMINATIONS = ("SIGTERM", "SIGHUP")


class Exit(Struct):
    """What is known so far.

    Attributes
    ----------
    began : bool
        Whether code of the program has run.
    ended_by_program : bool
        Whether a KeyboardInterrupt that is under way came out of the program, and has its own traceback.
    number : int or None
        The signal that the process dies by.
    failed : bool
        Whether what was asked for could not be done, so that 0 would be a lie.
    """

    began: bool = False
    ended_by_program: bool = False
    number: int | None = None
    failed: bool = False


EXIT = Exit()  # of this process: there is one end


class Terminated(KeyboardInterrupt):
    """SIGTERM or SIGHUP, where it is treated like ctrl+c."""


def watch_the_end() -> None:
    """See to the way the process ends.

    Call it before anything else is to be done at the end: what is registered first is done last.
    """
    at_the_end(_finish)


def at_the_end(action: Callable[[], None]) -> None:
    """Register what is to be done when python ends, even if ctrl+c comes in the moment in which it is called.

    Nothing can be caught before the first instruction, and what python calls in that moment is over.  So it is called twice, and
    has to see to it that it does its work once; that it was interrupted is no message worth printing.
    """
    atexit.register(action)
    atexit.register(action)
    _WITHOUT_A_WORD.add(getattr(action, "__code__", None))
    if getattr(sys.unraisablehook, "func", None) is not _hear:
        sys.unraisablehook = partial(_hear, sys.unraisablehook)


_WITHOUT_A_WORD: set[object] = set()  # code of ours that may be interrupted at its first instruction


def _hear(tell: Callable[[sys.UnraisableHookArgs], object], found: sys.UnraisableHookArgs) -> None:
    """Note ctrl+c that came while python called what is registered for its end: it goes on, and its exit code would be 0.

    It is told where the program's own code was interrupted, not where it hit python's way of calling it; whoever told before it
    tells of all else.
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
    tell(found)


def note_interrupts() -> None:
    """Let ctrl+c wait for the very end, when all that was asked for is done; a second one ends the process at once.

    What is left then is python's own tidying, which would stop half done and tell of a KeyboardInterrupt that nobody made.
    """
    _exchange_interrupts(_note)


def _note(number: int, frame: FrameType | None) -> None:
    EXIT.number = number
    signal.signal(number, signal.SIG_DFL)


def _exchange_interrupts(answer: Callable[[int, FrameType | None], None] | signal.Handlers) -> None:
    """Give ctrl+c another answer, unless it is the program's own, in the one thread that may."""
    here = threading.current_thread() is threading.main_thread()
    if here and signal.getsignal(signal.SIGINT) in (signal.default_int_handler, _note):
        signal.signal(signal.SIGINT, answer)


def _finish() -> None:
    _exchange_interrupts(signal.SIG_DFL)  # nobody is left who would take what it raises
    if EXIT.number is not None and sys.platform != "win32":
        die_by(EXIT.number)
    if EXIT.failed:
        _end_with(1)


def die_by(number: int) -> None:
    """End the process by a signal, at once but for what is still to be written."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # a closed stream has nothing to lose
            stream.flush()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def _end_with(code: int) -> None:
    """End the process in python's full way, with another exit code than it would have: for this, the last of its handlers."""
    atexit._clear()
    ctypes.pythonapi.Py_Exit(code)


@contextmanager
def descriptors_held() -> Iterator[None]:
    """Hold file descriptors while a program runs; they are free afterwards."""
    with contextlib.suppress(OSError):
        _HELD.extend(os.open(os.devnull, os.O_RDONLY) for _ in range(_DESCRIPTORS))
    try:
        yield
    finally:
        free_descriptors()


def free_descriptors() -> None:
    """Free the descriptors that are held, but for those that the program has closed and that are its own files now."""
    while _HELD:
        number = _HELD.pop()
        with contextlib.suppress(OSError):
            found = os.fstat(number)
            if stat.S_ISCHR(found.st_mode) and found.st_rdev == os.stat(os.devnull).st_rdev:
                os.close(number)


class _Forks:
    """What is held back while a process forks.

    Attributes
    ----------
    handlers : dict
        By signal the handler that was given to it in this process.
    watched : bool
        Whether forks are watched, in this process or the one that it was forked from.
    """

    def __init__(self) -> None:
        self.handlers: dict[int, Handler] = {}
        self.watched = False
        self._before: dict[int, set[signal.Signals | int]] = {}  # by thread what it held back in any case

    def begin(self) -> None:
        if self.handlers:
            before = signal.pthread_sigmask(signal.SIG_BLOCK, self.handlers)
            self._before[threading.get_ident()] = before

    def end(self) -> None:
        before = self._before.pop(threading.get_ident(), None)
        if before is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        elif self.handlers:  # an interrupt came before it was noted
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
    """Let a handler answer a signal in this process, and in none that is forked from it; call it in the main thread.

    Parameters
    ----------
    number : int
        The signal.
    handler : callable
        ``handler(number, frame)`` is called when it has come.
    """
    _FORKS.handlers[number] = handler
    if not _FORKS.watched and hasattr(os, "register_at_fork"):
        _FORKS.watched = True
        os.register_at_fork(
            before=_FORKS.begin, after_in_parent=_FORKS.end, after_in_child=_FORKS.end_in_child
        )
    signal.signal(number, handler)


@contextmanager
def terminations_as_interrupts() -> Iterator[None]:
    """Raise ``Terminated`` in the block where SIGTERM or SIGHUP would end the process at once; it then dies by it at its end."""

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
