"""Availability of the CuPy backend and its messages; no GPU is needed."""

import importlib.util
import subprocess
import sys
import types
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.backends import registry
from scanviz.engine.backends.cupy import CupyBackend
from scanviz.engine.errors import BackendError

ROOT = Path(__file__).parents[4]


def fake_cupy_module(driver, gpu, version="14.2.0"):
    """Return a module named cupy, with a driver of a version and maybe a GPU."""
    module = types.ModuleType("cupy")
    module.__spec__ = ModuleSpec("cupy", None)
    module.__version__ = version
    module.is_available = lambda: gpu

    def driver_version():
        if isinstance(driver, Exception):
            raise driver
        return driver

    module.cuda = types.SimpleNamespace(runtime=types.SimpleNamespace(driverGetVersion=driver_version))
    return module


def with_libraries(monkeypatch, *found):
    """Put a CuPy that works and the finder of CUDA's libraries in place; the finder finds ``found``."""

    def load(name):
        if name not in found:
            raise RuntimeError(f"lib{name}.so is nowhere")

    finder = types.ModuleType("cuda.pathfinder")
    finder.load_nvidia_dynamic_lib = load
    finder.find_nvidia_header_directory = lambda name: "include" if "headers" in found else None
    monkeypatch.setitem(sys.modules, "cuda", types.ModuleType("cuda"))
    monkeypatch.setitem(sys.modules, "cuda.pathfinder", finder)
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy_module(13000, True))


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
    with_libraries(monkeypatch, "headers", "nvrtc", "cublas")
    assert CupyBackend().availability()[:2] == (True, "CuPy, loops as kernels or one call an operation")


@pytest.mark.parametrize(
    "found, missing",
    [
        (("nvrtc", "cublas"), "CUDA's headers"),
        (("headers", "cublas"), "NVRTC"),
        (("headers", "nvrtc"), "cuBLAS"),
        ((), "CUDA's headers, NVRTC, cuBLAS"),
    ],
)
def test_missing_cuda_libraries_are_named_with_the_command_that_installs_them(monkeypatch, found, missing):
    with_libraries(monkeypatch, *found)
    availability = CupyBackend().availability()
    assert not availability.works and availability.why == f"CuPy does not find {missing}"
    assert 'pip install "scanviz[cuda13]"' in availability.how_to_get


def test_a_cupy_without_the_finder_of_libraries_is_trusted(monkeypatch):
    monkeypatch.setitem(sys.modules, "cuda.pathfinder", None)  # an import fails
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy_module(13000, True))
    assert CupyBackend().availability().works


def test_a_cupy_with_other_promotion_of_scalars_is_too_old(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy_module(13000, True, "13.6.0"))
    found = CupyBackend().availability()
    assert not found.works and found.why == "CuPy 13.6.0 is too old: 14.2 is needed"
    assert "cuda13" in found.how_to_get


def test_the_extras_bring_cudas_libraries():
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    assert extras["cuda12"] == ["cupy-cuda12x[ctk]>=14.2"] and extras["cuda13"] == ["cupy-cuda13x[ctk]>=14.2"]


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
    code = (
        "import sys; at_start = 'cupy' in sys.modules\n"  # as in the environment of tools/real_cupy
        "import scanviz; from scanviz.engine.backends import registry; registry.names(); registry.resolve('cupy')\n"
        "assert ('cupy' in sys.modules) == at_start"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_registry_knows_the_backend():
    assert "cupy" in registry.names() and registry.resolve("cupy").name == "cupy"
    assert isinstance(registry.availability("cupy").works, bool)
