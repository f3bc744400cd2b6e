"""Signals in a real terminal: tmux reports its state."""

import shutil
import sys

import pytest

from tests.support import hostile
from tests.tui.test_tmux import terminal  # noqa: F401  # the fixture is used by name

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="a real terminal needs tmux")
OWNED = "\x1b]2;owned\x1b\\\x9d2;owned\x9c\x1b[2J\x1b[8m\x07"


def hostile_profile(folder):
    changes = [hostile.Damage(0, 0, action, OWNED, "all") for action in ("text", "graph")]
    (folder / "bad.scanviz").write_bytes(hostile.archive_of(hostile.changed(changes)))


@pytest.mark.parametrize("name, code", [("TERM", 143), ("HUP", 129)])
def test_a_signal_restores_the_terminal(terminal, tmp_path, name, code):  # noqa: F811
    hostile_profile(tmp_path)
    terminal.press(
        f"{sys.executable} -m scanviz tui bad.scanviz; echo code=$?; stty -a | tr ' ' '\\n' | grep -x -e echo -e icanon",
        "Enter",
    )
    terminal.wait("5 Rewr")
    pid = terminal.tmux("display-message", "-p", "#{pane_pid}").strip()
    terminal.tmux("run-shell", f"pkill -{name} -P {pid}")
    terminal.wait(f"code={code}", "echo", "icanon", gone=("5 Rewr",))
