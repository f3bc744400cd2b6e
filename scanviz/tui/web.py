"""The application in a browser, by textual-serve, on this machine alone."""

from __future__ import annotations

import shlex
import sys

ADDRESS = "127.0.0.1"


def serve(arguments: list[str], port: int) -> int:
    """Serve the application until it is interrupted, and return the exit code.

    Each visitor gets an application of its own, in a process of its own.
    """
    try:
        from textual_serve.server import Server
    except ImportError:
        sys.stderr.write('scanviz: --web needs textual-serve: pip install "scanviz[tui-web]"\n')
        return 1
    command = shlex.join([sys.executable, "-m", "scanviz", "tui", *_without_web(arguments)])
    server = Server(command, host=ADDRESS, port=port, title="scanviz")
    sys.stderr.write(f"scanviz: http://{ADDRESS}:{port}  (ctrl+c ends it; only this machine can reach it)\n")
    server.serve()
    return 0


def _without_web(arguments: list[str]) -> list[str]:
    """Return the arguments that the application itself gets.

    Examples
    --------
    >>> _without_web(["--web", "--port", "9000", "rnn.scanviz"])
    ['rnn.scanviz']
    """
    found: list[str] = []
    waiting = list(arguments)
    while waiting:
        word = waiting.pop(0)
        if word == "--web":
            continue
        if word == "--port":
            waiting = waiting[1:]
            continue
        if word.startswith("--port="):
            continue
        if not word.startswith("-"):
            return [*found, word, *waiting]
        found.append(word)
    return found
