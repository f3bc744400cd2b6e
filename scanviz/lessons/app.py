"""``scanviz learn`` in the terminal: the lesson on the left, its program and exercise on the right, what they print below.

The program can be changed and run in place; the exercise is checked; the picture is drawn of the program as it is now.  What a
learner wrote is kept while one goes from lesson to lesson.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.filter import LineFilter
from textual.widgets import Footer, Markdown, RichLog, Static, TextArea
from textual.worker import Worker, WorkerState

from scanviz.lessons.exercise import Outcome, check_exercise, run_program
from scanviz.lessons.source import Lesson, lessons
from scanviz.record.plain_text import plain_lines, sanitize
from scanviz.tui.harmless import Harmless

PICTURE_WIDTH = 100  # columns that a picture may have; the pane scrolls
NARROW = 110  # columns below which the exercise stands under the lesson


class LearnApp(App[None]):
    """The lessons.

    Parameters
    ----------
    number : int
        The lesson to begin with.
    draw : callable
        Gives the picture of a program in characters: from its path, options of ``scanviz graph``, and columns.
    walk : callable
        Profiles the program at a path and walks through it in the terminal.
    """

    CSS_PATH = "app.tcss"
    TITLE = "scanviz learn"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f5", "run_program", "run"),
        Binding("f6", "check", "check"),
        Binding("f7", "hint", "hint"),
        Binding("f8", "picture", "picture"),
        Binding("f9", "walk", "step by step"),
        Binding("f2", "lesson(-1)", "lesson before"),
        Binding("f3", "lesson(1)", "next lesson"),
        Binding("ctrl+q", "quit", "quit", priority=True),
    ]

    def __init__(
        self,
        number: int,
        draw: Callable[[Path, Sequence[str], int], str],
        walk: Callable[[Path], None],
    ) -> None:
        super().__init__()
        self.number, self.draw, self.walk = number, draw, walk
        self.written: dict[int, tuple[str, str]] = {}  # program and answer, by lesson
        self.hints_given: dict[int, int] = {}

    @property
    def lesson(self) -> Lesson:
        """The lesson that is shown."""
        return lessons()[self.number - 1]

    def compose(self) -> ComposeResult:
        """Lay the screen out."""
        yield Static("", id="title")
        with Horizontal(id="body"):
            with VerticalScroll(id="page"):
                yield Markdown("", id="text", open_links=False)
            with Vertical(id="desk"):
                yield Static("the program: change it, F5 runs it", classes="head")
                yield TextArea.code_editor("", language=None, id="program")
                yield Static("the exercise: complete it, F6 checks it", classes="head")
                yield TextArea.code_editor("", language=None, id="answer")
                yield RichLog(id="told", wrap=True, markup=False, highlight=False)
        yield Footer()

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Return what every line drawn goes through."""
        return [*super().get_line_filters(), Harmless()]

    def on_mount(self) -> None:
        """Show the first lesson."""
        self._show()

    def on_resize(self) -> None:
        """Stand beside or below one another, as there is room."""
        self.query_one("#body").set_class(self.size.width < NARROW, "narrow")

    def action_lesson(self, step: int) -> None:
        """Go to a lesson beside this one."""
        number = self.number + step
        if 1 <= number <= len(lessons()):
            self._keep()
            self.number = number
            self._show()

    def action_run_program(self) -> None:
        """Run the program as it is now."""
        program = self._text("program")
        self._in_background(lambda: run_program(program), "runs …", self._ran)

    def action_check(self) -> None:
        """Check the exercise."""
        lesson, program, answer = self.lesson, self._text("program"), self._text("answer")
        self._in_background(
            lambda: check_exercise(lesson, answer, program), "is being checked …", self._checked
        )

    def action_hint(self) -> None:
        """Show the next hint."""
        given = self.hints_given.get(self.number, 0)
        if given < len(self.lesson.hints):
            self.hints_given[self.number] = given + 1
            self._tell(f"Hint {given + 1} of {len(self.lesson.hints)}: {self.lesson.hints[given]}")
        else:
            self._tell("There is no further hint. The solution:", self.lesson.solution)

    def action_picture(self) -> None:
        """Draw the program's loop."""
        program, options = self._text("program"), self.lesson.picture
        self._in_background(lambda: self._drawn(program, options), "is being drawn …", self._ran)

    def action_walk(self) -> None:
        """Walk through the program step by step, in scanviz tui."""
        with tempfile.TemporaryDirectory() as folder, self.suspend():
            self.walk(self._saved(folder, self._text("program")))

    def _drawn(self, program: str, options: Sequence[str]) -> Outcome:
        with tempfile.TemporaryDirectory() as folder:
            return Outcome(True, output=self.draw(self._saved(folder, program), options, PICTURE_WIDTH))

    @staticmethod
    def _saved(folder: str, program: str) -> Path:
        path = Path(folder) / "lesson.py"
        path.write_text(program, "utf-8")
        return path

    def _in_background(self, work: Callable[[], Outcome], what: str, show: Callable[[Outcome], None]) -> None:
        """Do something in a thread, and show what came of it; what was going on before is not waited for."""
        self._tell(f"It {what}")
        self._show_outcome = show
        self.run_worker(work, thread=True, exclusive=True, exit_on_error=False)

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Show what a worker found."""
        if event.state is WorkerState.SUCCESS and isinstance(event.worker.result, Outcome):
            self._show_outcome(event.worker.result)
        elif event.state is WorkerState.ERROR:
            self._tell(str(event.worker.error))

    def _ran(self, outcome: Outcome) -> None:
        self._tell(outcome.told, outcome.output)

    def _checked(self, outcome: Outcome) -> None:
        if outcome.right:
            after = (
                "F3 goes on to the next lesson."
                if self.number < len(lessons())
                else "That was the last lesson."
            )
            self._tell(f"Right. {after}")
        else:
            self._tell(f"Not yet: {outcome.told}")

    def _show(self) -> None:
        lesson = self.lesson
        self.query_one("#title", Static).update(
            f"scanviz learn · lesson {lesson.number} of {len(lessons())} · {lesson.title}"
        )
        self.query_one("#text", Markdown).update(lesson.page)
        self.query_one("#page").scroll_home(animate=False)
        program, answer = self.written.get(self.number, (lesson.program, lesson.exercise))
        self.query_one("#program", TextArea).load_text(program)
        self.query_one("#answer", TextArea).load_text(answer)
        self._tell(lesson.question)

    def _keep(self) -> None:
        self.written[self.number] = self._text("program"), self._text("answer")

    def _text(self, name: str) -> str:
        return self.query_one(f"#{name}", TextArea).text

    def _tell(self, sentence: str, printed: str = "") -> None:
        log = self.query_one("#told", RichLog)
        log.clear()
        if sentence:
            log.write(plain_lines(sentence))
        for line in map(sanitize, printed.splitlines()):
            log.write(line, width=max(1, len(line)), shrink=False)
