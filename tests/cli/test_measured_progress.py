"""The line of --verify and --ablate: on terminals alone, and gone at the end."""

from __future__ import annotations

import io
import re

import pytest

from scanviz.cli import rewrites_measured
from scanviz.cli.rewrites_measured import MeasuredProgress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rewrites_measured, "DELAY", 0.0)
    monkeypatch.setattr(rewrites_measured, "PERIOD", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("NO_COLOR", raising=False)


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)


def test_a_terminal_shows_a_progress_line_and_erases_it() -> None:
    stream = Terminal()
    shown = MeasuredProgress(stream)
    shown.begin("--verify train")
    shown.notify(0.01, "PushOutDot1")
    text = plain(stream.getvalue())
    assert "--verify train: PushOutDot1" in text and "-:--:--" in text
    shown.erase()
    assert stream.getvalue().rstrip("\n").endswith("\x1b[2K")  # rich clears its line


@pytest.mark.parametrize("reason", ["a pipe", "NO_COLOR", "a dumb terminal"])
def test_no_progress_is_written_to_files_and_dumb_terminals(
    reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
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
