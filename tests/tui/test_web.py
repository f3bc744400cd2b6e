"""The application in a browser: served to this machine and to no other."""

import socket
import subprocess
import sys
import time
import urllib.request

import pytest

from scanviz.record.file import save
from tests.tui.records_for_tui import traced_record

pytest.importorskip("textual_serve", reason="the browser needs textual-serve: pip install scanviz[tui-web]")


@pytest.fixture
def served(tmp_path):
    save(traced_record(), tmp_path / "rnn.scanviz")
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "scanviz",
        "tui",
        "--web",
        "--port",
        str(port),
        str(tmp_path / "rnn.scanviz"),
    ]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process, port
    finally:
        process.kill()
        process.wait(10)


def page(port):
    ends = time.monotonic() + 15
    while True:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5) as answer:
                return answer.status, answer.read().decode()
        except OSError:
            assert time.monotonic() < ends, "the server did not answer in 15 s"
            time.sleep(0.1)


def listening(port):
    """Return the addresses at which anybody listens to a port, as the kernel writes them."""
    found = []
    for name in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            with open(name) as lines:
                rows = [line.split() for line in lines][1:]
        except OSError:
            continue
        found += [row[1] for row in rows if row[3] == "0A" and row[1].endswith(f":{port:04X}")]
    return found


def test_the_page_answers_and_only_to_this_machine(served):
    process, port = served
    status, text = page(port)
    assert status == 200 and "scanviz" in text and process.poll() is None
    if not sys.platform.startswith("linux"):
        pytest.skip("who listens is read from /proc/net/tcp")
    assert listening(port) == [f"0100007F:{port:04X}"]
