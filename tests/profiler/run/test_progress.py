"""The progress line: on terminals only, paced, and gone at the end."""

import io
import sys
import threading

import pytest

from scanviz.profiler.run import live as progress


class Terminal(io.StringIO):
    """A stream with a terminal flag and the times of its writes."""

    def __init__(self, terminal):
        super().__init__()
        self._terminal = terminal
        self.written = threading.Event()

    def isatty(self):
        return self._terminal

    def write(self, text):
        self.written.set()
        return super().write(text)


@pytest.fixture
def terminal(monkeypatch):
    def make(is_terminal=True):
        stream = Terminal(is_terminal)
        monkeypatch.setattr(sys, "stderr", stream)
        return stream

    monkeypatch.setattr(progress, "DELAY", 0.01)
    monkeypatch.setattr(progress, "PERIOD", 60.0)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return make


def test_a_long_run_shows_its_counts_and_erases_them(terminal):
    stream = terminal()
    line = progress.Progress(lambda: (3, 1_200))
    line.start()
    assert stream.written.wait(120)
    line.stop()
    shown = stream.getvalue()
    assert shown.count("scanviz:") == 1 and "3 calls" in shown
    assert shown.endswith("\x1b[2K") and "\n" not in shown


def test_a_short_run_shows_nothing(terminal, monkeypatch):
    stream = terminal()
    monkeypatch.setattr(progress, "DELAY", 60.0)
    line = progress.Progress(lambda: (0, 0))
    line.start()
    line.stop()
    assert stream.getvalue() == ""


@pytest.mark.parametrize("reason", ["a pipe", "NO_COLOR", "a dumb terminal"])
def test_no_progress_line_is_shown_on_unsuitable_streams(terminal, monkeypatch, reason):
    stream = terminal(reason != "a pipe")
    if reason == "NO_COLOR":
        monkeypatch.setenv("NO_COLOR", "1")
    if reason == "a dumb terminal":
        monkeypatch.setenv("TERM", "dumb")
    line = progress.Progress(lambda: (0, 0))
    line.start()
    assert not stream.written.wait(0.1)
    line.stop()
    assert stream.getvalue() == ""
