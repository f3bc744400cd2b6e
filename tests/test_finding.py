"""Modules of the package are found where their names say, and are what Python's own machinery would have made of their files."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import scanviz
from scanviz import finding

PACKAGE = Path(scanviz.__file__).parent
TOLD = """
import json, sys
import scanviz, scanviz.engine.scan, scanviz.engine.mode
found = {}
for name in ("scanviz.engine.scan", "scanviz.engine.mode"):
    module = sys.modules[name]
    spec = module.__spec__
    found[name] = [spec.origin, spec.cached, spec.has_location, spec.parent, spec.submodule_search_locations, module.__file__,
                   module.__cached__, module.__package__, list(getattr(module, "__path__", []))]
import scanviz.added
print(json.dumps([found, scanviz.added.VALUE, type(scanviz.added.__loader__).__module__]))
"""


@pytest.fixture
def copied(tmp_path):
    """Return what a process says whose package is a copy with a file of our own, and may be changed."""
    shutil.copytree(
        PACKAGE, tmp_path / "scanviz", ignore=shutil.ignore_patterns("__pycache__", "tui", "lessons")
    )
    (tmp_path / "scanviz" / "added.py").write_text("VALUE = 1\n")

    def told(code=TOLD, **more):
        environment = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONPYCACHEPREFIX": "", **more}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment, cwd=tmp_path, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    told.folder = tmp_path / "scanviz"
    return told


def test_no_name_is_both_a_module_and_a_package_and_all_are_in_small_letters():
    names = [path for path in PACKAGE.rglob("*.py") if "__pycache__" not in path.parts]
    assert [path for path in names if path.name != path.name.lower()] == []
    assert [path for path in names if path.with_suffix("").is_dir()] == []


def test_what_is_found_is_what_python_finds():
    ours = finding.Finder()
    for name in ("scanviz.engine", "scanviz.engine.mode", "scanviz.tui.app"):
        parent, _, last = name.rpartition(".")
        folder = [str(PACKAGE.joinpath(*parent.split(".")[1:]))]
        found = ours.find_spec(name, folder)
        theirs = importlib.util.spec_from_file_location(name, found.origin)
        for each in ("name", "origin", "cached", "has_location", "parent", "submodule_search_locations"):
            assert getattr(found, each) == getattr(theirs, each), (name, each)
        assert found.loader.get_source(name) == Path(found.origin).read_text(), last


def test_what_is_none_of_ours_is_left_to_others():
    ours = finding.Finder()
    folder = [str(PACKAGE)]
    assert ours.find_spec("scanviz", None) is None
    assert ours.find_spec("scanvizard.engine", folder) is None
    assert ours.find_spec("scanviz.nowhere", folder) is None
    assert ours.find_spec("scanviz.Engine", folder) is None
    assert ours.find_spec("scanviz.engine", [*folder, "/elsewhere"]) is None


@pytest.mark.parametrize("prefix", ["", "cache"])
def test_a_module_that_is_found_with_byte_code_is_as_without(copied, tmp_path, prefix):
    settings = {"PYTHONPYCACHEPREFIX": str(tmp_path / prefix)} if prefix else {}
    first, again = copied(**settings), copied(**settings)
    assert first == again and first[1:] == [1, "scanviz.finding"]
    assert Path(first[0]["scanviz.engine.mode"][1]).exists()


def test_a_file_that_was_changed_is_read_again(copied):
    assert copied()[1] == 1
    (copied.folder / "added.py").write_text("VALUE = 22\n")
    assert copied()[1] == 22


def test_byte_code_that_is_cut_short_or_of_another_python_is_made_anew(copied):
    assert copied()[1] == 1
    (cached,) = copied.folder.glob("__pycache__/added.*.pyc")
    whole = cached.read_bytes()
    for broken in (b"", whole[:10], b"\0\0\0\0" + whole[4:]):
        cached.write_bytes(broken)
        assert copied()[1] == 1
        assert cached.read_bytes() == whole


def test_a_package_that_moved_names_its_files_where_they_are(copied, tmp_path):
    copied()
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    shutil.move(copied.folder, moved / "scanviz")
    code = "import json, scanviz.added, scanviz.engine.mode as m; print(json.dumps(m.as_mode.__code__.co_filename))"
    assert copied(code, PYTHONPATH=str(moved)) == str(moved / "scanviz" / "engine" / "mode.py")


def test_who_stands_before_pythons_own_finders_still_comes_first(copied):
    code = """
import json, sys
class First:
    asked = []
    def find_spec(self, name, path=None, target=None):
        self.asked.append(name)
sys.meta_path.insert(0, First())
import scanviz.engine.mode
kinds = [type(found).__name__ for found in sys.meta_path]
print(json.dumps(["scanviz.engine.mode" in First.asked, kinds.index("First") < kinds.index("Finder")]))
"""
    assert copied(code) == [True, True]
