"""Memory of long arrays is reused once no array refers to it, and never before."""

import gc
import threading
import tracemalloc

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.function.memory import owner_of
from scanviz.engine.runtime import buffer_pool
from scanviz.engine.runtime.address import address
from scanviz.engine.runtime.buffer_pool import SHORTEST, lent_bytes
from tests.support.internals import waiting_bytes

LONG = 3 * SHORTEST


@pytest.fixture(autouse=True)
def nothing_waits(monkeypatch):
    monkeypatch.setattr(scanviz.config, "kept_memory", 64_000_000)
    gc.collect()
    buffer_pool._waiting.clear()
    yield
    buffer_pool._waiting.clear()


def test_memory_is_reused_after_its_last_array_is_freed():
    first = lent_bytes(LONG)
    place, view = address(first), first.view("float64").reshape(3, -1)[1:, ::2].T
    del first
    assert not waiting_bytes()
    other = lent_bytes(LONG)
    assert address(other) != place
    del view
    assert waiting_bytes() >= LONG
    assert address(lent_bytes(LONG)) == place


def test_reused_memory_fits_about_the_size_and_is_aligned():
    place = address(lent_bytes(LONG))
    fits = lent_bytes(LONG - 100)
    assert address(fits) == place and place % 64 == 0 and len(fits) == LONG - 100
    assert address(lent_bytes(2 * LONG)) != place


def test_waiting_memory_is_bounded_and_the_oldest_is_released(monkeypatch):
    monkeypatch.setattr(scanviz.config, "kept_memory", 5 * LONG)
    held = [lent_bytes(LONG) for _ in range(20)]
    places = [address(array) for array in held]
    while held:
        del held[0]
    assert 3 * LONG < waiting_bytes() <= 5 * LONG
    assert address(lent_bytes(LONG)) == places[-1]


def test_short_arrays_and_a_limit_of_0_keep_nothing(monkeypatch):
    del (short := [lent_bytes(SHORTEST - 1)])[0]
    assert not short and not waiting_bytes()
    monkeypatch.setattr(scanviz.config, "kept_memory", 0)
    lent_bytes(LONG)
    assert not waiting_bytes()


def test_tracemalloc_sees_every_array():
    lent_bytes(LONG)
    tracemalloc.start()
    try:
        held = lent_bytes(LONG)
        assert tracemalloc.get_traced_memory()[0] >= LONG
        del held
        assert tracemalloc.get_traced_memory()[0] < LONG
    finally:
        tracemalloc.stop()


def test_threads_never_hold_the_same_memory():
    wrong = []

    def work(number):
        random = np.random.default_rng(number)
        held = {}
        for k in range(400):
            array = lent_bytes(int(random.integers(1, 4)) * SHORTEST)
            array[:] = number
            held[k] = array
            if len(held) > 5:
                array = held.pop(int(random.choice(list(held))))
                if not (array == number).all():
                    wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def smoothing(mode):
    x = T.matrix("x")
    rows, _ = scanviz.scan(lambda x_t, h: T.tanh(x_t + h), x, T.zeros_like(x[0]), name="smoothing")
    cost = T.sum(rows**2)
    return scanviz.function([x], [rows, rows[5], scanviz.grad(cost, x)], mode=mode)


FUNCTIONS = {mode: smoothing(mode) for mode in ("numpy", "native", "auto")}


@pytest.mark.parametrize("mode", FUNCTIONS)
def test_calls_use_the_memory_of_earlier_ones(mode):
    f, x = FUNCTIONS[mode], np.ones((300, 60))
    waiting = []
    for _ in range(12):
        rows, row, gradient = f(x)
        assert rows.flags.writeable and owner_of(rows) != owner_of(gradient) != owner_of(row)
        del rows, row, gradient
        waiting.append(waiting_bytes())
    assert (
        x.nbytes <= waiting[-1] == waiting[-2]
    )  # the gradient lies where what arrives did, a short result of NumPy


@pytest.mark.parametrize("mode", ["numpy", "native", "auto"])
def test_rows_of_single_numbers_are_used_again_too(mode):
    x = T.vector("x")
    rows, _ = scanviz.scan(lambda x_t, s: s * 0.5 + x_t, x, 0.0, name="scalar")
    f = scanviz.function([x], [rows, rows[-1] * 2], mode=mode)
    short, long = np.ones(10), np.arange(6.0 * SHORTEST)
    for array in (
        [short] * 40 + [long] * 3 + [short, long]
    ):  # after some calls of one size the loop has code for short runs
        expected, state = [], 0.0
        for number in array[:50]:
            state = state * 0.5 + number
            expected.append(state)
        np.testing.assert_allclose(f(array)[0][:50], expected)
    assert waiting_bytes() >= long.nbytes


@pytest.mark.parametrize("mode", ["numpy", "native"])
def test_an_error_of_too_little_memory_names_the_shape(mode):
    x = T.vector("x")
    rows, _ = scanviz.scan(lambda x_t, h: h + x_t, x, T.zeros((x.shape[0],)))
    with pytest.raises(MemoryError, match=r"\(an array of shape \(5000001, 5000000\)\)"):
        scanviz.function([x], rows, mode=mode)(np.zeros(5_000_000))  # more than a process can address
