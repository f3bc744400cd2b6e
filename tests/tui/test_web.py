"""The application in a browser: served to this machine alone, and to holders of the address."""

import asyncio
import re
import socket
import subprocess
import sys
import time

import pytest

from scanviz.record.storage.file import save
from tests.render.page.browser import Browser, required
from tests.tui.records_for_tui import traced_record

pytest.importorskip("textual_serve", reason="the browser needs textual-serve: pip install scanviz[tui-web]")
aiohttp = pytest.importorskip("aiohttp", reason="textual-serve brings aiohttp")
PATIENCE = 120.0


def a_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Served:
    """A server with its address."""

    def __init__(self, folder):
        save(traced_record(), folder / "rnn.scanviz")
        self.port = a_port()
        command = [
            sys.executable,
            "-m",
            "scanviz",
            "tui",
            "--theme",
            "textual-light",
            str(folder / "rnn.scanviz"),
        ]
        self.process = subprocess.Popen(
            [*command, "--web", "--port", str(self.port)],  # options may stand behind a file
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        message = self.process.stderr.readline()
        found = re.search(r"http://\S+", message)
        assert found, message + self.process.stderr.read()
        self.address = found.group()
        self.url = self.address.split("?")[0]


@pytest.fixture
def served(tmp_path):
    found = Served(tmp_path)
    try:
        yield found
    finally:
        found.process.kill()
        found.process.wait(120)
        found.process.stderr.close()


async def get(session, url, **options):
    """Return the status and the text of an answer, once the server answers."""
    ends = time.monotonic() + PATIENCE
    while True:
        try:
            async with session.get(url, **options) as answer:
                return answer.status, await answer.text()
        except aiohttp.ClientConnectorError:
            assert time.monotonic() < ends, "the server did not answer"
            await asyncio.sleep(0.1)


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


def jar():
    return aiohttp.CookieJar(unsafe=True)  # cookies of addresses that are numbers are kept too


def test_the_web_application_draws_and_answers_keys(served):
    async def run():
        async with aiohttp.ClientSession(cookie_jar=jar()) as session:
            status, text = await get(session, served.address)
            assert status == 200 and "scanviz" in text and served.process.poll() is None
            assert "http://" not in text.replace(served.url, "") and "https://" not in text
            async with session.ws_connect(f"{served.url}ws?width=120&height=40") as terminal:
                await until(terminal, b"operation", b"rnn")
                await terminal.send_json(["stdin", "5"])
                await until(terminal, b"constant_folding")
                await terminal.send_json(["stdin", "q"])
                ends = time.monotonic() + PATIENCE
                while (await terminal.receive(timeout=PATIENCE)).type != aiohttp.WSMsgType.CLOSED:
                    assert time.monotonic() < ends

    async def until(terminal, *words):
        seen, ends = b"", time.monotonic() + PATIENCE
        while not all(word in seen for word in words):
            assert time.monotonic() < ends, seen
            message = await terminal.receive(timeout=PATIENCE)
            assert message.type in (aiohttp.WSMsgType.BINARY, aiohttp.WSMsgType.TEXT), message
            seen += message.data if isinstance(message.data, bytes) else b""

    asyncio.run(run())
    if sys.platform.startswith("linux"):  # listening sockets are read from /proc/net/tcp
        assert listening(served.port) == [f"0100007F:{served.port:04X}"]


def test_other_visitors_are_refused(served):
    async def run():
        async with aiohttp.ClientSession(cookie_jar=jar()) as stranger:
            assert (await get(stranger, served.url))[0] == 403
            assert (await get(stranger, f"{served.url}?token=guessed"))[0] == 403
            assert (await get(stranger, f"{served.url}download/1"))[0] == 403
            await refused(stranger)
        async with aiohttp.ClientSession(cookie_jar=jar()) as session:
            assert (await get(session, served.address))[0] == 200
            await refused(session, headers={"Origin": "http://elsewhere.example"})
            await refused(session, headers={"Host": f"elsewhere.example:{served.port}"})
            named = f"http://localhost:{served.port}/"
            assert (await get(session, named))[0] == 403
            cookies = list(session.cookie_jar)
            assert [cooky["samesite"] for cooky in cookies] == ["Strict"] and cookies[0]["httponly"]

    async def refused(session, **options):
        with pytest.raises(aiohttp.WSServerHandshakeError) as refusal:
            await session.ws_connect(f"{served.url}ws", **options)
        assert refusal.value.status == 403

    asyncio.run(run())


def answer_to(port, request):
    """Return the first line of the answer to bytes of our own, which no client would send."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        connection.sendall(request)
        return connection.makefile("rb").readline().decode("latin-1").strip()


def test_the_right_token_under_another_name_of_this_address_is_refused(served):
    path = served.address.removeprefix(served.url.rstrip("/"))
    asyncio.run(waited(served))
    for host in (f"elsewhere.example:{served.port}", f"localhost:{served.port}", "127.0.0.1"):
        request = f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        assert answer_to(served.port, request.encode()) == "HTTP/1.1 403 Forbidden", host


def test_bytes_that_are_no_text_are_no_token_and_no_error_of_the_server(served):
    asyncio.run(waited(served))
    name = f"scanviz-{served.port}".encode()
    head = f"Host: 127.0.0.1:{served.port}\r\nConnection: close\r\n".encode()
    requests = [
        b"GET / HTTP/1.1\r\n" + head + b"Cookie: " + name + b"=\xff\xfe\x80\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + head + b'Cookie: "; =;;' + name + b'="\\377\\ud800"\r\n\r\n',
        b"GET /?token=%ff%fe%ed%a0%80 HTTP/1.1\r\n" + head + b"\r\n",
        b"GET /ws HTTP/1.1\r\n" + head + b"Cookie: " + name + b"=\xed\xa0\x80\r\n\r\n",
    ]
    for request in requests:
        assert answer_to(served.port, request) == "HTTP/1.1 403 Forbidden", request


async def waited(served):
    """Wait until the server answers."""
    async with aiohttp.ClientSession(cookie_jar=jar()) as stranger:
        assert (await get(stranger, served.url))[0] == 403


def test_a_taken_port_is_named(tmp_path):
    save(traced_record(), tmp_path / "rnn.scanviz")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        command = [
            sys.executable,
            "-m",
            "scanviz",
            "tui",
            "--web",
            "--port",
            port,
            str(tmp_path / "rnn.scanviz"),
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 1 and f"port {port} cannot be had" in done.stderr
    assert "Traceback" not in done.stderr


def _is_drawn(browser, picture):
    """Return, a second later, whether the page is more than its background."""
    time.sleep(1)
    browser.screenshot(picture)
    return picture.stat().st_size > 5_000


def test_a_real_browser_shows_it_and_contacts_no_other_host(served, tmp_path):
    required()
    with Browser((1200, 700)) as browser:
        browser.call("Page.navigate", url=served.address)
        browser.wait_for("document.body && document.body.classList.contains('-first-byte')")
        browser.evaluate("document.querySelector('.xterm-helper-textarea').focus()")
        browser.press("8", "Digit8")
        assert any(_is_drawn(browser, tmp_path / "seen.png") for _ in range(30)), "nothing is drawn"
        assert (
            browser.evaluate("document.location.href") == served.url
        )  # the token is not left in the address
        assert browser.evaluate("getComputedStyle(document.querySelector('#waiting')).display") == "none"
        browser.press("q", "KeyQ")
        browser.wait_for("document.body.classList.contains('-closed')")
        asked = [request for request in browser.requests() if not request.startswith(("data:", "blob:"))]
        assert asked and all(
            each.split("?")[0].startswith((served.url, served.url.replace("http", "ws"))) for each in asked
        )
