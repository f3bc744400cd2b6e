"""Print the report of a saved profile.

With --json the whole record goes to standard output, for other programs.
"""

from __future__ import annotations

import json
import sys

from scanviz.cli.options import Option, UsageError, help_text, parse, suggestion

USAGE = "report [options] FILE"
OPTIONS = (
    Option(("--json",), "", "print the record as JSON"),
    Option(("--top",), "N", "rows of each table"),
    Option(("--scan",), "NAME", "show this loop alone, in full"),
)


def main(arguments: list[str]) -> int:
    """Print a report and return the exit code."""
    parsed = parse(arguments, OPTIONS, program=False)
    if "help" in parsed.options:
        sys.stdout.write(help_text(USAGE, __doc__, OPTIONS))
        return 0
    if len(parsed.rest) != 1:
        found = f", found {len(parsed.rest)}" if parsed.rest else ""
        raise UsageError(f"which profile? scanviz report takes one FILE{found}")
    from scanviz.profiler.report import print_report
    from scanviz.record.file import load

    top = parsed.number("top", 8)
    try:
        record = load(parsed.rest[0])
    except OSError as error:
        raise UsageError(f"{parsed.rest[0]} cannot be read: {error.strerror or error}") from None
    names = sorted({loop.name for loop in record.loops})
    wanted = parsed.options.get("scan")
    if wanted is not None and wanted not in names:
        raise UsageError(
            f"{parsed.rest[0]} has no loop named {wanted!r}{suggestion(wanted, names)}; loops: {', '.join(names) or 'none'}"
        )
    if "json" in parsed.options:
        json.dump(record.to_json(), sys.stdout)
        sys.stdout.write("\n")
    else:
        print_report(record, sys.stdout, top=top, scan_name=wanted)
    return 0
