"""The command line: one file a command, help from their docstrings."""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import sys
from collections.abc import Sequence

from scanviz.record.plain_text import cannot_write, write_text
from scanviz.startup import interrupts_are_raised

COMMANDS = {
    "profile": "show where its loops spend their time",
    "check": "stop at the first NaN, infinity or other unwanted value",
    "run": "run it as python does, with scanviz's error messages",
    "memory": "forecast how much memory its calls need",
    "report": "print the report again",
    "advise": "list changes that would make the run faster or smaller",
    "compare": "show what became faster or slower, also between two scripts",
    "tui": "explore it in the terminal, or a script while it runs",
    "html": "write it as one page for a browser",
    "export": "write it in the format of another tool",
    "merge": "merge several profiles into one",
    "graph": "draw the graph with its loops open",
    "rewrites": "show how rewrites changed the graph, and why one did not apply",
    "program": "print the instructions that run",
    "native": "print the machine code of the loops",
    "learn": "twelve lessons on scan, with exercises that are checked",
    "doctor": "show which backends and libraries work here",
}
_GROUPS = {  # by the first command of each
    "profile": "run a script",
    "report": "read a saved profile",
    "graph": "look into the functions of a script",
    "learn": "start",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; a user's program may end the process itself.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments without the program's name; ``sys.argv[1:]`` by default.
    """
    from scanviz.cli.options import one_command

    with one_command():
        return _run(list(sys.argv[1:] if argv is None else argv))


def _run(arguments: list[str]) -> int:
    """Run a command; print errors as messages, except those of a user's program."""
    from scanviz.cli.options import UsageError, ran_program

    try:
        interrupts_are_raised()
        code = _dispatch(arguments)
        if not ran_program():
            _flush()
        return code
    except UsageError as error:
        return _failed(error, 2)
    except KeyboardInterrupt:
        from scanviz.profiler.run.exits import EXIT

        if EXIT.ended_by_program:
            raise
        EXIT.number = (
            EXIT.number or signal.SIGINT
        )  # by which the process dies at its end, where that is watched
        return 130
    except BrokenPipeError:
        if ran_program():
            raise
        _write_no_more()  # the reader of our output has gone, as with `scanviz report FILE | head`
        return 141
    except Exception as error:
        from scanviz.engine.errors import ScanvizError
        from scanviz.profiler.run.load import CannotRunError

        if isinstance(error, CannotRunError):
            return _failed(error, error.code)
        if ran_program() or not isinstance(error, ScanvizError):
            raise
        _write_no_more()
        return _failed(error, 1)


def _failed(error: Exception, code: int) -> int:
    write_text(f"scanviz: {error}\n", sys.stderr)
    return code


def _flush() -> None:
    """Flush standard output.

    Raises
    ------
    CannotWriteError
        If standard output takes no more, as on a full disk.
    """
    if sys.stdout is None:
        return
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise cannot_write(sys.stdout, error) from None


def _write_no_more() -> None:
    """Discard output that cannot be written, so that python does not try again at its end."""
    with contextlib.suppress(OSError, ValueError):
        try:
            sys.stdout.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _dispatch(arguments: list[str]) -> int:
    from scanviz.cli.options import HelpWanted, UsageError, help_text

    first = arguments[0] if arguments else "--help"
    if first in ("-h", "--help", "help"):
        _show(_help())
        return 0 if arguments else 2
    if first in ("-V", "--version"):
        package = sys.modules["scanviz"]  # loaded before this file, and right without an installation
        write_text(f"scanviz {package.__version__}\n", sys.stdout)
        return 0
    if first not in COMMANDS:
        raise UsageError(_no_command(arguments))
    module = importlib.import_module(f"scanviz.cli.{first}")
    try:
        code: int = module.main(arguments[1:])
    except HelpWanted as more:
        _show(help_text(module.USAGE, f"{module.__doc__}{more}", module.OPTIONS))
        return 0
    return code


def _no_command(arguments: list[str]) -> str:
    """Return the message for arguments without a command; it names `profile` for a script, `report` for a profile."""
    import shlex  # of an error

    from scanviz.cli.options import suggestion
    from scanviz.record.plain_text import sanitize

    first = arguments[0]
    if not os.path.splitext(first)[1] and os.path.isfile(f"{first}.py"):
        arguments = [f"{first}.py", *arguments[1:]]
    is_profile = first.endswith(".scanviz")
    is_script = arguments[0].endswith((".py", ".pyc")) or first in ("-m", "-c") or os.path.isfile(first)
    if is_profile or is_script or os.path.isfile(os.path.join(first, "__main__.py")):
        meant = sanitize(shlex.join(["report" if is_profile else "profile", *arguments]))
        return f"there is no command {first!r}; write: scanviz {meant}"
    commands = f"commands: {', '.join(COMMANDS)}"
    if first.startswith("-"):
        return f"options follow the command: scanviz COMMAND {sanitize(first)} …; {commands}"
    return f"there is no command {first!r}{suggestion(first, COMMANDS)}; {commands}"


def _show(text: str) -> None:
    """Print help text as wide as the terminal."""
    from scanviz.cli.fitted import fitted_to  # commands that run start without it

    write_text(fitted_to(text, sys.stdout), sys.stdout)


def _help() -> str:
    rows = []
    for name, text in COMMANDS.items():
        rows += ["", _GROUPS[name]] if name in _GROUPS else []
        rows.append(f"  {name:<9} {text}")
    return _HELP + "\n".join(rows) + "\n\nscanviz COMMAND --help shows its options and examples.\n"


_HELP = """usage: scanviz COMMAND [options] …

Profile, debug and draw scan loops. For example:

  scanviz profile train.py   where does the time go?
  scanviz check train.py     where does the NaN come from?
  scanviz graph train.py     what does the loop compute?
"""
