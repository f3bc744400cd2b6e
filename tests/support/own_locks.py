"""Locks of this package, made such that a thread which would wait for one lets the others run first.

A thread that waits for a lock is in the hands of the operating system, which wakes it when it likes.  A fixed order of threads
(:mod:`tests.support.by_turns`) needs locks that ask: in the block of :func:`own_locks` the modules of this package make such
ones, and those that stand in modules already are such ones.  In other threads they are the usual ones.
"""

import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import ModuleType
from typing import Any
from unittest.mock import patch

LONGEST = 10.0  # seconds for a lock that is never released while nothing else happens
_KINDS = (type(threading.Lock()), type(threading.RLock()))


class _Here(threading.local):
    """A thread: its action while another holds a lock, and the locks that it holds."""

    def __init__(self) -> None:
        self.stand_aside: Callable[[], bool] | None = None
        self.held: Counter[int] = Counter()


HERE = _Here()


def locks_held() -> frozenset[int]:
    """Return the numbers of the locks that this thread holds."""
    return frozenset(lock for lock, count in HERE.held.items() if count)


class _Asking:
    """A lock without waiting threads that could stand aside."""

    def __init__(self, lock: Any) -> None:
        self._lock = lock

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Take the lock as soon as its holder has released it."""
        taken = self._taken(blocking, timeout)
        HERE.held[id(self)] += taken
        return taken

    def _taken(self, blocking: bool, timeout: float) -> bool:
        aside = HERE.stand_aside
        if aside is None or not blocking or timeout >= 0:
            return bool(self._lock.acquire(blocking, timeout))
        while not self._lock.acquire(False):
            if not aside():
                if self._lock.acquire(True, LONGEST):
                    return True
                raise TimeoutError("threads wait for one another's locks")
        return True

    def release(self) -> None:
        """Give the lock back."""
        HERE.held[id(self)] -= 1
        self._lock.release()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lock, name)

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


class _Threading(ModuleType):
    """The module ``threading`` with locks that ask."""

    def __getattr__(self, name: str) -> Any:
        return getattr(threading, name)

    @staticmethod
    def Lock() -> _Asking:  # the names are Python's
        """Return a lock."""
        return _Asking(threading.Lock())

    @staticmethod
    def RLock() -> _Asking:
        """Return a lock that its holder may take again."""
        return _Asking(threading.RLock())


@contextmanager
def own_locks() -> Iterator[None]:
    """Let locks of this package ask in the block: all that it makes there, and those that stand in its modules."""
    instead: dict[int, Any] = {id(threading): _Threading("threading")}
    with ExitStack() as patched:
        for name, module in list(sys.modules.items()):
            if not name.startswith("scanviz.") or name.startswith("scanviz.testing"):
                continue
            for text, value in list(vars(module).items()):
                if isinstance(value, _KINDS):
                    instead.setdefault(id(value), _Asking(value))
                if id(value) in instead:
                    patched.enter_context(patch.object(module, text, instead[id(value)]))
        yield
