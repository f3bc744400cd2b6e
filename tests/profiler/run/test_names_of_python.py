"""A program may have files with the names of Python's modules: it gets its own, and scanviz gets Python's."""

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from scanviz.profiler.run.runner import MANY_READERS, ONE_READER, program_in
from tests.support.sources import imported_names

ROOT = Path(__file__).resolve().parents[3]
BEFORE_IT_RUNS = """
import sys
import scanviz.cli
import scanviz.profiler.run.runner
print(*sys.modules)
"""
SCRIPT = """
import numpy as np, scanviz
from scanviz import tensor as T
x = T.vector("x")
sums, _ = scanviz.scan(lambda x_t, so_far: so_far + x_t, x, 0.0, name="sums")
f = scanviz.function([x], sums)
print(f(np.arange(5.0))[-1])
import {names}
print({expressions})
"""
# a module that is built into Python is found before a program's files with and without scanviz, and which are built in differs
NAMES = [name for name in ("resource", "select", "queue") if name not in sys.builtin_module_names]


def _run(*words, folder):
    return subprocess.run(
        [sys.executable, *words], cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)}, timeout=300,
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    "words",
    [
        ["check"],
        ["memory"],
        ["program"],
        ["profile", "-o", "p.scanviz"],
        ["graph", "-o", "g.svg"],
        ["native"],
        ["run", "--mode", "native"],
    ],
    ids=lambda words: words[0],
)
def test_a_program_beside_files_of_its_own_runs_under_every_command(tmp_path, words):
    (tmp_path / "program").mkdir()
    for name in (*NAMES, "array"):
        (tmp_path / "program" / f"{name}.py").write_text(f"MINE = 'own {name}'\n")
    text = ", ".join(f"{name}.MINE" for name in NAMES)
    (tmp_path / "program" / "script.py").write_text(SCRIPT.format(names=", ".join(NAMES), expressions=text))
    done = _run("-m", "scanviz", *words, "program/script.py", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"10.0\n{' '.join(f'own {name}' for name in NAMES)}\n" in done.stdout + done.stderr
    assert not any(sign in done.stderr for sign in ("Traceback", "has no attribute", "scanviz: module"))


def test_shadowed_python_modules_are_restored_after_the_program(tmp_path):
    (tmp_path / "wave.py").write_text("MINE = True\n")
    sys.path.insert(0, str(tmp_path))
    sys.modules.pop("wave", None)
    try:
        with program_in(str(tmp_path)):
            assert importlib.import_module("wave").MINE
        assert hasattr(importlib.import_module("wave"), "Wave_read")
    finally:
        sys.path.remove(str(tmp_path))
        sys.modules.pop("wave", None)


def test_a_program_without_such_files_changes_nothing(tmp_path):
    (tmp_path / "script.py").write_text("")
    before = list(sys.path)
    with program_in(str(tmp_path)):
        assert sys.path == before
    assert sys.path == before


def test_late_imports_of_the_engine_are_listed():
    known = set(_run("-c", BEFORE_IT_RUNS, folder=ROOT).stdout.split())
    for path in (ROOT / "scanviz/engine").rglob("*.py"):
        reader = path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".")
        late = {name.partition(".")[0] for name in imported_names(path)} & sys.stdlib_module_names
        late -= known | set(sys.builtin_module_names) | MANY_READERS
        late -= {name for name, readers in ONE_READER.items() if reader in readers}
        assert late <= {"__future__", "_sha2", "_sha256", "statistics", "tracemalloc"}, (
            f"{reader} imports {late}"
        )
