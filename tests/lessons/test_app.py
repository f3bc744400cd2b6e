"""``scanviz learn`` as a learner uses it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from textual.pilot import Pilot
from textual.widgets import RichLog, Static, TextArea

from scanviz.lessons.app import LearnApp
from scanviz.lessons.source import lesson

drawn: list[tuple[str, tuple[str, ...]]] = []


def draw(path: Path, options, width: int) -> str:
    drawn.append((path.read_text("utf-8"), tuple(options)))
    return "the picture\x1b[2J"


def told(app: LearnApp) -> str:
    return "\n".join(line.text for line in app.query_one("#told", RichLog).lines)


async def press(pilot: Pilot[None], key: str) -> None:
    await pilot.press(key)
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()


def use(number: int, walk: Callable[[LearnApp, Pilot[None]], Awaitable[None]]) -> None:
    async def run() -> None:
        app = LearnApp(number, draw, lambda path: None)
        async with app.run_test(size=(140, 40)) as pilot:
            await walk(app, pilot)

    asyncio.run(run())


def test_a_lesson_is_read_run_solved_with_hints_and_checked():
    async def walk(app: LearnApp, pilot: Pilot[None]) -> None:
        title = str(app.query_one("#title", Static).render())
        assert "lesson 6 of 10" in title and "Folding" in title
        app.query_one("#program", TextArea).load_text("print('changed', 6 * 7)")
        await press(pilot, "f5")
        assert "changed 42" in told(app)
        app.query_one("#program", TextArea).load_text(lesson(6).program)
        await press(pilot, "f6")
        assert "Not yet" in told(app) and "still open" in told(app)
        for k in range(3):
            await press(pilot, "f7")
            assert f"Hint {k + 1} of 3" in told(app)
        await press(pilot, "f7")
        assert "after_step_0 = [8, 8, 4, 2, 1]" in told(app)
        app.query_one("#answer", TextArea).load_text(lesson(6).solution)
        await press(pilot, "f6")
        assert told(app).startswith("Right.")

    use(6, walk)


def test_what_was_written_stays_while_one_goes_from_lesson_to_lesson():
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
        assert "the picture" in told(app) and "\x1b" not in told(app)

    use(5, walk)
