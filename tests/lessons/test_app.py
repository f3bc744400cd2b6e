"""``scanviz learn`` as a learner uses it."""

from __future__ import annotations

import asyncio
import functools
import inspect
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import ClassVar

from msgspec import structs
from textual.pilot import Pilot
from textual.widgets import RichLog, Static, TextArea

import scanviz
from scanviz.lessons.app import PANES, LearnApp
from scanviz.lessons.exercise import run_program
from scanviz.lessons.player import LessonHelp, Player
from scanviz.lessons.source import Lesson, lesson
from scanviz.record.errors import ScanvizValueError
from scanviz.record.model import ProfileRecord
from scanviz.tui.footer import Footer
from scanviz.tui.help import is_explained, own_bindings
from tests.support.idle import unseen

drawn: list[tuple[str, tuple[str, ...]]] = []
stepped: list[tuple[str, tuple[str, ...]]] = []


def draw(program: str, options, width: int, stopped) -> str:
    drawn.append((program, tuple(options)))
    if "nothing to show" in drawn[-1][0]:
        raise ScanvizValueError("there is no loop")
    return "the picture\x1b[2J"


def message_of(app: LearnApp) -> str:
    return "\n".join(line.text for line in app.query_one("#message", RichLog).lines)


@functools.cache
def recording() -> ProfileRecord:
    """The steps of lesson 6, as ``scanviz profile --values`` keeps them."""
    names: dict[str, object] = {}
    exec(
        lesson(6).program.replace(
            "scanviz.grad(y[2], first)])", "scanviz.grad(y[2], first)], mode='reference')"
        ),
        names,
    )
    return scanviz.trace(names["f"], [1.0, 1.0], 2.0, 3.0).record


def steps(program: str, options, stopped) -> ProfileRecord:
    stepped.append((program, tuple(options)))
    if "broken" in stepped[-1][0]:
        raise ScanvizValueError("NameError: broken")
    return ProfileRecord() if "nothing to show" in stepped[-1][0] else recording()


class Lessons(LearnApp):
    """The lessons, with a picture and steps that are there at once."""

    draw, record = staticmethod(draw), staticmethod(steps)
    CSS_PATH: ClassVar = [Path(inspect.getfile(LearnApp)).parent / each for each in LearnApp.CSS_PATH]


class ShortLessons(Lessons):
    """The lessons with a line of text each: a whole page takes a second to lay out."""

    @property
    def lesson(self) -> Lesson:
        return structs.replace(super().lesson, page="the text")


async def press(pilot: Pilot[None], key: str) -> None:
    await pilot.press(key)
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()


def use(
    number: int,
    walk: Callable[[LearnApp, Pilot[None]], Awaitable[None]],
    size=(140, 40),
    app_type=ShortLessons,
) -> None:
    async def run() -> None:
        app = unseen(app_type(number))
        async with app.run_test(size=size) as pilot:
            await walk(app, pilot)
            app.screen._compositor.render_strips()

    asyncio.run(run())


def test_a_lesson_is_read_run_solved_with_hints_and_checked():
    async def walk(app: LearnApp, pilot: Pilot[None]) -> None:
        title = str(app.query_one("#title", Static).render())
        assert "lesson 6 of 12" in title and "Folding" in title
        app.query_one("#program", TextArea).focus()  # an editor, which has uses of its own for some keys
        app.query_one("#program", TextArea).load_text("print('changed', 6 * 7)")
        await press(pilot, "f5")
        assert "changed 42" in message_of(app)
        app.query_one("#program", TextArea).load_text(lesson(6).program)
        await press(pilot, "f6")
        assert "Not yet" in message_of(app) and "still open" in message_of(app)
        for k in range(4):
            await press(pilot, "f7")
            assert f"Hint {k + 1} of 4" in message_of(app)
            assert lesson(6).hints[k] in " ".join(message_of(app).split())
            assert all(
                len(line) <= app.query_one("#message").size.width for line in message_of(app).splitlines()
            )
        assert "F7 once more shows the solution" in " ".join(message_of(app).split())
        await pilot.resize_terminal(200, 40)
        await pilot.pause()
        assert max(map(len, message_of(app).splitlines())) > app.query_one("#message").size.width / 2
        await press(pilot, "f7")
        assert "after_step_0 = [8, 8, 4, 2, 1]" in message_of(app)
        app.query_one("#answer", TextArea).load_text(lesson(6).solution)
        await press(pilot, "f6")
        assert message_of(app).startswith("Right.")

    use(6, walk)


def test_an_answer_is_kept_while_moving_between_lessons():
    async def walk(app: LearnApp, pilot: Pilot[None]) -> None:
        app.query_one("#answer", TextArea).load_text("mine = 1")
        await press(pilot, "f3")
        assert app.lesson.number == 2 and app.query_one("#answer", TextArea).text == lesson(2).exercise
        await press(pilot, "f2")
        assert app.query_one("#answer", TextArea).text == "mine = 1"
        await press(pilot, "f2")
        assert app.lesson.number == 1

    use(1, walk)


def test_the_picture_is_of_the_program_as_it_is_now_and_cannot_steer_the_terminal():
    async def walk(app: LearnApp, pilot: Pilot[None]) -> None:
        drawn.clear()
        app.query_one("#program", TextArea).load_text("x = 1")
        await press(pilot, "f8")
        assert drawn == [("x = 1", lesson(5).picture)]
        assert "the picture" in message_of(app) and "\x1b" not in message_of(app)
        editor = app.query_one("#program")
        assert not editor.display  # the picture has its place
        await press(pilot, "f8")
        assert editor.display and app.focused is editor and len(drawn) == 1

    use(5, walk)


def seen(app: LearnApp) -> set[str]:
    return {pane for pane in PANES if app.query_one(f"#{pane}").display}


def rulers(app: LearnApp) -> str:
    return str(app.query_one("#values-rulers", Static).render())


def test_the_backward_cells_are_stepped_through_beside_the_text():
    async def walk(app: LearnApp, pilot: Pilot[None]) -> None:
        stepped.clear()
        await press(pilot, "f9")
        assert stepped == [(lesson(6).program, ("--mode", "reference"))]
        assert seen(app) == {"page", "player"}
        assert "row │ 0r│ 1r│ 2W│" in rulers(app)
        keys = app.query_one(Footer)._shown  # the learner's own first: not all have room on 80 columns
        assert [key for key, _ in keys[:5]] == ["b", "esc", "space", ":", "f"]
        await press(pilot, "b")
        cells = []
        await pilot.pause()
        for key in ("right", "right", "left", ""):
            lines = [
                line.split("│")[1:-1]
                for line in rulers(app).split("\n")
                if line.lstrip().startswith(("before", "after"))
            ]
            cells.append([[int(cell) for cell in line] for line in lines])
            if key:
                await press(pilot, key)
        before, first, second, third = [0, 0, 0, 0, 1], [0, 0, 3, 2, 1], [0, 6, 7, 2, 1], [21, 20, 7, 2, 1]
        assert cells == [[before, first], [first, second], [second, third], [first, second]]
        assert "∂y[2]" in rulers(app)
        await press(pilot, "f")
        assert [note.message for note in app._notifications] == [
            "No value of these steps is NaN or infinite."
        ]
        await press(pilot, "f4")
        assert seen(app) == {"page", "desk"}
        await press(pilot, "f9")  # nothing was changed: the steps are there still
        assert len(stepped) == 1 and app.query_one(Player).state.step == 1
        await press(pilot, "escape")
        assert seen(app) == {"page", "desk"} and app.focused is app.query_one("#program")

    use(6, walk)


def test_f1_and_question_mark_show_keys_and_the_glossary():
    async def walk(app: LearnApp, pilot: Pilot[None]) -> None:
        for opening, closing in (("f1", "f1"), ("question_mark", "escape")):
            await press(pilot, opening)
            assert isinstance(app.screen, LessonHelp)
            shown = " ".join(strip.text for strip in app.screen._compositor.render_strips())
            assert "f6" in shown and "check the exercise" in shown
            await pilot.press("end")
            await pilot.pause()
            shown = " ".join(strip.text for strip in app.screen._compositor.render_strips())
            assert "mitmot" in shown
            await press(pilot, "f3")  # of the lesson behind it
            await press(pilot, closing)
            assert not isinstance(app.screen, LessonHelp) and app.number == 6
        await press(pilot, "f4")
        await press(pilot, "question_mark")
        assert app.query_one("#program", TextArea).text.startswith("?")
        await press(pilot, "f1")
        assert isinstance(app.screen, LessonHelp)

    use(6, walk)


def test_every_key_of_the_lessons_is_explained():
    for kind in (LearnApp, Player):
        for owner, binding in own_bindings(kind):
            assert is_explained(owner, binding), binding.key


def test_no_typed_step_number_ends_the_application():
    async def walk(app: LearnApp, pilot: Pilot[None]) -> None:
        await press(pilot, "f9")
        for typed in ("--1", "²", "1:²", "2"):
            await pilot.press("colon", *typed, "enter")
            await pilot.pause()
        assert app.query_one(Player).state.step == 2

    use(6, walk)


def test_an_endless_program_is_stopped_on_leaving(monkeypatch):
    async def walk(app: LearnApp, pilot: Pilot[None]) -> None:
        app.query_one("#program", TextArea).load_text("while True: pass")
        await pilot.press("f5")
        app.query_one("#program", TextArea).load_text("print('another')")
        await press(pilot, "f5")
        assert message_of(app) == "another"
        app.query_one("#program", TextArea).load_text("while True: pass")
        await pilot.press("f5")

    seconds = 1200.0
    monkeypatch.setattr("scanviz.lessons.app.run_program", functools.partial(run_program, seconds=seconds))
    begun = time.monotonic()
    use(1, walk)  # which ends when all threads have ended
    assert time.monotonic() - begun < seconds / 2


def test_a_program_without_steps_shows_its_error_beside_it():
    async def walk(app: LearnApp, pilot: Pilot[None]) -> None:
        app.query_one("#program", TextArea).load_text("broken")
        await press(pilot, "f9")
        assert "NameError: broken" in message_of(app) and "desk" in seen(app)
        assert "Folding the backward walk" in str(app.query_one("#text").children[0].render())

    use(6, walk, app_type=Lessons)


def test_a_failing_program_without_a_picture_shows_its_own_error():
    async def walk(app: LearnApp, pilot: Pilot[None]) -> None:
        program = app.query_one("#program", TextArea)
        for key in ("f8", "f9"):
            program.load_text("x = 1\nmissing\n# nothing to show")
            await press(pilot, key)
            assert message_of(app).startswith("line 2 of the program: NameError: name 'missing'"), key
            assert program.display and program.cursor_location == (1, 0) and app.focused is program
            program.load_text("x = 1\n# nothing to show")
            await press(pilot, key)
            assert message_of(app) == {"f8": "there is no loop", "f9": "No loop ran in this program."}[key]

    use(6, walk)


def test_a_terminal_shows_as_many_panes_as_fit():
    async def walk(app: LearnApp, pilot: Pilot[None]) -> None:
        shown = [seen(app)]
        await press(pilot, "f9")
        for width in (80, 120, 200):
            await pilot.resize_terminal(width, 24)
            await pilot.pause()
            shown.append(seen(app))
            assert "row │" in rulers(app)
        assert shown == [{"page"}, {"player"}, {"page", "player"}, {"page", "desk", "player"}]
        await pilot.resize_terminal(80, 24)
        for pane in ("page", "desk", "desk", "player"):
            await press(pilot, "f4")
            assert seen(app) == {pane}
            keys = "" if pane == "player" else str(app.query_one(Footer).render())
            assert not keys or all(f" f{k} " in keys for k in range(2, 10)), keys

    use(6, walk, (80, 24))


def marked(app: LearnApp) -> str:
    """Return the title's text about the current place."""
    title = app.query_one("#title", Static).render()
    (span,) = [span for span in title.spans if "reverse" in repr(span.style)]
    return title.plain[span.start : span.end]


def test_keys_focus_both_editors_and_the_title_marks_the_focused_one():
    async def walk(app: LearnApp, pilot: Pilot[None]) -> None:
        stops = {"program": "#program", "exercise": "#answer", "text": "#page"}
        for stop, place in stops.items():
            await press(pilot, "f4")
            assert marked(app) == stop and app.focused is app.query_one(place)
        app.query_one("#answer").focus()  # a click does the same
        await pilot.pause()
        assert marked(app) == "exercise"
        assert [head.id for head in app.query(".here")] == ["of-answer"]
        for key in ("f6", "f7"):
            app.query_one("#program").focus()
            await press(pilot, key)
            assert app.focused is app.query_one("#answer"), key

    use(5, walk, (80, 24))


def test_a_line_that_is_wrong_has_the_cursor():
    async def walk(app: LearnApp, pilot: Pilot[None]) -> None:
        await press(pilot, "f6")
        answer, program = app.query_one("#answer", TextArea), app.query_one("#program", TextArea)
        assert answer.cursor_location == (7, 0) and app.focused is answer
        program.load_text("x = 1\ny = 2\nmissing\n")
        await press(pilot, "f5")
        assert program.cursor_location == (2, 0) and app.focused is program

    use(5, walk)


def test_an_editor_is_reset_to_the_lesson_and_the_reset_undone():
    async def walk(app: LearnApp, pilot: Pilot[None]) -> None:
        program, answer = app.query_one("#program", TextArea), app.query_one("#answer", TextArea)
        await press(pilot, "ctrl+r")
        assert "F4 goes there" in next(note.message for note in app._notifications)
        for key, editor, usual in (
            ("f4", program, app.lesson.program),
            ("f4", answer, app.lesson.exercise),
        ):
            await press(pilot, key)
            await press(pilot, "z")
            mine = editor.text
            assert mine != usual
            await press(pilot, "ctrl+r")
            assert editor.text == usual and editor.cursor_location == (0, 0)
            await press(pilot, "ctrl+z")
            assert editor.text == mine

    use(6, walk)


def test_messages_are_shown_after_the_text_was_scrolled():
    async def run() -> None:
        app = Lessons(1)
        async with app.run_test(size=(80, 24)) as pilot:  # drawn, as for a learner
            await pilot.pause()
            await pilot.press("pagedown")
            await app.animator.wait_until_complete()
            await pilot.pause()
            await press(pilot, "f4")
            await press(pilot, "f6")
            assert "still open" in message_of(app)

    asyncio.run(run())


def test_messages_have_the_lines_they_need_and_the_editors_the_rest():
    async def walk(app: LearnApp, pilot: Pilot[None]) -> None:
        log = app.query_one("#message", RichLog)
        least = log.outer_size.height
        for _ in range(4):
            await press(pilot, "f7")
        assert "return slope_w, slope" in message_of(app)
        assert least < log.outer_size.height == len(log.lines) + 1
        app.query_one("#program", TextArea).load_text("print(*range(99), sep='\\n')")
        await press(pilot, "f5")
        assert min(app.query_one(place).size.height for place in ("#program", "#answer")) >= 3
        await press(pilot, "f8")
        assert log.outer_size.height == app.query_one("#desk").size.height

    use(5, walk, (80, 24))
