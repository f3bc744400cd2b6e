"""`scanviz merge` as one types it."""

from pathlib import Path

import pytest

from scanviz.cli import main
from scanviz.record.storage.file import load, save
from tests.profiler.records import SMALL


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x").mkdir()
    for name in ("a.scanviz", "b.scanviz", "x/a.scanviz"):
        save(SMALL, tmp_path / name)
    return tmp_path


def test_profiles_are_merged_under_the_names_of_their_files(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["merge", "a.scanviz", "b.scanviz", "-o", "c.scanviz"]) == 0
    assert capsys.readouterr().err == "merged 2 profiles with 2 functions in c.scanviz\n"
    assert [origin.name for origin in load("c.scanviz").origins] == ["a", "b"]
    assert main(["merge", "-q", "-o", "d.scanviz", "a.scanviz", "x/a.scanviz"]) == 0
    assert [origin.name for origin in load("d.scanviz").origins] == ["a", "x/a"]
    assert capsys.readouterr().err == ""
    assert main(["report", "c.scanviz"]) == 0
    assert "merged from 2 profiles" in capsys.readouterr().out


def test_merge_replaces_a_file_only_on_request(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (folder / "b.scanviz").read_bytes()
    assert main(["merge", "a.scanviz", "x/a.scanviz", "-o", "b.scanviz"]) == 2
    assert "exists; --force replaces it" in capsys.readouterr().err
    assert (folder / "b.scanviz").read_bytes() == before
    assert main(["merge", "--force", "a.scanviz", "b.scanviz", "-o", "b.scanviz"]) == 0
    assert len(load("b.scanviz").functions) == 2
