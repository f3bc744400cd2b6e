"""Write a saved profile in the format of another tool.

The result goes to a file in the working folder, named after the profile. Tables (csv, parquet) go to a folder, one file each;
--table writes one of them to one file. -o - writes to standard output. Files are replaced only with --force.

for example:
  scanviz export -f speedscope train.scanviz  a flame graph for speedscope.app
  scanviz export -f csv --table loops -o - train.scanviz
"""

from __future__ import annotations

import sys
from pathlib import Path

from scanviz.cli.files import STANDARD_OUTPUT, free_place, loaded, never, one_file, write_to_standard_output
from scanviz.cli.options import Given, HelpWanted, Option, UsageError, parse, suggestion
from scanviz.profiler.export import (
    FORMATS,
    Format,
    MissingLibraryError,
    PluginFailure,
    export,
    format_named,
    formats,
)
from scanviz.record.errors import CannotWriteError
from scanviz.record.plain_text import sanitize, write_text
from scanviz.record.storage.reading import kind_at
from scanviz.record.storage.writing import replacing

USAGE = "export [options] FILE"
OPTIONS = (
    Option(("-f", "--format"), "FORMAT", f"{', '.join(FORMATS)}, or one that a plug-in adds"),
    Option(("-o", "--output"), "OUT", "file, or folder for tables; - for standard output"),
    Option(("--table",), "NAME", "only this table, for csv and parquet"),
    Option(("--force",), "", "replace files that exist"),
)


def main(arguments: list[str]) -> int:
    """Export a profile and return the exit code."""
    try:
        given = parse(arguments, OPTIONS)
    except HelpWanted:
        known, failed = formats()
        listed = [f"  {name:<11} {form.about}" for name, form in known.items()]
        raise HelpWanted("\n".join(["\nformats:", *listed, *failed])) from None
    path, name = one_file(given.rest, "export"), given.format
    if name is None:
        raise UsageError(f"no format given: --format {'|'.join(formats()[0])}")
    try:
        form = _format(name)
        record = loaded(path)
        pieces = export(record, name)
    except (MissingLibraryError, PluginFailure) as error:
        write_text(f"scanviz: {error}\n", sys.stderr)
        return 1
    table = given.table
    if table is not None:
        if table not in pieces or not form.tables:
            tables = ", ".join(pieces) if form.tables else "none, it is one piece"
            raise UsageError(
                f"{name} has no table named {table!r}{suggestion(table, pieces)}; tables: {tables}"
            )
        pieces = {"": pieces[table]}
    _deliver(pieces, _target(given, path, table, form), form.suffix, given.force)
    return 0


def _format(name: str) -> Format:
    """Return the format of a name, or list all formats in the error."""
    try:
        return format_named(name)
    except KeyError:
        known = formats()[0]
        raise UsageError(
            f"--format takes {' or '.join(known)}, not {name!r}{suggestion(name, known)}"
        ) from None


def _target(given: Given, path: Path, table: str | None, form: Format) -> Path | None:
    """Return the target path, None for standard output."""
    if given.output in STANDARD_OUTPUT:
        return None
    if given.output is not None:
        return Path(given.output)
    stem = path.name.removesuffix(".scanviz")
    if form.tables and table is None:
        return Path(f"{stem}-{given.format}")
    return Path(stem + (f".{table}" if table else "") + form.suffix)


def _deliver(pieces: dict[str, bytes], target: Path | None, suffix: str, force: bool) -> None:
    if target is None:
        if len(pieces) > 1:
            raise UsageError(f"standard output takes one table: --table {'|'.join(pieces)}")
        write_to_standard_output(*pieces.values())
        return
    whole = "" in pieces
    files = {target: pieces[""]} if whole else {target / f"{k}{suffix}": v for k, v in pieces.items()}
    try:
        if not whole:
            _make_folder(target)
        for file in files:
            free_place(file, force=force, ours=never, what="", fix="--force replaces it")
        for file, data in files.items():
            with replacing(file, None if force else never) as stream:
                stream.write(data)
    except CannotWriteError as error:
        raise UsageError(str(error)) from None
    write_text(f"saved {sanitize(str(target))}\n", sys.stderr)


def _make_folder(target: Path) -> None:
    """Create the folder for tables, if necessary."""
    try:
        kind = kind_at(target)
        if kind not in ("nothing", "a folder"):
            raise UsageError(f"{target} is {kind}; tables are written to a folder")
        target.mkdir(exist_ok=True)
    except OSError as error:
        raise UsageError(f"{target} cannot be written: {error.strerror or error}") from None
