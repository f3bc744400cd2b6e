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
        timeout=60,
    )


def test_ctrl_c_between_the_profile_and_the_end_lets_python_tidy_up_and_ends_the_process(tmp_path):
    between = "import scanviz.profiler.run.exits as exits\nfinish = exits._finish\nexits._finish = lambda: (last(), finish())"
    done = ended_with(between, tmp_path)
    assert "Exception ignored" not in done.stderr
    assert "tidied" in done.stdout
    assert done.returncode == -signal.SIGINT
    assert (tmp_path / "nothing.scanviz").exists()


def test_ctrl_c_at_the_very_end_ends_the_process_without_a_word(tmp_path):
    done = ended_with("atexit.register(last)", tmp_path)
    assert "Exception ignored" not in done.stderr
    assert done.returncode == -signal.SIGINT
    assert (tmp_path / "nothing.scanviz").exists()
