"""LLVM by its library alone is the LLVM of llvmlite's package, and loads nothing of that package."""

import subprocess
import sys

import llvmlite
import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.backends.native import code, jit, llvm
from scanviz.engine.config import config

TEXT = """
define i64 @scanviz_loop(i64 %a, i64 %b) {
entry:
  %sum = add i64 %a, %b
  ret i64 %sum
}
"""


@pytest.fixture
def ways():
    return llvm._by_library(), llvm.llvm_package()


def test_both_ways_tell_of_the_same_processor_and_version(ways):
    library, package = ways
    assert isinstance(library, llvm.LlvmLibrary)
    assert library.host() == package.host()
    assert library.version == package.version


@pytest.mark.parametrize("is_object", [True, False])
@pytest.mark.parametrize("level", ["", "avx2", "baseline"])
def test_both_ways_make_the_same_code(ways, monkeypatch, level, is_object):
    monkeypatch.setenv("SCANVIZ_NATIVE_TARGET", level)
    where = jit.target()
    found = [way.emitted(TEXT, where.name, where.features, is_object=is_object) for way in ways]
    assert found[0] == found[1] and len(found[0]) > 50


def test_what_is_no_code_is_an_error_that_says_where(ways):
    for way in ways:
        with pytest.raises(RuntimeError, match=r"1:8: error"):
            way.emitted("define nothing", "x86-64", "", is_object=True)


@pytest.mark.parametrize("version", ["0.44.0", "0.51.0", "1.0", "0+unknown"])
def test_another_version_is_called_by_its_package(monkeypatch, version):
    monkeypatch.setattr(llvmlite, "__version__", version)
    assert llvm._by_library.__wrapped__() is None


def test_a_library_that_is_not_there_is_called_by_its_package(monkeypatch, tmp_path):
    monkeypatch.setattr(llvmlite, "__file__", str(tmp_path / "__init__.py"))
    assert llvm._by_library.__wrapped__() is None


def test_a_package_that_is_in_use_is_called(monkeypatch):
    monkeypatch.setattr(llvm, "BINDING", "llvmlite.binding")
    assert isinstance(llvm.llvm(), llvm.LlvmPackage)  # other tests have imported it


def test_compiling_imports_nothing_of_the_package():
    script = (
        "import sys, numpy as np, scanviz\n"
        "from scanviz import tensor as T\n"
        "from scanviz.engine.config import config\n"
        "config.native.cache = 'off'\n"
        "x = T.vector('x')\n"
        "y, _ = scanviz.scan(lambda x_t, y: T.tanh(x_t - y), x, np.float64(0))\n"
        "f = scanviz.function([x], y, mode='native')\n"
        "np.testing.assert_allclose(f(np.ones(2)), np.tanh([1, 1 - np.tanh(1)]), rtol=1e-15)\n"
        "print([name for name in sys.modules if name.startswith('llvmlite.')])\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "['llvmlite._version']\n"


def in_a_new_process(*lines):
    """Return what a script prints that may use two threads."""
    script = "\n".join(["from scanviz.engine.config import config", "config.native.threads = 2", *lines])
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    assert not done.stderr
    return done.stdout.split()


def test_llvm_is_loaded_by_another_thread_and_who_needs_it_waits():
    found = in_a_new_process(
        "import threading",
        "from scanviz.engine.backends.native import jit, llvm",
        "llvm.open_beside()",
        "print(llvm.is_loaded() or 'scanviz: LLVM' in [thread.name for thread in threading.enumerate()])",
        "print(bool(jit.target().name), llvm.is_loaded())",
        "llvm.threading.Thread = None",
        "llvm.open_beside()",
    )
    assert found == ["True", "True", "True"]


def test_no_second_thread_waits_for_the_one_that_loads_llvm():
    found = in_a_new_process(
        "import threading",
        "from scanviz.engine.backends.native import llvm",
        "begun, go_on = threading.Event(), threading.Event()",
        "llvm.host = lambda: llvm.LOADING.acquire() and begun.set() or go_on.wait() or llvm.LOADING.release()",
        "llvm.open_beside()",
        "begun.wait()",
        "for _ in range(3): llvm.open_beside()",
        "print([thread.name for thread in threading.enumerate()].count(llvm.OPENING))",
        "go_on.set()",
    )
    assert found == ["1"]


def test_a_process_that_may_use_one_thread_starts_none():
    found = in_a_new_process(
        "config.native.threads = 1",
        "from scanviz.engine.backends.native import jit, llvm",
        "llvm.threading.Thread = None",
        "llvm.open_beside()",
        "print(bool(jit.target().name))",
    )
    assert found == ["True"]


def test_a_process_that_is_forked_while_llvm_is_loaded_has_it():
    found = in_a_new_process(
        "import os",
        "from scanviz.engine.backends.native import jit, llvm",
        "llvm.open_beside()",
        "child = os.fork()",
        f"code = jit.object_of({TEXT!r})",
        "if child:",
        "    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0",
        "    print(len(code) > 50)",
    )
    assert found == ["True"]


def test_what_is_wrong_while_llvm_is_loaded_is_told_where_it_is_needed():
    found = in_a_new_process(
        "import os",
        "os.environ['SCANVIZ_NATIVE_TARGET'] = 'garbage'",
        "from scanviz.engine.backends.native import jit, llvm",
        "llvm.open_beside()",
        "try:",
        "    jit.target()",
        "except ValueError as error:",
        "    print('names no level' in str(error))",
    )
    assert found == ["True"]


EARLY = (
    "import sys, threading, time",
    "import scanviz, numpy as np",
    "from scanviz import tensor as T",
    "x = T.vector('x')",
    "y, _ = scanviz.scan(lambda x_t, y: T.tanh(x_t - y), x, np.float64(0))",
    "f = scanviz.function([x], y, mode='native')",
    "from scanviz.engine.backends.native import llvm",
    "for thread in threading.enumerate():",
    "    if thread is not threading.main_thread(): thread.join()",
    "print(llvm.is_loaded())",
    "f(np.ones(3))",
    "print(llvm.is_loaded())",
)


def test_where_nothing_is_kept_llvm_is_loaded_before_a_call_and_else_when_a_loop_is_not_found(tmp_path):
    folder = f"config.native.cache = {str(tmp_path / 'kept')!r}"
    assert in_a_new_process("config.native.cache = 'off'", *EARLY) == ["True", "True"]
    assert in_a_new_process(folder, *EARLY) == ["True", "True"]
    assert in_a_new_process(folder, *EARLY) == ["False", "False"]
    assert in_a_new_process(folder, *EARLY[:4], EARLY[4].replace("tanh", "sin"), *EARLY[5:]) == [
        "False",
        "True",
    ]


def test_the_system_says_how_wide_registers_are():
    found = in_a_new_process(
        "from scanviz.engine.backends.native import jit, llvm",
        "width = jit.vector_bytes()",
        "print(llvm.is_loaded(), width == jit.target().vector_bytes)",
    )
    assert found == ["False", "True"]


def test_what_llvm_says_of_registers_counts(monkeypatch):
    widths, usual, known = [], code.text_of, jit.target().vector_bytes

    def text_of(loop, plan, kind, marked=False, width=None):
        widths.append(width)
        return usual(loop, plan, kind, marked, width)

    monkeypatch.setattr(code, "text_of", text_of)
    monkeypatch.setattr(config.native, "cache", "off")
    monkeypatch.setattr(code, "vector_bytes", lambda: 2 * known)
    x = T.matrix("x")
    y, _ = scanviz.scan(lambda x_t, y: T.tanh(x_t - y), x, np.zeros(64))
    found, expected = (scanviz.function([x], y, mode=mode)(np.ones((3, 64))) for mode in ("native", "numpy"))
    np.testing.assert_allclose(found, expected, rtol=1e-14)
    assert widths == [2 * known, None]
