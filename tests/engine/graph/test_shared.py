"""Shared variables: values that are kept, copied unless borrowed, and never converted lossily."""

import pickle
import sys

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.errors import ScanvizTypeError
from scanviz.engine.graph.shared import COMMIT_LOCK, set_values, shared, shared_random_state


def test_the_value_is_a_copy_unless_borrowed():
    array = np.zeros(3)
    kept, lent = shared(array), shared(array, borrow=True)
    array[0] = 7
    assert kept.get_value()[0] == 0 and lent.get_value()[0] == 7
    assert lent.get_value(borrow=True) is array and lent.get_value() is not array


def test_a_value_set_is_a_copy_unless_borrowed():
    s, array = shared(np.zeros(3)), np.ones(3)
    s.set_value(array)
    array[0] = 7
    assert s.get_value().tolist() == [1, 1, 1]
    s.set_value(array, borrow=True)
    assert s.get_value(borrow=True) is array


def test_sizes_may_change_unless_strict():
    loose, strict = shared(np.zeros(3)), shared(np.zeros(3), strict=True)
    loose.set_value(np.zeros(5))
    assert loose.type.shape == (None,) and strict.type.shape == (3,)
    with pytest.raises(ScanvizTypeError, match="shape"):
        strict.set_value(np.zeros(5))


TAKEN = [
    ("uint8", 3, 3),
    ("uint8", [1, 255], None),
    ("int8", -128, -128),
    ("float32", 2, 2.0),
    ("float32", 2.5, 2.5),
    ("float32", np.float16(1.5), 1.5),
    ("int64", np.int32(7), 7),
    ("float64", range(3), None),
    ("bool", True, True),
    ("int32", [], None),
]


@pytest.mark.parametrize(("dtype", "value", "expected"), TAKEN)
def test_a_value_that_converts_without_loss_is_accepted(dtype, value, expected):
    start = np.zeros((2,) * np.ndim(value), dtype)
    s = shared(start)
    s.set_value(value)
    assert s.get_value().dtype == dtype
    assert s.get_value().tolist() == (list(value) if expected is None else expected)


REFUSED = [
    ("int8", 300),
    ("uint8", -1),
    ("uint8", [1, 256]),
    ("int64", 2.5),
    ("int64", 2.0),
    ("float32", np.zeros((), "float64")),
    ("int32", np.int64(1)),
    ("float64", True),
    ("bool", 1),
    ("float64", "text"),
    ("float64", None),
    ("float64", 1j),
]


@pytest.mark.parametrize(("dtype", "value"), REFUSED)
def test_a_lossy_value_is_refused_and_the_old_value_kept(dtype, value):
    s = shared(np.ones((2,) * np.ndim(value), dtype), "weights")
    with pytest.raises(ScanvizTypeError, match="`weights` cannot hold"):
        s.set_value(value)
    assert s.get_value().all()


@pytest.mark.parametrize("value", ["text", None, [[1], [1, 2]], 1j, object()])
def test_an_object_without_numbers_cannot_be_shared(value):
    with pytest.raises(ScanvizTypeError):
        shared(value)


def test_a_symbolic_value_cannot_be_shared():
    with pytest.raises(ScanvizTypeError, match="`x` is symbolic"):
        shared(T.vector("x"))


def test_the_default_update_is_applied_by_every_function_that_reads_it():
    count = shared(0, "count")
    count.default_update = count + 1
    f = scanviz.function([], count * 10)
    assert (int(f()), int(f()), int(count.get_value())) == (0, 10, 2)


def test_other_attributes_of_a_shared_variable_cannot_be_set():
    with pytest.raises(AttributeError, match="immutable"):
        shared(0).type = None


def test_a_shared_variable_pickles_with_its_value():
    again = pickle.loads(pickle.dumps(shared(np.arange(3), "n")))
    assert again.name == "n" and again.get_value().tolist() == [0, 1, 2]


def test_a_random_state_is_six_words():
    state = shared_random_state(np.zeros(4, "uint64"), "rng")
    assert state.get_value().shape == (4,)
    with pytest.raises(ScanvizTypeError, match="shape"):
        shared_random_state(np.zeros(5, "uint32"))


def test_all_values_are_stored_or_none_if_one_is_refused():
    a, b = scanviz.shared(1.0, name="a"), scanviz.shared(np.zeros(2), name="b")
    with pytest.raises(ScanvizTypeError, match="`b` cannot hold"):
        set_values([a, b], [np.array(2.0), np.zeros((2, 2))])
    assert a.get_value() == 1
    set_values([a, b], [np.array(2.0), np.ones(3)])
    assert a.get_value() == 2 and b.get_value().tolist() == [1, 1, 1]


def test_ctrl_c_at_any_line_of_a_call_keeps_updates_atomic():
    shared = [scanviz.shared(0, name=name) for name in "abc"]
    f = scanviz.function([], [], updates=[(one, one + 1) for one in shared], mode="numpy")
    f()
    ends = set()
    for line in range(10_000):
        left = line

        def heard(frame, event, argument):
            nonlocal left
            if "scanviz" not in frame.f_code.co_filename:
                return None
            left -= event == "line"
            if left < 0:
                sys.settrace(None)
                raise KeyboardInterrupt
            return heard

        before = [one.get_value() for one in shared]
        try:
            with np.errstate():  # not restored where Python hears no ctrl+c either
                sys.settrace(heard)
                f()
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(None)
            for lock in (COMMIT_LOCK, *(one.lock for one in shared)):
                while (
                    lock._is_owned()
                ):  # raised between its taking and its block, where Python hears no ctrl+c
                    lock.release()
        (done,) = {int(one.get_value() - old) for one, old in zip(shared, before, strict=True)}
        ends.add(done)
        if left >= 0:
            break
    assert left >= 0 and ends == {0, 1} and line > 10
