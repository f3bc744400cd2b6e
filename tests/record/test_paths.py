"""Records name files so that no path of the machine is in them."""

import sys
from pathlib import Path

import pytest

from scanviz.record.paths import recorded_path


def test_a_file_in_the_working_folder_is_relative_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert recorded_path(str(tmp_path / "a" / "b.py")) == str(Path("a") / "b.py")
    assert recorded_path(str(Path("a") / "b.py")) == str(Path("a") / "b.py")


def test_a_file_of_an_imported_package_is_relative_to_where_it_is_imported_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setattr(sys, "path", [str(tmp_path), str(tmp_path / "site"), ""])
    assert recorded_path(str(tmp_path / "site" / "nets" / "rnn.py")) == str(Path("nets") / "rnn.py")


def test_another_file_is_its_last_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["/"])
    assert recorded_path("/somewhere/secret/rnn.py") == "rnn.py"


def test_a_folder_with_the_same_prefix_is_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "run").mkdir()
    monkeypatch.chdir(tmp_path / "run")
    monkeypatch.setattr(sys, "path", [])
    assert recorded_path(str(tmp_path / "running" / "x.py")) == "x.py"


@pytest.mark.parametrize("name", ["<stdin>", "<string>", "<ipython-input-1>"])
def test_names_without_a_file_are_kept(name: str) -> None:
    assert recorded_path(name) == name
