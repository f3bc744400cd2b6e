"""List changes that would make the run of a saved profile faster or smaller, each with its line and the expected gain.

Advice needs evidence in the profile, and concerns at least 2 % of the run. The text shows how each gain was estimated.

for example:
  scanviz advise train.scanviz
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
