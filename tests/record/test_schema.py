"""Every field of a record is described, and the format's page has the sizes of its files."""

import runpy
from pathlib import Path

import pytest

from scanviz.record.model import SCHEMA, ProfileRecord
from scanviz.record.storage.codec import field_types
from scanviz.record.storage.file import LIMITS

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "reference" / "profile-format.md"
TOOL = runpy.run_path(str(ROOT / "tools" / "profile_format.py"), run_name="profile_format")
json_type, field_meanings, record_classes, tables, title = (
    TOOL[name] for name in ("json_type", "field_meanings", "record_classes", "tables", "title")
)


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


def test_a_new_record_has_the_version_of_the_data_model() -> None:
    assert SCHEMA == ProfileRecord().schema == 6


def test_types_are_written_in_json_words() -> None:
    hints = field_types(ProfileRecord)
    assert json_type(hints["arguments"]) == "list of string"
    assert json_type(hints["loops"]) == "list of [Loop](#loop)"


def test_the_page_lists_every_kind_of_file_entry_with_its_size():
    page = PAGE.read_text("utf-8")
    for kind, size in LIMITS.largest.items():
        rows = [
            line
            for line in page.splitlines()
            if line.startswith("|") and line.endswith(f"| {size >> 20} MiB |")
        ]
        assert any(f"`{kind}" in row.split("|")[1] for row in rows), kind
    assert f"together are at most {LIMITS.total >> 20} MiB" in page
