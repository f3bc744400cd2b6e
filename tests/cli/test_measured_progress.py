"""The line of --verify and --ablate: on terminals alone, and gone at the end."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from scanviz.cli import measured_lines
from scanviz.cli.measured_lines import MeasuredProgress
from tests.cli.measured_scripts import SCRIPT
from tests.cli.test_rewrites_ablate import read_all, set_size


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measured_lines, "DELAY", 0.0)
    monkeypatch.setattr(measured_lines, "PERIOD", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("NO_COLOR", raising=False)


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)


def test_a_terminal_shows_what_is_done_and_how_long_the_rest_takes_and_the_line_goes_away() -> None:
    stream = Terminal()
    shown = MeasuredProgress(stream)
    shown.begin("--verify train")
    shown.notify(0.01, "PushOutDot1")
    text = plain(stream.getvalue())
    assert "--verify train: PushOutDot1" in text and "-:--:--" in text
    shown.erase()
    assert stream.getvalue().rstrip("\n").endswith("\x1b[2K")  # rich clears its line


@pytest.mark.parametrize("reason", ["a pipe", "NO_COLOR", "a dumb terminal"])
def test_nothing_is_written_where_it_would_be_rubbish(reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO() if reason == "a pipe" else Terminal()
    if reason == "NO_COLOR":
        monkeypatch.setenv("NO_COLOR", "1")
    if reason == "a dumb terminal":
        monkeypatch.setenv("TERM", "dumb")
    shown = MeasuredProgress(stream)
    shown.begin("--verify f")
    shown.notify(0.5, "fold")
    shown.erase()
    assert stream.getvalue() == ""


def test_ablate_draws_it_in_a_real_terminal_and_leaves_the_table_alone(tmp_path: Path) -> None:
    (tmp_path / "rnn.py").write_text(SCRIPT)
    ours, theirs = pty.openpty()
    set_size(theirs, 100)
    at_once = (  # a quick machine is ready before the line would be drawn
        "import sys; from scanviz.cli import main, measured_lines as shown; shown.DELAY = shown.PERIOD = 0.0; "
        "sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", at_once, "rewrites", "--ablate", "--budget", "3", "rnn.py"]
    kept = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "NO_COLOR")}
    with subprocess.Popen(
        command, cwd=tmp_path, stderr=theirs, stdout=subprocess.DEVNULL, env={**kept, "TERM": "xterm"}
    ):
        os.close(theirs)
        text = read_all(ours)
    assert re.search(r"--ablate train: \w+ .*[0-9-]:[0-9-]{2}", plain(text))
    table = plain(text).rpartition("as it is: ")[2]
    assert "--ablate" not in table and "all of them" in table
