"""Write a saved profile in the format of another tool.

The result goes to a file beside where you are, named after the profile; tables (csv, parquet) go to a folder, one file
each, or with --table one of them to one file. -o - writes to standard output. Nothing that is there is replaced unless
--force is given.
"""

from __future__ import annotations

import sys
from pathlib import Path

from scanviz.cli.files import loaded, one_file
from scanviz.cli.options import Option, Parsed, UsageError, help_text, parse, suggestion
from scanviz.profiler.export import FORMATS, MissingLibraryError, export
from scanviz.record.plain_text import plain

USAGE = "export [options] FILE"
OPTIONS = (
    Option(("-f", "--format"), "FORMAT", "which", tuple(FORMATS)),
    Option(("-o", "--output"), "OUT", "file, or folder for tables; - for standard output"),
    Option(("--table",), "NAME", "of csv and parquet, this table alone"),
    Option(("--force",), "", "replace what is there"),
)


def main(arguments: list[str]) -> int:
    """Export a profile and return the exit code."""
    parsed = parse(arguments, OPTIONS, program=False)
    if "help" in parsed.options:
        formats = "\n".join(f"  {name:<11} {each.about}" for name, each in FORMATS.items())
        sys.stdout.write(help_text(USAGE, f"{__doc__}\nformats:\n{formats}", OPTIONS))
        return 0
    path = one_file(parsed.rest, "export")
    name = parsed.options.get("format")
    if name is None:
        raise UsageError(f"which format? --format {'|'.join(FORMATS)}")
    record = loaded(path)
    try:
        pieces = export(record, name)
    except MissingLibraryError as error:
        sys.stderr.write(f"scanviz: {error}\n")
        return 1
    table = parsed.options.get("table")
    if table is not None:
        if table not in pieces or not FORMATS[name].tables:
            known = ", ".join(pieces) if FORMATS[name].tables else "none, it is one piece"
            raise UsageError(
                f"{name} has no table named {table!r}{suggestion(table, pieces)}; tables: {known}"
            )
        pieces = {"": pieces[table]}
    _deliver(pieces, _target(parsed, path, table), FORMATS[name].suffix, "force" in parsed.options)
    return 0


def _target(parsed: Parsed, path: Path, table: str | None) -> Path | None:
    """Return where the result goes, None for standard output."""
    given = parsed.options.get("output")
    if given == "-":
        return None
    if given is not None:
        return Path(given)
    form = FORMATS[parsed.options["format"]]
    stem = path.name.removesuffix(".scanviz")
    if form.tables and table is None:
        return Path(f"{stem}-{parsed.options['format']}")
    return Path(stem + (f".{table}" if table else "") + form.suffix)


def _deliver(pieces: dict[str, bytes], target: Path | None, suffix: str, force: bool) -> None:
    if target is None:
        if len(pieces) > 1:
            raise UsageError(f"only one table fits into standard output: --table {'|'.join(pieces)}")
        sys.stdout.flush()
        sys.stdout.buffer.write(*pieces.values())
        sys.stdout.flush()
        return
    files = {target: pieces[""]} if "" in pieces else {target / f"{k}{suffix}": v for k, v in pieces.items()}
    folder = target.parent if "" in pieces else target
    _refuse_what_is_there(target, files, force)
    try:
        if "" not in pieces:
            folder.mkdir(exist_ok=True)
        for file, data in files.items():
            write_whole(file, data, force)
    except OSError as error:
        raise UsageError(f"{target} cannot be written: {error.strerror or error}") from None
    sys.stderr.write(f"saved {plain(str(target))}\n")


def _refuse_what_is_there(target: Path, files: dict[Path, bytes], force: bool) -> None:
    """Refuse a target that cannot be written, or that would replace something without having been told to."""
    if not target.parent.is_dir():
        raise UsageError(f"{target} cannot be written: there is no folder {target.parent}")
    if target in files:
        if target.is_dir():
            raise UsageError(f"{target} is a folder; a file is to be written")
    elif target.exists() and not target.is_dir():
        raise UsageError(f"{target} is a file; tables are written to a folder")
    there = next((each for each in files if each.exists() or each.is_symlink()), None)
    if there is not None and not force:
        raise UsageError(f"{there} exists; --force replaces it")


def write_whole(file: Path, data: bytes, replace: bool) -> None:
    """Write a file; without ``replace`` one that has appeared meanwhile is left alone, and is an error."""
    with open(file, "wb" if replace else "xb") as stream:
        stream.write(data)
