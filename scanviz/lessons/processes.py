"""Running something in a process of its own that is given some seconds, and is ended when nobody waits for it any more."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

SECONDS = 60.0  # that a lesson's program, or a check, may take
LOOK = 0.1  # seconds between two looks whether anybody still waits
Stopped = Callable[[], bool]


def never() -> bool:
    """Return that it is waited for."""
    return False


def run_process(
    command: Sequence[str],
    given: str = "",
    *,
    folder: Path | None = None,
    seconds: float = SECONDS,
    stopped: Stopped = never,
) -> subprocess.CompletedProcess[str]:
    """Run a command and return what it printed.

    Parameters
    ----------
    command : sequence of str
        The command.
    given : str
        Its standard input.
    folder : Path, optional
        Where it runs.
    seconds : float
        How long it may take.
    stopped : callable
        Tells whether it is to be ended: nobody waits for it any more.

    Raises
    ------
    subprocess.TimeoutExpired
        If it took too long, or was stopped; it is ended then, and the error has what it printed.
    """
    begun, text = time.monotonic(), given or None
    with subprocess.Popen(
        command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        while True:
            try:
                printed, complained = process.communicate(text, timeout=LOOK)
            except subprocess.TimeoutExpired:
                text = None  # it is sent once
                if not stopped() and time.monotonic() - begun < seconds:
                    continue
                process.kill()
                printed, complained = process.communicate()
                raise subprocess.TimeoutExpired(command, seconds, printed, complained) from None
            return subprocess.CompletedProcess(command, process.returncode, printed, complained)
