"""Merge saved profiles into one: of the processes of a program, of the parts of a pipeline, of the scripts of a day.

Functions stand beside one another, each with its origin, the profile that it comes from, which reports, tables, the page and the
terminal application show. Times and counts of the runs add up, as if they had run one after the other. The result is a profile like
any other; profiles that are merged already may be merged further. Nothing that is there is replaced unless --force is given.
"""

from __future__ import annotations

import sys
from pathlib import Path

from scanviz.cli.files import FORCE, STANDARD_OUTPUT, free_place, loaded
from scanviz.cli.options import Option, UsageError, parse
from scanviz.profiler.report.units import counted
from scanviz.record.plain_text import sanitize, write_text

USAGE = "merge [options] A B … -o C"
OPTIONS = (
    Option(("-o", "--output"), "FILE", "where the merged profile is saved"),
    Option(("-q", "--quiet"), "", "print nothing"),
    Option(("--force",), "", "replace FILE"),
)


def main(arguments: list[str]) -> int:
    """Merge profiles and return the exit code."""
    given = parse(arguments, OPTIONS)
    if len(given.rest) < 2:
        raise UsageError(f"which profiles? scanviz merge takes two or more, found {len(given.rest)}")
    if given.output is None:
        raise UsageError(f"where to? scanviz merge {' '.join(given.rest)} -o FILE")
    if given.output in STANDARD_OUTPUT:
        raise UsageError("a profile is saved as a file, not on standard output: -o names one")
    place = free_place(Path(given.output).absolute(), force=given.force, ours=_nothing, what="", fix=FORCE)
    from scanviz.record.storage.file import save
    from scanviz.record.storage.merging import merged

    paths = [Path(name) for name in given.rest]
    whole = merged([(name, loaded(path)) for name, path in zip(origin_names(paths), paths, strict=True)])
    save(whole, place)
    if not given.quiet:
        functions = counted(len(whole.functions), "function")
        told = f"{counted(len(whole.origins), 'profile')} with {functions} in {sanitize(given.output)}"
        write_text(f"merged {told}\n", sys.stderr)
    return 0


def origin_names(paths: list[Path]) -> list[str]:
    """Return what profiles are called among one another: as their files, with folders where these tell them apart.

    Examples
    --------
    >>> origin_names([Path("a.scanviz"), Path("b.scanviz")]), origin_names([Path("x/a.scanviz"), Path("y/a.scanviz")])
    (['a', 'b'], ['x/a', 'y/a'])
    """
    stems = [path.stem for path in paths]
    if len(set(stems)) == len(stems):
        return stems
    return [path.with_suffix("").as_posix() for path in paths]


def _nothing(path: Path) -> bool:
    """Return whether a file may be replaced unasked: none, for it may be one of those that are merged."""
    return False
