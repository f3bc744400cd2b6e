"""Threads that take parts of one call of native code, and sleep in between.

A sleeping thread wakes on the processor where it last ran.  If the caller runs there now, some systems (virtual machines among
them) leave both on it for milliseconds although another processor is idle.  So threads are woken with the caller's processor
excluded from their affinity, which is restored as soon as they run.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from queue import SimpleQueue

from scanviz.engine.config import config

Task = Callable[[], object]
Processors = set[int]


class _Ended:
    """Collects the ends of one call's tasks, with their errors."""

    def __init__(self, wanted: int) -> None:
        self.wanted, self.event = wanted, threading.Event()
        self.errors: list[BaseException | None] = []

    def note(self, error: BaseException | None) -> None:
        """Enter the end of a task."""
        self.errors.append(error)
        if len(self.errors) == self.wanted:
            self.event.set()


class Workers:
    """The threads of the process, started on demand."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Forget all threads: a forked process has none of its parent's."""
        self._lock, self._count = threading.Lock(), 0
        self._tasks = SimpleQueue[tuple[Task, _Ended, Processors]]()
        self._threads: list[int] = []  # by the system's thread ids

    def run(self, tasks: Sequence[Task]) -> None:
        """Run tasks, the first in this thread; return when all have ended, after ctrl+c too: they write to the caller's arrays.

        If no thread can be started, this thread does all.
        """
        if not self._have(len(tasks) - 1):
            for task in tasks:
                task()
            return
        ended, allowed = _Ended(len(tasks) - 1), woken_elsewhere(self._threads)
        for task in tasks[1:]:
            self._tasks.put((task, ended, allowed))
        raised: BaseException | None = None
        try:
            tasks[0]()
        except BaseException as error:
            raised = error
        while not ended.event.is_set():
            try:
                ended.event.wait()
            except KeyboardInterrupt as interrupt:
                raised = interrupt
        raised = raised or next((error for error in ended.errors if error is not None), None)
        if raised is not None:
            raise raised

    def _have(self, wanted: int) -> bool:
        """Start threads up to ``wanted``, as far as the system gives them; return whether there is any."""
        with self._lock:
            while self._count < wanted:
                name = f"scanviz {self._count + 1}"
                thread = threading.Thread(target=_work, args=(self._tasks,), name=name, daemon=True)
                try:
                    thread.start()
                except RuntimeError:
                    break
                self._count += 1
                if thread.native_id is not None:
                    self._threads.append(thread.native_id)
            return min(self._count, wanted) > 0


def woken_elsewhere(threads: Sequence[int]) -> Processors:
    """Make sleeping threads wake on another processor than the caller's; return the processors allowed afterwards.

    Returns
    -------
    set of int
        The caller's processors; empty if nothing was changed, with one processor.
    """
    allowed = os.sched_getaffinity(0)
    others = allowed - {_processor()()}
    if not others:
        return set()
    for thread in threads:
        with suppress(OSError):  # as on systems without affinity
            os.sched_setaffinity(thread, others)
    return allowed


@cache
def _processor() -> Callable[[], int]:
    """Return the C library's function that gives the current processor.

    Python's lock is kept: a busy Python thread would hold it for milliseconds before the others are woken.
    """
    from ctypes import PyDLL  # already imported by llvmlite

    here: Callable[[], int] = PyDLL(None).sched_getcpu
    return here


def _work(tasks: SimpleQueue[tuple[Task, _Ended, Processors]]) -> None:
    while True:
        task, ended, allowed = tasks.get()
        error: BaseException | None = None
        if allowed:
            with suppress(OSError):  # the process may have lost them meanwhile
                os.sched_setaffinity(0, allowed)
        try:
            task()
        except BaseException as raised:
            error = raised
        ended.note(error)
        del task, ended  # drop references before waiting


WORKERS = Workers()
os.register_at_fork(after_in_child=WORKERS.forget)


def threads_allowed() -> int:
    """Return how many threads one call may use: ``config.native.threads``, or one per processor."""
    return config.native.threads or len(os.sched_getaffinity(0))
