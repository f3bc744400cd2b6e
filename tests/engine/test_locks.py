"""Processes that are forked while another thread is at work."""

import contextlib
import os
import signal
import threading
import time

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine import locks
from scanviz.engine.backends.native.cache import llvm
from scanviz.engine.backends.registry import availability
from scanviz.engine.graph.shared import COMMIT_LOCK

pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")


def ends_well(work, patience=120.0):
    """Return whether a process that is forked here does its work and ends."""
    child = os.fork()
    if not child:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    until = time.monotonic() + patience
    while time.monotonic() < until:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status == 0
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


@contextlib.contextmanager
def another_thread_holds(*held):
    """Let another thread hold locks in the block."""
    holds, lets_go = threading.Event(), threading.Event()

    def hold():
        with contextlib.ExitStack() as all_of_them:
            for lock in held:
                all_of_them.enter_context(lock)
            holds.set()
            lets_go.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    holds.wait()
    try:
        yield
    finally:
        lets_go.set()
        thread.join()


def training(mode="numpy"):
    """Return a function with a loop that updates a shared variable."""
    x, w = T.vector("x"), scanviz.shared(1.0, name="w")
    y, _ = scanviz.scan(lambda x_t, y: T.tanh(x_t + y * w), x, np.float64(0))
    return scanviz.function([x], y[-1], updates=[(w, w * 0.5)], mode=mode), w


def test_a_process_that_is_forked_during_a_call_may_call_the_function_too():
    f, w = training()
    with another_thread_holds(w.lock, COMMIT_LOCK):
        assert ends_well(lambda: f(np.ones(3)))


def test_a_process_that_is_forked_while_every_lock_is_held_may_build_and_compile():
    mode = "native" if availability("native").works else "numpy"

    def work():
        f, w = training(mode)
        f(np.ones(3))
        assert w.get_value() == 0.5

    work()
    with another_thread_holds(*(lock for lock in list(locks._MADE) if not in_llvm(lock))):
        assert ends_well(work)


def in_llvm(lock):
    """Return whether a lock is one for which a fork waits."""
    return lock is llvm.LOCK


def test_a_fork_waits_until_llvm_has_compiled_or_is_loaded():
    taken = llvm.LOCK
    order = []
    with another_thread_holds(taken) as _:
        pass

    def compiles():
        with taken:
            holds.set()
            time.sleep(0.05)
            order.append("compiled")

    holds, thread = threading.Event(), threading.Thread(target=compiles)
    thread.start()
    holds.wait()
    assert ends_well(lambda: taken.acquire())
    order.append("forked")
    thread.join()
    assert order == ["compiled", "forked"]


def test_a_lock_of_the_thread_that_forks_stays_its_own():
    mine = locks.lock()

    def work():
        with another_thread_holds(locks.lock()):
            assert mine._is_owned()
            mine.release()
        with another_thread_holds(mine):
            assert not mine.acquire(blocking=False)

    with mine:
        assert ends_well(work)


def test_all_locks_are_released_when_acquiring_one_is_interrupted():
    class Interrupted:
        def acquire(self):
            raise KeyboardInterrupt

    first, last = locks.lock(), locks.lock()
    with pytest.raises(KeyboardInterrupt):
        locks.acquire_all([first, Interrupted(), last], print)
    assert not first._is_owned() and not last._is_owned()


def test_all_locks_are_held_in_a_call_and_released_after_its_error():
    held = [locks.lock() for _ in range(3)]
    assert locks.acquire_all(held, lambda: all(lock._is_owned() for lock in held))
    with pytest.raises(ZeroDivisionError):
        locks.acquire_all(held, divmod, 1, 0)
    assert not any(lock._is_owned() for lock in held)
