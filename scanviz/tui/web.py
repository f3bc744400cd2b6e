"""The application in a browser, by textual-serve, on this machine alone."""

from __future__ import annotations

import shlex
import sys

from scanviz.child_process import scanviz_command
from scanviz.record.plain_text import write_text


def serve(arguments: list[str], port: int) -> int:
    """Serve ``scanviz tui`` with these arguments until it is interrupted, and return the exit code.

    Each visitor gets an application of its own, in a process of its own.
    """
    try:
        from scanviz.tui.web_server import LocalServer
    except ImportError:
        write_text('scanviz: --web needs textual-serve: pip install "scanviz[tui-web]"\n', sys.stderr)
        return 1
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
