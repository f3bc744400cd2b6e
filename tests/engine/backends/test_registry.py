"""Backends by name: built-in ones, registered ones, plug-ins, broken ones."""

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.backends import registry
from scanviz.engine.backends.base import Availability
from scanviz.engine.backends.reference import ReferenceBackend
from scanviz.engine.errors import BackendError


@pytest.fixture(autouse=True)
def forget(monkeypatch):
    """Give each test a registry of its own."""
    for name in ("_factories", "_made", "_broken"):
        monkeypatch.setattr(registry, name, dict(getattr(registry, name)))


def test_the_built_in_tiers_work():
    assert registry.names()[:2] == ["reference", "numpy"]
    for name in ("reference", "numpy", "auto"):
        assert registry.resolve(name).name == name
        assert registry.availability(name).works


def test_an_unknown_backend_is_an_error_with_the_known_and_closest_names():
    with pytest.raises(BackendError, match="no backend named 'nmpy'") as caught:
        registry.resolve("nmpy")
    assert "Mode('numpy')" in str(caught.value)
    assert "reference" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("FAST_RUN", "leave mode out"),
        ("FAST_COMPILE", 'Mode("numpy", rewrites="none")'),
        ("cvm", "leave mode out"),
        ("NUMBA", 'mode="native"'),
        ("NanGuardMode", "scanviz check SCRIPT"),
        ("DEBUG_MODE", "scanviz rewrites --verify SCRIPT"),
        ("ProfileMode", "profile=True"),
    ],
)
def test_modes_of_theano_and_pytensor_are_errors_with_a_replacement(name, answer):
    x = T.vector("x")
    with pytest.raises(BackendError, match=f"no backend named '{name}'") as caught:
        scanviz.function([x], x + 1, mode=name)
    assert answer in str(caught.value)


def test_a_registered_backend_is_used_by_name():
    used = []

    class Mine(ReferenceBackend):
        name = "mine"

        def compile(self, program):
            used.append(program.name)
            return super().compile(program)

    registry.register("mine", Mine)
    x = T.vector("x")
    f = scanviz.function([x], x * 2, mode="mine", name="double")
    np.testing.assert_array_equal(f([1.0, 2.0]), [2.0, 4.0])
    assert used == ["double"]
    assert "mine" in registry.names()


def test_a_broken_plug_in_is_reported_and_harms_no_other():
    def breaks():
        raise RuntimeError("no licence file")

    registry.register("gpu9000", breaks)
    found = registry.availability("gpu9000")
    assert isinstance(found, Availability)
    assert not found.works
    assert "no licence file" in found.why
    assert "gpu9000" in registry.broken()
    with pytest.raises(BackendError, match="could not be loaded"):
        registry.resolve("gpu9000")
    assert registry.resolve("numpy").name == "numpy"


def test_a_plug_in_is_loaded_on_first_use():
    loaded = []

    def load():
        loaded.append(True)
        return ReferenceBackend()

    registry.register("lazy", load)
    assert "lazy" in registry.names()
    assert not loaded
    registry.resolve("lazy")
    registry.resolve("lazy")
    assert loaded == [True]


@pytest.mark.parametrize("around", ["reference", "numpy"])
@pytest.mark.parametrize("inside", ["reference", "numpy"])
def test_one_loop_can_ask_for_another_tier(around, inside):
    x = T.matrix("x")

    def step(row, total):
        rows, _ = scanviz.scan(lambda v, s: v * 2.0 + s, row, np.float64(0.5), name="inner", mode=inside)
        return total + rows[-1] + rows.sum()

    out, _ = scanviz.scan(step, x, np.float64(0.0), name="outer")
    values = np.arange(6.0).reshape(2, 3)
    total, expected = 0.0, []
    for row in values:
        s, rows = 0.5, []
        for v in row:
            s = v * 2.0 + s
            rows.append(s)
        total = total + rows[-1] + sum(rows)
        expected.append(total)
    np.testing.assert_allclose(scanviz.function([x], out, mode=around)(values), expected)


def test_a_loop_that_asks_for_an_unknown_tier_is_refused_when_compiled():
    x = T.vector("x")
    out, _ = scanviz.scan(lambda v, h: h + v, x, 0.0, mode="numpi")
    for mode in ("reference", "numpy"):
        with pytest.raises(BackendError, match="numpi"):
            scanviz.function([x], out, mode=mode)
