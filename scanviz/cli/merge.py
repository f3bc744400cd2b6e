"""Merge saved profiles into one: of several processes, parts of a pipeline, or scripts.

Each function keeps the name of its profile as its origin, which all views show. Times and counts add up as if the runs had
followed one another. Merged profiles can be merged further.

for example:
  scanviz merge worker-1.scanviz worker-2.scanviz -o all.scanviz
"""

from __future__ import annotations

import sys
from pathlib import Path

from scanviz.cli.files import STANDARD_OUTPUT, free_place, loaded, never
from scanviz.cli.options import Option, UsageError, parse
from scanviz.profiler.report.units import counted
from scanviz.record.plain_text import sanitize, write_text

USAGE = "merge [options] A B … -o C"
OPTIONS = (
    Option(("-o", "--output"), "FILE", "where to save the merged profile"),
    Option(("-q", "--quiet"), "", "print nothing"),
    Option(("--force",), "", "replace FILE if it exists"),
)


def main(arguments: list[str]) -> int:
    """Merge profiles and return the exit code."""
    given = parse(arguments, OPTIONS)
    if len(given.rest) < 2:
        raise UsageError(f"scanviz merge takes two profiles or more, found {len(given.rest)}")
    if given.output is None:
        raise UsageError(f"no output given: scanviz merge {' '.join(given.rest)} -o FILE")
    if given.output in STANDARD_OUTPUT:
        raise UsageError("a profile cannot go to standard output: -o FILE names a file")
    place = free_place(Path(given.output).absolute(), force=given.force, ours=never, what="")
    from scanviz.record.storage.file import save
    from scanviz.record.storage.merging import merged

    paths = [Path(name) for name in given.rest]
    whole = merged([(name, loaded(path)) for name, path in zip(origin_names(paths), paths, strict=True)])
    save(whole, place)
    if not given.quiet:
        functions = counted(len(whole.functions), "function")
        summary = f"{counted(len(whole.origins), 'profile')} with {functions} in {sanitize(given.output)}"
        write_text(f"merged {summary}\n", sys.stderr)
    return 0


def origin_names(paths: list[Path]) -> list[str]:
    """Return the origins of profiles: their file names, with folders if necessary.

    Examples
    --------
    >>> origin_names([Path("a.scanviz"), Path("b.scanviz")]), origin_names([Path("x/a.scanviz"), Path("y/a.scanviz")])
    (['a', 'b'], ['x/a', 'y/a'])
    """
    stems = [path.stem for path in paths]
    if len(set(stems)) == len(stems):
        return stems
    return [path.with_suffix("").as_posix() for path in paths]
