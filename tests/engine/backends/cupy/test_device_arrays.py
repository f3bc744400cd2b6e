"""Device arrays as inputs and outputs, places of values, and observers' view of both; on the stand-in."""

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine import observe
from scanviz.engine.backends.cupy.table import CUPY, TRAFFIC
from scanviz.engine.errors import ScanvizIndexError, ScanvizNotImplementedError, ScanvizTypeError, ShapeError
from scanviz.profiler.advice import advice_of
from scanviz.profiler.report.overview import render_report
from tests.engine.backends.cupy import stand_in
from tests.engine.backends.cupy.fake_cupy import FakeArray

stand_in.register()


def device(value, dtype="float64"):
    return FakeArray(np.array(value, dtype))


def test_device_arrays_stay_on_the_device():
    x = T.vector("x")
    f = scanviz.function([x], [x * 2, x.sum(), x.shape[0], T.constant(3.0)], mode="stand-in")
    results = f(device([1, 2, 3]))
    assert all(isinstance(result, FakeArray) for result in results)
    assert [result.tolist() for result in results] == [[2, 4, 6], 6, 3, 3]
    assert all(isinstance(each, np.ndarray) for each in f([1.0, 2.0, 3.0]))


def test_one_device_array_among_the_inputs_suffices():
    x, y = T.vector("x"), T.vector("y")
    f = scanviz.function([x, y], x + y, mode="stand-in")
    assert f(device([1, 2]), np.array([1.0, 1.0])).tolist() == [2, 3]
    assert isinstance(f(np.array([1.0, 1.0]), y=device([1, 2])), FakeArray)


def test_outputs_share_no_memory_with_inputs_constants_or_one_another():
    x = T.vector("x")
    held = T.constant(np.arange(3.0))
    f = scanviz.function([x], [x, x[1:], held, x * 1, x[::-1], held], mode="stand-in")
    given = device([1, 2, 3])
    results = f(given)
    for result in results:
        result[...] = -1.0
    assert given.tolist() == [1, 2, 3]
    assert [each.tolist() for each in f(given)] == [
        [1, 2, 3],
        [2, 3],
        [0, 1, 2],
        [1, 2, 3],
        [3, 2, 1],
        [0, 1, 2],
    ]


def test_a_borrowed_output_is_the_input_itself():
    x = T.vector("x")
    f = scanviz.function([x], scanviz.Out(x, borrow=True), mode="stand-in")
    given = device([1, 2])
    assert f(given) is given


def test_inputs_are_not_written_to():
    x = T.matrix("x")
    rows = scanviz.scan(lambda row, h: h + row, sequences=x, outputs_info=T.zeros(2))[0]
    f = scanviz.function([x], [rows, T.set_subtensor(x[0], 9.0)], mode="stand-in")
    given = device([[1, 2], [3, 4]])
    assert f(given)[0].tolist() == [[1, 2], [4, 6]]
    assert given.tolist() == [[1, 2], [3, 4]]


def test_device_arrays_are_checked_like_host_arrays():
    x = T.tensor("float64", (3,), name="x")
    f = scanviz.function([x], x + 1, mode="stand-in")
    with pytest.raises(ScanvizTypeError, match="dtype float32, on the device"):
        f(device([1, 2, 3], "float32"))
    with pytest.raises(ScanvizTypeError, match="dimensions"):
        f(device([[1, 2, 3]]))
    with pytest.raises(ShapeError, match="axis 0"):
        f(device([1, 2]))


@pytest.mark.parametrize("mode", ["numpy", "reference"])
def test_host_backends_refuse_device_arrays(mode):
    x = T.vector("x")
    f = scanviz.function([x], x + 1, mode=mode)
    with pytest.raises(ScanvizTypeError, match="`x` .*was given an array on a device") as caught:
        f(device([1, 2]))
    assert "mode='cupy'" in str(caught.value)


def test_random_states_stay_on_the_host_and_draws_equal_numpys():
    results = []
    for mode in ("reference", "stand-in"):
        stream = T.random.RandomStreams(3)
        x = T.vector("x")
        rows, updates = scanviz.scan(
            lambda h, s=stream: [h + s.uniform(size=2), s.integers(0, 9, size=2)],
            outputs_info=[x, None],
            n_steps=3,
        )
        f = scanviz.function([x], rows, updates=updates, mode=mode)
        given = np.ones(2)
        first, second = f(given), f(given if mode == "reference" else device(given))
        results.append(
            [np.asarray(each.get() if isinstance(each, FakeArray) else each) for each in [*first, *second]]
        )
    for a, b in zip(*results, strict=True):
        np.testing.assert_array_equal(a, b)


class Listener(observe.Observer):
    """Keeps all events."""

    def __init__(self, detail):
        self.detail, self.values = detail, []

    def instruction(self, function, loop, step, index, elapsed_ns, values):
        self.values.extend(values)


def test_observers_of_values_get_host_arrays():
    x = T.vector("x")
    f = scanviz.function([x], scanviz.scan(lambda h: h * 2, outputs_info=x, n_steps=3)[0], mode="stand-in")
    listener = Listener("values")
    with observe.observed_by(listener):
        f(device([1, 2]))
    assert listener.values and all(isinstance(value, np.ndarray) for value in listener.values)


def test_only_observed_calls_wait_for_the_device():
    x = T.vector("x")
    f = scanviz.function([x], scanviz.scan(lambda h: h * 2, outputs_info=x, n_steps=5)[0], mode="stand-in")
    before = stand_in.LIBRARY.waits
    f(device([1, 2]))
    assert stand_in.LIBRARY.waits == before
    with observe.observed_by(Listener("steps")):
        f(device([1, 2]))
    assert stand_in.LIBRARY.waits >= before + 5


def traffic(function, *values):
    """Return the bytes that a call moves to the device and to the host, and how often it waits for the device."""
    before = TRAFFIC.counts()
    function(*values)
    return tuple(now - then for now, then in zip(TRAFFIC.counts(), before, strict=True))


@pytest.mark.parametrize("mode", ["stand-in", scanviz.Mode("stand-in", "none")])
def test_an_index_that_stays_the_same_is_checked_once(mode):
    x, places, row = T.vector("x"), T.lvector("places"), T.lscalar("row")
    steps = {
        "read": lambda h, i, k: h[i] + 1,
        "increment": lambda h, i, k: T.inc_subtensor(h[i], h[i] * 0.5),
        "a number": lambda h, i, k: h + h[k],
    }
    for step in steps.values():
        rows = scanviz.scan(step, outputs_info=x, non_sequences=[places, row], n_steps=7)[0]
        given = [np.arange(3.0), np.array([2, 0, -1]), np.array(1)]
        wanted = scanviz.function([x, places, row], rows, mode="reference", on_unused_input="ignore")(*given)
        f = scanviz.function([x, places, row], rows, mode=mode, on_unused_input="ignore")
        on_device = [device(given[0]), device(given[1], "int64"), device(given[2], "int64")]
        np.testing.assert_array_equal(f(*on_device).get(), wanted)
        assert traffic(f, *on_device)[2] <= 2


def test_bytes_moved_and_waits_of_a_call_are_counted():
    x, n = T.vector("x"), T.lscalar("n")
    f = scanviz.function([x], x * 2, mode="stand-in")
    assert traffic(f, np.ones(5)) == (40, 40, 1) and traffic(f, device(np.ones(5))) == (0, 0, 0)
    rows = scanviz.scan(
        lambda h: (T.sort(h) * 2, scanviz.until(h.sum() > 100)), outputs_info=x, n_steps=n, name="doubling"
    )[0]
    f = scanviz.function([x, n], rows[-1], mode="stand-in")
    assert traffic(f, device(np.ones(2)), np.int64(3)) == (0, 3, 3)  # the condition at each step
    side = scanviz.ifelse(x.sum() > 0, x, -x)
    assert traffic(scanviz.function([x], side, mode="stand-in"), device(np.ones(2))) == (0, 1, 1)
    g = scanviz.function([x], T.linalg.solve(T.outer(x, x) + T.eye(2), x), mode="stand-in")
    assert traffic(g, device(np.ones(2)))[2] == 1


def test_a_profile_shows_bytes_moved_and_waits():
    x = T.vector("x")
    w = scanviz.shared(np.eye(4), "w")
    f = scanviz.function([x], T.dot(w, x), updates={w: w * 2}, mode="stand-in")
    with scanviz.profile() as p:
        for _ in range(3):
            f(np.ones(4))
    [function] = p.record.functions
    assert function.measures["to_device_bytes"] == function.measures["to_host_bytes"] == 32
    assert function.measures["device_waits"] == 1
    text = " ".join(render_report(p.record, width=200).split())
    assert "moved to the GPU per call 32 B" in text and "waits for the GPU per call 1" in text


def advised(function, *values):
    """Return the advice about three calls of a function, by kind."""
    with scanviz.profile() as p:
        for _ in range(3):
            function(*values)
    return {each.kind: each for each in advice_of(p.record)}


def test_advice_names_host_arrays_that_every_call_moves():
    x = T.vector("x")
    f = scanviz.function([x], x.sum(), mode="stand-in", name="total")
    found = advised(f, np.ones(200_000))["moved_to_gpu"]
    assert (
        found.title == "each call of `total` moves 1.53 MiB to the GPU" and "scanviz.shared()" in found.text
    )
    assert "moved_to_gpu" not in advised(f, device(np.ones(200_000)))
    assert "moved_to_gpu" not in advised(f, np.ones(2))


def test_advice_names_loops_whose_steps_wait():
    x, n = T.vector("x"), T.lscalar("n")
    step = {
        True: lambda h: (T.sort(h) * 0.5, scanviz.until(h.sum() < -1)),
        False: lambda h: T.sort(h) * 0.5,
    }
    for waits, fn in step.items():
        rows = scanviz.scan(fn, outputs_info=x, n_steps=n, name="halving")[0]
        f = scanviz.function([x, n], rows[-1], mode="stand-in", name="halved")
        assert ("waits_for_gpu" in advised(f, device(np.ones(2)), np.int64(150))) is waits


def test_an_index_that_changed_between_calls_is_checked_again():
    x, places = T.vector("x"), T.lvector("places")
    f = scanviz.function(
        [x, places],
        scanviz.scan(lambda h, i: h[i], outputs_info=x, non_sequences=places, n_steps=2)[0],
        mode="stand-in",
    )
    index = device([0, 1], "int64")
    f(device([1, 2]), index)
    index[1] = 2
    with pytest.raises(ScanvizIndexError, match="index 2 is out of bounds"):
        f(device([1, 2]), index)


def test_a_missing_row_of_the_table_is_reported_when_the_function_is_built(monkeypatch):
    x = T.matrix("x")
    scanviz.function([x], T.sort(x), mode="stand-in")  # fills the table
    monkeypatch.delitem(CUPY._rows, "sort")
    with pytest.raises(ScanvizNotImplementedError, match="no 'sort'") as caught:
        scanviz.function([x], T.sort(x), mode="stand-in")
    assert caught.value.where is not None
    rows = scanviz.scan(lambda row: T.sort(row), sequences=x, name="sorting")[0]
    with pytest.raises(ScanvizNotImplementedError, match="no 'sort', used in loop `sorting`"):
        scanviz.function([x], rows, mode=scanviz.Mode("stand-in").excluding("push_out"))
    hosted = scanviz.scan(lambda row: T.sort(row), sequences=x, name="sorting", mode="numpy")[0]
    f = scanviz.function([x], hosted, mode="stand-in")
    assert f(device([[2, 1], [3, 4]])).tolist() == [[1, 2], [3, 4]]


def test_a_loop_of_a_host_function_may_run_on_the_device():
    x = T.vector("x")
    rows = scanviz.scan(lambda h: h + x, outputs_info=T.zeros_like(x), n_steps=3, mode="stand-in")[0]
    f = scanviz.function([x], rows * 2, mode="numpy")
    assert f([1.0, 2.0]).tolist() == [[2, 4], [4, 8], [6, 12]]
