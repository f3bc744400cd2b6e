"""The application in a real terminal: tmux runs it, types keys and reads the screen."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from scanviz.record.storage.file import save
from scanviz.tui.views import VIEWS
from tests.tui.records_for_tui import traced_record

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="a real terminal needs tmux")
PATIENCE = 120.0  # seconds; other tests run beside this one
ROOT = Path(__file__).resolve().parents[2]


class Terminal:
    """A shell in a tmux of its own."""

    def __init__(self, folder):
        self._socket = str(folder / "tmux")
        sizes = ("COLUMNS", "LINES")  # pytest-xdist sets them; the terminal's own size is meant
        self._environment = {
            **{name: value for name, value in os.environ.items() if name not in sizes},
            "PYTHONPATH": str(ROOT),
            "PS1": "$ ",
            "LC_ALL": "C.UTF-8",
            "TMUX": "",
        }
        self.tmux(
            "-f",
            "/dev/null",
            "-u",
            "new-session",
            "-d",
            "-x",
            "120",
            "-y",
            "40",
            "-c",
            str(folder),
            "bash --norc",
        )

    def tmux(self, *words):
        done = subprocess.run(
            ["tmux", "-S", self._socket, *words],
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=True,
        )
        return done.stdout

    def press(self, *keys):
        self.tmux("send-keys", *keys)

    def screen(self):
        return self.tmux("capture-pane", "-p")

    def wait(self, *words, gone=(), rows=0):
        ends = time.monotonic() + PATIENCE
        while True:
            screen = self.screen()
            lines = screen.rstrip("\n").split("\n")
            seen = all(word in screen for word in words) and not any(each in screen for each in gone)
            if seen and rows in (0, len(lines)):
                return screen
            assert time.monotonic() < ends, f"waited for {words} without {gone}; the screen is:\n{screen}"
            time.sleep(0.05)

    def size(self, width, height):
        self.tmux("resize-window", "-x", str(width), "-y", str(height))


@pytest.fixture
def terminal(tmp_path):
    found = Terminal(tmp_path)
    yield found
    found.tmux("kill-server")


def test_a_profile_is_browsed_in_a_real_terminal(terminal, tmp_path):
    save(traced_record(), tmp_path / "rnn.scanviz")
    terminal.press(f"{sys.executable} -m scanviz tui rnn.scanviz; echo code=$?", "Enter")
    terminal.wait("1 Profile", "train", "rnn", "quit")
    seen = {
        "Profile": "operation",
        "Steps": "kept",
        "Graph": "rnn",
        "Variables": "kind",
        "Rewrites": "constant_folding",
        "Source": "records_for_tui.py",
        "Values": "step ",
        "Output": "A saved profile holds no output",
    }
    for number, kind in enumerate(VIEWS, 1):
        terminal.press(str(number))
        terminal.wait(seen[kind.TITLE])
    terminal.press(
        "1", "5", "/", "f", "o", "l", "d", "Enter"
    )  # all at once: each key acts on the selection of the one before
    terminal.wait("only rows with 'fold'", "constant_folding", gone=("merge_equal ",))
    terminal.press("Escape")
    terminal.wait("merge_equal ", gone=("only rows with",))
    for width, height in ((80, 24), (200, 60)):
        terminal.size(width, height)
        terminal.press("1")
        screen = terminal.wait("operation", "8 Output", "quit", rows=height)
        assert "quit" in screen.rstrip("\n").split("\n")[-1]
        lines = screen.rstrip("\n").split("\n")
        assert max(map(len, lines)) <= width

    terminal.press("C-z")
    terminal.wait("Stopped")
    terminal.press(
        "clear; echo still a shell: $((6 * 7))", "Enter"
    )  # tmux keeps lines of a screen that was larger
    terminal.wait("still a shell: 42", gone=("8 Output",))
    terminal.press("fg", "Enter")
    terminal.wait("8 Output", "operation")
    terminal.press("2")
    terminal.wait("kept")

    terminal.press("q")
    terminal.wait("still a shell: 42", gone=("8 Output",))
    terminal.press("echo code=$?", "Enter")
    terminal.wait("code=0")
    terminal.press("stty -a | tr ' ;' '\\n\\n' | grep -xE 'icanon|echo' | tr '\\n' +", "Enter")
    terminal.wait("icanon+echo+")
    assert (
        terminal.tmux("display-message", "-p", "#{mouse_any_flag} #{alternate_on} #{cursor_flag}").strip()
        == "0 0 1"
    )


def test_ctrl_c_and_q_leave_a_script_running_until_the_user_stops_it(terminal, tmp_path):
    (tmp_path / "slow.py").write_text(
        "import time\nprint('begun')\ntry:\n    time.sleep(600)\nfinally:\n    print('tidied')\n"
    )
    terminal.press(f"{sys.executable} -m scanviz tui slow.py; echo code=$?", "Enter")
    terminal.wait("slow.py", "running")
    terminal.press("8")
    terminal.wait("begun")
    terminal.press("C-c")
    time.sleep(0.3)
    terminal.wait("running", "begun", gone=("code=", "tidied"))
    terminal.press("q")
    terminal.wait("The script is still running", "let it run on")
    terminal.press("s")
    screen = terminal.wait("code=130", "ended by SIGINT")
    assert "tidied" in screen  # its last output
