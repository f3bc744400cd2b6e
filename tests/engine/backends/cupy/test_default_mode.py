"""Device arrays given to functions of the default mode: the call runs on the device's tier; on the stand-in."""

import pickle

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.backends import registry
from scanviz.engine.backends.base import Availability
from scanviz.engine.backends.cupy.table import TRAFFIC
from scanviz.engine.errors import ScanvizNotImplementedError, ScanvizTypeError
from scanviz.profiler.report.overview import render_report
from tests.engine.backends.cupy.fake_cupy import FakeArray
from tests.engine.backends.cupy.stand_in import StandInBackend


class OfAnotherLibrary:
    """A device array that is not CuPy's."""

    def __init__(self, array):
        self.dtype, self.ndim, self.shape = array.dtype, array.ndim, array.shape

    __cuda_array_interface__ = property(lambda self: {"version": 3})


class OnTheHost:
    """An array of a library with one class for both memories, as PyTorch, in the host's."""

    def __init__(self, array):
        self.array = array

    @property
    def __cuda_array_interface__(self):
        raise AttributeError("a tensor on the CPU has none")

    def __array__(self, *arguments, **options):
        return self.array


def device(value, dtype="float64"):
    return FakeArray(np.array(value, dtype))


@pytest.fixture(autouse=True)
def stand_in(monkeypatch):
    """Put the stand-in in the place of CuPy's tier."""
    backend = StandInBackend()
    monkeypatch.setitem(registry._made, "cupy", backend)
    return backend


def decay(**options):
    x, h = T.matrix("x"), T.vector("h")
    rows = scanviz.scan(lambda x_t, h: T.tanh(x_t + 0.5 * h), x, h, name="decay")[0]
    return scanviz.function([x, h], rows, **options)


X, H = np.arange(6.0).reshape(3, 2) / 6, np.ones(2)


@pytest.mark.parametrize("mode", [None, "auto"])
def test_results_of_device_arrays_stay_on_the_device_and_those_of_host_arrays_on_the_host(mode):
    f = decay(mode=mode)
    expected = decay(mode="reference")(X, H)
    for _ in range(2):
        found = f(device(X), device(H))
        assert isinstance(found, FakeArray)
        np.testing.assert_allclose(found.get(), expected, rtol=1e-12)
        np.testing.assert_allclose(f(X, H), expected, rtol=1e-12)
    assert isinstance(f(h=device(H), x=device(X)), FakeArray)
    assert isinstance(pickle.loads(pickle.dumps(f))(device(X), device(H)), FakeArray)


def test_arrays_of_the_host_beside_device_arrays_are_copied_to_the_device():
    f = decay()
    f(device(X), device(H))
    before = TRAFFIC.counts()
    assert isinstance(f(X, device(H)), FakeArray)
    up, down, _ = (now - then for now, then in zip(TRAFFIC.counts(), before, strict=True))
    assert (up, down) == (X.nbytes, 0)


def test_calls_of_both_kinds_update_one_shared_variable():
    x, total = T.vector("x"), scanviz.shared(np.zeros(2), "total")
    f = scanviz.function([x], total * 1, updates={total: total + x})
    for k, given in enumerate([H, device(H), device(H), H]):
        before = f(given)
        assert isinstance(before, FakeArray) is isinstance(given, FakeArray)
        assert before.tolist() == [k, k]
    assert total.get_value().tolist() == [4, 4]


def test_a_default_value_on_the_device_counts():
    x = T.vector("x")
    f = scanviz.function([scanviz.In(x, value=device(H))], x + 1)
    assert f().tolist() == [2, 2] and isinstance(f(), FakeArray)
    assert isinstance(f(H), np.ndarray)


def test_the_record_names_the_tier_and_the_reason():
    f = decay(name="decayed")
    with scanviz.profile() as p:
        f(device(X), device(H))
        f(X, H)
        f(device(X), device(H))
    reasons = {each.backend: (each.name, each.calls, each.tier_reason) for each in p.record.functions}
    assert reasons == {
        "stand-in": ("decayed#1", 2, "the inputs lie on the device"),
        "auto": ("decayed#2", 1, ""),
    }
    text = " ".join(render_report(p.record, width=200).split())
    assert "on stand-in, as the inputs lie on the device" in text


def test_the_profile_of_a_function_has_both_kinds_of_calls():
    f = decay(profile=True)
    f(device(X), device(H))
    f(X, H)
    assert sorted((each.backend, each.calls) for each in f.profile.functions) == [
        ("auto", 1),
        ("stand-in", 1),
    ]


def test_the_function_of_the_device_is_built_once_and_keeps_the_users_rewrites():
    f = decay(mode=scanviz.Mode("auto", "none"))
    f(device(X), device(H))
    built = f._for_device
    f(device(X), device(H))
    assert f._for_device is built and not len(built.rewrites)


def refused(function, *values):
    with pytest.raises(ScanvizTypeError, match="`x` .*was given an array on a device") as caught:
        function(*values)
    return "mode='cupy'" in str(caught.value)


def test_device_arrays_are_refused_where_cupy_does_not_work(monkeypatch, stand_in):
    monkeypatch.setattr(stand_in, "availability", lambda: Availability(False, "no driver"))
    assert refused(decay(), device(X), device(H))


def test_device_arrays_of_other_libraries_are_refused():
    f = decay()
    assert refused(f, OfAnotherLibrary(X), H)
    assert refused(f, OfAnotherLibrary(X), device(H))
    f(device(X), device(H))
    assert refused(f, OfAnotherLibrary(X), H)


@pytest.mark.parametrize("mode", [None, "numpy", "cupy"])
def test_arrays_on_the_host_of_a_class_that_may_lie_on_the_device_are_converted(mode):
    f = decay(mode=mode)
    np.testing.assert_allclose(f(OnTheHost(X), OnTheHost(H)), decay(mode="reference")(X, H), rtol=1e-12)
    kept = scanviz.shared(OnTheHost(H))
    kept.set_value(OnTheHost(X[0]))
    np.testing.assert_array_equal(kept.get_value(), X[0])


def test_an_error_of_a_call_on_the_device_is_the_only_one():
    f = decay()
    with pytest.raises(ScanvizTypeError, match="dtype float32, on the device") as caught:
        f(device(X, "float32"), device(H))
    assert caught.value.__context__ is None
    x, i = T.vector("x"), T.lvector("i")
    g = scanviz.function([x, i], x[i])
    with pytest.raises(IndexError, match="out of bounds") as raised:
        g(device(H), device([7], "int64"))
    assert type(raised.value.__context__).__name__ != "RunsOnDevice"


def test_an_operation_that_the_device_lacks_is_named_in_the_call(monkeypatch):
    from scanviz.engine.backends.cupy.table import CUPY

    x = T.vector("x")
    f = scanviz.function([x], T.sort(x))
    f(H)
    monkeypatch.delitem(CUPY._rows, "sort")
    with pytest.raises(ScanvizNotImplementedError, match="no 'sort'"):
        f(device(H))
