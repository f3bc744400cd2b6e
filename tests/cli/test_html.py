"""scanviz html and scanviz profile --html, as a user runs them."""

from pathlib import Path

import pytest

from tests.cli.commands import command

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = """
import sys, scanviz
from scanviz import tensor as T
x = T.vector("x")
sums, _ = scanviz.scan(lambda x_t, s: s + T.tanh(x_t), x, 0.0, name="sums")
print(scanviz.function([x], sums, name="f")([1.0, 2.0, 3.0]).shape)
if sys.argv[1:] == ["fail"]:
    raise ValueError("no")
"""


def scanviz(folder, *arguments):
    return command(*arguments, cwd=folder, NO_COLOR="1")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    return tmp_path


def test_profile_writes_the_page_beside_the_profile(folder):
    done = scanviz(folder, "profile", "--html", "script.py")
    assert done.returncode == 0 and done.stdout == "(3,)\n"
    assert "wrote " in done.stderr and "script.html" in done.stderr
    assert "sums" in (folder / "script.html").read_text() and (folder / "script.scanviz").exists()


def test_a_failing_script_still_gets_its_page_and_exit_code(folder):
    done = scanviz(folder, "profile", "-q", "--html=mine.html", "script.py", "fail")
    assert done.returncode == 1 and "ValueError: no" in done.stderr
    assert "ended by" in (folder / "mine.html").read_text()


def test_a_saved_profile_is_overwritten_but_a_foreign_file_never(folder):
    scanviz(folder, "profile", "-q", "script.py")
    for _ in range(2):
        done = scanviz(folder, "html", "script.scanviz")
        assert done.returncode == 0, done.stderr
    (folder / "script.html").write_text("my own")
    done = scanviz(folder, "html", "script.scanviz")
    assert done.returncode == 2 and "exists and is no page of scanviz" in done.stderr
    assert (folder / "script.html").read_text() == "my own"
    done = scanviz(folder, "profile", "-q", "--html", "script.py")
    assert done.returncode == 2 and done.stdout == ""  # refused before the script runs
    assert scanviz(folder, "html", "--force", "script.scanviz").returncode == 0
    assert "sums" in (folder / "script.html").read_text()


def test_a_page_is_written_to_standard_output_on_request(folder):
    scanviz(folder, "profile", "-q", "script.py")
    done = scanviz(folder, "html", "-o", "-", "script.scanviz")
    assert done.stdout.startswith("<!DOCTYPE html>") and not (folder / "script.html").exists()
