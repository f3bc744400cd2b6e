"""A profile of an attacker, and signals, in a real terminal: tmux reports its state."""

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


def test_nothing_in_a_profile_steers_the_terminal(terminal, tmp_path):  # noqa: F811
    hostile_profile(tmp_path)
    terminal.press("printf '\\033]2;mine\\033\\\\'", "Enter")
    terminal.press(f"{sys.executable} -m scanviz tui bad.scanviz; echo code=$?", "Enter")
    terminal.wait("5 Rewr", "\\x1b]2;owned")
    for tab in "12345678":
        terminal.press(tab)
        terminal.wait("5 Rewr", "8 Outp")
        for key in "vxw":
            terminal.press(key)
            terminal.wait("5 Rewr", "8 Outp")
    terminal.press("5")
    terminal.wait("what it did")
    title = terminal.tmux("display-message", "-p", "#{pane_title}").strip()
    assert title != "owned"
    terminal.press("q")
    terminal.wait("code=0")
    terminal.press("clear", "Enter")
    terminal.press(
        f"{sys.executable} -m scanviz report bad.scanviz | tail -5; {sys.executable} -m scanviz rewrites bad.scanviz",
        "Enter",
    )
    terminal.wait("\\x1b]2;owned")
    assert terminal.tmux("display-message", "-p", "#{pane_title}").strip() != "owned"


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
