"""A lesson as a Jupyter notebook: the same text, with its program, its picture and its exercise as cells, and hints that open.

What a notebook is made of is the format's version 4.5, which is plain JSON: nothing of Jupyter is needed to write one.
"""

from __future__ import annotations

import json
import re
from typing import Any

from scanviz.lessons.source import Lesson

Cell = dict[str, Any]
IMPORTED = "from scanviz.notebook.lessons import check, picture\n\n"


def notebook_name(lesson: Lesson) -> str:
    """Return the name of a lesson's file.

    Examples
    --------
    >>> from scanviz.lessons.source import lesson
    >>> notebook_name(lesson(6))
    '06_folding_the_backward_walk.ipynb'
    """
    return f"{lesson.number:02}_{re.sub(r'[^a-z0-9]+', '_', lesson.title.lower()).strip('_')}.ipynb"


def notebook(lesson: Lesson, svg: str = "") -> dict[str, Any]:
    """Return a lesson as a notebook in JSON data.

    Parameters
    ----------
    lesson : Lesson
        The lesson.
    svg : str
        The picture of its loop, as output of its cell; empty for none.

    Examples
    --------
    >>> from scanviz.lessons.source import lesson
    >>> [cell["cell_type"] for cell in notebook(lesson(6))["cells"]]
    ['markdown', 'code', 'markdown', 'code', 'markdown', 'code', 'markdown', 'code', 'markdown']
    """
    before, _, rest = lesson.page.partition(f"```python\n{lesson.program}```\n")
    _, _, rest = rest.partition(f"```output\n{lesson.output}```\n")
    drawn, heading, rest = rest.partition("## Formally\n")
    formally, _, more = rest.partition(f"```python\n{lesson.exercise}```\n")
    cells = [
        _text("question", before),
        _code("program", lesson.program, _printed(lesson.output)),
        _text("after", drawn),
        _code("picture", f"{IMPORTED}picture({lesson.number})", _picture(svg)),
        _text("formally", heading + formally),
        _code("exercise", lesson.exercise),
        _text("hints", hints_that_open(lesson)),
        _code("check", f"check({lesson.number}, globals())"),
        _text("more", more),
    ]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    about = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"cells": cells, "metadata": about, "nbformat": 4, "nbformat_minor": 5}


def notebook_text(lesson: Lesson, svg: str = "") -> str:
    """Return a lesson's notebook as the text of its file."""
    return json.dumps(notebook(lesson, svg), indent=1, ensure_ascii=False) + "\n"


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
