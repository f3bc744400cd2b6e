"""Shared variables on a device: moved there once, updated there, read on the host on demand; on the stand-in."""

import copy
import pickle

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.backends.cupy.table import TRAFFIC
from scanviz.engine.errors import ScanvizError
from scanviz.engine.measurement.captured_calls import CapturedCalls
from tests.engine.backends.cupy import stand_in
from tests.engine.backends.cupy.fake_cupy import FakeArray, FakeStream

stand_in.register()
X = T.vector("x")
ONES = np.ones(3)


def device(value, dtype="float64"):
    return FakeArray(np.array(value, dtype))


@pytest.fixture
def moved():
    """Gives bytes moved to the device and to the host since it was asked last."""
    before = [TRAFFIC.counts()]

    def since():
        now, then = TRAFFIC.counts(), before[0]
        before[0] = now
        return now[0] - then[0], now[1] - then[1]

    return since


def trained(mode="stand-in"):
    """Return a shared matrix, a function that updates it and one that reads it."""
    w = scanviz.shared(np.eye(3), "w")
    update = scanviz.function([X], updates={w: w + T.outer(X, X)}, mode=mode)
    return w, update, scanviz.function([X], T.dot(w, X), mode=mode)


def test_a_shared_variable_is_moved_once_for_all_functions_and_its_updates_stay(moved):
    w, update, read = trained()
    for k in range(3):
        update(ONES)
        assert moved() == (24 + (k == 0) * 72, 0)  # x at each call, w once
    found = read(ONES)
    assert moved() == (24, 24)  # x and the result
    assert isinstance(found, np.ndarray) and found.tolist() == [10, 10, 10]
    assert w.get_value().tolist() == (np.eye(3) + 3).tolist() and isinstance(w.get_value(), np.ndarray)
    assert read(ONES).tolist() == [10, 10, 10] and moved() == (24, 24)


def test_tiers_take_turns_with_a_shared_variable():
    w, update, read = trained()
    on_host = scanviz.function([X], updates={w: w * 2 + X}, mode="numpy")
    update(ONES)
    on_host(ONES)
    update(ONES)
    assert w.get_value().tolist() == ((np.eye(3) + 1) * 2 + 1 + 1).tolist()
    assert read(ONES).tolist() == [14, 14, 14]


def test_a_value_that_is_set_replaces_that_on_the_device():
    w, update, read = trained()
    update(ONES)
    w.set_value(np.zeros((3, 3)))
    assert read(ONES).tolist() == [0, 0, 0]
    update(ONES)
    w.set_value(w.get_value() * 2)
    assert read(ONES).tolist() == [6, 6, 6]


def test_a_shared_variable_takes_an_array_of_the_device():
    w = scanviz.shared(device(ONES), "w")
    f = scanviz.function([X], w * X, mode="stand-in")
    assert f(ONES).tolist() == [1, 1, 1]
    w.set_value(device(ONES * 2))
    assert f(ONES).tolist() == [2, 2, 2] == w.get_value().tolist()


def test_a_value_on_the_device_is_pickled_and_copied():
    w, update, read = trained()
    update(ONES)
    for other in (pickle.loads(pickle.dumps(w)), copy.deepcopy(w)):
        assert other.get_value().tolist() == w.get_value().tolist()
    assert pickle.loads(pickle.dumps(read))(ONES).tolist() == read(ONES).tolist()


def test_results_and_inputs_share_no_memory_with_a_shared_variable():
    state = scanviz.shared(np.zeros(3), "state")
    f = scanviz.function([X], [state, state[:2], X], updates={state: X}, mode="stand-in")
    given = device(ONES)
    f(given)
    given[...] = 7.0
    found = f(given)
    for result in found:
        result[...] = -1.0
    assert state.get_value().tolist() == [7, 7, 7]
    assert f(given)[0].tolist() == [7, 7, 7]
    value = state.get_value()
    value[...] = 5.0
    assert state.get_value().tolist() == [7, 7, 7]


def test_a_failed_call_changes_no_shared_variable():
    w, update, _ = trained()
    update(ONES)
    f = scanviz.function([X], T.Assert("positive")(X, T.all(X > 0)), updates={w: w * 3}, mode="stand-in")
    with pytest.raises(ScanvizError):
        f(-ONES)
    assert w.get_value().tolist() == (np.eye(3) + 1).tolist()


def test_a_new_value_of_another_shape_is_refused():
    state = scanviz.shared(np.zeros(3), "state", strict=True)
    messages = []
    for mode in ("reference", "stand-in"):
        f = scanviz.function([X], updates={state: T.concatenate([state, X])}, mode=mode)
        with pytest.raises(ScanvizError) as caught:
            f(ONES)
        messages.append(caught.value.what)
    assert messages[0] == messages[1] and state.get_value().tolist() == [0, 0, 0]


def test_numbers_and_random_states_are_shared_too():
    count, mean = scanviz.shared(0, "count"), scanviz.shared(0.0, "mean")
    stream = T.random.RandomStreams(3)
    f = scanviz.function(
        [X], stream.uniform(size=2), updates={count: count + 1, mean: X.mean()}, mode="stand-in"
    )
    first, second = f(ONES), f(ONES * 3)
    assert count.get_value() == 2 and mean.get_value() == 3 and first.tolist() != second.tolist()


def test_a_shared_variable_of_a_loop_that_a_step_updates_stays_on_the_device(moved):
    w = scanviz.shared(np.ones(3), "w")
    rows, updates = scanviz.scan(lambda x: (x * w, {w: w * 2}), sequences=X)
    f = scanviz.function([X], rows, updates=updates, mode="stand-in")
    assert f(ONES).tolist() == [[1, 1, 1], [2, 2, 2], [4, 4, 4]] and f(ONES)[0].tolist() == [8, 8, 8]
    assert w.get_value().tolist() == [64, 64, 64]
    assert moved()[0] == 3 * 24  # w once, the sequence twice


needs_the_stand_in = pytest.mark.skipif(
    not isinstance(stand_in.LIBRARY.cuda.get_current_stream(), FakeStream), reason="it has one stream"
)


@needs_the_stand_in
def test_a_call_in_another_stream_waits_for_the_work_on_a_shared_variable(monkeypatch):
    _, update, read = trained()
    update(ONES)
    first, second = stand_in.LIBRARY.stream, FakeStream(lambda: None)
    monkeypatch.setattr(stand_in.LIBRARY, "stream", second)
    assert read(ONES).tolist() == [4, 4, 4]
    assert second.waited_for == [first] and first.waited_for[-1:] == [second]
    read(ONES)
    assert second.waited_for == [first]


@needs_the_stand_in
def test_a_call_on_another_device_has_arrays_of_its_own(monkeypatch):
    w, update, read = trained()
    table = T.constant(np.arange(3.0))
    f = scanviz.function([X], T.dot(w, X) + table, mode="stand-in")
    update(ONES)
    here = f.executable
    monkeypatch.setattr(stand_in.LIBRARY, "device", 1)
    assert f(ONES).tolist() == [4, 5, 6] and read(ONES).tolist() == [4, 4, 4]
    assert len(here._of_device) == 2
    constants = [list(each.module._constants.values()) for each in here._of_device.values()]
    assert all(array is not other for _, array in constants[0] for _, other in constants[1])


def test_observers_of_calls_get_shared_variables_on_the_host():
    _, update, read = trained()
    update(ONES)
    calls = CapturedCalls()
    with calls.observing(), scanviz.profile() as p:
        read(ONES)
    assert all(type(array) is np.ndarray for array in calls.calls[0].arrays)
    assert [function.calls for function in p.record.functions] == [1]
