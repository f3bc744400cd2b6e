"""``scanviz learn`` without a terminal: listed, printed, written to a file, checked."""

import json
import re

from scanviz.cli import main
from scanviz.cli.learn import DIVIDER
from scanviz.lessons.notebook import notebook
from scanviz.lessons.source import lesson, lessons
from scanviz.lessons.teaching import at_level, notes


def test_learn_lists_lessons_and_prints_one_with_hints_on_request(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["learn"]) == 0
    printed = capsys.readouterr().out
    listed = " ".join(printed.split())
    assert all(one.title in listed and one.question in listed for one in lessons())
    assert max(map(len, printed.splitlines())) <= 80 and "scanviz learn 1 opens" in listed
    assert "8 Who reaches whom (optional)" in listed
    assert main(["learn", "6"]) == 0
    assert capsys.readouterr().out == lesson(6).page
    assert main(["learn", "6", "--hints"]) == 0
    assert lesson(6).hints[-1] in capsys.readouterr().out


def test_a_terminal_shows_a_lesson_in_lines_that_fit(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert main(["learn", "6", "--text"]) == 0
    printed = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
    assert "Folding the backward walk" in printed and max(map(len, printed.splitlines())) <= 60


def test_an_exercise_is_written_to_a_new_file_and_checked_there(tmp_path, capsys):
    file = tmp_path / "lesson.py"
    assert main(["learn", "6", "--write", str(file)]) == 0
    text = file.read_text("utf-8")
    assert text.startswith(lesson(6).program)
    assert main(["learn", "6", "--check", str(file)]) == 1
    assert "still open" in capsys.readouterr().out
    file.write_text(text.partition(DIVIDER)[0] + DIVIDER + lesson(6).solution, "utf-8")
    assert main(["learn", "6", "--check", str(file)]) == 0
    assert capsys.readouterr().out == "right\n"


def test_an_error_names_the_part_and_the_line_of_the_file(tmp_path, capsys):
    file = tmp_path / "lesson.py"
    head = f"{lesson(6).program}{DIVIDER}"
    for program, answer, place in (
        (
            lesson(6).program,
            "before = 1\nmissing\n",
            f":{head.count(chr(10)) + 2}, in your answer: NameError",
        ),
        ("import scanviz\nmissing\n", lesson(6).solution, ":2, in the program: NameError"),
    ):
        file.write_text(f"{program}{DIVIDER}{answer}", "utf-8")
        assert main(["learn", "6", "--check", str(file)]) == 1
        assert f"{file}{place}" in capsys.readouterr().out


def test_learn_never_overwrites_a_file(tmp_path, capsys):
    file = tmp_path / "lesson.py"
    file.write_text("mine", "utf-8")
    assert main(["learn", "6", "--write", str(file)]) == 2
    assert file.read_text("utf-8") == "mine"
    assert "new file" in capsys.readouterr().err


def test_a_thirteenth_lesson_is_refused(capsys):
    assert main(["learn", "13"]) != 0
    assert "1 to 12" in capsys.readouterr().err
    assert main(["learn", "six"]) == 2


def test_another_form_of_an_exercise_is_written_and_checked(tmp_path, capsys):
    for level in ("easier", "harder"):
        form, file = at_level(lesson(2), level), tmp_path / f"{level}.py"
        assert main(["learn", "2", "--level", level, "--write", str(file)]) == 0
        assert f"scanviz learn 2 --level {level} --check " in capsys.readouterr().out
        text = file.read_text("utf-8")
        assert text.endswith(DIVIDER + form.exercise)
        assert main(["learn", "2", "--level", level, "--check", str(file)]) == 1
        file.write_text(text.replace(form.exercise, form.solution), "utf-8")
        assert main(["learn", "2", "--level", level, "--check", str(file)]) == 0
    assert main(["learn", "2", "--level", "hard"]) == 2


def test_notes_for_teachers_are_printed(capsys):
    assert main(["learn", "2", "--notes"]) == 0
    assert capsys.readouterr().out == notes(lesson(2)).page


WRONG = "not yet: NameError: name 'missing' is not defined (at `found = missing`)"


def test_the_exercise_in_a_notebook_is_checked(tmp_path, capsys):
    for level in ("", "harder"):
        form, file = at_level(lesson(2), level), tmp_path / f"{level or 'own'}.ipynb"
        words = ["learn", "2", *(["--level", level] if level else []), "--check", str(file)]
        book = notebook(form, solutions=False)
        cases = ((form.exercise, 1, "not yet: "), (form.solution, 0, "right"), ("found = missing", 1, WRONG))
        for answer, code, printed in cases:
            (cell,) = [cell for cell in book["cells"] if cell["id"] == "exercise"]
            cell["source"] = ["!ls\n", *answer.splitlines(keepends=True)]
            file.write_text(json.dumps(book), "utf-8")
            assert main(words) == code
            assert capsys.readouterr().out.startswith(printed)
    for text in ("no JSON", "[]", "{}"):
        file.write_text(text, "utf-8")
        assert main(words) == 2
        assert "cannot be read" in capsys.readouterr().err


def test_one_lesson_is_opened_at_a_time(capsys):
    assert main(["learn", "2", "3", "--text"]) == 2
    assert "--slides and --notebooks take several" in capsys.readouterr().err
