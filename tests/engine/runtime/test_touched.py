"""Pages of long rows are found while a loop is compiled, and nothing in them changes."""

import ctypes
import gc
import mmap
import sys
import threading
import weakref

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.backends.registry import availability
from scanviz.engine.config import config
from scanviz.engine.runtime import rows as state_rows
from scanviz.engine.runtime import touched
from scanviz.engine.runtime.address import address
from scanviz.engine.runtime.pages import new_bytes

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or not availability("native").works, reason="native code runs on Linux"
)


def resident(array):
    """Return the share of an array's pages that are there."""
    first = -(-address(array) // mmap.PAGESIZE) * mmap.PAGESIZE
    pages = (address(array) + array.nbytes - first) // mmap.PAGESIZE
    found = (ctypes.c_ubyte * pages)()
    mincore = ctypes.CDLL(None).mincore
    mincore.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p
    assert mincore(first, pages * mmap.PAGESIZE, found) == 0
    return np.mean(np.frombuffer(found, np.uint8) & 1)


@pytest.fixture
def looked_at(monkeypatch):
    """Allow a second thread, keep nothing on disk, and list the shapes whose pages are found."""
    shapes, usual = [], touched._touch

    def touch(rows):
        shapes.extend(held().shape for held in rows)
        usual(rows)

    monkeypatch.setattr(touched, "_touch", touch)
    monkeypatch.setattr(config.native, "threads", 2)
    monkeypatch.setattr(config.native, "cache", "off")
    return shapes


def sums(mode="native", until=False):
    x = T.matrix("x")

    def step(x_t, s):
        return (s + x_t, scanviz.until(T.sum(s) > 1e300)) if until else s + x_t

    rows, _ = scanviz.scan(step, x, T.zeros((64,)))
    return scanviz.function([x], rows, mode=mode)


LONG = np.random.default_rng(1).normal(size=(20_000, 64))


def test_pages_are_there_afterwards_and_hold_what_they_held():
    memory = new_bytes(3 * touched.AT_ONCE + 12_345)[77:]
    memory[10**6] = 5
    before = resident(memory)
    touched._touch([weakref.ref(memory)])
    assert before < 0.5 and resident(memory) == 1.0
    assert memory[10**6] == 5 and memory.sum() == 5


def test_the_rows_of_a_loop_are_looked_at_while_it_is_compiled_and_never_again(looked_at):
    f = sums()
    for _ in range(3):
        np.testing.assert_allclose(f(LONG), np.cumsum(LONG, axis=0), rtol=1e-9, atol=1e-9)
    assert looked_at == [(20_001, 64)]


@pytest.mark.parametrize(
    "changed",
    [{"until": True}, {"rows": 100}, {"threads": 1}, {"kept": True}],
    ids=["it may end early", "its rows are short", "there is one thread", "its code is found on disk"],
)
def test_rows_are_left_alone_where(looked_at, monkeypatch, tmp_path, changed):
    monkeypatch.setattr(config.native, "threads", changed.get("threads", 2))
    monkeypatch.setattr(
        state_rows, "FIRST_ROOM", 20_000
    )  # also of a loop that may end early, as many as are long
    given = LONG[: changed.get("rows")]
    if "kept" in changed:
        monkeypatch.setattr(config.native, "cache", str(tmp_path / "kept"))
        sums()(given)
        looked_at.clear()
    np.testing.assert_allclose(
        sums(until="until" in changed)(given), np.cumsum(given, axis=0), rtol=1e-9, atol=1e-9
    )
    assert looked_at == []


def test_an_older_system_refuses_and_nothing_is_lost(looked_at, monkeypatch):
    monkeypatch.setattr(touched, "POPULATE_WRITE", 12_345)
    np.testing.assert_allclose(sums()(LONG), np.cumsum(LONG, axis=0), rtol=1e-9, atol=1e-9)
    assert looked_at == [(20_001, 64)]


def test_where_there_is_no_thread_to_be_had_steps_find_the_pages(looked_at, monkeypatch):
    def refused(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refused)
    np.testing.assert_allclose(sums()(LONG), np.cumsum(LONG, axis=0), rtol=1e-9, atol=1e-9)
    assert looked_at == []


def test_the_default_mode_has_them_looked_at_too(looked_at, monkeypatch):
    monkeypatch.setattr(config.native, "pays_after", 1e-3)
    np.testing.assert_allclose(sums("auto")(LONG), np.cumsum(LONG, axis=0), rtol=1e-9, atol=1e-9)
    assert looked_at == [(20_001, 64)]


def test_of_very_long_rows_the_first_part_is_found_ahead(monkeypatch):
    monkeypatch.setattr(touched, "MOST", 3 * touched.AT_ONCE)
    arrays = [new_bytes(size * touched.AT_ONCE) for size in (2, 6)]
    touched._touch([weakref.ref(array) for array in arrays])
    assert resident(arrays[0]) == 1.0 and resident(arrays[1]) < 0.4


@pytest.fixture
def asked(monkeypatch):
    """List what the system is asked for, and call the functions in ``then`` after that, each once."""
    pieces, then = [], []

    class Library:
        @staticmethod
        def madvise(start, length, advice):
            pieces.append(length)
            for act in then:
                act()
            then.clear()
            return 0

    monkeypatch.setattr(ctypes, "CDLL", lambda _: Library)
    return pieces, then


def test_rows_that_nobody_has_any_more_are_left(asked):
    pieces, then = asked
    held = [new_bytes(4 * touched.AT_ONCE), new_bytes(4 * touched.AT_ONCE)]
    then.append(held.clear)  # as ctrl+c and a failing step do
    touched._touch([weakref.ref(array) for array in held])
    assert pieces == [touched.AT_ONCE]


def test_a_program_that_ends_does_not_wait_for_pages(asked, monkeypatch):
    pieces, then = asked
    memory = new_bytes(4 * touched.AT_ONCE)
    ended = threading.Thread()  # which never ran
    then.append(lambda: monkeypatch.setattr(threading, "main_thread", lambda: ended))
    touched._touch([weakref.ref(memory)])
    assert pieces == [touched.AT_ONCE]


@pytest.mark.parametrize("mode", ["auto", "native"])
def test_rows_that_were_looked_at_are_held_by_nobody_afterwards(looked_at, monkeypatch, mode):
    monkeypatch.setattr(config.native, "pays_after", 1e-3)
    f = sums(mode)
    rows = f(LONG)
    assert looked_at == [(20_001, 64)]
    while isinstance(rows.base, np.ndarray):
        rows = rows.base
    held = weakref.ref(rows)
    del rows
    for thread in threading.enumerate():
        if thread.name == touched.NAME:
            thread.join(120)
    gc.collect()
    assert held() is None
