"""Functions for the cells of a lesson's notebook: its picture, its stepper, and the check of its exercise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scanviz.lessons.exercise import check_here, stepper_of, svg_of
from scanviz.lessons.source import lesson
from scanviz.lessons.teaching import at_level
from scanviz.notebook.shown import framed
from scanviz.render.stepper.page import height_of


class LessonPicture:
    """A picture for a notebook's cell."""

    def __init__(self, svg: str) -> None:
        self.svg = svg

    def __repr__(self) -> str:
        return "the picture of the loop"

    def _repr_svg_(self) -> str:
        """Return the picture as SVG."""
        return self.svg


def picture(number: int, program: str = "") -> LessonPicture:
    """Return the picture of a lesson's loop.

    Parameters
    ----------
    number : int
        The lesson.
    program : str
        The changed program, such as ``In[1]``; by default the lesson's own.
    """
    one = lesson(number)
    return LessonPicture(svg_of(program or one.program, one.picture))


class LessonStepper:
    """The steps of a loop for a notebook's cell."""

    def __init__(self, page: str) -> None:
        self.page = page

    def __repr__(self) -> str:
        return "the steps of the loop: a notebook shows them"

    def _repr_html_(self) -> str:
        """Return the page of the steps in a frame."""
        return framed(self.page, height_of(self.page))


def stepper(number: int) -> LessonStepper:
    """Return the steps of a lesson's loop and of its gradient, to go through by buttons.

    Parameters
    ----------
    number : int
        A lesson whose picture shows steps.
    """
    return LessonStepper(stepper_of(lesson(number)))


def check(number: int, names: Mapping[str, Any], level: str = "") -> None:
    """Print whether a lesson's exercise is right, with help if it is wrong.

    Parameters
    ----------
    number : int
        The lesson.
    names : mapping
        Definitions so far: ``globals()``.
    level : str
        ``"easier"`` or ``"harder"`` for another form of the exercise.

    Examples
    --------
    >>> names = {f"after_step_{t}": [...] * 5 for t in (2, 1, 0)}
    >>> check(6, {"before": [0, 0, 0, 1, 1], **names})
    Not yet: after step 2, cell ∂y[-2] is still open
    """
    outcome = check_here(at_level(lesson(number), level), names)
    print("Right." if outcome.right else f"Not yet: {outcome.problem}")


__all__ = ["check", "picture", "stepper"]
