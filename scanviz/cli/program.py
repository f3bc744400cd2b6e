"""Print the Programs that a script's functions run: instructions, registers, loops with their steps, and your lines.

The Programs are printed on standard output when the script ends, after all rewrites; the script's own output goes to standard
error. Loops that ran on the NumPy tier show the places of their registers in memory, for the latest shapes. -o writes one Program
to a file, FILE.program, which this command prints again and a backend can run. A profile holds Programs too.

for example:
  scanviz program train.py                    all functions
  scanviz program --scan rnn train.scanviz    one loop, from a profile
  scanviz program --function train -o train.program train.py
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from scanviz.cli.built import show_functions
from scanviz.cli.files import free_place, loaded
from scanviz.cli.fitted import terminal_columns
from scanviz.cli.options import (
    MODE,
    Given,
    Option,
    UsageError,
    options_after_file,
    parse,
    program_of,
    suggestion,
)
from scanviz.cli.run import set_mode
from scanviz.record.errors import CannotReadError
from scanviz.record.names import is_meant
from scanviz.record.plain_text import sanitize, write_text
from scanviz.record.storage.reading import open_file

if TYPE_CHECKING:
    from scanviz.engine.function import Function
    from scanviz.engine.program.instructions import Program
    from scanviz.engine.program.printer import Notes

    Known = tuple[Program, Notes]

USAGE = "program [options] SCRIPT|FILE.program|FILE.scanviz [arguments]"
ENDING = ".program"
OPTIONS = (
    Option(("--function",), "NAME", "this function alone"),
    Option(("--scan",), "NAME", "this loop alone"),
    Option(("-o", "--output"), "FILE", "write the Program of one function to FILE.program"),
    Option(("--hash",), "", "print structural hashes, equal for Programs that compute the same"),
    Option(("--force",), "", "replace FILE even if it is no Program"),
    MODE,
)


def main(arguments: list[str]) -> int:
    """Print Programs and return the exit code; a failing script keeps its own."""
    given = parse(arguments, OPTIONS, program=True)
    if given.rest and given.rest[0].endswith((ENDING, ".scanviz")):
        given = options_after_file(given, OPTIONS, "program")
        path = Path(given.rest[0])
        programs = [_read(path)] if path.suffix == ENDING else _recorded(path)
        target = _target(given) if path.suffix != ENDING else None
        _deliver([(program, _notes(None)) for program in programs], given, target, sys.stdout)
        return 0
    target = _target(given)
    program = program_of(given.rest, "program")
    set_mode(given.mode)

    def deliver(functions: Sequence[Function], out: TextIO) -> None:
        _deliver([_known(function) for function in functions], given, target, out)

    return show_functions(program, "the Programs", deliver)


def _known(function: Function) -> Known:
    """Return the Program of a function under its name in profiles, and notes for its lines."""
    from msgspec.structs import replace

    return replace(function.program, name=function.name), _notes(function)


def _notes(function: Function | None) -> Notes:
    """Return the refusals of tiers, and the plans of loops if the tier has plans."""
    from scanviz.engine.backends.tiers import refused_by
    from scanviz.engine.program.planned import notes_of
    from scanviz.engine.program.printer import Notes

    planned = Notes() if function is None else notes_of(function.program, function.memory_plans())
    return planned._replace(refused=refused_by())


def _target(given: Given) -> Path | None:
    if given.output is None:
        return None
    if not given.output.endswith(ENDING):
        raise UsageError(f"-o takes a FILE{ENDING}, not {given.output}")
    place, fix = Path(given.output).absolute(), "--force replaces it"
    return free_place(place, force=given.force, ours=_is_program, what="Program", fix=fix)


def _is_program(path: Path) -> bool:
    try:
        _read(path)
    except UsageError:
        return False
    return True


def _read(path: Path) -> Program:
    from scanviz.engine.errors import MisfitError
    from scanviz.engine.program.file import from_bytes

    try:
        with open_file(path) as stream:
            return from_bytes(stream.read())
    except CannotReadError as error:
        raise UsageError(str(error)) from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from None
    except MisfitError as error:
        raise UsageError(f"{path}: {error}") from None


def _recorded(path: Path) -> list[Program]:
    """Return the Programs of a profile's functions.

    Raises
    ------
    UsageError
        If it is no profile, holds none, or one that is damaged.
    """
    from msgspec.structs import replace

    from scanviz.engine.errors import MisfitError
    from scanviz.engine.program.file import from_bytes

    found = []
    for function in loaded(path).functions:
        if function.program:
            try:
                found.append(replace(from_bytes(function.program), name=function.name))
            except MisfitError as error:
                raise UsageError(f"{path}: the Program of `{sanitize(function.name)}`: {error}") from None
    if not found:
        raise UsageError(f"{path} holds no Programs: those larger than 1 MiB are not kept; name the SCRIPT")
    return found


def _deliver(programs: Sequence[Known], given: Given, target: Path | None, out: TextIO) -> None:
    """Write or print the requested Programs."""
    chosen = _chosen(programs, given)
    if target is not None:
        _save([program for program, _ in chosen], target)
        return
    from scanviz.engine.program.file import structural_hash
    from scanviz.engine.program.printer import program_text

    for program, notes in chosen:
        if given.hash:
            write_text(f"{structural_hash(program)}  {sanitize(program.name)}\n", out)
        else:
            text = program_text(program, given.scan, notes, width=terminal_columns(out))
            write_text("".join(f"{sanitize(line)}\n" for line in text.splitlines()), out)
    out.flush()


def _chosen(programs: Sequence[Known], given: Given) -> list[Known]:
    """Return the Programs of the requested function, with the requested loop.

    Raises
    ------
    UsageError
        If there is none.
    """
    from scanviz.engine.program.printer import loop_names

    function, loop = given.function, given.scan
    chosen = [known for known in programs if known[0].name == function] or [
        known for known in programs if is_meant(known[0].name, function)
    ]
    if not chosen:
        names = list(dict.fromkeys(program.name for program, _ in programs))
        raise UsageError(_none("function", function, names) if programs else "no function was built")
    found = [entry for entry in chosen if loop is None or loop in loop_names(entry[0])]
    if not found:
        raise UsageError(
            _none("loop", loop, list(dict.fromkeys(n for program, _ in chosen for n in loop_names(program))))
        )
    return found


def _none(what: str, name: str | None, known: list[str]) -> str:
    listed = _listed(known) or "none"
    return f"there is no {what} named {name!r}{suggestion(name or '', known)}; {what}s: {listed}"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{sanitize(name)}`" for name in names)


def _save(chosen: Sequence[Program], target: Path) -> None:
    from scanviz.engine.program.file import to_bytes
    from scanviz.record.storage.writing import replacing

    if len(chosen) != 1:
        names = _listed([program.name for program in chosen])
        raise UsageError(f"-o writes the Program of one function: choose with --function among {names}")
    data = to_bytes(chosen[0])
    with replacing(target, None, "Program") as stream:
        stream.write(data)
    write_text(f"wrote {target.name}\n", sys.stderr)
