"""A name means one thing, and a thing has its name: classes of the package, and variables of its functions."""

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent / "scanviz"

# what may bind a name; only files that hold it are parsed, for prose has it too
PERHAPS_BOUND = re.compile(
    r"\b(?:for|lambda)\b[\w ,()*]*\beach\b[\w ,()*]*(?: in\b|:)|\beach\b ?:?=|\beach: [\w\"]|\bas each\b"
)


@pytest.fixture(scope="module")
def texts():
    return {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(ROOT.rglob("*.py"))
    }


def test_a_name_of_a_class_means_one_thing(texts):
    found = defaultdict(list)
    for path, text in texts.items():
        for name in re.findall(r"^class ([A-Za-z]\w*)", text, re.MULTILINE):
            found[name].append(path)
    assert {name: files for name, files in found.items() if len(files) > 1} == {}


def test_no_variable_is_called_each(texts):
    found = [path for path, text in texts.items() if PERHAPS_BOUND.search(text) and has_variable(text)]
    assert found == []


def has_variable(text):
    return any(
        getattr(node, "id", getattr(node, "arg", None)) == "each" for node in ast.walk(ast.parse(text))
    )
