"""Run a lesson's program and check exercises, in a separate process with a time limit.

A learner's code may loop forever, exit or print without harm to the application.  A cancelled process is ended.
"""

from __future__ import annotations

import ast
import io
import json
import re
import subprocess
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from scanviz.child_process import isolated_code, scanviz_command
from scanviz.lessons.source import Lesson
from scanviz.record.errors import ScanvizValueError

if TYPE_CHECKING:
    from scanviz.record.model import ProfileRecord

SECONDS = 60.0  # time limit of a program or a check
LOOK = 0.1  # seconds between tests for cancellation
Stopped = Callable[[], bool]
_PACKAGE = Path(__file__).resolve().parent.parent
MARK = "scanviz lesson: "
PROGRAM_FILE = "lesson.py"
PROGRAM, ANSWER, CHECK = "the program", "your answer", "the check"
LESSON = "the lesson"  # its own program, behind which the check runs
_NAMED = re.compile(rf"({PROGRAM}|{ANSWER}):(\d+): ")
_PLACE = re.compile(r"^\S+:\d+: ")
# Runs a learner's parts in one namespace and the check in another, and prints the result in the last line of standard output.
# The place of an error is the learner's innermost line, whichever part called it.
_RUNNER = """
import json, sys, traceback
parts, own, mark, behind = json.load(sys.stdin)
names = {"__name__": "__main__"}
for title, text in parts:
    try:
        if title not in own:
            from scanviz.lessons.exercise import names_of_check
            names = names_of_check(*behind, names)
        exec(compile(text, title, "exec"), names)
    except BaseException as error:
        places = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
        places += [(error.filename, error.lineno)] if isinstance(error, SyntaxError) else []
        place = next((known for known in reversed(places) if known[0] in own), None)
        message = error.msg if isinstance(error, SyntaxError) else str(error).strip()
        message = message or type(error).__name__
        kind = "AssertionError" if isinstance(error, AssertionError) else type(error).__name__
        print("\\n" + mark + json.dumps([title, kind, message, place]))
        sys.exit()
print("\\n" + mark + json.dumps(None))
"""


class Outcome(Struct, frozen=True):
    """The result of running a lesson's program or a check.

    Attributes
    ----------
    right : bool
        Whether nothing failed.
    message : str
        The problem, as a sentence or an error message; empty if right.
    part : str
        The text with the error: the program, the answer or the check; empty for none.
    line : int or None
        The line of a learner's text.
    output : str
        The printed output.
    """

    right: bool
    message: str = ""
    part: str = ""
    line: int | None = None
    output: str = ""

    @property
    def problem(self) -> str:
        """The problem with its place.

        Examples
        --------
        >>> Outcome(False, "NameError: name 'g' is not defined", "the program", 3).problem
        "line 3 of the program: NameError: name 'g' is not defined"
        """
        return f"line {self.line} of {self.part}: {self.message}" if self.line is not None else self.message


def never() -> bool:
    """Return False: never cancelled."""
    return False


def run_program(program: str, seconds: float = SECONDS, stopped: Stopped = never) -> Outcome:
    r"""Run a program and return its output.

    Examples
    --------
    >>> run_program("print(1 + 1)").output
    '2\n'
    """
    return _run([(PROGRAM, program)], seconds, stopped)


def check_exercise(
    lesson: Lesson, answer: str, program: str = "", seconds: float = SECONDS, stopped: Stopped = never
) -> Outcome:
    """Return whether an answer to an exercise is right, with help if it is wrong.

    The answer runs behind the learner's program, the check behind the lesson's own.

    Parameters
    ----------
    lesson : Lesson
        The lesson.
    answer : str
        The exercise, completed.
    program : str, optional
        The program as changed by the learner; by default the lesson's.
    seconds : float
        Time limit.
    stopped : callable
        Tests for cancellation.
    """
    parts = [(PROGRAM, program or lesson.program), (ANSWER, answer), (CHECK, lesson.check)]
    outcome = _run(parts, seconds, stopped, (lesson.program, lesson.exercise))
    line = _open_line(answer) if outcome.part in (ANSWER, CHECK) else None
    if line is None:
        return outcome
    return replace(outcome, message="its `...` is still open", part=ANSWER, line=line)


def _open_line(answer: str) -> int | None:
    """Return the line of the first ``...``; None if there is none, or for a syntax error."""
    try:
        tree = ast.parse(answer)
    except SyntaxError:
        return None
    places = [node.lineno for node in ast.walk(tree) if isinstance(node, ast.Constant) and node.value is ...]
    return min(places, default=None)


def names_of_check(program: str, exercise: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the namespace of a check: names of the lesson's own program, and the learner's for names that the exercise defines.

    Parameters
    ----------
    program, exercise : str
        The lesson's own.
    given : mapping
        Names defined by the learner.

    Examples
    --------
    >>> sorted(set(names_of_check("a, b = 1, 2", "rows = ...", {"a": 3, "rows": 4})) - {"__name__", "__builtins__"})
    ['a', 'b', 'rows']
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    with redirect_stdout(io.StringIO()), warnings.catch_warnings(action="ignore"):
        exec(compile(program, LESSON, "exec"), names)
    wanted: set[str] = set()
    for statement in ast.parse(exercise).body:
        if isinstance(statement, ast.FunctionDef):
            defined = {statement.name}
        else:
            stored = (node for node in ast.walk(statement) if isinstance(node, ast.Name))
            defined = {node.id for node in stored if isinstance(node.ctx, ast.Store)}
        wanted |= defined
    found = wanted & given.keys()
    if wanted and not found:
        missing = ", ".join(f"`{name}`" for name in sorted(wanted))
        raise AssertionError(f"{missing} is not defined: does the answer belong to another lesson or level?")
    return names | {name: given[name] for name in found}


def check_here(lesson: Lesson, names: Mapping[str, Any]) -> Outcome:
    """Check an exercise in this process, for a notebook.

    Parameters
    ----------
    lesson : Lesson
        The lesson.
    names : mapping
        Names defined by the learner's program and exercise.
    """
    try:
        exec(compile(lesson.check, CHECK, "exec"), names_of_check(lesson.program, lesson.exercise, names))
    except Exception as error:  # whatever a learner's function raises
        if isinstance(error, AssertionError) and str(error):
            return Outcome(False, str(error))
        own = [
            frame.line for frame in traceback.extract_tb(error.__traceback__) if _is_of_a_cell(frame.filename)
        ]
        where = f" (at `{own[-1]}`)" if own else ""
        if "ellipsis" in str(error).lower() or (own and "..." in str(own[-1])):
            return Outcome(False, f"a `...` is still open{where}")
        message = _PLACE.sub("", str(error))  # without the meaningless file name of a cell
        return Outcome(False, f"{type(error).__name__}: {message}{where}")
    return Outcome(True)


def _is_of_a_cell(file: str) -> bool:
    """Return whether code is from a notebook's cell, not from the check or a package."""
    return file != CHECK and "site-packages" not in file and not file.startswith(str(_PACKAGE))


def _run(
    parts: list[tuple[str, str]], seconds: float, stopped: Stopped, behind: tuple[str, str] = ("", "")
) -> Outcome:
    given = json.dumps([parts, [PROGRAM, ANSWER], MARK, behind])
    try:
        done = run_process(isolated_code(_RUNNER), given, seconds=seconds, stopped=stopped)
    except subprocess.TimeoutExpired as late:
        return Outcome(False, f"it did not end within {seconds:g} seconds", output=str(late.stdout or ""))
    printed, mark, result = done.stdout.rpartition("\n" + MARK)
    if not mark:
        return Outcome(False, done.stderr.strip() or "the process ended without a word", output=done.stdout)
    failed = json.loads(result)
    if failed is None:
        return Outcome(True, output=printed)
    title, kind, message, place = failed
    if kind == "AssertionError" and title == CHECK:
        return Outcome(False, message, output=printed)  # help, not an error
    part, line = place or (title, None)
    named = _NAMED.match(message)  # errors of scanviz name a better place
    if named is not None:
        part, line, message = named[1], int(named[2]), message[named.end() :]
    return Outcome(False, message if kind == "AssertionError" else f"{kind}: {message}", part, line, printed)


def run_process(
    command: Sequence[str],
    given: str = "",
    *,
    folder: Path | None = None,
    seconds: float = SECONDS,
    stopped: Stopped = never,
) -> subprocess.CompletedProcess[str]:
    """Run a command and return its output.

    Parameters
    ----------
    command : sequence of str
        The command.
    given : str
        Its standard input.
    folder : Path, optional
        The folder to run in.
    seconds : float
        Time limit.
    stopped : callable
        Tests for cancellation.

    Raises
    ------
    subprocess.TimeoutExpired
        If it took too long or was cancelled; the error has its output.
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


def draw_in_characters(program: str, options: Sequence[str], width: int, stopped: Stopped = never) -> str:
    """Return the picture of a program in characters.

    Raises
    ------
    ScanvizValueError
        If there is none: the program fails, or has no such loop.
    """
    with _folder(program) as folder:
        done = _command(folder, ["graph", "--width", str(width), *options, PROGRAM_FILE], stopped)
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
    return drawn(program, options, "svg")


def stepper_of(lesson: Lesson) -> str:
    """Return the page that goes through the steps of a lesson's loop.

    Raises
    ------
    ScanvizValueError
        If there is none: the program fails.
    """
    return drawn(lesson.program, ["--stepper", *lesson.loop], "html")


def drawn(program: str, options: Sequence[str], form: str) -> str:
    """Return what ``scanviz graph`` draws of a program, in a text format.

    Raises
    ------
    ScanvizValueError
        If there is none: the program fails.
    """
    with _folder(program) as folder:
        target = folder / f"lesson.{form}"
        done = _command(folder, ["graph", *options, "-o", target.name, PROGRAM_FILE])
        if not target.exists():
            raise ScanvizValueError(done.stderr.strip() or "the program was not drawn")
        return target.read_text("utf-8")


def with_steps(program: str, options: Sequence[str], stopped: Stopped = never) -> ProfileRecord:
    """Run a program and return its profile, with the values of its loops.

    Raises
    ------
    ScanvizValueError
        If there is none: the program could not be run.
    """
    from scanviz.record.storage.file import load

    with _folder(program) as folder:
        profile = folder / "lesson.scanviz"
        words = ["profile", "--values", *options, "-o", profile.name, PROGRAM_FILE]
        done = _command(folder, words, stopped)
        if not profile.exists():
            raise ScanvizValueError(done.stderr.strip() or "the program was not recorded")
        return load(profile)


@contextmanager
def _folder(program: str) -> Iterator[Path]:
    """Give a folder with a program."""
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / PROGRAM_FILE).write_text(program, "utf-8")
        yield Path(name)


def _command(
    folder: Path, words: Sequence[str], stopped: Stopped = never
) -> subprocess.CompletedProcess[str]:
    """Run a scanviz command in a folder."""
    try:
        return run_process(scanviz_command(*words), folder=folder, stopped=stopped)
    except subprocess.TimeoutExpired:
        raise ScanvizValueError(f"the program did not end within {SECONDS:g} seconds") from None
