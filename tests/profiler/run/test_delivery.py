"""Signals reach the process that they are sent to, whether it waits, forks or has just been forked."""

import os
import signal
import time

import pytest

from scanviz.profiler.run.children import insist_on
from scanviz.profiler.run.exits import answer

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system forks no processes")
PATIENCE = 60


@pytest.fixture
def handler():
    """A handler of SIGTERM in this process, and the signals that it received."""
    heard = []
    before = signal.getsignal(signal.SIGTERM)

    def heard_it(number, frame):
        heard.append(number)

    heard_it.heard = heard
    yield heard_it
    signal.signal(signal.SIGTERM, before)


def forked(do):
    """Return the process in which a function gives the exit code."""
    child = os.fork()
    if child == 0:
        code = 70
        try:
            code = do()
        finally:
            os._exit(code)
    return child


def ending(child):
    """Return how a process ended."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_signal_during_a_fork_ends_the_forked_process(handler):
    answer(signal.SIGTERM, handler)
    for _ in range(20):  # python forgets signals received before its first instruction there
        child = forked(lambda: time.sleep(PATIENCE) or 0)
        os.kill(child, signal.SIGTERM)
        assert ending(child) == -signal.SIGTERM
    assert handler.heard == []


def test_the_process_that_forks_hears_signals_as_before(handler):
    held = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    answer(signal.SIGTERM, handler)
    seen = []
    assert ending(forked(lambda: seen.append(1) or len(seen))) == 1
    os.kill(os.getpid(), signal.SIGTERM)
    assert handler.heard == [signal.SIGTERM]
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == held


def test_signals_blocked_by_a_program_stay_blocked_in_parent_and_child(handler):
    answer(signal.SIGTERM, handler)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    try:
        child = forked(lambda: signal.SIGTERM in signal.pthread_sigmask(signal.SIG_BLOCK, ()))
        assert signal.SIGTERM in signal.pthread_sigmask(signal.SIG_BLOCK, ())
        assert ending(child) == True  # noqa: E712  # an exit code
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})


def test_a_handler_of_the_programs_own_is_inherited(handler):
    answer(signal.SIGTERM, handler)
    signal.signal(signal.SIGTERM, lambda number, frame: os._exit(5))
    child = forked(lambda: time.sleep(PATIENCE) or 0)
    os.kill(child, signal.SIGTERM)
    assert ending(child) == 5


def test_the_default_handler_ends_a_grandchild_process(handler):
    answer(signal.SIGTERM, handler)

    def outer():
        answer(signal.SIGTERM, lambda number, frame: os._exit(6))
        inner = forked(lambda: time.sleep(PATIENCE) or 0)
        os.kill(inner, signal.SIGTERM)
        if ending(inner) == -signal.SIGTERM:
            os.kill(os.getpid(), signal.SIGTERM)
        return 1

    assert ending(forked(outer)) == 6


def test_a_signal_with_an_uncalled_handler_is_sent_again():
    """C has noted it and written to the wakeup descriptor, but the main thread waits and nothing wakes it."""
    heard = []

    def handler(number, frame):
        heard.append(number)
        signal.signal(number, before)

    before = signal.signal(signal.SIGTERM, handler)
    try:
        insist_on(signal.SIGTERM, handler)
        os.write(signal.set_wakeup_fd(-1), bytes([signal.SIGTERM]))
        patient = time.monotonic() + PATIENCE
        while not heard and time.monotonic() < patient:
            time.sleep(0.01)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert heard == [signal.SIGTERM]
