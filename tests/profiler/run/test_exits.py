"""How a profiled run ends when a signal comes so late that only python's own tidying is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a process of Windows sends itself no SIGINT")

_SENT = "os.kill(os.getpid(), signal.SIGINT); sum(range(1000)); print('tidied')"


def ended_with(registered: str, tmp_path) -> subprocess.CompletedProcess[str]:
    """Profile an empty script in a process that has registered something that runs after all of ours."""
    (tmp_path / "nothing.py").write_text("print('ran')\n", "utf-8")
    started = f"import atexit, os, runpy, signal, sys\ndef last():\n    {_SENT}\n{registered}\nrunpy.run_module('scanviz', run_name='__main__')"
    return subprocess.run(
        [sys.executable, "-c", started, "profile", "nothing.py"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_ctrl_c_between_the_profile_and_the_end_lets_python_tidy_up_and_ends_the_process(tmp_path):
    between = "import scanviz.profiler.run.exits as exits\nfinish = exits._finish\nexits._finish = lambda: (last(), finish())"
    done = ended_with(between, tmp_path)
    assert "Exception ignored" not in done.stderr
    assert "tidied" in done.stdout
    assert done.returncode == -signal.SIGINT
    assert (tmp_path / "nothing.scanviz").exists()


def test_ctrl_c_at_the_very_end_ends_the_process_silently(tmp_path):
    done = ended_with("atexit.register(last)", tmp_path)
    assert "Exception ignored" not in done.stderr
    assert done.returncode == -signal.SIGINT
    assert (tmp_path / "nothing.scanviz").exists()


@pytest.mark.parametrize("program_s_own", [False, True])
def test_ctrl_c_in_finalizers_is_reported_only_for_the_program_s_own(program_s_own, tmp_path):
    """The interrupt hits ``weakref``'s own code, which no program wrote, or a finalizer of the program."""
    (tmp_path / "tidy.py").write_text(_TIDY.format(name="finalizer" if program_s_own else "select"), "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "scanviz", "profile", "tidy.py"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ("Exception ignored in atexit" in done.stderr) == program_s_own, done.stderr
    assert done.returncode == -signal.SIGINT
    assert (tmp_path / "tidy.scanviz").exists()


_TIDY = """
import os, signal, weakref
class Thing: pass
thing = Thing()
def finalizer():
    if {name!r} == "finalizer":
        os.kill(os.getpid(), signal.SIGINT)
weakref.finalize(thing, finalizer)
select = weakref.finalize._select_for_exit
if {name!r} == "select":
    # as an interrupt between two lines of weakref's: code of that module raises
    code = compile("def interrupted(cls):\\n    raise KeyboardInterrupt", weakref.__file__, "exec")
    scope = weakref.__dict__
    exec(code, scope)
    weakref.finalize._select_for_exit = classmethod(scope["interrupted"])
"""


def test_a_program_s_own_hook_for_uncatchable_errors_is_called_once():
    program = """
import sys
from scanviz.profiler.run.exits import at_the_end
class Fails:
    def __del__(self): raise ValueError
at_the_end(lambda: None)
before = sys.unraisablehook
def own(found):
    print("told")
    before(found)
sys.unraisablehook = own
at_the_end(lambda: None)
Fails()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert done.stdout == "told\n" and done.stderr.count("ValueError") == 1
