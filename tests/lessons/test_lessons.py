"""Every lesson as a learner meets it: its program, its picture, its exercise unsolved and solved."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scanviz
from scanviz.lessons.exercise import (
    check_exercise,
    check_here,
    draw_in_characters,
    run_program,
    stepper_of,
    with_steps,
)
from scanviz.lessons.source import Lesson, lesson, lesson_from, lessons
from scanviz.record.errors import ScanvizValueError
from scanviz.render.row_values import rows_held
from scanviz.tui.model.state import start
from scanviz.tui.text.ruler import rulers
from tests.lessons.wrong_answers import WRONG_ANSWERS

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
ALL = [pytest.param(one, id=str(one.number)) for one in lessons()]


@cache
def run_program_of(one: Lesson) -> tuple[str, dict[str, Any]]:
    """Run a lesson's program, once, and return its output and its names."""
    names: dict[str, Any] = {"__name__": "__main__"}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), np.errstate(all="ignore"):
        exec(compile(one.program, "lesson.py", "exec"), names)
    return printed.getvalue(), names


def check(one: Lesson, answer: str) -> None:
    """Check an answer as it would be behind the program."""
    names = dict(run_program_of(one)[1])
    with np.errstate(all="ignore"):
        for text in (answer, one.check):
            exec(compile(text, "lesson.py", "exec"), names)


def test_there_are_twelve_lessons_in_order_two_of_them_optional():
    assert [one.number for one in lessons()] == list(range(1, 13))
    assert [one.number for one in lessons() if one.optional] == [7, 8]
    assert "(optional)" not in lesson(7).title and lesson(7).page.startswith(f"# 7. {lesson(7).entry}\n")


@pytest.mark.parametrize("one", ALL)
def test_a_lessons_program_is_short_and_prints_the_documented_output(one: Lesson):
    assert len(one.program.splitlines()) <= 40
    assert (
        max(map(len, (one.program + one.exercise + one.solution).splitlines())) <= 72
    )  # a terminal of 80 columns shows it whole
    assert run_program_of(one)[0] == one.output


@pytest.mark.parametrize("one", ALL)
def test_an_exercise_is_wrong_until_it_is_solved(one: Lesson):
    check(one, one.solution)
    with pytest.raises((AssertionError, TypeError, ValueError)):
        check(one, one.exercise)


@pytest.mark.parametrize("one", ALL)
def test_a_page_shows_neither_the_solution_nor_the_check(one: Lesson):
    assert len(one.hints) >= 3
    for given_away in (one.check, one.solution, *one.hints):
        assert given_away not in one.page
    assert one.program in one.page and one.exercise in one.page and one.question.split()[0] in one.page


@pytest.mark.parametrize("one", ALL)
def test_options_precede_the_program_in_a_lessons_commands(one: Lesson):
    lines = [
        line for block in re.findall(r"```sh\n(.*?)```", one.page, re.DOTALL) for line in block.splitlines()
    ]
    assert lines[0].startswith(f"scanviz learn {one.number} --write ")
    assert not [line for line in lines[1:] if re.search(r"\.(py|scanviz) .*-", line)]


@pytest.mark.parametrize("number", [7, 9])  # two sorts of pictures: a process each
def test_the_picture_of_a_program_is_drawn(number: int):
    one = lesson(number)
    picture = draw_in_characters(one.program, one.picture, 100)
    assert "loop" in picture or "steps of" in picture


def test_a_picture_of_a_missing_loop_is_an_error_without_a_traceback():
    with pytest.raises(ScanvizValueError, match=r"^there is no loop named 'smooth'"):
        draw_in_characters("missing", lesson(4).picture, 100)


def test_the_steps_of_a_program_are_kept():
    one = lesson(6)
    record = with_steps(one.program, one.mode)
    assert [loop.name for loop in record.loops] == ["y", "grad_of_y"]
    assert {len(trace.steps) for trace in record.traces} == {3}


def test_a_wrong_answer_gets_a_hint():
    one = lesson(6)
    wrong = one.solution.replace("[0, 4, 4, 2, 1]", "[0, 4, 3, 2, 1]")
    outcome = check_exercise(one, wrong)
    assert not outcome.right and outcome.message.startswith(
        "after step 1, cell ∂y[0] is not 3. It is made of b · ∂y[2]"
    )


@pytest.mark.parametrize("one", ALL)
def test_a_natural_wrong_answer_gets_its_reason(one: Lesson):
    for right, wrong, text in WRONG_ANSWERS[one.number]:
        assert right in one.solution
        try:
            check(one, one.solution.replace(right, wrong, 1))
        except AssertionError as said:
            assert text in str(said), wrong
        else:
            pytest.fail(f"{wrong} is taken for right")


@pytest.mark.parametrize(("number", "name"), [(3, "kinds"), (8, "reached")])
def test_an_answer_without_the_step_that_is_given_is_checked_all_the_same(number: int, name: str):
    one = lesson(number)
    check(one, one.solution[one.solution.index(f"{name} = ") :])


def test_the_gains_of_the_cards_are_those_that_were_measured():
    measured = json.loads((RESULTS / "lesson_cards.json").read_text("utf-8"))["rows"]
    for row in measured:
        (gain,) = re.findall(
            rf"`{row['rule']}`: .*?^- \*Gain:\* (.*?)$", lesson(9).page, re.MULTILINE | re.DOTALL
        )
        for tier in ("numpy", "native"):
            assert f"{row[tier]['without_ms']:.3g} → {row[tier]['with_ms']:.3g} ms" in gain


def test_the_predicted_cells_are_those_of_the_loop():
    one = lesson(6)
    names = dict(run_program_of(one)[1])
    exec(one.solution, names)
    y, first, a, b = (names[name] for name in ("y", "first", "a", "b"))
    f = scanviz.function([first, a, b], [y, scanviz.grad(y[-1] + y[-2], first)], mode="reference")
    record = scanviz.trace(f, [1.0, 1.0], 1.0, 2.0).record
    (loop,) = [loop for loop in record.loops if loop.gradient_of is not None]
    (index,) = [k for k, variable in enumerate(loop.variables) if variable.kind == "mitmot"]
    traces = [trace for trace in record.traces if trace.loop == loop.key]
    for step, predicted in ((-1, "before"), (0, "after_step_2"), (1, "after_step_1"), (2, "after_step_0")):
        held = rows_held(traces, loop.variables[index], index, step)
        texts = {row: value.text for row, value in held.items()}
        assert texts == dict(enumerate(map(str, reversed(names[predicted]))))


def test_the_states_kept_by_checkpoints_are_those_that_scanviz_makes_room_for():
    names: dict[str, Any] = {}
    exec(lesson(11).solution, names)
    start, weight = scanviz.tensor.vector("start"), scanviz.tensor.vector("weight")
    more = set()
    for steps, every in ((120, 6), (120, 20), (60, 4), (1000, 10)):
        y, _ = scanviz.scan_checkpoints(
            lambda y, weight: scanviz.tensor.tanh(y * weight),
            None,
            start,
            weight,
            n_steps=steps,
            save_every_N=every,
            name="y",
        )
        f = scanviz.function([start, weight], scanviz.grad(y[-1].sum(), weight))
        held = f.memory_forecast(np.ones(1000), np.ones(1000)).loops
        rows = (held["y_outer"] + held["y_inner#2"]) / 8000
        more.add(rows - names["states_kept"](steps, every))
    assert len(more) == 1  # besides them, the same few rows for any number of steps


def test_the_cells_of_a_gradient_stand_in_one_order_in_text_picture_and_steppers():
    one = lesson(6)
    cells = re.findall(r"∂y\[-?\d\]", one.output.splitlines()[0])
    picture = draw_in_characters(one.program, one.picture, 100)
    assert re.findall(r"▫[│ ]+(∂y\[-?\d\])", picture) == cells
    page = re.search(r'"cells":(\["\\u2202y\[.*?"\]),', stepper_of(one))
    assert json.loads(page[1]) == cells
    record = with_steps(one.program, one.mode)
    [loop] = [loop for loop in record.loops if loop.gradient_of is not None]
    traces = [trace for trace in record.traces if trace.loop == loop.key]
    ruler = rulers(loop, start(record).at_loop(loop.key), 100, traces).plain
    [line] = [line for line in ruler.splitlines() if line.lstrip().startswith("cell")]
    assert re.findall(r"∂y\[-?\d\]", line) == cells


def test_an_open_place_is_named_with_its_line():
    one = lesson(5)
    assert check_exercise(one, one.exercise).problem == "line 8 of your answer: its `...` is still open"
    met_by_the_check = check_exercise(lesson(1), "def averaged(x):\n    return ...\n")
    assert met_by_the_check.problem == "line 2 of your answer: its `...` is still open"


def test_an_answer_that_cannot_run_is_reported_with_its_line():
    outcome = check_exercise(lesson(6), "before = 1\nafter = 1 / 0\n")
    assert not outcome.right and outcome.problem.startswith("line 2 of your answer: ZeroDivisionError")


def test_a_syntax_error_has_one_line_number():
    outcome = check_exercise(lesson(2), "rows = [\n")
    assert (outcome.line, outcome.message) == (1, "SyntaxError: '[' was never closed")


def test_the_answer_to_another_lesson_is_recognized():
    outcome = check_exercise(lesson(5), lesson(2).solution)
    assert outcome.message.startswith("`slopes` is not defined: does the answer belong to another lesson")


def test_an_error_in_a_changed_program_names_its_line():
    one = lesson(6)
    outcome = check_exercise(one, one.solution, one.program + "f(1)\n")
    assert outcome.part == "the program" and outcome.line == one.program.count("\n") + 1
    cut = check_exercise(one, one.solution, "import scanviz\nf = (\n")
    assert cut.problem.startswith("line 2 of the program: SyntaxError")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("y[2], first", "y[1] + y[2], first"),  # as the lesson proposes
        ("a * y_tm1 + b * y_tm2", "a * y_tm1 + a * y_tm2"),
        ('print("the first', 'a, b, y = 1, 2, None\nprint("the first'),
    ],
)
def test_a_check_runs_behind_the_lessons_own_program(old: str, new: str, capsys):
    one = lesson(6)
    program, answer = one.program.replace(old, new), f"a = 1\nb = 2\n{one.solution}"
    assert program != one.program
    assert check_exercise(one, answer, program).right
    names: dict[str, Any] = {}
    exec(program + answer, names)
    capsys.readouterr()
    assert check_here(one, names).right and not capsys.readouterr().out
    wrong = answer.replace("[0, 4, 4, 2, 1]", "[0, 4, 3, 2, 1]")
    assert check_exercise(one, wrong, program).problem.startswith("after step 1, cell ∂y[0] is not 3.")


@pytest.mark.parametrize("one", ALL)
def test_every_assertion_of_a_check_has_a_reason(one: Lesson):
    assert not [
        ast.unparse(node)
        for node in ast.walk(ast.parse(one.check))
        if isinstance(node, ast.Assert) and node.msg is None
    ]


def test_an_assertion_of_the_learner_is_never_an_empty_reason():
    one = lesson(4)
    names: dict[str, Any] = {}
    exec("def number_of_steps(sequences):\n    assert not sequences", names)
    assert check_here(one, names).message.startswith("AssertionError")


def test_an_error_met_by_the_check_names_the_line_that_made_it():
    one = lesson(4)
    outcome = check_exercise(one, one.solution.replace("rows - (", "row - ("))
    assert outcome.problem.startswith("line 5 of your answer: NameError")
    one = lesson(1)
    text = check_exercise(one, one.solution.replace("lambda u_t, x_tm1:", "lambda u_t:")).problem
    assert text.startswith(
        "line 3 of your answer: ScanvizTypeError: the step function `<lambda>` takes 1 argument"
    )


def test_a_program_that_does_not_end_is_ended():
    outcome = run_program("print('begun', flush=True)\nwhile True: pass", seconds=1.0)
    assert not outcome.right and "did not end" in outcome.message and "begun" in outcome.output


def test_a_lesson_that_lacks_a_part_is_refused():
    with pytest.raises(ScanvizValueError, match="lacks a part"):
        lesson_from("# 1. Nothing\n")
