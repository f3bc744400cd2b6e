"""Lessons as slides: a page for a browser, the pictures beside it, and a PDF where a browser can print it."""

from __future__ import annotations

import html
import re
import shutil
from pathlib import Path

import pytest

from scanviz.cli import main
from scanviz.lessons import exercise
from scanviz.lessons import slides as module
from scanviz.lessons.slides import parts_of, picture_name, slides, stepper_name, write_pdf
from scanviz.lessons.source import Lesson, lesson, lessons
from tests.lessons.test_lessons import ALL
from tests.render.page.browser import NAMES, Browser, required

SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"></svg>\n'


@pytest.mark.parametrize("one", ALL)
def test_slides_have_the_question_the_program_its_output_the_picture_and_the_exercise(one: Lesson):
    page = slides([one])
    parts = parts_of(one.program)
    assert "\n\n".join(parts) == one.program.strip().replace("\n\n\n", "\n\n")
    assert page.count("<section") == 5 + len(parts) and f"<section id={one.number}>" in page
    shown = [html.escape(part.strip()) for part in (parts[-1], one.output)]
    assert all(f"<pre>{part}</pre>" in page for part in shown)
    assert html.escape(one.question) in page and html.escape(one.exercise) in page
    assert page.index(shown[0]) < page.index(": what it prints<")  # to predict first
    assert f'src="{picture_name(one)}"' in page
    assert not [given for given in (one.check, *one.hints) if html.escape(given) in page]
    assert html.escape(one.solution) not in page


def test_slides_load_nothing_from_the_network():
    page = slides(lessons())
    assert set(re.findall(r'(?:src|href)="([^"]*)"', page)) == {
        *map(picture_name, lessons()),
        *(stepper_name(one) for one in lessons() if one.loop),
    }
    assert "http" not in re.sub(r"<pre>.*?</pre>", "", page, flags=re.DOTALL)


def test_slides_are_written_to_new_files_alone(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.setattr(exercise, "svg_of", lambda *what: SVG)
    monkeypatch.setattr(exercise, "stepper_of", lambda one: f"steps of {one.title}")
    monkeypatch.setattr(module, "BROWSERS", ("no such browser",))
    folder = tmp_path / "new" / "slides"
    assert main(["learn", "6", "7", "--slides", str(folder)]) == 0
    assert {path.name for path in folder.iterdir()} == {"06.svg", "06.html", "07.svg", "slides.html"}
    assert "no PDF: Chromium is not installed; print" in capsys.readouterr().out
    assert (folder / "slides.html").read_text("utf-8") == slides([lesson(6), lesson(7)])
    assert main(["learn", "6", "--slides", str(folder)]) == 2
    assert "--slides takes a folder without these files" in capsys.readouterr().err


@pytest.mark.slow
def test_a_browser_prints_each_slide_as_a_page(tmp_path: Path):
    if not any(map(shutil.which, NAMES)):
        pytest.skip("no Chromium is installed: a PDF of slides (Debian: apt-get install chromium)")
    for one in lessons():
        (tmp_path / picture_name(one)).write_text(SVG, "utf-8")
    page = tmp_path / "slides.html"
    page.write_text(slides(lessons()), "utf-8")
    pdf = write_pdf(page)
    wanted = page.read_text("utf-8").count("<section")
    assert pdf is not None and len(re.findall(rb"/Type /Page\b", pdf.read_bytes())) == wanted


@pytest.mark.slow
def test_programs_have_large_letters_and_nothing_is_cut_off(tmp_path: Path):
    required()
    page = tmp_path / "slides.html"
    page.write_text(slides(lessons()), "utf-8")
    with Browser((1280, 720)) as browser:
        size = {"width": 1280, "height": 720, "deviceScaleFactor": 1, "mobile": False}
        browser.call("Emulation.setDeviceMetricsOverride", **size)
        browser.open(page)
        letters = (
            "[...document.querySelectorAll('pre')].map((one) => parseFloat(getComputedStyle(one).fontSize))"
        )
        assert browser.evaluate(f"Math.min(...{letters})") >= 18
        over = "one.scrollHeight > one.clientHeight || one.scrollWidth > one.clientWidth"
        assert not browser.evaluate(f"[...document.querySelectorAll('main')].some((one) => {over})")
