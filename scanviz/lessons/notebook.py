"""A lesson as a Jupyter notebook: its text without the terminal's keys, and cells for its program, picture, steps and exercise.

The format is version 4.5, which is plain JSON: nothing of Jupyter is needed to write one.
"""

from __future__ import annotations

import json
import re
import sys
from typing import Any

from scanviz.lessons.source import Lesson

Cell = dict[str, Any]
IMPORTED = "from scanviz.notebook.lessons import check, picture, stepper\n\n"
COMMANDS = "## See it\n\nIn a shell, or in a cell with `!` before each command:\n"
_KEY = re.compile(r"\bF\d+\b|\bCtrl\+|\bkeys? \d|arrow keys")
_SENTENCE = re.compile(r"(?<=[.!?)])\s+(?=[A-Z(`])")


def notebook_name(lesson: Lesson) -> str:
    """Return the name of a lesson's file.

    Examples
    --------
    >>> from scanviz.lessons.source import lesson
    >>> notebook_name(lesson(6))
    '06_folding_the_backward_walk.ipynb'
    """
    words = re.sub(r"[^a-z0-9]+", "_", f"{lesson.title} {lesson.level}".lower()).strip("_")
    return f"{lesson.number:02}_{words}.ipynb"


def notebook(
    lesson: Lesson, svg: str = "", *, solutions: bool = True, requirement: str = ""
) -> dict[str, Any]:
    """Return a lesson as a notebook in JSON data.

    Parameters
    ----------
    lesson : Lesson
        The lesson.
    svg : str
        The picture of its loop, as output of its cell; empty for none.
    solutions : bool
        Whether hints and solution are in it.
    requirement : str
        The requirement that its first cell installs; by default this version, whose lessons the check knows.

    Examples
    --------
    >>> from scanviz.lessons.source import lesson
    >>> [cell["id"] for cell in notebook(lesson(6), solutions=False)["cells"]]
    ['install', 'question', 'program', 'after', 'picture', 'steps', 'formally', 'exercise', 'check', 'more']
    """
    wanted = requirement or f"scanviz=={sys.modules['scanviz'].__version__}"
    level = f', "{lesson.level}"' if lesson.level else ""
    before, _, rest = lesson.page.partition(f"```python\n{lesson.program}```\n")
    _, _, rest = rest.partition(f"```output\n{lesson.output}```\n")
    drawn, heading, rest = rest.partition("## Formally\n")
    formally, _, more = rest.partition(f"```python\n{lesson.exercise}```\n")
    cells = [
        _code("install", f'%pip install -q "{wanted}"'),
        _text("question", before),
        _code("program", lesson.program, _printed(lesson.output)),
        _text("after", without_terminal(drawn)),
        _code("picture", f"{IMPORTED}picture({lesson.number})", _picture(svg)),
        *([_code("steps", f"stepper({lesson.number})")] if lesson.loop else []),
        _text("formally", heading + formally),
        _code("exercise", lesson.exercise),
        *([_text("hints", hints_that_open(lesson))] if solutions else []),
        _code("check", f"check({lesson.number}, globals(){level})"),
        _text("more", without_terminal(more).replace("## See it\n", COMMANDS, 1)),
    ]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    about = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"cells": cells, "metadata": about, "nbformat": 4, "nbformat_minor": 5}


def notebook_text(lesson: Lesson, svg: str = "", *, solutions: bool = True, requirement: str = "") -> str:
    """Return a lesson's notebook as the text of its file."""
    made = notebook(lesson, svg, solutions=solutions, requirement=requirement)
    return json.dumps(made, indent=1, ensure_ascii=False) + "\n"


def answer_in(text: str) -> str:
    """Return the code that a learner wrote in a notebook: its code cells without magics, picture, steps and check.

    Raises
    ------
    ValueError
        If the text is no notebook.
    """
    try:
        cells = json.loads(text)["cells"]
        sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    except (KeyError, TypeError) as error:
        raise ValueError(f"it is no notebook: {error}") from None
    own = [
        one for one in sources if not re.match(r"(?:check|stepper)\(|from scanviz\.notebook", one.lstrip())
    ]
    return re.sub(r"^[%!].*\n?", "", "\n\n\n".join(own), flags=re.MULTILINE)


def without_terminal(text: str) -> str:
    r"""Return a text without the terminal's keys: each paragraph ends before the first sentence that names one.

    Examples
    --------
    >>> without_terminal("The ruler moves. Press F9 to see it. It\nmoves down.\n\nThat is all.")
    'The ruler moves.\n\nThat is all.'
    """
    kept = []
    for paragraph in text.replace("In a shell:", "").split("\n\n"):
        if "```" in paragraph:
            kept.append(re.sub(r"^scanviz tui .*\n", "", paragraph, flags=re.MULTILINE))
            continue
        rest = paragraph
        key = _KEY.search(paragraph)
        if key is not None:
            begins = [0, *(found.end() for found in _SENTENCE.finditer(paragraph)), len(paragraph)]
            rest = paragraph[: max(begin for begin in begins if begin <= key.start())].rstrip()
        kept += [rest] if rest.strip() else []
    return "\n\n".join(kept)


def hints_that_open(lesson: Lesson) -> str:
    """Return hints and solution as Markdown, each folded."""
    closed = [(f"Hint {k}", hint) for k, hint in enumerate(lesson.hints, start=1)]
    closed.append(("Solution", f"```python\n{lesson.solution}```"))
    return "\n".join(
        f"<details><summary>{title}</summary>\n\n{text}\n\n</details>\n" for title, text in closed
    )


def _text(name: str, text: str) -> Cell:
    return {"cell_type": "markdown", "id": name, "metadata": {}, "source": _lines(text)}


def _code(name: str, text: str, outputs: list[dict[str, Any]] | None = None) -> Cell:
    about = {"cell_type": "code", "id": name, "metadata": {}, "source": _lines(text)}
    return {**about, "execution_count": None, "outputs": outputs or []}


def _printed(text: str) -> list[dict[str, Any]]:
    return [{"output_type": "stream", "name": "stdout", "text": _lines(text)}]


def _picture(svg: str) -> list[dict[str, Any]]:
    data = {"image/svg+xml": _lines(svg), "text/plain": ["the picture of the loop"]}
    return [{"output_type": "display_data", "data": data, "metadata": {}}] if svg else []


def _lines(text: str) -> list[str]:
    """Return the lines of a text as in a notebook: the last without a newline."""
    return text.strip("\n").splitlines(keepends=True)
