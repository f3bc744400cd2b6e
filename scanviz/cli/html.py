"""Write a saved profile as one HTML page that needs no network.

The page goes to the working folder, named after the profile; `scanviz profile --html SCRIPT` profiles and writes it at once. A
page of scanviz is replaced, any other file only with --force. --recompute puts values of more steps into the page: all steps of
a short run, or the first, the last and those around the first NaN of a long one.

for example:
  scanviz html train.scanviz                  writes train.html
  scanviz html -o - train.scanviz > page.html
"""

from __future__ import annotations

import sys
from pathlib import Path

from scanviz.cli.files import (
    RECOMPUTE,
    STANDARD_OUTPUT,
    free_place,
    loaded,
    one_file,
    recomputing,
    seconds_of,
    write_to_standard_output,
)
from scanviz.cli.options import Option, parse
from scanviz.record.model import ProfileRecord
from scanviz.record.plain_text import write_text
from scanviz.render.page import Extras, page  # before a script's folder is on sys.path

USAGE = "html [options] FILE"
OPTIONS = (
    Option(("-o", "--output"), "OUT", "the page; - for standard output"),
    Option(("--force",), "", "replace OUT even if it is no page of scanviz"),
    RECOMPUTE,
)


def main(arguments: list[str]) -> int:
    """Write the page of a profile and return the exit code."""
    given = parse(arguments, OPTIONS)
    path, out = one_file(given.rest, "html"), given.output
    target = None if out in STANDARD_OUTPUT else checked_target(out, path.name, given.force)
    record = loaded(path)
    with recomputing(record, seconds_of(given)) as look:
        if look is not None:
            from scanviz.profiler.values.replay import filled

            record = filled(record, look)
    text = page_of(record, path.name)
    if target is None:
        write_to_standard_output(text.encode("utf-8"))
        return 0
    write_page(text, target, force=given.force)
    write_text(f"wrote {target}\n", sys.stderr)
    return 0


def checked_target(given: str | None, profile: str, force: bool) -> Path:
    """Return the path for a page, if it may be written.

    Raises
    ------
    UsageError
        If another file is there, or the path cannot hold a file.
    """
    target = Path(given) if given is not None else Path(f"{profile.removesuffix('.scanviz')}.html")
    return free_place(target, force=force, ours=is_page, what="page of scanviz")


def is_page(path: Path) -> bool:
    """Return whether scanviz wrote a file as a page."""
    from scanviz.record.storage.reading import ends_of
    from scanviz.render.page.build import MARK

    return f"<!-- {MARK} -->".encode() in ends_of(path, 200, 0)


def page_of(record: ProfileRecord, file: str = "") -> str:
    """Return the page of a record with its advice; commands in it name the record's file."""
    from scanviz.profiler.advice import advice_of
    from scanviz.profiler.advice.report import to_try
    from scanviz.record.processor import beyond_the_clock

    beside = beyond_the_clock(record)
    notes = [f"{beside}."] if beside else ()
    advice = advice_of(record)
    best = to_try(record, advice)
    shown = [
        {"title": one.title, "text": one.text, "evidence": one.evidence, "source": str(one.source or "")}
        for one in advice
    ]
    return page(record, Extras(advice=shown, notes=notes, to_try=best.text if best else "", file=file))


def write_page(text: str, target: Path, *, force: bool) -> None:
    """Write a page completely or not at all; a new file that is no page is replaced only by force.

    Raises
    ------
    CannotWriteError
        If it cannot be written.
    """
    from scanviz.record.storage.writing import replacing

    with replacing(target, None if force else is_page, "page of scanviz") as stream:
        stream.write(text.encode("utf-8"))
