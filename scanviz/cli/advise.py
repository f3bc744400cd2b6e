"""Say what a saved profile gives reason to change, each with its line and an estimate.

Advice comes from the figures of the record alone: nothing is said without evidence in it, nor about what takes less than 2 % of
the run. Estimates say how they were made. With --json, the same as data.
"""

from __future__ import annotations

import sys

from scanviz.cli.files import loaded, one_file
from scanviz.cli.options import Option, parse
from scanviz.record.plain_text import write_json, write_text

USAGE = "advise [options] FILE"
OPTIONS = (Option(("--json",), "", "print the advice as JSON"),)
_WIDEST = 100


def main(arguments: list[str]) -> int:
    """Print advice and return the exit code."""
    given = parse(arguments, OPTIONS)
    path = one_file(given.rest, "advise")
    from scanviz.profiler.advice import advice_of
    from scanviz.profiler.advice.report import advice_json, render_advice
    from scanviz.profiler.report.text import wants_color, width_of

    record = loaded(path)
    advice = advice_of(record)
    out = sys.stdout
    if given.json:
        write_json(advice_json(record, advice), out)
        return 0
    width, color = min(width_of(out), _WIDEST), wants_color(out)
    write_text(render_advice(record, advice, width=width, color=color), out, colours=color)
    return 0
