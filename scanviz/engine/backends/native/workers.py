"""Threads that do parts of one call of native code, and sleep in between: the processor is theirs only while there is work."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue

Task = Callable[[], object]


class _Ended:
    """Counts the tasks of one call that threads have ended, with what they raised."""

    __slots__ = ("errors", "event", "wanted")

    def __init__(self, wanted: int) -> None:
        self.wanted, self.event = wanted, threading.Event()
        self.errors: list[BaseException | None] = []

    def note(self, error: BaseException | None) -> None:
        """Note the end of one."""
        self.errors.append(error)
        if len(self.errors) == self.wanted:
            self.event.set()


class Workers:
    """Threads of the process, made when they are needed."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Have no threads: those of the process that this one was forked from are not in it."""
        self._lock, self._count = threading.Lock(), 0
        self._tasks = SimpleQueue[tuple[Task, _Ended]]()

    def run(self, tasks: Sequence[Task]) -> None:
        """Do tasks, the first in this thread; return when all have ended, after ctrl+c too: they write to what the caller holds.

        Where the system gives no thread, or Python is ending, this thread does them all.
        """
        if not self._have(len(tasks) - 1):
            for task in tasks:
                task()
            return
        ended = _Ended(len(tasks) - 1)
        for task in tasks[1:]:
            self._tasks.put((task, ended))
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
        """Make threads until there are as many as wanted, or no more to be had; return whether there is any for a task."""
        with self._lock:
            while self._count < wanted:
                name = f"scanviz {self._count + 1}"
                try:
                    threading.Thread(target=_work, args=(self._tasks,), name=name, daemon=True).start()
                except RuntimeError:
                    break
                self._count += 1
            return min(self._count, wanted) > 0


def _work(tasks: SimpleQueue[tuple[Task, _Ended]]) -> None:
    while True:
        task, ended = tasks.get()
        error: BaseException | None = None
        try:
            task()
        except BaseException as raised:
            error = raised
        ended.note(error)
        del task, ended  # what they hold is not kept until there is more to do


WORKERS = Workers()
os.register_at_fork(after_in_child=WORKERS.forget)

__all__ = ["WORKERS", "Workers"]
