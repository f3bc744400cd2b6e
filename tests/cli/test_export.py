"""scanviz export, as a user runs it."""

import json

import pytest

from scanviz.cli import main
from scanviz.profiler.export import FORMATS
from scanviz.profiler.export.tables import TABLES
from scanviz.record.storage.file import save
from tests.profiler.records import SMALL


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save(SMALL, tmp_path / "rnn.scanviz")
    return tmp_path


@pytest.mark.parametrize("name", [each for each in FORMATS if not FORMATS[each].tables])
def test_a_file_named_after_the_profile_is_written_once(folder, capsys, name):
    assert main(["export", "--format", name, "rnn.scanviz"]) == 0
    file = folder / f"rnn{FORMATS[name].suffix}"
    written = file.read_bytes()
    assert written and f"saved {file.name}" in capsys.readouterr().err
    file.write_text("my own")
    assert main(["export", "--format", name, "rnn.scanviz"]) == 2
    assert "exists; --force replaces it" in capsys.readouterr().err and file.read_text() == "my own"
    assert main(["export", "--force", "--format", name, "rnn.scanviz"]) == 0
    assert file.read_bytes() == written


def test_all_tables_are_written_to_a_folder_and_one_to_a_file(folder, capsys):
    assert main(["export", "-f", "csv", "rnn.scanviz"]) == 0
    assert {each.name for each in (folder / "rnn-csv").iterdir()} == {f"{table}.csv" for table in TABLES}
    assert main(["export", "-f", "csv", "--table", "loops", "-o", "mine.csv", "rnn.scanviz"]) == 0
    assert (folder / "mine.csv").read_bytes() == (folder / "rnn-csv" / "loops.csv").read_bytes()


def test_only_one_table_is_written_to_standard_output(folder, capfdbinary):
    assert main(["export", "-f", "chrome", "-o", "-", "rnn.scanviz"]) == 0
    out = capfdbinary.readouterr().out
    assert json.loads(out)["traceEvents"]
    assert main(["export", "-f", "csv", "-o", "-", "rnn.scanviz"]) == 2
    assert b"standard output takes one table" in capfdbinary.readouterr().err


def test_a_format_with_a_missing_library_names_the_install_command(folder, capsys, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert main(["export", "-f", "parquet", "rnn.scanviz"]) == 1
    assert "pip install 'scanviz[parquet]'" in capsys.readouterr().err
