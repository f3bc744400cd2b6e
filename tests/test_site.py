"""The site's written pages come from the program; that Sphinx builds it without a warning is seen by ``python tools/build_site.py``."""

import contextlib
import importlib.util
import io
import os
import re
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest

from scanviz.cli import COMMANDS, main
from scanviz.engine.graph.declaration import declarations
from scanviz.engine.rewrites.families import all_rules
from scanviz.lessons.source import lesson, lessons
from tests.cli.commands import command
from tests.support.readable import assert_readable

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("site_pages", ROOT / "tools" / "site_pages.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["site_pages"] = module
    spec.loader.exec_module(module)
    return module


def test_the_table_lists_every_operation_with_its_features(tool):
    text = tool.operations()
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    assert len(rows) == sum(1 for _ in declarations())
    (tanh,) = [row for row in rows if row.startswith("| `tanh`")]
    assert tanh.count("yes") == 3
    (arange,) = [row for row in rows if row.startswith("| `arange`")]
    assert [cell.strip() for cell in arange.split("|")][3] == ""  # it has no gradient


def test_every_rule_is_listed_under_its_phase(tool):
    text = tool.rewrites()
    assert all(f"| `{rule.name}` | {rule.doc}" in text for rule in all_rules())


def test_every_record_has_a_table_of_its_fields(tool):
    text = tool.fields()
    assert "## Profile\n" in text and "## Loop\n" in text and "| `arguments` | list of string |" in text


def test_a_lesson_has_its_picture_its_hints_and_its_solution(tool, monkeypatch):
    monkeypatch.setattr(tool, "stepper_of", lambda one: '{"title":"steps","height":434}')
    pages = {path.name: text for path, text in tool.lesson_pages()}
    stepped = {
        name for name, text in pages.items() if f'height="434" src="../../steppers/{name[:2]}.html"' in text
    }
    assert {"02.md", "05.md", "06.md", "11.md"} <= stepped and "07.md" not in stepped
    for name, text in pages.items():
        assert ("-narrow.svg" in text) == (name in stepped)  # for phones
    text = pages["06.md"]
    assert (
        "```{image} 06.svg\n" in text and ":target: ../../_images/06.svg\n" in text
    )  # a click shows it alone
    assert text.count("<details><summary>Hint") >= 3 and text.count("<details><summary>Solution") == 1
    listed = pages["lessons.md"]
    assert all(f"lessons/{one.number:02}.md)<br>{one.question}" in listed for one in lessons())
    assert listed.count("\nlessons/") == 12  # for the sidebar


@pytest.mark.parametrize("one", lessons(), ids=lambda one: str(one.number))
def test_a_lessons_pictures_are_read_without_a_click(tool, one, tmp_path):
    (tmp_path / "lesson.py").write_text(one.program, "utf-8")
    wide, narrow = (
        (("--pixels", pixels), column) for pixels, column in ((tool.WIDE, 1000), (tool.PHONE, 358))
    )
    for width, column in (wide, narrow) if one.loop else [((), 784)]:
        command("graph", *width, *one.picture, "--force", "-o", "x.svg", "lesson.py", cwd=tmp_path)
        svg = (tmp_path / "x.svg").read_text("utf-8")
        assert_readable(svg, column)  # as docs/_static/scanviz.css gives them


def test_the_first_page_frames_a_stepper_in_the_height_that_it_quotes(tool):
    index = (ROOT / "docs" / "index.md").read_text("utf-8")
    height, number = re.findall(
        r'<iframe class="scanviz-stepper" height="(\d+)" src="steppers/(\d+).html"', index
    )[0]
    assert f'"height":{height}' in tool.stepper_of(lesson(int(number)))


def test_each_lesson_has_a_page_of_notes_for_teachers(tool):
    pages = {path.name: text for path, text in tool.notes_pages()}
    assert set(pages) == {"notes.md", *(f"{one.number:02}.md" for one in lessons())}
    assert all(f"\nnotes/{one.number:02}\n" in pages["notes.md"] for one in lessons())
    assert all("## Misconceptions" in pages[f"{one.number:02}.md"] for one in lessons())


def help_of(words, *, env, **_):
    """Return the help of a command line, without a process of its own."""
    out = io.StringIO()
    with mock.patch.dict(os.environ, env), contextlib.redirect_stdout(out):
        assert main(words[3:]) == 0
    return subprocess.CompletedProcess(words, 0, out.getvalue())


def test_the_help_of_every_command_is_a_page_with_a_row_for_each_option(tool, monkeypatch):
    monkeypatch.setattr(tool.subprocess, "run", help_of)
    for path, text in tool.command_pages():
        if path.parent.name == "commands":
            rows = [line for line in text.splitlines() if line.startswith("| `-")]
            assert rows[-1] == "| `-h, --help` | show this help |", path
            assert all(len(re.split(r"(?<!\\)\|", row)) == 4 for row in rows)
    text = tool.command_page(
        "usage: scanviz x FILE\n\nOne_two, `a_b` or --b-c=1 of well-known -d.\n\noptions:\n  --y[=A,B]  do\n  --diff RULE|N            it\n"
    )
    assert (
        "One\\_two, `a_b` or `--b-c`=1 of well-known `-d`.\n\n```text\nusage" in text
        and "| `--y[=A,B]` | do |" in text
        and "| `--diff RULE\\|N` | it |" in text
    )


def test_the_site_lists_every_guide_and_reference_page():
    index = (ROOT / "docs" / "index.md").read_text("utf-8")
    pages = {*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "reference").glob("*.md")}
    names = {str(page.relative_to(ROOT / "docs").with_suffix("")) for page in pages} - {"index"}
    assert not {name for name in names if f"\n{name}\n" not in index}


def test_every_guide_begins_with_the_question_that_it_answers():
    for page in (ROOT / "docs").glob("*.md"):
        title, first = page.read_text("utf-8").split("\n\n", 2)[:2]
        assert title.startswith("# ") and (page.stem == "index" or "?" in first), page.name


def test_every_command_has_a_page(tool, monkeypatch):
    class Done:
        stdout = "usage: scanviz\n\noptions:\n  -h, --help               show this help\n"

    monkeypatch.setattr(tool.subprocess, "run", lambda *_, **__: Done)
    names = {path.stem for path, _ in tool.command_pages()}
    assert set(COMMANDS) | {"commands"} == names


def test_every_public_name_has_its_place_in_the_reference(tool):
    written = dict(tool.api_pages())
    for name in tool.MODULES:
        page = written[tool.WRITTEN / "api" / f"{name}.md"]
        for key in tool.public_names(name):
            assert re.search(rf":: {re.escape(name)}\.{key}$|^\| `{key}` \| \S", page, re.MULTILINE), key


def test_every_documented_name_has_a_docstring(tool):
    for name in tool.MODULES:
        module = sys.modules[name]
        assert all(getattr(module, key).__doc__ for key in tool.public_names(name)), name


def error_classes():
    """Return the names of all classes that derive from ScanvizError, as the source has them."""
    bases = {}
    for path in (ROOT / "scanviz").rglob("*.py"):
        for name, parents in re.findall(
            r"^class (\w+Error)\(([^)]*)\)", path.read_text("utf-8"), re.MULTILINE
        ):
            bases[name] = set(re.findall(r"\w+", parents))
    found = {"ScanvizError"}
    while more := {name for name, parents in bases.items() if parents & found} - found:
        found |= more
    return found - {"ScanvizError"}


def test_the_catalogue_lists_every_error_class_with_an_example():
    page = (ROOT / "docs" / "errors.md").read_text("utf-8")
    outputs = "".join(re.findall(r"^```output\n(.*?)^```", page, re.MULTILINE | re.DOTALL))
    caused = set(re.findall(r"^(\w+Error): ", outputs, re.MULTILINE))
    named = set(re.findall(r"`(\w+Error)`", page))
    assert len(error_classes()) > 15
    assert error_classes() <= caused & named


@pytest.fixture
def links(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    return importlib.import_module("site_links")


GOOD_PAGE = """<link rel="stylesheet" href="style.css"><a href="b.html#part">b</a><a href="https://example.org">out</a>
<a href="#here"></a><p id="here"><img src="data:image/png;base64,AA"></p>"""


@pytest.mark.parametrize(
    ("more", "found"),
    [
        ("", []),
        ('<a href="c.html">c</a>', ["a.html: c.html: there is no such file"]),
        ('<a href="b.html#none">b</a>', ["a.html: b.html#none: there is no such anchor"]),
        ('<a href="../out.html">b</a>', ["a.html: ../out.html: leads out of the site"]),
        (
            '<script src="https://cdn.example.org/x.js"></script>',
            ["a.html: https://cdn.example.org/x.js: comes from the network"],
        ),
        ("<style>@import 'missing.css';</style>", ["a.html: missing.css: there is no such file"]),
    ],
)
def test_links_that_lead_nowhere_are_named(links, tmp_path, more, found):
    links.page_of.cache_clear()
    (tmp_path / "a.html").write_text(GOOD_PAGE + more)
    (tmp_path / "b.html").write_text('<h2 id="part">part</h2>')
    (tmp_path / "style.css").write_text("p {background: url('data:image/png;base64,AA')}")
    assert links.problems(tmp_path) == found


def test_the_front_page_leads_to_each_version_and_the_switcher_knows_their_pages(links, tmp_path):
    spec = importlib.util.spec_from_file_location("build_site", ROOT / "tools" / "build_site.py")
    build_site = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build_site)
    for version in ("0.2", "0.10", "0.1"):
        (tmp_path / version).mkdir()
        (tmp_path / version / "index.html").write_text("<p>a page</p>")
    build_site.write_front(tmp_path)
    front = (tmp_path / "index.html").read_text()
    assert [front.find(f">scanviz {each}<") for each in ("0.10", "0.2", "0.1")] == sorted(
        front.find(f">scanviz {each}<") for each in ("0.10", "0.2", "0.1")
    )
    assert '"0.10": ["index.html"]' in (tmp_path / "versions.js").read_text()
    links.page_of.cache_clear()
    assert links.problems(tmp_path) == []
