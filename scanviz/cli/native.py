"""Print the machine code of a script's loops, with your lines beside it.

Functions without mode= run on the native tier; the script's own output goes to standard error. When the script ends, the code of
each loop that ran is printed, for the loop's latest shapes. A loop without machine code is listed with the reason.

for example:
  scanviz native train.py                     in LLVM's language
  scanviz native --asm --scan rnn train.py    the processor's instructions of one loop
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from scanviz.cli.built import show_functions
from scanviz.cli.fitted import code_line, terminal_columns
from scanviz.cli.options import Option, UsageError, options_behind, parse, program_of, suggestion
from scanviz.cli.run import set_mode
from scanviz.record.names import is_meant
from scanviz.record.plain_text import sanitize, write_text

if TYPE_CHECKING:
    from scanviz.engine.backends.native.run.tier import Listing
    from scanviz.engine.function import Function

USAGE = "native [options] SCRIPT [arguments]"
OPTIONS = (
    Option(("--function",), "NAME", "this function alone"),
    Option(("--scan",), "NAME", "this loop alone"),
    Option(("--ir",), "", "print LLVM's language (the default)"),
    Option(("--asm",), "", "print the processor's instructions"),
)


def main(arguments: list[str]) -> int:
    """Print the code and return the exit code; a failing script keeps its own."""
    given = parse(arguments, OPTIONS, program=True)
    if given.ir and given.asm:
        raise UsageError("--ir and --asm cannot be combined")
    if given.rest and given.rest[0].endswith(".scanviz"):
        raise UsageError(_of_profile(Path(given.rest[0])))
    program = program_of(given.rest, "native")
    for note in options_behind(given.rest, OPTIONS):
        write_text(f"scanviz: {note}\n", sys.stderr)
    set_mode("native")

    def deliver(functions: Sequence[Function], out: TextIO) -> None:
        from scanviz.engine.backends.native.run.tier import listings

        chosen = [function for function in functions if is_meant(function.name, given.function)]
        found = [listing for function in chosen for listing in listings(function.executable)]
        for listing in _chosen(found, given.scan):
            _show(listing, given.asm, out)
        out.flush()

    return show_functions(program, "the code", deliver)


def _of_profile(path: Path) -> str:
    """Explain that a profile has no code, and what to write instead."""
    from scanviz.cli.files import loaded

    script = loaded(path).script
    return (
        f"{path} holds no machine code, which depends on the shapes that loops meet: run the script,"
        f" scanviz native {sanitize(shlex.quote(script)) if script.endswith('.py') else 'SCRIPT'}"
    )


def _chosen(found: Sequence[Listing], name: str | None) -> list[Listing]:
    chosen = [listing for listing in found if name in (None, listing.name)]
    if not chosen:
        names = list(dict.fromkeys(listing.name for listing in found))
        listed = ", ".join(map(sanitize, names)) or "none"
        raise UsageError(
            "no loop has run on the native tier"
            if name is None
            else f"no loop named {name!r} has run{suggestion(name, names)}; loops: {listed}"
        )
    return chosen


def _show(listing: Listing, assembly: bool, out: TextIO) -> None:
    width, comment = terminal_columns(out), "#" if assembly else ";"
    heading = f"loop `{sanitize(listing.name)}`: {sanitize(listing.why)}"
    write_text("".join(f"{part}\n" for part in code_line(heading, width, comment)), out)
    text = listing.assembly() if assembly else listing.ir
    for line in text.splitlines():
        fitting = code_line(f"  {sanitize(line.expandtabs(8))}", width, comment)
        write_text("".join(f"{part}\n" for part in fitting), out)
