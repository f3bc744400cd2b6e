"""Notes for teachers: of each lesson the misconceptions that its check knows, and its exercise in an easier and a harder form.

They are the Markdown files of ``notes``, named as those of ``texts``.  A row of a table is a misconception, a wrong piece of the
solution, the right one, and a piece of the check's answer; tests give each to the check.  ``python easier`` is the exercise
with parts filled in, for the lesson's own check; ``python harder`` has a check, a solution and hints of its own.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from typing import Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from scanviz.lessons.source import Lesson, blocks_of, hints_of
from scanviz.record.errors import ScanvizValueError

Level = Literal["easier", "harder"]
LEVELS: tuple[Level, ...] = ("easier", "harder")
_ROW = re.compile(r"^\| (.*?) \| `(.*?)` \| `(.*?)` \| (.*?) \|$", re.MULTILINE)
_SECTION = r"^## {}\n\n(.*?)(?=^```python|^## |\Z)"
_EXERCISE = re.compile(r"^## Exercise\n.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)


class Misconception(NamedTuple):
    """A misconception that a check answers: a wrong piece of the solution, the right one, and a piece of the answer."""

    thought: str
    wrong: str
    right: str
    answer: str


class TeachingNotes(Struct, frozen=True):
    """Notes of a lesson for teachers.

    Attributes
    ----------
    page : str
        The notes as Markdown, with solutions and without checks.
    misconceptions, of_harder : tuple of Misconception
        Those that the lesson's check answers, and the check of the harder form.
    easier, harder : Lesson
        The lesson with its exercise in another form.
    """

    page: str
    misconceptions: tuple[Misconception, ...]
    of_harder: tuple[Misconception, ...]
    easier: Lesson
    harder: Lesson


@cache
def notes(lesson: Lesson) -> TeachingNotes:
    """Return the notes of a lesson.

    Raises
    ------
    ScanvizValueError
        If there are none.

    Examples
    --------
    >>> from scanviz.lessons.source import lesson
    >>> notes(lesson(2)).misconceptions[0].thought
    'There are as many initial rows as taps.'
    """
    folder = resources.files("scanviz.lessons") / "notes"
    files = [file for file in folder.iterdir() if file.name.startswith(f"{lesson.number:02}_")]
    if not files:
        raise ScanvizValueError(f"lesson {lesson.number} has no notes for teachers")
    text = files[0].read_text("utf-8")
    blocks = blocks_of(text)
    easier = _with_exercise(lesson, "easier", text, blocks)
    harder = replace(
        _with_exercise(lesson, "harder", text, blocks),
        check=blocks["python check"],
        solution=blocks["python solution"],
        hints=hints_of(text),
    )
    tables = [tuple(map(Misconception._make, _ROW.findall(part))) for part in text.split("## Harder\n", 1)]
    return TeachingNotes(_page(lesson, text), tables[0], tables[1], easier, harder)


def at_level(lesson: Lesson, level: str) -> Lesson:
    """Return a lesson with its exercise in another form: ``"easier"``, ``"harder"``, or as it stands for an empty text.

    Raises
    ------
    ScanvizValueError
        If there is no such form.
    """
    if not level:
        return lesson
    if level not in LEVELS:
        raise ScanvizValueError(
            f"an exercise has no level {level!r}", expected=" or ".join(LEVELS), found=level
        )
    found = notes(lesson)
    return found.easier if level == "easier" else found.harder


def _with_exercise(lesson: Lesson, level: Level, text: str, blocks: dict[str, str]) -> Lesson:
    exercise = blocks[f"python {level}"]
    about = re.search(_SECTION.format(level.capitalize()), text, re.MULTILINE | re.DOTALL)
    task = f"## Exercise\n\n{about[1] if about else ''}```python\n{exercise}```\n\n"
    page = _EXERCISE.sub(lambda _: task, lesson.page, count=1)
    return replace(lesson, page=page, exercise=exercise, level=level)


def _page(lesson: Lesson, text: str) -> str:
    """Return notes to read: the solution of the lesson's exercise in front, no checks."""
    text = re.sub(r"^```python check\n.*?^```\n\n", "", text, flags=re.MULTILINE | re.DOTALL)
    text = text.replace("```python solution\n", "Solution:\n\n```python\n")
    text = re.sub(r"^```python (?:easier|harder)\n", "```python\n", text, flags=re.MULTILINE)
    solved = f"## Solution of the exercise\n\n```python\n{lesson.solution}```\n\n"
    text = re.sub(r"\A# .*", f"# {lesson.number}. {lesson.title}: notes for teachers", text)
    return text.replace("## Easier\n", f"{solved}## Easier\n", 1)
