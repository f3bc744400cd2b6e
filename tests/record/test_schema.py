"""The format's page says of every field what the classes say, and nothing else."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from scanviz.record.model import SCHEMA, ProfileRecord
from scanviz.record.storage.codec import field_types
from scanviz.record.storage.file import LIMITS

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "reference" / "profile-format.md"
TOOL = runpy.run_path(str(ROOT / "tools" / "profile_format.py"), run_name="profile_format")
BEGIN, END, json_type, field_meanings = (
    TOOL[name] for name in ("BEGIN", "END", "json_type", "field_meanings")
)
record_classes, tables, title, with_tables = (
    TOOL[name] for name in ("record_classes", "tables", "title", "with_tables")
)


def test_the_page_holds_the_tables_of_fields() -> None:
    page = PAGE.read_text("utf-8")
    assert with_tables(page) == page, "run: python tools/profile_format.py"
    assert tables() in page


@pytest.mark.parametrize("kind", record_classes(), ids=title)
def test_every_field_of_a_record_is_described(kind: type) -> None:
    meanings = field_meanings(kind)
    assert list(meanings) == list(field_types(kind))
    assert all(meaning.endswith(".") for meaning in meanings.values())


def test_every_record_is_in_the_tables_once() -> None:
    names = [title(each) for each in record_classes()]
    assert names[0] == "Profile"
    assert {"Function", "Loop", "LoopVariable", "Operation", "Source", "Duration"} <= set(names)
    assert all(tables().count(f"### {name}\n") == 1 for name in names)


def test_the_page_is_of_this_version() -> None:
    assert SCHEMA == ProfileRecord().schema == 5


def test_marks_stay_where_they_were() -> None:
    page = with_tables(f"before {BEGIN} old {END} after")
    assert page.startswith("before ")
    assert page.endswith(" after")
    assert " old " not in page


def test_types_are_told_in_json_words() -> None:
    hints = field_types(ProfileRecord)
    assert json_type(hints["arguments"]) == "list of string"
    assert json_type(hints["loops"]) == "list of [Loop](#loop)"


def test_every_kind_of_entry_of_the_file_stands_on_the_page_with_its_size():
    page = PAGE.read_text("utf-8")
    for kind, size in LIMITS.largest.items():
        rows = [
            line
            for line in page.splitlines()
            if line.startswith("|") and line.endswith(f"| {size >> 20} MiB |")
        ]
        assert any(f"`{kind}" in row.split("|")[1] for row in rows), kind
    assert f"together are at most {LIMITS.total >> 20} MiB" in page
