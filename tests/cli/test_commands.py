"""Forked test commands behave like fresh processes."""

import subprocess
import sys

import pytest

from tests.cli.commands import command

SCRIPT = """
import atexit, os, sys
atexit.register(print, "goodbye")
print(sys.argv, os.getcwd() == sys.path[0], os.environ.get("ANSWER"), __name__, sys.stdin.read())
print("told", file=sys.stderr)
sys.exit(7)
"""


def fresh(*arguments, cwd):
    return subprocess.run(
        [sys.executable, "-m", "scanviz", *arguments], cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )  # fmt: skip


@pytest.mark.parametrize(
    "words", [["run", "s.py", "a b"], ["rep"], ["--version"], ["report", "none.scanviz"]]
)
def test_a_command_has_its_own_arguments_streams_folder_and_exit_code(tmp_path, monkeypatch, words):
    monkeypatch.setenv("ANSWER", "42")
    (tmp_path / "s.py").write_text(SCRIPT)
    one, other = command(*words, cwd=tmp_path), fresh(*words, cwd=tmp_path)
    assert (one.returncode, one.stdout, one.stderr) == (other.returncode, other.stdout, other.stderr)
    assert words[0] != "run" or (one.returncode == 7 and "42" in one.stdout and "goodbye" in one.stdout)


def test_a_command_leaves_no_state_behind(tmp_path):
    (tmp_path / "s.py").write_text("import os, sys; os.environ['LEFT'] = sys.path_left = '1'; os.chdir('/')")
    assert command("run", "s.py", cwd=tmp_path).returncode == 0
    (tmp_path / "s.py").write_text("import os, sys; print(os.environ.get('LEFT'), hasattr(sys, 'path_left'))")
    assert command("run", "s.py", cwd=tmp_path).stdout == "None False\n"
