"""Pages of the site that are written from the program itself: for tools/build_site.py.

They lie in docs/_generated/ and are not kept: pages of the lessons with their pictures, of operations and rewrites from their
registries, of the fields of a profile from docstrings, of the command line from its help, and of the API from docstrings.
Films of docs/rewrites/ lie there too, drawn from the program of each page.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import itertools
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "tools"))

from guide_pictures import program  # noqa: E402
from profile_format import tables  # noqa: E402

import scanviz  # noqa: E402
import scanviz.tensor  # noqa: E402
from scanviz.cli import COMMANDS  # noqa: E402
from scanviz.engine.backends.native.emit.instructions import WRITE  # noqa: E402
from scanviz.engine.gradient.table import PULLBACKS  # noqa: E402
from scanviz.engine.graph.declaration import declarations  # noqa: E402
from scanviz.engine.rewrites.batching.operations import BATCHING  # noqa: E402
from scanviz.engine.rewrites.families import all_rules  # noqa: E402
from scanviz.engine.rewrites.rule import PHASES  # noqa: E402
from scanviz.lessons.exercise import drawn, stepper_of, svg_of  # noqa: E402
from scanviz.lessons.notebook import hints_that_open, notebook_name, notebook_text  # noqa: E402
from scanviz.lessons.source import Lesson, lessons  # noqa: E402
from scanviz.lessons.teaching import notes  # noqa: E402
from scanviz.render.stepper.page import height_of  # noqa: E402

DOCS = ROOT / "docs"
WRITTEN = DOCS / "_generated"
FILMS, STEPPERS = (
    WRITTEN / "site" / name for name in ("films", "steppers")
)  # Sphinx copies docs/_generated/site/ as it is
# pixels of pictures: in a window of 1280, beside the list of pages, and of 390, less the margins
WIDE, PHONE = "990", "358"
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}  # what lies here, whatever is installed
MODULES = {
    "scanviz": "The names that most programs need.",
    "scanviz.tensor": "Operations on variables, by NumPy's names.",
    "scanviz.tensor.random": "Random numbers.",
    "scanviz.tensor.linalg": "Linear algebra.",
    "scanviz.tensor.nnet": "What networks are made of.",
    "scanviz.profiler": "Recording from Python.",
    "scanviz.profiler.advice": "What a record gives reason to change.",
    "scanviz.profiler.compare": "Two records beside one another.",
    "scanviz.profiler.export": "Records in the formats of other tools.",
    "scanviz.record.model": "The record of a run.",
    "scanviz.record.loops": "Its loops.",
    "scanviz.engine.errors": "What is raised; [one example of each](../../errors.md).",
    "scanviz.testing": "Random loops and graphs for tests of your own.",
}


# An option of a command's help with its value, and its description.
OPTION = re.compile(r"  ((?:-\w, )?--[\w-]+(?:\[\S*\])?(?: [A-Z]\S*)?) +(.*)")

GUIDE = re.compile(r"`docs/(\w+)\.md`")  # as lessons name one

# Columns of the table of operations, by declaration; native code of loops and branches is no row of a table.
MEANINGS = (
    lambda one: one in PULLBACKS,
    lambda one: one in WRITE or one.name in ("scan", "ifelse"),
    lambda one: one in BATCHING,
)


def write_pages() -> None:
    """Write all pages, and draw their pictures."""
    for path, text in pages():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    draw_pictures()
    draw_rewrites()


def pages() -> Iterable[tuple[Path, str]]:
    """Iterate over the pages that are written, with their places."""
    yield from lesson_pages()
    yield from notes_pages()
    yield WRITTEN / "operations.md", operations()
    yield WRITTEN / "rewrites.md", rewrites()
    yield WRITTEN / "fields.md", fields()
    yield from command_pages()
    yield from api_pages()


def lesson_pages() -> Iterable[tuple[Path, str]]:
    """A page a lesson, with its picture, and hints that open one by one."""
    for one in lessons():
        text = one.page.replace("## Formally", f"{picture_that_opens(one)}\n\n## Formally", 1)
        text = GUIDE.sub(r"[\1](../../\1.md)", text)
        ways = (
            f"`scanviz learn {one.number}` runs and checks it in the terminal, beside its steps;"
            f" {{download}}`the notebook <{notebook_name(one)}>` does in Jupyter."
            " Options `--level easier` and `--level harder` give other exercises."
        )
        check = f"{ways}\n\n{hints_that_open(one)}\n"
        text = text.replace("## See it", f"{check}## See it", 1)
        yield WRITTEN / "lessons" / f"{one.number:02}.md", f"---\nhide-toc: true\n---\n\n{text}"
    yield WRITTEN / "lessons.md", list_of_lessons()


def list_of_lessons() -> str:
    """Return the page that names the lessons with their questions."""
    entries = "\n".join(f"lessons/{one.number:02}" for one in lessons())
    about = (
        "For somebody who can program in Python with NumPy, and needs to know nothing else. Each lesson is one question, a program,"
        " its picture, the formal statement and an exercise, in about 20 minutes. They build on one another: begin with the first."
        " Here they can be read; `scanviz learn` in a terminal, or a notebook at the end of each page, runs them and checks what"
        " you write. Optional ones are for authors of rewrites."
    )
    questions = "\n".join(
        f"{one.number}. [{one.entry}](lessons/{one.number:02}.md)<br>{one.question}" for one in lessons()
    )
    return f"# Twelve lessons\n\n{about}\n\n{questions}\n\n```{{toctree}}\n:hidden:\n\n{entries}\n```\n"


def notes_pages() -> Iterable[tuple[Path, str]]:
    """A page a lesson with its notes for teachers, and their list."""
    for one in lessons():
        yield WRITTEN / "notes" / f"{one.number:02}.md", notes(one).page
    entries = "\n".join(f"notes/{one.number:02}" for one in lessons())
    about = (
        "Of each lesson the misconceptions that its check answers, the solution, and an easier and a harder exercise."
        " `scanviz learn N --notes` prints them. [Teaching with scanviz](../teaching.md) has plans for a class."
    )
    yield (
        WRITTEN / "notes.md",
        f"# Notes for teachers\n\n{about}\n\n```{{toctree}}\n:maxdepth: 1\n\n{entries}\n```\n",
    )


def picture_that_opens(one: Lesson) -> str:
    """Return a lesson's picture, which a click shows as large as the window; a picture of steps is stacked on a phone."""
    names = {f"{one.number:02}.svg": "wide-only", f"{one.number:02}-narrow.svg": "narrow-only"}
    if not one.loop:
        names = {f"{one.number:02}.svg": ""}
    pictures = (
        f"```{{image}} {name}\n:alt: the loop of this lesson\n:target: ../../_images/{name}\n"
        + (f":class: {only}\n```" if only else "```")
        for name, only in names.items()
    )
    return "\n\n".join([*stepper_in_page(one), *pictures])


@functools.cache
def stepper(one: Lesson) -> str:
    """Return the stepper of a lesson's loop."""
    return stepper_of(one)


def stepper_in_page(one: Lesson) -> Iterable[str]:
    """Iterate over the frame of a lesson's stepper, and the link to it; nothing if the lesson has none."""
    if one.loop:
        path, height = f"../../steppers/{one.number:02}.html", height_of(stepper(one))
        yield (
            f'<iframe class="scanviz-stepper" height="{height}" src="{path}" title="the steps of this loop"></iframe>\n'
            f'<p class="scanviz-stepper"><a href="{path}">The stepper alone</a>, to project or to embed</p>'
        )


def draw_pictures() -> None:
    """Draw the loop of each lesson beside its page, and write its stepper, and the lesson as a notebook."""
    STEPPERS.mkdir(parents=True, exist_ok=True)
    for one in lessons():
        svg = svg_of(one.program, ("--pixels", WIDE, *one.picture) if one.loop else one.picture)
        (WRITTEN / "lessons" / f"{one.number:02}.svg").write_text(svg, "utf-8")
        (WRITTEN / "lessons" / notebook_name(one)).write_text(notebook_text(one, svg), "utf-8")
        if one.loop:
            narrow = svg_of(one.program, ("--pixels", PHONE, *one.picture))
            (WRITTEN / "lessons" / f"{one.number:02}-narrow.svg").write_text(narrow, "utf-8")
            (STEPPERS / f"{one.number:02}.html").write_text(stepper(one), "utf-8")


def draw_rewrites() -> None:
    """Film the rewrites of the program of each rewrite's page."""
    FILMS.mkdir(parents=True, exist_ok=True)
    for page in sorted((DOCS / "rewrites").glob("*.md")):
        film = drawn(program(page), ("--film",), "html")
        (FILMS / f"{page.stem}.html").write_text(film, "utf-8")


def operations() -> str:
    """Return tables of operations, from their declarations and the tables of their meanings."""
    load_meanings()
    head = ["operation", "what it does", "gradient", "native code", "all rows at once"]
    about = (
        "What graphs are made of. Functions of `scanviz.tensor` make one or several of them. An operation without native code"
        " runs by NumPy, in the default mode too; one without a gradient says so, and why, when it is asked for; what is done"
        " for all rows at once can leave a loop."
    )
    parts = [f"# Operations\n\n{about}\n"]
    known = sorted(declarations(), key=lambda one: (one.family, one.name))
    for family, members in itertools.groupby(known, key=lambda one: one.family):
        rows = [
            [
                f"`{one.name}`",
                one.doc,
                *("yes" if one in each else "" for each in (PULLBACKS, WRITE, BATCHING)),
            ]
            for one in members
        ]
        parts.append(f"## {family.replace('_', ' ')}\n\n{table(head, rows)}")
    return "\n".join(parts)


def load_meanings() -> None:
    """Use each table once, so that a program imports only the needed modules."""
    x = scanviz.tensor.vector("x")
    rows, _ = scanviz.scan(lambda x_t, h: scanviz.tensor.tanh(x_t + h), x, 0.0)
    built = scanviz.function([x], [rows, scanviz.grad(rows.sum(), x)], mode="native")
    built([1.0, 2.0])
    scanviz.vmap(lambda row: row + 1)(scanviz.tensor.matrix("rows"))


def rewrites() -> str:
    """Return the table of rules, phase by phase."""
    parts = [
        "# Rewrites\n\nWhat may be done to a graph before it runs, in the order of the phases."
        " [Rewrites](../rewrites.md) tells more.\n"
    ]
    for phase in PHASES:
        rows = [
            [f"`{rule.name}`", rule.doc, ", ".join(sorted(rule.tags - set(rule.phases)))]
            for rule in all_rules()
            if rule.phases[0] == phase
        ]
        if rows:
            parts.append(f"## {phase}\n\n{table(['rule', 'what it does', 'tags'], rows)}")
    return "\n".join(parts)


def fields() -> str:
    """Return the tables of the fields of a profile."""
    about = "What each object of [a profile](../reference/profile-format.md) holds, the profile itself first."
    return f"# Fields of a profile\n\n{about}\n\n{tables()}".replace("\n### ", "\n## ")


def command_pages() -> Iterable[tuple[Path, str]]:
    """A page a command: its help."""
    for name in COMMANDS:
        done = subprocess.run(
            [sys.executable, "-m", "scanviz", name, "--help"],
            env={**ENVIRONMENT, "COLUMNS": "1000"},  # each option in one line
            capture_output=True,
            text=True,
            check=True,
        )
        text = f"# scanviz {name}\n\n{command_page(done.stdout)}"
        yield WRITTEN / "commands" / f"{name}.md", text
    entries = "\n".join(f"commands/{name}" for name in COMMANDS)
    yield WRITTEN / "commands.md", f"# The command line\n\n```{{toctree}}\n:maxdepth: 1\n\n{entries}\n```\n"


def command_page(text: str) -> str:
    """Return a command's help as Markdown: how it is called, paragraphs that fit any screen, and a table of options."""
    usage, first, *more = text.rstrip().split("\n\n")
    parts = [escaped(first), f"```text\n{usage}\n```"]
    for paragraph in more:
        heading, *lines = paragraph.splitlines()
        if heading == "options:":
            rows = [OPTION.match(line) for line in lines]
            assert all(rows), lines
            cells = [[f"`{row[1]}`", escaped(row[2])] for row in rows if row is not None]
            parts.append(table(["option", "what it does"], cells))
        else:
            listed = any(line.startswith(" ") for line in lines)
            parts.append(f"```text\n{paragraph}\n```" if listed else escaped(paragraph))
    return "\n\n".join(parts)


def escaped(text: str) -> str:
    """Return plain text as Markdown; what stands in backticks stays code, and names of options become code."""
    pieces = re.split(r"(`[^`]*`)|(?<![\w-])(--?[A-Za-z][\w-]*)", text)
    found = []
    for plain, code, option in itertools.zip_longest(pieces[::3], pieces[1::3], pieces[2::3]):
        found.append(re.sub(r"([*_<\[\]$])", r"\\\1", plain))
        found.append(code or (f"`{option}`" if option else ""))
    return "".join(found)


def api_pages() -> Iterable[tuple[Path, str]]:
    """A page a module: its public names with their docstrings, each in full where it comes first."""
    documented: dict[int, str] = {}
    for name, about in MODULES.items():
        module = importlib.import_module(name)
        lines, others = [f"# {name}", "", about, ""], []
        for key in public_names(name):
            found = getattr(module, key)
            if not inspect.isclass(found) and not inspect.isfunction(found):
                others.append([f"`{key}`", first_line(found)])
            elif id(found) in documented:
                first = documented[id(found)]
                others.append([f"`{key}`", f"{{py:obj}}`{first}.{key} <{first}.{key}>`"])
            else:
                documented[id(found)] = name
                lines += api_entry(f"{name}.{key}", found)
        if others:
            lines += ["## Other names", "", table(["name", "what it is"], others)]
        yield WRITTEN / "api" / f"{name}.md", "\n".join(lines)
    entries = "\n".join(f"api/{name}" for name in MODULES)
    yield WRITTEN / "api.md", f"# API\n\n```{{toctree}}\n:maxdepth: 1\n\n{entries}\n```\n"


def public_names(name: str) -> list[str]:
    """Return the public names of a module: its list, else its definitions."""
    module = importlib.import_module(name)
    own = [key for key, found in vars(module).items() if getattr(found, "__module__", "") == name]
    return sorted(key for key in getattr(module, "__all__", own) if not key.startswith("_"))


def api_entry(path: str, found: object) -> list[str]:
    """Return the lines for a class, with its methods, or for a function."""
    head = (
        [f".. autoclass:: {path}", "   :members:"]
        if isinstance(found, type)
        else [f".. autofunction:: {path}"]
    )
    return ["```{eval-rst}", *head, "```", ""]


def first_line(found: object) -> str:
    """Return a one-line description of a module, a constant or a type alias."""
    if inspect.ismodule(found):
        return (found.__doc__ or "").strip().splitlines()[0]
    if type(found).__module__.startswith("scanviz"):
        return (inspect.getdoc(found) or "").partition("\n")[0]
    return f"`{found!r}`" if len(repr(found)) < 100 else f"a {type(found).__name__}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(
        "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in row) + " |\n"
        for row in lines
    )
