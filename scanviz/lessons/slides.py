"""Lessons as slides: one page for a browser, which projects and prints it; pictures and steppers of the loops lie beside it.

A slide is 16 units wide and 9 high on any screen and in print.  A long program has several slides, so that its letters are at least
18 pixels high on a slide of 1280 × 720; a line of script makes the letters of other full slides smaller.
"""

from __future__ import annotations

import html
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from scanviz.lessons.source import Lesson, lessons

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
SECONDS = 120.0  # time limit of a browser's PDF
LINES, COLUMNS = 26, 100  # of programs and output on a slide
_SECTION = r"^## {}\n(.*?)(?=^## |\Z)"
_STYLE = """
:root { color-scheme: light; scroll-snap-type: y mandatory; }
body { margin: 0; background: #fff; color: #111; font-family: Helvetica, Arial, sans-serif; }
section { container-type: size; scroll-snap-align: start; height: 100vh; width: min(100vw, 177.77vh); margin: auto; }
main { box-sizing: border-box; height: 100cqh; padding: 2cqw 3cqw 1.5cqw; font-size: calc(2.1cqw * var(--fit, 1)); line-height: 1.4;
  overflow: hidden; display: flex; flex-direction: column; }
h1 { font-size: 4.2cqw; line-height: 1.2; margin: auto 0 2cqw; } h1 + p { font-size: 2.6cqw; margin-bottom: auto; }
h2 { font-size: 1.8cqw; font-weight: normal; color: #555; margin: 0 0 .8cqw; }
p, ul, ol { margin: 0 0 .8em; }
pre { font-size: max(.85em, 1.42cqw); line-height: 1.2; background: #f3f3f3; padding: .7em 1em; margin: 0 0 .8em; }
td, th { border: 1px solid #999; padding: .1em .6em; text-align: left; } table { border-collapse: collapse; margin-bottom: .8em; }
.both { display: flex; flex-wrap: wrap; gap: 1cqw; } .both pre { flex: 1 1 auto; margin: 0; }
img { flex: 1; min-height: 0; width: 100%; object-fit: contain; }
@page { size: 1280px 720px; margin: 0; }
@media print { section { width: 1280px; height: 720px; break-after: page; } }
"""
_FIT = """
for (const slide of document.querySelectorAll("main"))
  for (let fit = 1; fit > .3 && (slide.scrollHeight > slide.clientHeight || slide.scrollWidth > slide.clientWidth); fit -= .03)
    slide.style.setProperty("--fit", fit);
"""


def picture_name(lesson: Lesson) -> str:
    """Return the name of the file of a lesson's picture."""
    return f"{lesson.number:02}.svg"


def stepper_name(lesson: Lesson) -> str:
    """Return the name of the file of a lesson's stepper."""
    return f"{lesson.number:02}.html"


def slides(shown: Sequence[Lesson]) -> str:
    """Return a page of slides: for each lesson its question, program, output, picture, formal statement and exercise.

    The number of a lesson is the anchor of its first slide.
    """
    body = "".join(
        f"<section{'' if k else f' id={one.number}'}><main>{text}</main></section>\n"
        for one in shown
        for k, text in enumerate(_slides_of(one))
    )
    head = f'<meta charset="utf-8"><title>scanviz: lessons</title><style>{_STYLE}</style>'
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head>\n<body>\n{body}<script>{_FIT}</script>\n'
        "</body></html>\n"
    )


def _slides_of(one: Lesson) -> Iterator[str]:
    title = f"<h2>{one.number}. {html.escape(one.title)}"
    yield (
        f"<h1>{html.escape(one.question)}</h1><p>Lesson {one.number} of {len(lessons())}: {html.escape(one.title)}</p>"
    )
    parts = parts_of(one.program)
    for k, part in enumerate(parts, 1):  # without output, so that a class can predict it
        of = f" ({k} of {len(parts)})" if len(parts) > 1 else ""
        yield f"{title}: the program{of}</h2>{_code(part)}"
    beside = [parts[-1]] if _fit(parts[-1], one.output) else []
    yield f'{title}: what it prints</h2><div class="both">{"".join(map(_code, [*beside, one.output]))}</div>'
    steps = f' · <a href="{stepper_name(one)}">step by step</a>' if one.loop else ""
    yield f'{title}: the loop{steps}</h2><img src="{picture_name(one)}" alt="the loop of this lesson">'
    for heading in ("Formally", "Exercise"):
        found = re.search(_SECTION.format(heading), one.page, re.MULTILINE | re.DOTALL)
        yield f"{title}: {heading.lower()}</h2>{_rendered(found[1] if found else '')}"


def parts_of(program: str) -> list[str]:
    r"""Return a program in as few parts as fit on a slide each, of about the same length, without every second blank line.

    Examples
    --------
    >>> [part.count("\n") for part in parts_of("x = 1\n\n\n" * 20)]
    [18, 18]
    """
    program = program.strip().replace("\n\n\n", "\n\n")
    count = -(-len(program.splitlines()) // LINES)
    wanted = len(program.splitlines()) / count
    parts = [""]
    for block in re.split(r"\n\n(?=\S)", program):
        if parts[-1] and (parts[-1].count("\n") >= wanted or f"{parts[-1]}{block}".count("\n") >= LINES):
            parts.append("")
        parts[-1] += f"{block}\n\n"
    return [part.strip() for part in parts]


def _fit(program: str, output: str) -> bool:
    """Return whether a program and its output fit on a slide, beside or below one another."""
    lines = [text.splitlines() for text in (program, output)]
    beside = sum(max(map(len, part)) for part in lines) <= COLUMNS and max(map(len, lines)) <= LINES
    return beside or sum(map(len, lines)) + 3 <= LINES


def _code(text: str) -> str:
    return f"<pre>{html.escape(text.strip())}</pre>"


def _rendered(text: str) -> str:
    """Return Markdown as HTML."""
    from markdown_it import MarkdownIt

    return str(MarkdownIt("commonmark").enable("table").render(text))


def write_pdf(page: Path) -> Path | None:
    """Print a page of slides as PDF; return None without Chromium, or if it fails."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        return None
    pdf = page.with_suffix(".pdf")
    options = ["--headless", "--disable-gpu", "--no-pdf-header-footer", "--window-size=1280,720"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        options.append("--no-sandbox")  # Chromium has no sandbox for root
    try:
        # A profile of its own: an open browser keeps the usual one.  No pipes: processes of a stopped browser hold them open.
        with TemporaryDirectory(ignore_cleanup_errors=True) as profile:
            options += [f"--user-data-dir={profile}", f"--print-to-pdf={pdf.resolve()}"]
            subprocess.run(
                [browser, *options, page.resolve().as_uri()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=SECONDS,
                check=False,
            )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return pdf if pdf.exists() else None
