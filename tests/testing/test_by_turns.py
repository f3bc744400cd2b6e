"""Threads that take turns: the order of a schedule, locks that make nobody hang, lines that touch what threads share."""

import threading

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.runtime.calling import Pool
from tests.support.by_turns import Turns, by_turns
from tests.support.own_locks import HERE, locks_held, own_locks
from tests.support.touched import Touched


class Steps:
    """Takes some of scanviz's lines, and notes after each call who made it."""

    def __init__(self):
        self.order, self.pool = [], Pool(list, 1)

    def by(self, name, count=6):
        def work():
            for _ in range(count):
                len(self.pool)  # one line of ours
                self.order.append(name)
            return name

        return work


def order_of(turns, names="abc"):
    steps = Steps()
    assert by_turns([steps.by(name) for name in names], turns) == list(names)
    return "".join(steps.order)


@pytest.mark.parametrize(
    "lengths, expected",
    [((1,), "abcabcabcabcabcabc"), ((2, 1), "aabccabbcaabccabbc"), ((99,), "aaaaaabbbbbbcccccc")],
)
def test_threads_change_places_after_so_many_lines(lengths, expected):
    found = order_of(Turns(lengths))
    assert found == expected
    assert order_of(Turns(lengths)) == found


def test_threads_change_places_at_given_lines_alone():
    assert order_of(Turns((1,), places=frozenset()), "ab") == "aaaaaabbbbbb"


def test_an_exception_in_one_thread_is_raised_and_ends_the_others():
    steps = Steps()

    def fails():
        len(steps.pool)
        raise ValueError("its own")

    with pytest.raises(ValueError, match="its own"):
        by_turns([fails, steps.by("b")], Turns((1,)))
    assert steps.order == ["b"] * 6


def test_a_thread_that_wants_a_lock_of_another_lets_it_run():
    with own_locks():
        total = scanviz.shared(0.0, "total")
        f = scanviz.function([], total, updates={total: total + 1})
        found = by_turns([lambda: [float(f()) for _ in range(5)]] * 3, Turns((1,)))
    assert sorted(each for mine in found for each in mine) == list(map(float, range(15)))
    assert total.get_value() == 15 and not locks_held() and HERE.stand_aside is None
    assert isinstance(scanviz.shared(0.0).lock, type(threading.RLock()))


def test_unlocked_shared_attributes_are_detected():
    with own_locks():
        x = T.vector("x")
        rows, _ = scanviz.scan(lambda x_t, count: count + x_t, x, T.constant(0.0))
        f = scanviz.function([x], rows, mode="numpy")
        touched = Touched()
        by_turns([lambda: f(np.ones(3))] * 2, Turns((3,)), touched)
    files = {file.rpartition("/")[2] for places in touched.shared() for file, _ in places}
    assert "calling.py" in files, "a deque, which needs no lock"
    assert "recorder.py" not in files
