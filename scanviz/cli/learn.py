"""Learn scan in twelve lessons: from a for-loop to its gradient, its rewrites, and finding what is slow or NaN.

Without a number the lessons are listed. Lesson N opens in the terminal with its text, a program to change, run and step through,
and an exercise that is checked. Without a terminal, or with --text, it is printed.

--write puts the program and the exercise into a file for your editor; --check checks the exercise in it. --notebooks writes
Jupyter notebooks that run, draw and check the same; their first cell installs scanviz, from REQUIREMENT if given: a wheel, a
repository, whatever pip takes.

--slides writes slides.html, which a browser projects and prints, pictures as SVG files, loops step by step as HTML pages, and
slides.pdf if Chromium is installed.

for example:
  scanviz learn 1                             open the first lesson
  scanviz learn 3 --write three.py            work in an editor
  scanviz learn 3 --check three.py
  scanviz learn --notebooks homework --no-solutions
  scanviz learn 1 2 5 6 --slides class
  scanviz learn 3 --level harder --write three.py
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from io import StringIO
from pathlib import Path
from textwrap import wrap

from msgspec.structs import replace

from scanviz.cli.options import Option, UsageError, one_of, parse
from scanviz.lessons.exercise import ANSWER, Outcome, check_exercise
from scanviz.lessons.notebook import answer_in, notebook_name, notebook_text
from scanviz.lessons.source import Lesson, lesson, lessons
from scanviz.lessons.teaching import LEVELS, at_level, notes
from scanviz.profiler.report.text import wants_color
from scanviz.record.errors import CannotReadError
from scanviz.record.plain_text import write_text
from scanviz.record.storage.reading import open_file

USAGE = "learn [options] [N ...]"
OPTIONS = (
    Option(("--text",), "", "print the lesson"),
    Option(("--hints",), "", "print its hints as well"),
    Option(("--notes",), "", "print its notes for teachers: misconceptions, solutions, other exercises"),
    Option(("--level",), "LEVEL", "take the easier or the harder exercise", one_of(*LEVELS)),
    Option(("--write",), "FILE", "write the program and the exercise to a new file"),
    Option(("--check",), "FILE", "check the exercise in a file made by --write, or in a notebook"),
    Option(("--notebooks",), "FOLDER", "write lessons as Jupyter notebooks: lessons N, or all"),
    Option(("--no-solutions",), "", "leave hints and solutions out of the notebooks"),
    Option(("--install",), "REQUIREMENT", "what their first cell installs (default: this version)"),
    Option(("--slides",), "FOLDER", "write slides of lessons N, or of all, with their pictures"),
)
INDENT = " " * 5
WIDEST = 100  # columns: longer lines are hard to read
DIVIDER = "# -- the exercise: complete what follows --\n"


def main(arguments: list[str]) -> int:
    """Show the lessons and return the exit code: 1 if a checked exercise is wrong."""
    given = parse(arguments, OPTIONS)
    numbers = [_number(word) for word in given.rest]
    wanted = [at_level(one, given.level or "") for one in (map(lesson, numbers) if numbers else lessons())]
    if given.slides is not None:
        return _write_slides(wanted, Path(given.slides))
    if given.notebooks is not None:
        text_of = partial(notebook_text, solutions=not given.no_solutions, requirement=given.install or "")
        return _write_notebooks(wanted, Path(given.notebooks), text_of)
    if not given.rest:
        write_text(_listed(shutil.get_terminal_size().columns), sys.stdout)
        return 0
    if len(wanted) > 1:
        raise UsageError("scanviz learn opens one lesson; --slides and --notebooks take several")
    (chosen,) = wanted
    if given.write is not None:
        return _write(chosen, Path(given.write))
    if given.check is not None:
        return _check(chosen, Path(given.check))
    if given.text or given.hints or given.notes or not (sys.stdin.isatty() and sys.stdout.isatty()):
        hints = "".join(f"- {hint}\n" for hint in chosen.hints) if given.hints else ""
        text = notes(chosen).page if given.notes else chosen.page + hints
        if sys.stdout.isatty():
            text = _rendered(text, min(WIDEST, shutil.get_terminal_size().columns))
        write_text(text, sys.stdout, colours=True)
        return 0
    from scanviz.lessons.app import LearnApp

    LearnApp(chosen.number, chosen.level).run()
    return 0


def _rendered(page: str, columns: int) -> str:
    """Render Markdown for a terminal."""
    from rich.console import Console
    from rich.markdown import Markdown

    text = StringIO()
    console = Console(file=text, width=columns, force_terminal=wants_color(sys.stdout))
    console.print(Markdown(page, hyperlinks=False))
    return text.getvalue()


def _listed(columns: int) -> str:
    """Return the list of lessons with their questions, and how to open one."""
    lines = []
    for one in lessons():
        lines += [
            f"{one.number:3}  {one.entry}",
            *wrap(one.question, columns, initial_indent=INDENT, subsequent_indent=INDENT),
        ]
    last = "scanviz learn 1 opens the first lesson. Optional ones are for authors of rewrites."
    return "".join(f"{line}\n" for line in [*lines, "", *wrap(last, columns)])


def _number(word: str) -> int:
    if not word.isdecimal():
        raise UsageError(f"scanviz learn takes the number of a lesson, not {word!r}")
    return int(word)


def _write(chosen: Lesson, path: Path) -> int:
    try:
        path.touch(exist_ok=False)  # never overwrite a learner's file
        path.write_text(f"{chosen.program}\n\n{DIVIDER}{chosen.exercise}", "utf-8")
    except OSError as error:
        raise UsageError(
            f"{path} cannot be written: {error.strerror}; --write takes the name of a new file"
        ) from None
    level = f" --level {chosen.level}" if chosen.level else ""
    write_text(f"wrote {path}; scanviz learn {chosen.number}{level} --check {path} checks it\n", sys.stdout)
    return 0


def _write_notebooks(wanted: Sequence[Lesson], folder: Path, text_of: Callable[[Lesson, str], str]) -> int:
    from scanviz.lessons.exercise import svg_of

    with _new_files("--notebooks"):
        for one in wanted:
            _write_new(folder / notebook_name(one), text_of(one, svg_of(one.program, one.picture)))
    return 0


def _write_slides(wanted: Sequence[Lesson], folder: Path) -> int:
    from scanviz.lessons.exercise import stepper_of, svg_of
    from scanviz.lessons.slides import picture_name, slides, stepper_name, write_pdf

    with _new_files("--slides"):
        for one in wanted:
            _write_new(folder / picture_name(one), svg_of(one.program, one.picture))
            if one.loop:
                _write_new(folder / stepper_name(one), stepper_of(one))
        page = folder / "slides.html"
        _write_new(page, slides(wanted))
    pdf = write_pdf(page)
    done = f"wrote {pdf}" if pdf else f"no PDF: Chromium is not installed; print {page} from a browser"
    write_text(f"{done}\n", sys.stdout)
    return 0


def _write_new(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(exist_ok=False)
    path.write_text(text, "utf-8")
    write_text(f"wrote {path}\n", sys.stdout)


@contextmanager
def _new_files(option: str) -> Iterator[None]:
    """Turn an error of a file into one of the command line."""
    try:
        yield
    except OSError as error:
        raise UsageError(
            f"{error.filename} cannot be written: {error.strerror}; {option} takes a folder without these files"
        ) from None


def _check(chosen: Lesson, path: Path) -> int:
    try:
        with open_file(path) as stream:
            text = stream.read().decode("utf-8").replace("\r\n", "\n")
    except CannotReadError as error:
        raise UsageError(str(error)) from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from None
    if path.suffix == ".ipynb":
        return _check_notebook(chosen, path, text)
    program, divider, answer = text.partition(DIVIDER)
    outcome = check_exercise(chosen, answer if divider else text, program if divider else "")
    if outcome.line is not None:  # as the file counts its lines
        before = f"{program}{divider}".count("\n") if divider and outcome.part == ANSWER else 0
        place = f"{path}:{outcome.line + before}, in {outcome.part}: "
        outcome = replace(outcome, message=f"{place}{outcome.message}", line=None)
    return _report(outcome)


def _report(outcome: Outcome) -> int:
    write_text("right\n" if outcome.right else f"not yet: {outcome.problem}\n", sys.stdout)
    return 0 if outcome.right else 1


def _check_notebook(chosen: Lesson, path: Path, text: str) -> int:
    try:
        answer = answer_in(text)
    except ValueError as error:
        raise UsageError(f"{path} cannot be read: {error}") from None
    outcome = check_exercise(chosen, answer)
    if outcome.line is not None and outcome.part == ANSWER:  # cells have no line numbers of the whole
        line = answer.splitlines()[outcome.line - 1].strip()
        outcome = replace(outcome, message=f"{outcome.message} (at `{line}`)", line=None)
    return _report(outcome)
