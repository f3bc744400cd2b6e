"""Explore a profile in the terminal, or a script while it runs.

A SCRIPT (or -m module, -c code) runs in its own process, with its arguments. The tab Output shows what it prints; its profile is
saved as `scanviz profile` does, and stays on the screen when the script has ended. Keys: ? for help, 1 to 8 for tabs, q to quit.

for example:
  scanviz tui train.scanviz                   a saved profile
  scanviz tui train.py --epochs 2             a script while it runs
  scanviz tui --web train.scanviz             in a browser
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from scanviz.cli.files import RECOMPUTE, loaded, profile_place, seconds_of
from scanviz.cli.options import (
    DETAIL,
    MODE,
    Given,
    Option,
    UsageError,
    as_given,
    options_after_file,
    parse,
    positive,
    script_of,
)
from scanviz.record.plain_text import write_text

if TYPE_CHECKING:
    from scanviz.tui.model.source import Source

USAGE = "tui [options] FILE, or: tui [options] SCRIPT [arguments]"
OPTIONS = (
    Option(("-o", "--output"), "FILE", "where to save the profile of a script"),
    Option(("--force",), "", "replace FILE of -o even if it is no profile"),
    Option(
        ("--values",), "[=PATTERN]", "keep the values of loops (named PATTERN); each call is computed twice"
    ),
    DETAIL,
    MODE._replace(help="tier for a script's functions without mode= (numpy, native, reference, cupy, …)"),
    RECOMPUTE,
    Option(("--theme",), "NAME", "a theme of Textual, such as textual-light"),
    Option(("--web",), "", "show it in a browser, on this machine only (extra: tui-web)"),
    Option(("--port",), "PORT", "with --web: the port, 8000 by default", positive, 8000),
)


def main(arguments: list[str]) -> int:
    """Show a profile and return the exit code."""
    given = parse(arguments, OPTIONS, program=True)
    if not given.rest:
        raise UsageError("no profile or script given: scanviz tui FILE, or scanviz tui SCRIPT [arguments]")
    of_file = _is_file(given.rest)
    if of_file:
        given = options_after_file(given, OPTIONS, "tui")
    if given.web:
        try:
            from scanviz.tui.web import serve
        except ImportError:
            raise UsageError('--web needs textual-serve: pip install "scanviz[tui-web]"') from None
        passed_on = ("output", "force", "values", "detail", "mode", "recompute", "theme")
        return serve([*as_given(given, *passed_on), *given.rest], given.port)
    served = "TEXTUAL_DRIVER" in os.environ  # by --web: a browser is the terminal
    if not served and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("scanviz tui needs a terminal; scanviz report FILE prints the same as text")
    return _shown(given, of_file)


def _shown(given: Given, of_file: bool) -> int:
    from scanviz.profiler.values.recompute import SECONDS, RecomputeService
    from scanviz.tui.app import ScanvizApp
    from scanviz.tui.model.live import LiveSource
    from scanviz.tui.model.source import Source

    rest, seconds = given.rest, seconds_of(given)
    _check_theme(given.theme)  # before a script is started
    source = (
        Source(loaded(Path(rest[0])), rest[0])
        if of_file
        else LiveSource(rest, _saved_as(given), as_given(given, "values", "detail", "mode"))
    )
    service = RecomputeService(SECONDS if seconds is None else seconds)
    source.recompute = service.window
    source.computes = seconds is not None or not of_file  # a file may come from anybody
    stop_wanted = True  # after ctrl+c before the application starts
    try:
        app = ScanvizApp(source)
        if given.theme is not None:
            app.theme = given.theme
        gc.freeze()  # collections skip the record
        app.run()
        stop_wanted = app.stop_wanted
    finally:
        service.close()
        _say_goodbye(source, stop_wanted)
    return app.return_code or source.exit_code()


def _say_goodbye(source: Source, stop: bool) -> None:
    """Close the source and print its last message; the terminal may be gone."""
    with contextlib.suppress(OSError):
        if stop and source.running:
            write_text("scanviz: stopping the script; its profile is being saved\n", sys.stderr)
    if stop:
        source.stop()
    source.close()
    with contextlib.suppress(OSError):
        write_text(source.farewell(), sys.stderr)


def _is_file(rest: list[str]) -> bool:
    """Return whether the first word is a profile, not a script."""
    from scanviz.record.storage.archive import is_profile

    first = Path(rest[0])
    return rest[0] not in ("-m", "-c") and (is_profile(first) or first.suffix == ".scanviz")


def _saved_as(given: Given) -> Path:
    """Return the path for the profile of a script, as ``scanviz profile`` does."""
    from scanviz.profiler.run.profiled import free_name

    program = script_of(given.rest)
    if given.output is not None:
        return profile_place(Path(given.output), force=given.force)
    return free_name(Path.cwd() / f"{program.stem}.scanviz")


def _check_theme(name: str | None) -> None:
    from textual.theme import BUILTIN_THEMES

    if name is not None and name not in BUILTIN_THEMES:
        raise UsageError(f"there is no theme {name!r}; themes: {', '.join(sorted(BUILTIN_THEMES))}")
