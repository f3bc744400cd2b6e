"""Imports of a profiled script at its start and end: only modules needed at that time."""

import json
import os
import subprocess
import sys

import pytest

from scanviz.profiler.run.runner import MANY_READERS
from scanviz.record.storage.file import load

SCRIPT = """
import sys
at_its_start = set(sys.modules)
import scanviz
from scanviz import tensor as T
x = T.vector("x")
rows, _ = scanviz.scan(lambda x_t, h: T.tanh(h * 0.5 + x_t), x, 0.0, name="rows")
f = scanviz.function([x], rows[-1])
for _ in range(20):
    f([1.0, 2.0] * 200)
at_its_end = set(sys.modules)

def after():
    import json
    written = [sorted(each) for each in (at_its_start, at_its_end, set(sys.modules))]
    with open("modules.json", "w") as file:
        json.dump(written, file)

import atexit
ends = getattr(sys.modules.get("scanviz.profiler.run.profiled"), "Ending", None)
if ends is None:
    atexit.register(after)
else:
    finish = ends._finish
    ends._finish = lambda self: (finish(self), after())
"""
NEVER = {
    "textual",
    "rich",
    "networkx",
    "llvmlite",
    "importlib.metadata",
    "numpy.ma",
    "scanviz.engine.measurement.ablation",
    "scanviz.engine.measurement.verification",
    "scanviz.record.storage.check",
    "scanviz.tui",
}
REPORT = {"scanviz.profiler.report.overview", "scanviz.profiler.report.loops"}


def modules(command, folder):
    """Return the modules imported at the script's start, at its end, and after the record."""
    (folder / "script.py").write_text(SCRIPT, "utf-8")
    subprocess.run(
        [sys.executable, "-m", "scanviz", *command, "script.py"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        check=True,
        capture_output=True,
    )
    return [set(each) for each in json.loads((folder / "modules.json").read_text("utf-8"))]


@pytest.mark.slow
def test_a_profiled_script_starts_without_views(tmp_path):
    start, end, after = modules(["profile", "-q"], tmp_path)
    assert not start & (NEVER | REPORT)
    assert not end & (NEVER | REPORT), "imported while the script runs"
    assert not after & (NEVER | REPORT)


@pytest.mark.slow
def test_only_own_and_builtin_modules_are_imported_at_the_end_of_a_script(tmp_path):
    _, end, after = modules(["profile"], tmp_path)
    others = {name for name in after - end if not name.startswith("scanviz")}
    inside = {"_blake2", "_hashlib"}  # of hashlib
    assert others - MANY_READERS - inside <= {"json", "gc", "unicodedata", "atexit"}, (
        "a file of the script's could be taken for it"
    )
    assert not after & NEVER


FALSE = """
import os, sys
sys.path[:] = [each for each in sys.path if not os.path.isdir(os.path.join(each, "scanviz"))]
os.chdir(os.path.join(os.path.dirname(__file__), "elsewhere"))
"""


@pytest.mark.slow
def test_the_record_is_written_after_a_script_changes_folder_or_shadows_modules(tmp_path):
    """Late imports are found after the script changed folder and path, and never taken from its own files."""
    for folder in (tmp_path, tmp_path / "elsewhere"):
        folder.mkdir(exist_ok=True)
        for name in (
            "bisect",
            "base64",
            "statistics",
            "secrets",
            "zipfile",
            "zlib",
            "scanviz",
            "difflib",
            "json",
        ):
            (folder / f"{name}.py").write_text("raise SystemExit('a file of the script')", "utf-8")
    (tmp_path / "script.py").write_text(FALSE + SCRIPT, "utf-8")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "scanviz",
            "profile",
            "-o",
            str(tmp_path / "kept.scanviz"),
            str(tmp_path / "script.py"),
        ],
        cwd=tmp_path.parent,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    (loop,) = load(tmp_path / "kept.scanviz").loops
    assert loop.name == "rows" and loop.steps == 8000


@pytest.mark.slow
def test_a_script_that_is_only_run_does_not_wait_for_the_recorder(tmp_path):
    start, _, after = modules(["run"], tmp_path)
    for each in (start, after):
        assert not {name for name in each if name.startswith("scanviz.profiler.recording")}
        assert not each & (NEVER | REPORT)
