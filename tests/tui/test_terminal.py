"""An application without its terminal ends, by a signal or by itself, instead of waiting for a reader."""

import errno
import io
import os
import select
import signal
import subprocess
import sys
import threading
import time

import pytest

from scanviz.lessons.app import LearnApp
from scanviz.tui.app import ScanvizApp
from scanviz.tui.terminal import TerminalApp, TerminalStream

if sys.platform == "win32":
    pytest.skip("terminals of Windows do not go before what runs in them", allow_module_level=True)

import pty

from textual.drivers._writer_thread import MAX_QUEUED_WRITES, WriterThread
from textual.drivers.linux_driver import LinuxDriver


class Gone(io.StringIO):
    """A terminal that goes after its first text."""

    def write(self, text):
        if self.tell():
            raise OSError(errno.EIO, "Input/output error")
        return super().write(text)


def test_unreadable_output_is_dropped():
    terminal = Gone()
    stream = TerminalStream(terminal)
    for text in ("first", "second", "third"):
        assert stream.write(text) == len(text)
    stream.flush()
    assert terminal.getvalue() == "first" and stream.encoding == terminal.encoding
    terminal.close()
    TerminalStream(terminal).flush()


def test_the_thread_that_writes_goes_on_without_a_terminal():
    thread = WriterThread(TerminalStream(Gone()))
    thread.start()

    def write():
        for k in range(3 * MAX_QUEUED_WRITES):
            thread.write(str(k))
        thread.stop()

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    writer.join(120)
    assert not writer.is_alive()


@pytest.mark.parametrize("app", [ScanvizApp, LearnApp])
def test_applications_write_to_a_terminal_that_may_go(app, monkeypatch):
    monkeypatch.setattr(sys, "__stderr__", Gone())
    monkeypatch.setattr("textual.constants.DRIVER", None)
    found = TerminalApp.get_driver_class(app.__new__(app))
    assert issubclass(found, LinuxDriver) and issubclass(app, TerminalApp)


@pytest.mark.slow
@pytest.mark.parametrize("hang_up", [signal.SIG_DFL, signal.SIG_IGN], ids=["with a signal", "under nohup"])
def test_an_application_ends_when_its_terminal_is_lost(tmp_path, hang_up):
    script = tmp_path / "long.py"
    script.write_text("import time\nfor k in range(4000): print(k, flush=True); time.sleep(0.1)\n")
    process, terminal = pty.fork()
    if not process:
        signal.signal(signal.SIGHUP, hang_up)
        os.environ.update(TERM="xterm-256color", COLUMNS="100", LINES="30")
        command = [sys.executable, "-m", "scanviz", "tui", "-o", str(tmp_path / "x.scanviz"), str(script)]
        os.execv(sys.executable, command)
    seen, began = b"", time.monotonic()
    while seen.count(b"long.py") < 2 and time.monotonic() < began + 300:  # it is drawn, and drawn again
        if select.select([terminal], [], [], 1)[0]:
            seen += os.read(terminal, 65536)
    os.close(terminal)
    ended, began = 0, time.monotonic()
    while not ended and time.monotonic() < began + 300:
        ended = os.waitpid(process, os.WNOHANG)[0]
        time.sleep(0.05)
    if not ended:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
    subprocess.run(["pkill", "-f", str(script)], check=False)  # which is let run on
    assert ended
