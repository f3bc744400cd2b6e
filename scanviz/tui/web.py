"""The application in a browser, by textual-serve: ``scanviz tui --web``, only for this machine and holders of the address.

A profile shows code and data, and a visit starts the script.  A port of 127.0.0.1 that answers everybody is not safe enough:
other users of the machine reach it, and so does any page that is open in the browser.  The address therefore holds a token,
which becomes a cookie that no other site's requests carry; connections are taken only with it, from our own page and under our
own name.
"""

from __future__ import annotations

import logging
import secrets
import shlex
import sys
from pathlib import Path

from aiohttp import web
from textual_serve.server import Server

from scanviz.child_process import scanviz_command
from scanviz.record.plain_text import write_text

_ADDRESS = "127.0.0.1"
_PAGE = Path(__file__).parent / "web_page"


def serve(arguments: list[str], port: int) -> int:
    """Serve ``scanviz tui`` with these arguments until interrupted, and return the exit code.

    Each visitor gets an application of its own, in a process of its own.
    """
    command = shlex.join(scanviz_command("tui", *arguments))
    try:
        LocalServer(command, port).serve()
    except OSError as error:
        write_text(
            f"scanviz: port {port} cannot be had: {error.strerror or error}; --port names another\n",
            sys.stderr,
        )
        return 1
    return 0


class LocalServer(Server):
    """A server of the application.

    Parameters
    ----------
    command : str
        The command that each visit runs.
    port : int
        The port of 127.0.0.1.
    """

    def __init__(self, command: str, port: int) -> None:
        super().__init__(command, host=_ADDRESS, port=port, title="scanviz", templates_path=_PAGE)
        self.token = secrets.token_urlsafe(24)
        self._cookie = f"scanviz-{port}"  # cookies are of all ports

    @property
    def address(self) -> str:
        """The address to open in a browser."""
        return f"{self.public_url}/?token={self.token}"

    async def handle_index(self, request: web.Request) -> web.StreamResponse:
        """Answer with the page; take the token out of the address first."""
        self._check_name(request)
        if "token" in request.query and self._is_token(request.query["token"]):
            found = web.HTTPFound("/")
            found.set_cookie(self._cookie, self.token, httponly=True, samesite="Strict")
            return found
        self._check(request)
        answer: web.StreamResponse = await super().handle_index(request)
        return answer

    async def handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
        """Run the application for a page."""
        self._check(request)
        return await super().handle_websocket(request)

    async def handle_download(self, request: web.Request) -> web.StreamResponse:
        """Send a file from the application, such as a screenshot."""
        self._check(request)
        return await super().handle_download(request)

    def _check(self, request: web.Request) -> None:
        """Refuse requests without the token, from other sites' pages or under other names."""
        self._check_name(request)
        if not self._is_token(request.cookies.get(self._cookie, "")):
            raise _refused()

    def _check_name(self, request: web.Request) -> None:
        """Refuse requests from other sites' pages or under other names, even with the token."""
        origin = request.headers.get("Origin", self.public_url)
        if origin != self.public_url or self.public_url != f"http://{request.host}":
            raise _refused()

    def _is_token(self, given: str) -> bool:
        """Return whether a text of arbitrary bytes is the token."""
        return secrets.compare_digest(given.encode("utf-8", "surrogateescape"), self.token.encode())

    async def on_startup(self, app: web.Application) -> None:
        """Print the address."""
        write_text(f"scanviz: open {self.address}  (ctrl+c ends it)\n", sys.stderr)
        sys.stderr.flush()

    def initialize_logging(self) -> None:
        """Log errors, and not each request."""
        logging.basicConfig(level="WARNING")


def _refused() -> web.HTTPForbidden:
    return web.HTTPForbidden(text="Open the address that `scanviz tui --web` has printed.\n")
