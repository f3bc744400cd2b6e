"""Read a lesson: Markdown with fenced blocks for its program, its picture and its exercise.

The first ``python`` block is the program, ``output`` what it prints, ``picture`` the options of ``scanviz graph`` that draw it.
A learner completes ``python exercise``; ``python check`` raises an AssertionError with a word of help where it is wrong, and
``python solution`` is a right one.  Lines that begin with ``- Hint:`` are hints, from the gentle to the plain.  ``sh`` has
commands that show more.
"""

from __future__ import annotations

import re
import shlex
from functools import cache
from importlib import resources

from msgspec import Struct

from scanviz.record.errors import ScanvizValueError

_BLOCK = re.compile(r"^```(?P<kind>[^\n]*)\n(?P<text>.*?)^```$\n{0,2}", re.MULTILINE | re.DOTALL)
_HINT = re.compile(r"^- Hint: (.*)$", re.MULTILINE)
_HINTS = re.compile(r"(?:^- Hint: .*\n)+\n", re.MULTILINE)
_FOR_THE_CHECK = ("python check", "python solution", "picture")


class Lesson(Struct, frozen=True):
    """One lesson.

    Attributes
    ----------
    number : int
        From 1.
    title : str
        Its heading, without the number.
    optional : bool
        Whether only authors of rewrites need it: its heading ends in "(optional)".
    question : str
        Its question.
    page : str
        The lesson as Markdown without check, solution and hints.
    program, output : str
        A program of at most 40 lines, and its output.
    picture : tuple of str
        Options of ``scanviz graph`` that draw the program's loop.
    exercise, check, solution : str
        Code to complete, code that raises an AssertionError for a wrong answer, and a right answer.
    hints : tuple of str
        From the gentle to the plain.
    level : str
        ``"easier"`` or ``"harder"`` for another form of the exercise; empty for the lesson's own.
    """

    number: int
    title: str
    optional: bool
    question: str
    page: str
    program: str
    output: str
    picture: tuple[str, ...]
    exercise: str
    check: str
    solution: str
    hints: tuple[str, ...]
    level: str = ""

    @property
    def entry(self) -> str:
        """The title in a list of lessons.

        Examples
        --------
        >>> lesson(8).entry
        'Who reaches whom (optional)'
        """
        return f"{self.title} (optional)" if self.optional else self.title

    @property
    def mode(self) -> tuple[str, ...]:
        """Command line options for the mode of the picture and the steps.

        Examples
        --------
        >>> lesson(6).mode
        ('--mode', 'reference')
        """
        place = self.picture.index("--mode") if "--mode" in self.picture else len(self.picture)
        return self.picture[place : place + 2]

    @property
    def loop(self) -> tuple[str, ...]:
        """The options of a picture of steps that choose the loop and the mode; empty for other pictures.

        Examples
        --------
        >>> lesson(6).loop, lesson(7).loop
        (('--mode', 'reference', '--scan', 'y'), ())
        """
        if "--unrolled" not in self.picture:
            return ()
        place = self.picture.index("--unrolled")
        return tuple(
            word for word in (*self.picture[:place], *self.picture[place + 2 :]) if word != "--values"
        )


def lesson_from(text: str) -> Lesson:
    """Return a lesson from its Markdown.

    Raises
    ------
    ScanvizValueError
        If a part is missing.

    Examples
    --------
    >>> lesson(6).title, len(lesson(6).hints)
    ('Folding the backward walk', 4)
    """
    blocks = blocks_of(text)
    heading = re.match(r"# (\d+)\. (.*?)( \(optional\))?\n", text)
    question = re.search(r"^\*\*(.*?)\*\*$", text, re.MULTILINE | re.DOTALL)
    missing = [
        kind for kind in ("python", "output", "python exercise", *_FOR_THE_CHECK) if kind not in blocks
    ]
    if heading is None or question is None or missing:
        raise ScanvizValueError(
            "a lesson lacks a part",
            expected="a numbered heading, a question in bold, and the blocks of a lesson",
            found=f"no {', '.join(missing) or 'heading or question'}",
        )
    return Lesson(
        int(heading[1]),
        heading[2],
        heading[3] is not None,
        question[1].replace("\n", " "),
        _to_read(text),
        blocks["python"],
        blocks["output"],
        tuple(shlex.split(blocks["picture"])),
        blocks["python exercise"],
        blocks["python check"],
        blocks["python solution"],
        hints_of(text),
    )


def blocks_of(text: str) -> dict[str, str]:
    """Return the first fenced block of each kind in a text."""
    return {found["kind"]: found["text"] for found in reversed(list(_BLOCK.finditer(text)))}


def hints_of(text: str) -> tuple[str, ...]:
    """Return the hints of a text."""
    return tuple(_HINT.findall(text))


def _to_read(text: str) -> str:
    """Return a lesson without the solution."""

    def kept(found: re.Match[str]) -> str:
        if found["kind"] in _FOR_THE_CHECK:
            return ""
        return found[0].replace("```python exercise", "```python")

    return _HINTS.sub("", _BLOCK.sub(kept, text))


@cache
def lessons() -> tuple[Lesson, ...]:
    """Return all lessons, in their order."""
    folder = resources.files("scanviz.lessons") / "texts"
    texts = [file.read_text("utf-8") for file in folder.iterdir() if file.name.endswith(".md")]
    return tuple(sorted(map(lesson_from, texts), key=lambda one: one.number))


def lesson(number: int) -> Lesson:
    """Return a lesson by its number.

    Raises
    ------
    ScanvizValueError
        If there is none of that number.
    """
    found = next((one for one in lessons() if one.number == number), None)
    if found is None:
        raise ScanvizValueError(
            f"there is no lesson {number}", expected=f"1 to {len(lessons())}", found=str(number)
        )
    return found
