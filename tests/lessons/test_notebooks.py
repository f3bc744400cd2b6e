"""Lessons as notebooks: their cells run, draw and check as the lessons do."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest

from scanviz import __version__
from scanviz.cli import main
from scanviz.lessons import exercise
from scanviz.lessons.notebook import notebook_name, notebook_text
from scanviz.lessons.source import Lesson, lesson, lessons
from scanviz.lessons.teaching import at_level
from scanviz.notebook import lessons as in_cells
from tests.lessons.test_lessons import ALL, run_program_of

SVG = "<svg>\n<title>loop</title></svg>\n"


def read(one: Lesson, **options: Any) -> dict[str, Any]:
    return json.loads(notebook_text(one, SVG, **options))


def sources(book: dict[str, Any]) -> dict[str, str]:
    return {cell["id"]: "".join(cell["source"]) for cell in book["cells"]}


@pytest.mark.parametrize("one", ALL)
def test_a_notebook_has_all_of_a_lesson_and_its_cells_run_and_check(one: Lesson, monkeypatch, capsys):
    drawn: list[tuple[str, tuple[str, ...]]] = []
    monkeypatch.setattr(in_cells, "svg_of", lambda *what: drawn.append(what) or SVG)
    text = sources(read(one))
    for part in (one.title, one.question.split()[0], *one.hints, one.solution, "## Formally", "## See it"):
        assert any(part.strip() in each for each in text.values())
    assert text["program"] == one.program.strip() and text["exercise"] == one.exercise.strip()
    names = dict(run_program_of(one)[1])
    exec(text["picture"], names)
    assert drawn == [(one.program, one.picture)]
    with np.errstate(all="ignore"):
        for answer, message in ((text["exercise"], "Not yet: "), (one.solution, "Right.")):
            exec(answer, names)
            exec(text["check"], names)
            assert capsys.readouterr().out.startswith(message)


@pytest.mark.parametrize("one", ALL)
def test_a_notebook_without_solutions_keeps_the_exercise_and_its_check(one: Lesson):
    text = sources(read(one, solutions=False))
    assert {"exercise", "check"} <= text.keys() <= sources(read(one)).keys()
    every = "".join(text.values())
    assert not [given for given in (*one.hints, one.solution, "Solution", "Hint") if given.strip() in every]
    answered = [line.strip() for line in one.exercise.splitlines() if "..." in line]
    assert answered and all(line in text["exercise"] for line in answered)


def test_a_notebook_of_another_form_checks_that_form(capsys):
    form = at_level(lesson(2), "harder")
    assert notebook_name(form) == "02_a_buffer_and_its_ruler_harder.ipynb"
    text, names = sources(read(form)), dict(run_program_of(form)[1])
    assert text["exercise"] == form.exercise.strip() and form.solution in text["hints"]
    for answer, message in ((form.exercise, "Not yet: "), (form.solution, "Right.")):
        exec(answer, names)
        exec(text["check"], {**names, "check": in_cells.check, "globals": lambda: names})
        assert capsys.readouterr().out.startswith(message)


def test_a_notebook_first_installs_this_version_or_what_is_requested():
    for options, wanted in (({}, f"scanviz=={__version__}"), ({"requirement": "./a.whl"}, "./a.whl")):
        first = read(lesson(1), **options)["cells"][0]
        assert first["cell_type"] == "code" and first["source"] == [f'%pip install -q "{wanted}"']


@pytest.mark.parametrize("one", ALL)
def test_a_notebook_names_no_key_of_the_terminal(one: Lesson):
    named = r"\bF\d|Ctrl|\bkeys? \d|arrow keys|`scanviz learn`|scanviz tui|press "
    assert re.search(named, one.page)
    text = sources(read(one))
    assert not [(name, re.findall(named, each)) for name, each in text.items() if re.search(named, each)]
    assert "```sh\nscanviz learn" in text["more"] and not re.search(r"\bF\d|Ctrl", one.check)


def test_a_notebook_is_valid_and_shows_its_outputs_before_it_is_run():
    for one in lessons():
        book = read(one)
        ids = [cell["id"] for cell in book["cells"]]
        assert len(set(ids)) == len(ids) and all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in ids)
        assert (book["nbformat"], book["nbformat_minor"]) == (4, 5)
        for cell in book["cells"]:
            assert cell["source"] and {"cell_type", "id", "metadata", "source"} <= cell.keys()
            assert ({"execution_count", "outputs"} <= cell.keys()) == (cell["cell_type"] == "code")
        outputs = {cell["id"]: cell.get("outputs") for cell in book["cells"]}
        assert "".join(outputs["program"][0]["text"]) == one.output.strip("\n")
        assert outputs["picture"][0]["data"]["image/svg+xml"][0] == "<svg>\n"


def test_a_learners_own_error_names_its_line(capsys):
    names = dict(run_program_of(lesson(4))[1])
    exec("def number_of_steps(sequences):\n    return missing", names)
    in_cells.check(4, names)
    assert capsys.readouterr().out.startswith("Not yet: NameError: name 'missing' is not defined")


@pytest.mark.parametrize("number", [1, 5, 9])
def test_an_open_place_is_named_for_any_error_it_causes(number: int, capsys):
    one = lesson(number)
    names = dict(run_program_of(one)[1])
    exec(compile(one.exercise, "a cell", "exec"), names)
    in_cells.check(number, names)
    assert capsys.readouterr().out.startswith("Not yet: a `...` is still open")


def test_an_error_of_scanviz_hides_the_file_of_the_cell(capsys):
    one = lesson(1)
    names = dict(run_program_of(one)[1])
    exec(compile(one.solution.replace("lambda u_t, x_tm1:", "lambda u_t:"), "/tmp/cell.py", "exec"), names)
    in_cells.check(1, names)
    assert capsys.readouterr().out.startswith(
        "Not yet: ScanvizTypeError: the step function `<lambda>` takes 1"
    )


def test_notebooks_are_written_to_new_files_alone(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(exercise, "svg_of", lambda *what: SVG)
    folder = tmp_path / "new" / "notebooks"
    assert main(["learn", "--notebooks", str(folder)]) == 0
    assert sorted(each.name for each in folder.iterdir()) == [notebook_name(one) for one in lessons()]
    assert main(["learn", "6", "--notebooks", str(folder)]) == 2
    assert "without these files" in capsys.readouterr().err
    assert "Solution" in (folder / notebook_name(lesson(6))).read_text("utf-8")


def test_notebooks_for_homework_are_written_by_an_option(tmp_path, monkeypatch):
    monkeypatch.setattr(exercise, "svg_of", lambda *what: SVG)
    words = ["learn", "6", "--notebooks", str(tmp_path), "--no-solutions", "--install", "git+file:///a"]
    assert main(words) == 0
    text = (tmp_path / notebook_name(lesson(6))).read_text("utf-8")
    assert text == notebook_text(lesson(6), SVG, solutions=False, requirement="git+file:///a")


@pytest.mark.slow
@pytest.mark.parametrize("one", ALL)
def test_a_notebook_runs_in_a_kernel(one: Lesson, tmp_path, monkeypatch):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    book = nbformat.reads(notebook_text(one, solutions=False), as_version=4)
    nbformat.validate(book)
    nbclient.NotebookClient(book, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = {cell["id"]: cell.get("outputs") for cell in book["cells"]}
    assert outputs["check"][0]["text"].startswith("Not yet: ")
    assert "<svg" in outputs["picture"][0]["data"]["image/svg+xml"]
    assert bool(one.loop) == ("steps" in outputs)
    if one.loop:
        assert outputs["steps"][0]["data"]["text/html"].startswith("<iframe srcdoc=")
