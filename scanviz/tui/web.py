"""The application in a browser, by textual-serve, on this machine alone."""

from __future__ import annotations

import shlex
import sys


def serve(arguments: list[str], port: int) -> int:
    """Serve the application until it is interrupted, and return the exit code.

    Each visitor gets an application of its own, in a process of its own.
    """
    try:
        from scanviz.tui.web_server import LocalServer
    except ImportError:
        sys.stderr.write('scanviz: --web needs textual-serve: pip install "scanviz[tui-web]"\n')
        return 1
    command = shlex.join([sys.executable, "-m", "scanviz", "tui", *_without_web(arguments)])
    try:
        LocalServer(command, port).serve()
    except OSError as error:
        sys.stderr.write(
            f"scanviz: port {port} cannot be had: {error.strerror or error}; --port names another\n"
        )
        return 1
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
