"""Whether the CuPy backend works here, and what it says where it does not; no GPU is needed."""

import importlib.util
import subprocess
import sys
import types
from importlib.machinery import ModuleSpec

import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.backends import registry
from scanviz.engine.backends.cupy import CupyBackend
from scanviz.engine.errors import BackendError


def fake_cupy_module(driver, gpu):
    """Return a module named cupy, with a driver of a version and maybe a GPU."""
    module = types.ModuleType("cupy")
    module.__spec__ = ModuleSpec("cupy", None)
    module.__version__ = "14.2.0"
    module.is_available = lambda: gpu

    def version():
        if isinstance(driver, Exception):
            raise driver
        return driver

    module.cuda = types.SimpleNamespace(runtime=types.SimpleNamespace(driverGetVersion=version))
    return module


def without_cupy(monkeypatch):
    monkeypatch.delitem(sys.modules, "cupy", raising=False)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, package=None: None)


def test_a_missing_cupy_is_reported_with_the_install_command(monkeypatch):
    without_cupy(monkeypatch)
    found = CupyBackend().availability()
    assert not found.works and "not installed" in found.why
    assert 'pip install "scanviz[cuda13]"' in found.how_to_get and "scanviz[cuda12]" in found.how_to_get


def test_a_missing_cupy_is_an_error_with_the_install_command(monkeypatch):
    without_cupy(monkeypatch)
    x = T.vector("x")
    with pytest.raises(BackendError, match="cannot run here: CuPy is not installed") as caught:
        scanviz.function([x], x + 1, mode="cupy")
    assert "scanviz[cuda12]" in str(caught.value)


@pytest.mark.parametrize(
    "driver, gpu, why",
    [
        (0, False, "no NVIDIA driver"),
        (13000, False, "no NVIDIA GPU"),
        (RuntimeError("cudaErrorSystemDriverMismatch"), False, "cudaErrorSystemDriverMismatch"),
    ],
)
def test_a_missing_driver_or_gpu_is_reported(monkeypatch, driver, gpu, why):
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy_module(driver, gpu))
    found = CupyBackend().availability()
    assert not found.works and why in found.why and found.how_to_get and found.version == "14.2.0"
    x = T.vector("x")
    with pytest.raises(BackendError, match=why):
        scanviz.function([x], x + 1, mode="cupy")


def test_a_gpu_that_answers_works(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy_module(13000, True))
    assert CupyBackend().availability()[:2] == (True, "CuPy, one call an operation")


def test_a_broken_installation_is_reported_and_not_raised(monkeypatch, tmp_path):
    (tmp_path / "cupy.py").write_text("raise OSError('libcudart.so.13 is missing')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "cupy", raising=False)
    found = CupyBackend().availability()
    assert not found.works and "libcudart.so.13 is missing" in found.why and found.how_to_get


def test_a_module_without_a_specification_is_reported_and_not_raised(monkeypatch):
    module = fake_cupy_module(13000, True)
    module.__spec__ = None
    monkeypatch.setitem(sys.modules, "cupy", module)
    assert not CupyBackend().availability().works


def test_asking_for_backends_names_does_not_import_cupy():
    code = "import scanviz, sys; from scanviz.engine.backends import registry; registry.names(); registry.resolve('cupy'); assert 'cupy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_registry_knows_the_backend():
    assert "cupy" in registry.names() and registry.resolve("cupy").name == "cupy"
    assert isinstance(registry.availability("cupy").works, bool)
