"""Files of the working folder with the names of modules: no command that shows something executes one."""

import os
import shutil
import subprocess
import sys

import pytest

from scanviz.child_process import isolated_code, isolated_module, scanviz_command
from scanviz.record.storage.file import load
from tests.cli.commands import ROOT
from tests.support import hostile
from tests.tui.test_tmux import Terminal

# Python itself executes these when it starts ``python -m``.
OF_THE_START = {"contextlib", "functools", "importlib", "types", "warnings"}
NAMES = {"json", "enum", "random", "dataclasses", "typing", "subprocess", "tempfile", "zipfile", "inspect", "ast"} | {
    "hashlib", "socket", "queue", "logging", "csv", "decimal", "string", "copy", "shutil", "html", "difflib", "resource",
    "msvcrt", "numpy", "graphviz", "networkx", "textual", "rich", "resvg_py", "pyarrow", "evil",
}  # fmt: skip
SCRIPT = """
import numpy as np, scanviz
from scanviz import tensor as T
x = T.vector("x")
h, _ = scanviz.scan(lambda x_t, h: T.tanh(x_t + h), x, 0.0, name="wave")
scanviz.function([x], h, name="f")(np.ones(20))
"""
RUNNING = ["profile --html=out.html", "graph -o out.svg", "profile -q --repeat 2"]


def plant(folder, names):
    """Write modules that leave a mark where they are executed, and a distribution that offers one as a backend and all else."""
    for name in names:
        mark = folder / "executed" / name
        (folder / f"{name}.py").write_text(f"import os\nos.makedirs({str(mark)!r}, exist_ok=True)\n")
    found = folder / "evil-1.0.dist-info"
    found.mkdir()
    (found / "METADATA").write_text("Metadata-Version: 2.1\nName: evil\nVersion: 1.0\n")
    groups = ("backends", "exports", "ops", "rewrites")
    (found / "entry_points.txt").write_text("".join(f"[scanviz.{group}]\nevil = evil\n" for group in groups))


def executed(folder):
    return sorted(os.listdir(folder / "executed")) if (folder / "executed").exists() else []


@pytest.fixture
def folders(tmp_path):
    """Two folders with a profile, a script and an answer, the second with planted modules too."""
    for folder in (tmp_path / "plain", tmp_path / "planted"):
        folder.mkdir()
        (folder / "p.scanviz").write_bytes(hostile.archive_of(hostile.entries()))
        (folder / "s.py").write_text(SCRIPT)
        (folder / "answer.py").write_text("answer = ...\n")
    plant(folder, NAMES)
    return tmp_path / "plain", folder


def fresh(folder, *words):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
    return subprocess.run(
        [sys.executable, "-m", "scanviz", *words], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("words", RUNNING)
def test_a_command_that_runs_a_script_executes_no_other_file_beside_it(folders, words):
    _, planted = folders
    shutil.rmtree(planted / "evil-1.0.dist-info")
    done = fresh(planted, *words.split(), "s.py")
    assert done.returncode == 0 and executed(planted) == [], done.stderr
    assert "plain rows" not in done.stderr


@pytest.mark.skipif(shutil.which("tmux") is None, reason="a real terminal needs tmux")
@pytest.mark.parametrize("target", ["p.scanviz", "s.py"])
def test_the_terminal_application_executes_no_file_of_the_working_folder(folders, target):
    _, planted = folders
    terminal = Terminal(planted)
    try:
        terminal.press(f"{sys.executable} -m scanviz tui {target}; echo code=$?", "Enter")
        terminal.wait("1 Profile", "wave", "quit")
        for key in "2345678":
            terminal.press(key)
        terminal.wait("8 Output")
        terminal.press("q")
        terminal.wait("code=0")
    finally:
        terminal.tmux("kill-server")
    assert executed(planted) == []
    assert target == "p.scanviz" or load(planted / "s.scanviz").loops


@pytest.mark.parametrize("start", [lambda: isolated_code("import json, types, enum"), lambda: isolated_module("calendar"),
                                   lambda: scanviz_command("--version")])  # fmt: skip
def test_a_helper_process_executes_no_file_of_the_working_folder(tmp_path, monkeypatch, start):
    plant(tmp_path, NAMES | OF_THE_START | {"scanviz", "calendar"})
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])  # of a script in this folder
    monkeypatch.setenv("PYTHONPATH", "")
    done = subprocess.run(start(), capture_output=True, text=True, check=False)
    assert done.returncode == 0 and executed(tmp_path) == [], done.stderr
