"""Errors of a missing, broken or exhausted LLVM are reported, and no process ends."""

import sys

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.cli import doctor
from scanviz.engine.backends.native import NativeBackend
from scanviz.engine.backends.native.cache import jit, llvm
from scanviz.engine.config import config
from scanviz.engine.errors import BackendError, OutOfMemoryError, ScanvizValueError


def scalar_loop(mode):
    x = T.vector("x")
    y, _ = scanviz.scan(lambda x_t, y: T.tanh(x_t - y), x, np.float64(0))
    return scanviz.function([x], y[-1], mode=mode)


def broken_package(monkeypatch, folder, text):
    """Let a package of the name llvmlite be found first."""
    (folder / "llvmlite").mkdir()
    (folder / "llvmlite" / "__init__.py").write_text(text)
    monkeypatch.syspath_prepend(folder)
    for name in [name for name in sys.modules if name.split(".")[0] == "llvmlite"]:
        monkeypatch.delitem(sys.modules, name)


def test_a_package_that_cannot_be_imported_is_reported_and_not_raised(monkeypatch, tmp_path):
    broken_package(monkeypatch, tmp_path, "raise OSError('libstdc++.so.6 is missing')")
    found = NativeBackend().availability()
    assert not found.works and "libstdc++.so.6 is missing" in found.why
    assert found.how_to_get == "pip install --force-reinstall llvmlite"
    with pytest.raises(BackendError, match="libstdc") as error:
        scalar_loop("native")
    assert error.value.fix == found.how_to_get
    assert scalar_loop("auto")(np.ones(3)) == scalar_loop("numpy")(np.ones(3))


def test_a_library_that_cannot_be_opened_is_reported(monkeypatch):
    def refused():
        raise OSError("libllvmlite.so: failed to map segment")

    monkeypatch.setattr("llvmlite.binding.initialize_native_target", refused)
    llvm._loaded.cache_clear()
    with pytest.raises(BackendError, match="LLVM cannot be loaded .*failed to map segment"):
        llvm.binding()


def test_the_doctor_tries_whether_llvm_can_be_loaded(monkeypatch):
    monkeypatch.setattr(doctor, "_imports", lambda module: module != "llvmlite.binding")
    (native,) = [found for found in doctor._backends() if found.name == "native"]
    assert not native.works and "LLVM cannot be loaded" in native.what and "llvmlite" in native.how_to_get


@pytest.fixture
def no_memory(monkeypatch):
    """Let the system give no memory for compiling, and let all be compiled, nothing read from disk."""

    def refused(*_, **__):
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(config.native, "cache", "off")
    monkeypatch.setattr(config.native, "pays_after", 0.0)
    monkeypatch.setattr(jit.mmap, "mmap", refused)


def test_a_compiler_out_of_memory_is_reported_and_numpy_runs_the_loop(no_memory):
    with pytest.raises(OutOfMemoryError, match="no memory for compiling a loop"):
        scalar_loop("native")(np.ones(4))
    f, given = scalar_loop("auto"), np.linspace(-1, 1, 4000)
    for _ in range(3):
        assert f(given) == scalar_loop("reference")(given)


@pytest.mark.parametrize("level", ["garbage", "i386", "x86-64-v4", "AVX2"])
def test_an_unknown_instruction_set_level_is_refused(monkeypatch, level):
    monkeypatch.setenv("SCANVIZ_NATIVE_TARGET", level)
    with pytest.raises(ScanvizValueError, match="SCANVIZ_NATIVE_TARGET names no level") as error:
        scalar_loop("native")(np.ones(4))
    assert error.value.expected == "baseline or avx2"


def test_an_instruction_set_level_beyond_the_processor_is_refused(monkeypatch):
    monkeypatch.setitem(jit.LEVELS, "avx2", jit.Processor("x86-64-v3", "", 128))
    jit._target.cache_clear()
    monkeypatch.setenv("SCANVIZ_NATIVE_TARGET", "avx2")
    with pytest.raises(ScanvizValueError, match="no level of x86 that this processor has"):
        jit.target()
