"""Bugs of the past, kept as edits that would put them back (``tests/planted_bugs/*.toml``): each still fits the code.

``python tools/planted_bugs.py`` plants each in a copy of the tree and prints which law finds it, and how soon.
"""

import ast
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUGS = sorted((ROOT / "tests" / "planted_bugs").glob("*.toml"))


@pytest.mark.parametrize("path", BUGS, ids=lambda path: path.stem)
def test_a_planted_bug_still_fits_the_code(path):
    bug = tomllib.loads(path.read_text(encoding="utf-8"))
    assert bug["description"] and bug["edit"]
    texts: dict[str, str] = {}
    for edit in bug["edit"]:
        text = texts.get(edit["file"]) or (ROOT / edit["file"]).read_text(encoding="utf-8")
        assert text.count(edit["old"]) == 1, (
            f"{edit['file']}: {text.count(edit['old'])} times {edit['old']!r}"
        )
        assert edit["new"] != edit["old"]
        texts[edit["file"]] = text.replace(edit["old"], edit["new"])
    for file, text in texts.items():
        ast.parse(text, file)  # what cannot be imported, no law can find
