"""Ten lessons on scan: from a for-loop to the gradient of a loop, its rewrites, and finding what is slow or NaN.

Without a number the lessons are listed. With one the lesson opens in the terminal: its text, its program, which can be changed, run
and stepped through, and an exercise that is checked. Where there is no terminal, or with --text, the lesson is printed.

--write puts the program and the exercise into a file, to be worked on in an editor; --check says whether the exercise in it is
right. --notebooks writes them as Jupyter notebooks, whose cells run, draw and check the same.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING

from scanviz.child_process import scanviz_command
from scanviz.cli.options import Option, UsageError, parse
from scanviz.lessons.exercise import SECONDS, Stopped, never, run_process
from scanviz.lessons.source import Lesson, lesson, lessons, reflowed
from scanviz.record.errors import CannotReadError, ScanvizValueError
from scanviz.record.plain_text import write_text
from scanviz.record.storage.reading import open_file

if TYPE_CHECKING:
    from scanviz.record.model import ProfileRecord

USAGE = "learn [options] [N]"
OPTIONS = (
    Option(("--text",), "", "print the lesson"),
    Option(("--hints",), "", "print its hints too"),
    Option(("--write",), "FILE", "write the lesson's program and exercise, to be completed"),
    Option(("--check",), "FILE", "check the exercise in a file that --write wrote"),
    Option(("--notebooks",), "FOLDER", "write the lessons, or lesson N, as Jupyter notebooks"),
)
INDENT = " " * 5
WIDEST = 100  # columns: longer lines are hard to read
DIVIDER = "# -- the exercise: complete what follows --\n"


def main(arguments: list[str]) -> int:
    """Show the lessons and return the exit code: 1 where a checked exercise is wrong."""
    given = parse(arguments, OPTIONS)
    if given.notebooks is not None:
        wanted = [lesson(_number(given.rest))] if given.rest else lessons()
        return _write_notebooks(wanted, Path(given.notebooks))
    if not given.rest:
        write_text(_listed(shutil.get_terminal_size().columns), sys.stdout)
        return 0
    chosen = lesson(_number(given.rest))
    if given.write is not None:
        return _write(chosen, Path(given.write))
    if given.check is not None:
        return _check(chosen, Path(given.check))
    if given.text or given.hints or not (sys.stdin.isatty() and sys.stdout.isatty()):
        hints = "".join(f"- {hint}\n" for hint in chosen.hints) if given.hints else ""
        text = chosen.page + hints
        if sys.stdout.isatty():
            text = reflowed(text, min(WIDEST, shutil.get_terminal_size().columns))
        write_text(text, sys.stdout)
        return 0
    from scanviz.lessons.app import LearnApp

    LearnApp(chosen.number, draw_in_characters, with_steps).run()
    return 0


def _listed(columns: int) -> str:
    """Return all lessons with their questions, in lines as long as there is room for, and how to open one."""
    lines = []
    for one in lessons():
        lines += [
            f"{one.number:3}  {one.title}",
            *wrap(one.question, columns, initial_indent=INDENT, subsequent_indent=INDENT),
        ]
    return "".join(f"{line}\n" for line in [*lines, "", "scanviz learn 1 opens the first lesson."])


def _number(rest: Sequence[str]) -> int:
    if len(rest) != 1 or not rest[0].isdecimal():
        raise UsageError(f"scanviz learn takes the number of a lesson, not {' '.join(rest)!r}")
    return int(rest[0])


def _write(chosen: Lesson, path: Path) -> int:
    try:
        path.touch(exist_ok=False)  # what a learner wrote is never written over
        path.write_text(f"{chosen.program}\n\n{DIVIDER}{chosen.exercise}", "utf-8")
    except OSError as error:
        raise UsageError(
            f"{path} cannot be written: {error.strerror}; --write takes the name of a new file"
        ) from None
    write_text(f"wrote {path}; scanviz learn {chosen.number} --check {path} checks it\n", sys.stdout)
    return 0


def _write_notebooks(wanted: Sequence[Lesson], folder: Path) -> int:
    from scanviz.lessons.notebook import notebook_name, notebook_text

    try:
        folder.mkdir(parents=True, exist_ok=True)
        for one in wanted:
            path = folder / notebook_name(one)
            path.touch(exist_ok=False)
            path.write_text(notebook_text(one, svg_of(one.program, one.picture)), "utf-8")
            write_text(f"wrote {path}\n", sys.stdout)
    except OSError as error:
        raise UsageError(
            f"{error.filename} cannot be written: {error.strerror}; --notebooks takes a folder without these files"
        ) from None
    return 0


def _check(chosen: Lesson, path: Path) -> int:
    from scanviz.lessons.exercise import ANSWER, check_exercise

    try:
        with open_file(path) as stream:
            text = stream.read().decode("utf-8").replace("\r\n", "\n")
    except CannotReadError as error:
        raise UsageError(str(error)) from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from None
    program, divider, answer = text.partition(DIVIDER)
    outcome = check_exercise(chosen, answer if divider else text, program if divider else "")
    if outcome.right:
        write_text("right\n", sys.stdout)
        return 0
    told = outcome.told
    if outcome.line is not None:  # as the file counts its lines
        before = f"{program}{divider}".count("\n") if divider and outcome.part == ANSWER else 0
        told = f"{path}:{outcome.line + before}, in {outcome.part}: {outcome.message}"
    write_text(f"not yet: {told}\n", sys.stdout)
    return 1


def draw_in_characters(path: Path, options: Sequence[str], width: int, stopped: Stopped = never) -> str:
    """Return the picture of a program in characters.

    Raises
    ------
    ScanvizValueError
        If there is none: the program fails, or has no such loop.
    """
    done = _command(path, ["graph", "--width", str(width), *options, path.name], stopped)
    if not done.stdout:
        raise ScanvizValueError(done.stderr.strip().rpartition("scanviz: ")[2] or "the program was not drawn")
    return done.stdout


def svg_of(program: str, options: Sequence[str]) -> str:
    """Return the picture of a program's loop as SVG.

    Raises
    ------
    ScanvizValueError
        If there is none: the program fails.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lesson.py"
        path.write_text(program, "utf-8")
        drawn = path.with_suffix(".svg")
        done = _command(path, ["graph", *options, "-o", drawn.name, path.name])
        if not drawn.exists():
            raise ScanvizValueError(done.stderr.strip() or "the program was not drawn")
        return drawn.read_text("utf-8")


def with_steps(path: Path, options: Sequence[str], stopped: Stopped = never) -> ProfileRecord:
    """Run a program and return its profile, with the values of its loops.

    Raises
    ------
    ScanvizValueError
        If there is none: the program cannot be read.
    """
    from scanviz.record.storage.file import load

    profile = path.with_suffix(".scanviz")
    done = _command(path, ["profile", "--values", *options, "-o", profile.name, path.name], stopped)
    if not profile.exists():
        raise ScanvizValueError(done.stderr.strip() or "the program was not recorded")
    return load(profile)


def _command(
    path: Path, arguments: Sequence[str], stopped: Stopped = never
) -> subprocess.CompletedProcess[str]:
    """Run a command of scanviz beside a program."""
    try:
        return run_process(scanviz_command(*arguments), folder=path.parent, stopped=stopped)
    except subprocess.TimeoutExpired:
        raise ScanvizValueError(f"the program did not end within {SECONDS:g} seconds") from None
