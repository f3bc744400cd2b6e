"""Notes for teachers: each misconception gets its answer, and each form of an exercise can be checked."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scanviz.lessons.source import Lesson, lesson
from scanviz.lessons.teaching import at_level, notes
from scanviz.record.errors import ScanvizValueError
from tests.lessons.test_lessons import ALL, check


@pytest.mark.parametrize("one", ALL)
def test_each_misconception_gets_the_answer_that_the_notes_quote(one: Lesson):
    known = notes(one)
    assert len(known.misconceptions) >= 3 and known.of_harder
    for form, rows in ((one, known.misconceptions), (known.harder, known.of_harder)):
        for each in rows:
            assert each.right in form.solution, each
            try:
                check(form, form.solution.replace(each.right, each.wrong, 1))
            except AssertionError as said:
                assert each.answer in str(said), each
            else:
                pytest.fail(f"{each.wrong} is taken for right")


def dense(code: str) -> str:
    """Return code without comments and spaces."""
    return re.sub(r"\s+|#.*", "", code)


@pytest.mark.parametrize("one", ALL)
def test_the_solution_completes_the_easier_exercise(one: Lesson):
    easier = at_level(one, "easier")
    open_parts = [part for part in easier.exercise.split("\n\n\n") if "..." in part]
    assert open_parts and easier.exercise != one.exercise
    for part in open_parts:
        shape = re.escape(dense(part)).replace(re.escape("..."), ".+?")
        assert re.search(shape, dense(one.solution)), part


@pytest.mark.parametrize("level", ["easier", "harder"])
@pytest.mark.parametrize("one", ALL)
def test_another_form_of_an_exercise_is_wrong_until_it_is_solved(one: Lesson, level: str):
    form = at_level(one, level)
    assert max(map(len, (form.exercise + form.solution).splitlines())) <= 72
    assert form.exercise in form.page and one.exercise not in form.page and form.check not in form.page
    check(form, form.solution)
    with pytest.raises((AssertionError, TypeError, ValueError)):
        check(form, form.exercise)
    assert form.hints and form.level == level


def test_there_are_two_other_forms():
    (one,) = ALL[0].values
    assert at_level(one, "") is one
    with pytest.raises(ScanvizValueError, match="no level 'hard'"):
        at_level(one, "hard")


@pytest.mark.parametrize("one", ALL)
def test_notes_show_solutions_and_no_check(one: Lesson):
    page = notes(one).page
    assert page.startswith(f"# {one.number}. {one.title}: notes for teachers\n")
    for form in (one, at_level(one, "harder")):
        assert form.solution in page and form.check not in page


def test_the_teachers_page_quotes_misconceptions_of_the_notes():
    page = (Path(__file__).parents[2] / "docs" / "teaching.md").read_text("utf-8")
    quoted = re.findall(r"^- Lesson (\d+): \*(.*)\*$", page, re.MULTILINE)
    assert len(quoted) >= 8
    for number, thought in quoted:
        assert thought in [each.thought for each in notes(lesson(int(number))).misconceptions]
