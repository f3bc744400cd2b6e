"""Texts become object files, and object files code in memory, by llvmlite's public interface."""

import ctypes
import gc
import platform
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest

from scanviz.engine.backends.registry import availability

if not availability("native").works:
    pytest.skip(availability("native").why, allow_module_level=True)

from scanviz.engine.backends.native.cache import jit, llvm
from scanviz.engine.config import config

HEAD = "define i64 @scanviz_loop(i64 %a, i64 %b, ptr %where, ptr %d) {\n"
SEVEN = HEAD + "  ret i64 7\n}\n"
STORES = (
    """@table = private constant [4 x double] [double 1.5, double 2.5, double 3.5, double 4.5], align 64
declare double @llvm.pow.f64(double, double)
declare double @scanviz.special.psi(double)
define internal double @helper(double %x) noinline {
  %y = call double @llvm.pow.f64(double %x, double 2.0)
  ret double %y
}
"""
    + HEAD
    + """
  %from = getelementptr double, ptr @table, i64 %a
  %x = load double, ptr %from
  %y = call double @helper(double %x)
  %z = call double @scanviz.special.psi(double %y)
  store double %z, ptr %where
  ret i64 %b
}
"""
)


@pytest.fixture(autouse=True)
def nothing_is_kept(monkeypatch):
    monkeypatch.setattr(config.native, "cache", "off")


def linked(text):
    return llvm.linked(jit.object_of(text), jit.ENTRY)


def test_constants_functions_of_the_file_and_of_libraries_are_found():
    from scipy.special import psi

    out, machine = np.zeros(4), jit.compiled(STORES)
    found = [machine.function(k, k, out.ctypes.data + 8 * k, None) for k in range(4)]
    assert found == [0, 1, 2, 3]
    np.testing.assert_allclose(out, psi(np.array([1.5, 2.5, 3.5, 4.5]) ** 2), rtol=1e-12)


def test_a_function_that_no_library_has_is_refused():
    text = f"declare i64 @no_such_function_anywhere(i64)\n{HEAD}  %x = call i64 @no_such_function_anywhere(i64 %a)\n  ret i64 %x\n}}\n"
    with pytest.raises(RuntimeError, match="Failed to materialize symbols"):
        linked(text)


def test_invalid_ir_is_an_error_with_its_position():
    with pytest.raises(RuntimeError, match=r"1:8: error"):
        llvm.object_file("define nothing", "x86-64", "")


@pytest.mark.parametrize("level", ["", "avx2", "baseline"])
def test_code_for_a_level_is_compiled_and_shown(monkeypatch, level):
    if level and platform.machine() != "x86_64":
        pytest.skip("levels are those of x86")
    monkeypatch.setenv("SCANVIZ_NATIVE_TARGET", level)
    assert jit.compiled(SEVEN).function(1, 2, None, None) == 7
    assert "scanviz_loop:" in jit.assembly_of(SEVEN)


def mapped(address):
    """Return the system's permissions of the memory at an address."""
    with open("/proc/self/maps") as lines:
        for line in lines:
            low, high = (int(part, 16) for part in line.split()[0].split("-"))
            if low <= address < high:
                return line.split()[1]
    raise AssertionError("the memory is not there")


def test_code_in_memory_is_read_only_and_private_to_the_process():
    code = linked(STORES)
    assert mapped(code.address) == "r-xp"  # private: a child process changes its own


def test_memory_of_unreferenced_code_is_released():
    machine = jit.compiled(SEVEN)
    held = weakref.ref(machine.held)
    assert machine.function(1, 2, None, None) == 7
    del machine
    gc.collect()
    assert held() is None


def test_threads_compile_and_link_at_once():
    found = {}

    def work(number):
        machine = jit.compiled(HEAD + f"  %x = add i64 %a, {number}\n  ret i64 %x\n}}\n")
        found[number] = machine.function(1, 2, None, None)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: number + 1 for number in range(6)}


def test_llvm_is_loaded_when_a_loop_runs_first():
    script = (
        "import sys, numpy as np, scanviz\n"
        "from scanviz import tensor as T\n"
        "x = T.vector('x')\n"
        "y, _ = scanviz.scan(lambda x_t, y: T.tanh(x_t - y), x, np.float64(0))\n"
        "f = scanviz.function([x], y, mode='native')\n"
        "print('llvmlite.binding' in sys.modules)\n"
        "f(np.ones(2))\n"
        "print('llvmlite.binding' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]


def test_a_functions_address_is_resolved():
    code = linked(SEVEN)
    assert ctypes.CFUNCTYPE(ctypes.c_int64)(code.address)() == 7
