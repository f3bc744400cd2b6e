"""A lesson as it is written: Markdown, whose fenced blocks are its program, its picture and its exercise.

The first ``python`` block is the program, ``output`` what it prints, ``picture`` the options of ``scanviz graph`` that draw it.
``python exercise`` is what a learner completes, ``python check`` raises an AssertionError with a word of help where that is wrong,
``python solution`` is one that is right; lines that begin with ``- Hint:`` are hints, from the gentle to the plain; ``sh`` says
what to run to see more.

:func:`reflowed` makes its lines as long as a terminal is wide: paragraphs and items of lists are filled anew, all else stays.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from functools import cache
from importlib import resources
from textwrap import wrap

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
    question : str
        What it answers.
    page : str
        The lesson as Markdown to be read: without the check, the solution and the hints.
    program, output : str
        A program of at most 40 lines, and what it prints.
    picture : tuple of str
        Options of ``scanviz graph`` that draw the program's loop.
    exercise, check, solution : str
        What is to be completed, what raises an AssertionError where it is wrong, and one that is right.
    hints : tuple of str
        From the gentle to the plain.
    """

    number: int
    title: str
    question: str
    page: str
    program: str
    output: str
    picture: tuple[str, ...]
    exercise: str
    check: str
    solution: str
    hints: tuple[str, ...]

    @property
    def mode(self) -> tuple[str, ...]:
        """Options of the command line for the mode in which the program is drawn, and its steps are kept.

        Examples
        --------
        >>> lesson(6).mode
        ('--mode', 'reference')
        """
        place = self.picture.index("--mode") if "--mode" in self.picture else len(self.picture)
        return self.picture[place : place + 2]


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
    blocks: dict[str, str] = {}
    for found in _BLOCK.finditer(text):
        blocks.setdefault(found["kind"], found["text"])
    heading = re.match(r"# (\d+)\. (.*)\n", text)
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
        question[1].replace("\n", " "),
        _to_read(text),
        blocks["python"],
        blocks["output"],
        tuple(shlex.split(blocks["picture"])),
        blocks["python exercise"],
        blocks["python check"],
        blocks["python solution"],
        tuple(_HINT.findall(text)),
    )


def _to_read(text: str) -> str:
    """Return a lesson without what would give the exercise away."""

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


_ITEM = re.compile(r"(?:- |\d+\. )")
_FENCE = "```"


def reflowed(page: str, width: int) -> str:
    r"""Return Markdown whose paragraphs fit a width; programs, tables, headings and indented lines stay as they are.

    Examples
    --------
    >>> print(reflowed("One two\nthree.\n\n    kept as it is\n- an item of a list", 12))
    One two
    three.
    <BLANKLINE>
        kept as it is
    - an item of
      a list
    """
    blocks = _blocks(page)
    return "\n".join(line for block, fills in blocks for line in (_filled(block, width) if fills else block))


def _blocks(page: str) -> Iterator[tuple[list[str], bool]]:
    """Iterate over paragraphs and items of a list, which are filled, and over all other lines one by one, which are not."""
    open_block: list[str] = []
    fenced = False
    for line in page.split("\n"):
        fence = line.startswith(_FENCE)
        alone = fenced or not line or line.startswith(("#", "|", _FENCE))
        alone = alone or (line.startswith("    ") and not open_block)
        if (alone or _ITEM.match(line)) and open_block:
            yield open_block, True
            open_block = []
        if alone:
            yield [line], False
        else:
            open_block.append(line)
        fenced = fenced != fence
    if open_block:
        yield open_block, True


def _filled(block: list[str], width: int) -> list[str]:
    item = _ITEM.match(block[0])
    behind = " " * len(item[0]) if item else ""
    text = " ".join(line.strip() for line in block)
    return wrap(text, width, subsequent_indent=behind, break_long_words=False, break_on_hyphens=False)
