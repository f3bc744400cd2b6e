"""``scanviz learn`` in the terminal: the lesson's text, and beside it the program with its exercise, or the program step by step.

The program can be changed and run in place; the exercise is checked; the picture and the steps are of the program as it is now.
The learner's text is kept between lessons.  A narrow terminal shows one pane at a time, a wide one all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.events import DescendantFocus, Resize
from textual.widgets import Markdown, RichLog, Static, TextArea
from textual.worker import Worker, WorkerState, get_current_worker

from scanviz.lessons.exercise import (
    ANSWER,
    PROGRAM,
    SECONDS,
    Outcome,
    Stopped,
    check_exercise,
    draw_in_characters,
    run_program,
    with_steps,
)
from scanviz.lessons.player import KEYS, LessonHelp, Player
from scanviz.lessons.source import Lesson, lessons
from scanviz.lessons.teaching import at_level
from scanviz.record.errors import ScanvizValueError
from scanviz.record.model import ProfileRecord
from scanviz.record.plain_text import plain_lines, sanitize
from scanviz.tui.footer import Footer
from scanviz.tui.model.state import ViewState
from scanviz.tui.terminal import TerminalApp

NARROW = 110  # columns, below which one pane is shown
WIDE = 170  # columns, from which all panes are shown
Pane = Literal["page", "desk", "player"]
PANES: tuple[Pane, ...] = ("page", "desk", "player")
Stop = Literal["text", "program", "exercise", "steps"]  # where F4 stops
STOPS: dict[Stop, tuple[Pane, str]] = {  # its pane, and the widget with the focus
    "text": ("page", "#page"),
    "program": ("desk", "#program"),
    "exercise": ("desk", "#answer"),
    "steps": ("player", "#player"),
}
_STOP_OF: dict[str, Stop] = {PROGRAM: "program", ANSWER: "exercise"}  # by the part with the error
# Actions that need the lesson on the screen.
OF_THE_LESSON = frozenset(
    ["help", "lesson", "next_stop", "run_program", "check", "hint", "picture", "steps", "reset"]
)
LEAST_MESSAGE = 4  # lines below the editors, divider included


class LearnApp(TerminalApp):
    """The lessons.

    Parameters
    ----------
    number : int
        The lesson to begin with.
    level : str
        ``"easier"`` or ``"harder"`` for another form of the exercises.
    """

    CSS_PATH: ClassVar[Any] = ["../tui/app.tcss", "app.tcss"]
    TITLE = "scanviz learn"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        # Priority: editors use some of these keys themselves.
        Binding("f2", "lesson(-1)", "back", priority=True),
        Binding("f3", "lesson(1)", "on", priority=True),
        Binding("f4", "next_stop", "pane", priority=True),
        Binding("f5", "run_program", "run", priority=True),
        Binding("f6", "check", "check", priority=True),
        Binding("f7", "hint", "hint", priority=True),
        Binding("f8", "picture", "draw", priority=True),
        Binding("f9", "steps", "steps", priority=True),
        Binding("ctrl+r", "reset", "reset", show=False, priority=True),
        Binding("f1", "help", "help", show=False, priority=True),
        Binding("question_mark", "help", "help", show=False),  # outside of editors
        Binding("ctrl+q", "quit", "quit", priority=True),
    ]

    draw = staticmethod(draw_in_characters)
    record = staticmethod(with_steps)

    def __init__(self, number: int, level: str = "") -> None:
        super().__init__()
        self.number = number
        self.level = level
        self.written: dict[int, tuple[str, str]] = {}  # program and answer, by lesson
        self.hints_given: dict[int, int] = {}
        self.stop: Stop = "text"
        self._columns = 80
        self._stepped = ""  # the program that the player shows
        self._message = ("", "")  # a sentence, and what was printed

    @property
    def seen(self) -> Pane:
        """The pane with the focus."""
        return STOPS[self.stop][0]

    @property
    def lesson(self) -> Lesson:
        """The lesson that is shown."""
        return at_level(lessons()[self.number - 1], self.level)

    def compose(self) -> ComposeResult:
        """Lay the screen out."""
        yield Static("", id="title")
        with Horizontal(id="panes"):
            with VerticalScroll(id="page"):
                yield Markdown("", id="text", open_links=False)
            with Vertical(id="desk"):
                yield Static(
                    "the program: change it, F5 runs it, Ctrl+R resets it", classes="head", id="of-program"
                )
                yield TextArea.code_editor("", language=None, id="program")
                yield Static(
                    "the exercise: complete it, F6 checks it, F7 helps", classes="head", id="of-answer"
                )
                yield TextArea.code_editor("", language=None, id="answer")
                yield RichLog(
                    id="message", wrap=True, min_width=1, markup=False, highlight=False, auto_scroll=False
                )
            yield Player(id="player")
        yield Footer(first=KEYS)

    def on_mount(self) -> None:
        """Show the first lesson."""
        self._show()

    # what is seen

    def on_resize(self, event: Resize) -> None:
        """Show as many panes as fit."""
        self._columns = event.size.width
        self._lay_out()

    def _lay_out(self) -> None:
        """Show the pane with the focus, and others if there is room."""
        width, recorded = self._columns, self.query_one(Player).recorded
        shown: set[Pane] = {self.seen}
        if width >= NARROW:
            shown |= {"page"} if self.seen != "page" else {"desk"}
        if width >= WIDE:
            shown |= {"page", "desk", "player"} if recorded else {"page", "desk"}
        for pane in PANES:
            self.query_one(f"#{pane}").display = pane in shown
        self.call_after_refresh(self._write_message)  # with the new width
        self.query_one("#panes").set_class(len(shown) == 1, "alone")
        self._write_title()

    def _write_title(self) -> None:
        """Show the lesson's title and the present part."""
        level = f" ({self.level})" if self.level else ""
        title = Text(f"lesson {self.number} of {len(lessons())}{level} · {self.lesson.title} ", no_wrap=True)
        for stop in STOPS:
            title.append(" ", style="not bold")
            title.append(stop, style="reverse" if stop == self.stop else "not bold")
        self.query_one("#title", Static).update(title)
        for editor in ("#program", "#answer"):
            self.query_one(f"#of-{editor[1:]}").set_class(STOPS[self.stop][1] == editor, "here")

    def action_stop(self, stop: Stop) -> None:
        """Go to a part of the lesson."""
        self.stop = stop
        self._lay_out()
        if stop == "steps":
            self.query_one(Player).view.focus_inside()
        else:
            self.query_one(STOPS[stop][1]).focus()

    def action_next_stop(self) -> None:
        """Go to the next part, skipping empty steps."""
        order = [stop for stop in STOPS if stop != "steps" or self.query_one(Player).recorded]
        self.action_stop(order[(order.index(self.stop) + 1) % len(order)])

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        """Follow the focus."""
        around = {f"#{widget.id}" for widget in event.widget.ancestors_with_self}
        stop = next((stop for stop, (_, place) in STOPS.items() if place in around), self.stop)
        if stop != self.stop:
            self.stop = stop
            self._write_title()

    def action_lesson(self, step: int) -> None:
        """Go to the previous or next lesson."""
        number = self.number + step
        if 1 <= number <= len(lessons()):
            self._keep()
            self.number = number
            self._show()

    def action_run_program(self) -> None:
        """Run the program as it is now."""
        program = self._text("program")
        self._in_background(lambda: run_program(program, stopped=_not_waited_for()), "runs …", self._ran)

    def action_check(self) -> None:
        """Check the exercise."""
        lesson, program, answer = self.lesson, self._text("program"), self._text("answer")
        self._in_background(
            lambda: check_exercise(lesson, answer, program, stopped=_not_waited_for()),
            "is being checked …",
            self._checked,
        )
        self.action_stop("exercise")

    def action_reset(self) -> None:
        """Reset the focused editor to the lesson's text; Ctrl+Z undoes it."""
        parts = {"program": self.lesson.program, "exercise": self.lesson.exercise}
        if self.stop not in parts:
            self.notify("Ctrl+R resets the program or the exercise: F4 goes there.")
            return
        editor = self.query_one(STOPS[self.stop][1], TextArea)
        editor.replace(parts[self.stop], editor.document.start, editor.document.end)
        editor.move_cursor((0, 0))

    def action_hint(self) -> None:
        """Show the next hint."""
        self.action_stop("exercise")
        given = self.hints_given.get(self.number, 0)
        if given < len(self.lesson.hints):
            self.hints_given[self.number] = given + 1
            last = given + 1 == len(self.lesson.hints)
            more = " (That was the last hint: F7 once more shows the solution.)" if last else ""
            self._show_message(
                f"Hint {given + 1} of {len(self.lesson.hints)}: {self.lesson.hints[given]}{more}"
            )
        else:
            self._show_message("There is no further hint. The solution:", self.lesson.solution)

    def action_picture(self) -> None:
        """Show the picture of the loop in place of the program, or the program again."""
        if self.query_one("#desk").has_class("drawn") and self.seen == "desk":
            self._show_message("")
            self.action_stop("program")
            return
        program, options = self._text("program"), self.lesson.picture
        shared = 1 if self._columns < NARROW else 2 if self._columns < WIDE else 3  # panes beside one another
        width = max(40, self._columns // shared - 4)
        self._in_background(lambda: self._drawn(program, options, width), "is being drawn …", self._drew)

    def _drew(self, outcome: Outcome) -> None:
        if not outcome.right:
            self._ran(outcome)
            return
        self._show_message("F8 goes back to the program.", outcome.output, drawn=True)
        self.query_one("#message").focus()

    def action_steps(self) -> None:
        """Step through the program, after running it if it changed."""
        program = self._text("program")
        if program == self._stepped:
            self.action_stop("steps")
        else:
            self._in_background(
                lambda: self._recorded(program), "runs, and its steps are kept …", self._opened
            )

    def _recorded(self, program: str) -> tuple[str, ProfileRecord | Outcome]:
        options, stopped = self.lesson.mode, _not_waited_for()
        record = self.record(program, options, stopped)
        return program, record if record.loops else _why(program, "No loop ran in this program.", stopped)

    def _opened(self, recorded: tuple[str, ProfileRecord | Outcome]) -> None:
        self._stepped, record = recorded
        if isinstance(record, Outcome):
            self._stepped = ""
            self._ran(record)
            return
        self._show_message("F9 goes to the steps, F4 to the other panes.")
        self.query_one(Player).open(record)
        self.action_stop("steps")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Return whether an action is available: not those of the lesson behind the help page."""
        helps = any(isinstance(screen, LessonHelp) for screen in self.screen_stack)
        return not (helps and action in OF_THE_LESSON)

    def action_help(self) -> None:
        """Show the help page."""
        self.push_screen(LessonHelp(self.query_one(Player)))

    def action_first_bad(self) -> None:
        """Go to the first step with a NaN or an infinity."""
        self.query_one(Player).first_bad()

    def _drawn(self, program: str, options: Sequence[str], width: int) -> Outcome:
        stopped = _not_waited_for()
        try:
            return Outcome(True, output=self.draw(program, options, width, stopped))
        except ScanvizValueError as none:
            return _why(program, str(none), stopped)

    def _in_background(self, work: Callable[[], Any], what: str, show: Callable[[Any], None]) -> None:
        """Run work in a thread and show its result; earlier work is cancelled."""
        self._show_message(f"It {what} ({SECONDS:g} seconds at most)")
        if self.seen != "desk":
            self.action_stop("program")
        self._show_result = show
        self.run_worker(work, thread=True, exclusive=True, exit_on_error=False)

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Show the result of a worker."""
        if event.state is WorkerState.SUCCESS:
            self._show_result(event.worker.result)
        elif event.state is WorkerState.ERROR:
            self._show_message(str(event.worker.error))

    def _ran(self, outcome: Outcome) -> None:
        self._show_message(outcome.problem, outcome.output)
        self._go_to(outcome)

    def _go_to(self, outcome: Outcome) -> None:
        """Put the cursor on the wrong line of the learner."""
        stop = _STOP_OF.get(outcome.part)
        if stop is None or outcome.line is None:
            return
        self.query_one(STOPS[stop][1], TextArea).move_cursor((outcome.line - 1, 0))
        if self.seen == "desk":
            self.action_stop(stop)

    def _checked(self, outcome: Outcome) -> None:
        if outcome.right:
            after = (
                "F3 goes on to the next lesson."
                if self.number < len(lessons())
                else "That was the last lesson."
            )
            self._show_message(f"Right. {after}")
        else:
            self._show_message(f"Not yet: {outcome.problem}")
            self._go_to(outcome)

    def _show(self) -> None:
        lesson = self.lesson
        self.workers.cancel_all()
        self._stepped = ""
        self.query_one(Player).state = ViewState(ProfileRecord())
        self.query_one("#text", Markdown).update(lesson.page)
        self.query_one("#page").scroll_home(animate=False)
        program, answer = self.written.get(self.number, (lesson.program, lesson.exercise))
        self.query_one("#program", TextArea).load_text(program)
        self.query_one("#answer", TextArea).load_text(answer)
        self._show_message(lesson.question)
        self.action_stop("text")

    def _keep(self) -> None:
        self.written[self.number] = self._text("program"), self._text("answer")

    def _text(self, name: str) -> str:
        return self.query_one(f"#{name}", TextArea).text

    def _show_message(self, sentence: str, printed: str = "", *, drawn: bool = False) -> None:
        """Show a sentence and printed output below the program, or a picture in its place."""
        self.query_one("#desk").set_class(drawn, "drawn")
        self._message = sentence, printed
        self._write_message()
        self.query_one("#message", RichLog).scroll_home(animate=False)

    def _write_message(self) -> None:
        """Write the message as wide as its pane."""
        log, (sentence, printed) = self.query_one("#message", RichLog), self._message
        if log.size.width:  # Textual sends no Resize to what it shows first after another pane was scrolled
            log.on_resize(Resize(log.size, log.virtual_size))
        log.clear()
        if sentence:
            log.write(plain_lines(sentence))
        for line in map(sanitize, printed.splitlines()):
            log.write(line, width=max(1, len(line)), shrink=False)
        drawn = self.query_one("#desk").has_class("drawn")
        room = self.size.height - 10  # both editors keep three lines
        log.styles.height = None if drawn else max(LEAST_MESSAGE, min(len(log.lines) + 1, room))


def _why(program: str, otherwise: str, stopped: Stopped) -> Outcome:
    """Return why a program has nothing to show: its error, if any."""
    outcome = run_program(program, stopped=stopped)
    return Outcome(False, otherwise) if outcome.right else outcome


def _not_waited_for() -> Stopped:
    """Return a test for the cancellation of this worker."""
    worker = get_current_worker()
    return lambda: worker.is_cancelled
