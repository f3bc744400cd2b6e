"""The site's written pages come from the program; that Sphinx builds it without a warning is seen by ``python tools/build_site.py``."""

import importlib.util
import sys
from pathlib import Path

import pytest

from scanviz.cli import COMMANDS
from scanviz.engine.graph.declaration import declarations
from scanviz.engine.rewrites.families import all_rules

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("build_site", ROOT / "tools" / "build_site.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["build_site"] = module
    spec.loader.exec_module(module)
    return module


def test_every_operation_stands_in_the_table_with_what_is_known_of_it(tool):
    text = tool.operations()
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    assert len(rows) == sum(1 for _ in declarations())
    (tanh,) = [row for row in rows if row.startswith("| `tanh`")]
    assert tanh.count("yes") == 3
    (arange,) = [row for row in rows if row.startswith("| `arange`")]
    assert [cell.strip() for cell in arange.split("|")][3] == ""  # it has no gradient


def test_every_rule_stands_under_its_phase(tool):
    text = tool.rewrites()
    assert all(f"| `{rule.name}` | {rule.doc}" in text for rule in all_rules())


def test_a_lesson_has_its_picture_and_its_hints(tool):
    pages = {path.name: text for path, text in tool.lesson_pages()}
    text = pages["06.md"]
    assert "![the loop of this lesson](06.svg)" in text and text.count("<details>") == 3
    assert pages["lessons.md"].count("lessons/") == 10


def test_the_site_lists_every_guide():
    index = (ROOT / "docs" / "index.md").read_text("utf-8")
    guides = {page.stem for page in (ROOT / "docs").glob("*.md")} - {"index"}
    assert not {guide for guide in guides if f"\n{guide}\n" not in index}


def test_every_command_has_a_page(tool, monkeypatch):
    class Done:
        stdout = "usage: scanviz\n"

    monkeypatch.setattr(tool.subprocess, "run", lambda *_, **__: Done)
    names = {path.stem for path, _ in tool.command_pages()}
    assert set(COMMANDS) | {"commands"} == names
