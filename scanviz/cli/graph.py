"""Draw the graph of a script's function, or of a saved profile, with its loops open.

Without -o the picture is drawn in characters on standard output. The ending of FILE gives the format: svg, png, pdf, dot, html,
txt, json (node-link) or graphml; for --film svg or html. A script is profiled first, so that the picture shows where the time
went; its own output goes to standard error, and the profile is not saved. Options stand before SCRIPT: what follows it belongs to
the script. scanviz lays pictures out itself; --engine dot asks Graphviz, which alone writes a pdf.

A large picture (svg, png, pdf, html) is folded until it can be read: formulas replace single operations, loops are closed, and of
many steps those in the middle become one box. Notes say what was folded; --whole draws everything.

A picture drawn by scanviz is replaced, any other file only with --force.

for example:
  scanviz graph train.py                      in the terminal
  scanviz graph -o rnn.svg --scan rnn train.py
  scanviz graph --unrolled 3 -o bptt.svg train.py
  scanviz graph --diff PushOutSeqScan train.scanviz
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from msgspec import Struct

from scanviz.cli.built import own_output
from scanviz.cli.files import STANDARD_OUTPUT, free_place, loaded
from scanviz.cli.fitted import terminal_columns
from scanviz.cli.graph_folding import folded, folds, unfolded
from scanviz.cli.options import (
    MODE,
    Given,
    Option,
    UsageError,
    number,
    one_of,
    options_after_file,
    options_behind,
    parse,
    program_of,
    suggestion,
)
from scanviz.cli.run import set_mode
from scanviz.record.names import functions_called, loops_called, not_one_function, not_one_loop
from scanviz.record.plain_text import sanitize, write_text

if TYPE_CHECKING:
    from scanviz.record.loops import LoopRecord
    from scanviz.record.model import FunctionRecord, ProfileRecord
    from scanviz.render.diagram.model import Diagram


def _from(least: int) -> Callable[[str], int]:
    return number(f"a number from {least} on", least)


USAGE = "graph [options] SCRIPT|FILE.scanviz [arguments]"
OPTIONS = (
    Option(("-o", "--output"), "FILE", "x.svg, png, pdf, dot, html, txt, json or graphml"),
    Option(("--function",), "NAME", "this function (default: the one that took the most time)"),
    Option(("--scan",), "NAME", "this loop alone"),
    Option(("--depth",), "N", "close loops nested deeper than N; 0 closes all", _from(0)),
    Option(("--closed",), "NAME", "draw this loop as one box; may be repeated", several=True),
    Option(("--open",), "NAME", "keep this loop open in a large picture; may be repeated", several=True),
    Option(("--whole",), "", "fold nothing"),
    Option(("--types",), "", "write dtypes and shapes"),
    Option(("--plumbing",), "", "draw sizes, broadcasts and other plumbing as well"),
    Option(("--before",), "", "draw the graph as built, before rewrites"),
    Option(("--unrolled",), "N", "draw N steps of a loop side by side, its gradient below", _from(1)),
    Option(("--connections",), "[=FROM,TO]", "show which inputs reach which outputs, or one path"),
    Option(
        ("--mappings",),
        "",
        "show how outer and inner inputs and outputs of a loop belong together",
    ),
    Option(("--diff",), "RULE|N", "draw the graph before and after a rewrite in one picture"),
    Option(("--film",), "", "show the rewrites one by one: -o x.html or x.svg"),
    Option(("--engine",), "NAME", "layout engine (auto, dot, own)", one_of("auto", "dot", "own"), "auto"),
    Option(("--seconds",), "N", "time limit of dot (10)", _from(1), 10),
    Option(("--dark",), "", "dark colours, for svg, png, pdf, html and dot"),
    Option(("--ascii",), "", "use only ASCII characters"),
    Option(("--width",), "N", "width of a picture in characters", _from(20)),
    Option(("--force",), "", "replace FILE even if scanviz did not draw it"),
    MODE,
)
DRAWN = ("svg", "png", "pdf", "dot")
WRITTEN = ("txt", "json", "graphml", "html")
FILMED = ("html", "svg")
NO_LOOPS_CLOSED = ("unrolled", "connections", "mappings", "film")  # pictures in which a loop is no box
TABLES = ("txt", "svg", "png")  # as what mappings and connections are drawn


class DrawTarget(Struct, frozen=True):
    """Where the picture goes and as what."""

    path: Path | None
    form: str


def main(arguments: list[str]) -> int:
    """Draw a graph and return the exit code; a script that is run ends the process by its own."""
    given = parse(arguments, OPTIONS, program=True)
    if given.rest and given.rest[0].endswith(".scanviz"):
        given = options_after_file(given, OPTIONS, "graph")
        target = _target(given)
        _deliver(loaded(Path(given.rest[0])), given, target, sys.stdout, sys.stderr)
        return 0
    target, program = _target(given), program_of(given.rest, "graph")
    for note in options_behind(given.rest, OPTIONS):
        write_text(f"scanviz: {note}\n", sys.stderr)
    set_mode(given.mode)
    from scanviz.profiler.run.profiled import RunOptions, run_profiled

    own = own_output("the picture") if target.path is None else None

    def show(record: ProfileRecord, stream: TextIO) -> None:
        with contextlib.suppress(BrokenPipeError):
            _deliver(record, given, target, own or stream, stream)

    run_profiled(program, RunOptions(None, False, 8, None, "steps", show))
    return 0


def _target(given: Given) -> DrawTarget:
    """Return where the picture goes.

    Raises
    ------
    UsageError
        If the format is unknown, or a file is there that scanviz did not draw.
    """
    out, film = given.output, given.film
    if out is None or out in STANDARD_OUTPUT:
        if film:
            raise UsageError("--film needs a file: -o x.html or x.svg")
        return DrawTarget(None, "txt")
    from scanviz.render.marks import is_picture

    path = Path(out).absolute()
    form = path.suffix.removeprefix(".").lower()
    forms = FILMED if film else (*DRAWN, *WRITTEN)
    if form not in forms:
        known = ", ".join(f".{text}" for text in forms)
        raise UsageError(
            f"unsupported extension {path.suffix or out}{suggestion(form, forms)}; supported: {known}"
        )
    free_place(path, force=given.force, ours=is_picture, what="picture of scanviz", fix="--force replaces it")
    return DrawTarget(path, form)


def _deliver(record: ProfileRecord, given: Given, target: DrawTarget, out: TextIO, said: TextIO) -> None:
    """Draw what is asked for and write it where it goes."""
    from scanviz.record.errors import ScanvizError
    from scanviz.render.engines import CannotDrawError

    try:
        data, engine, notes = _made(record, given, target.form, out)
    except (CannotDrawError, ScanvizError) as error:
        raise UsageError(str(error)) from None
    if target.path is None:
        write_text(data.decode("utf-8"), out)
        out.flush()
        return
    from scanviz.record.storage.writing import replacing
    from scanviz.render.marks import is_picture, marked

    ours = None if given.force else is_picture
    with replacing(target.path, ours, "picture of scanviz") as stream:
        stream.write(marked(data, target.form))
    write_text(f"wrote {target.path.name}{f', laid out by {engine}' if engine else ''}\n", said)
    for note in notes:
        write_text(f"  {sanitize(note)}\n", said)


def _made(record: ProfileRecord, given: Given, form: str, out: TextIO) -> tuple[bytes, str, tuple[str, ...]]:
    """Return the file's content, the engine's name and notes."""
    function = _function(record, given)
    other = [f"--{name}" for name in NO_LOOPS_CLOSED if getattr(given, name) not in (None, False)]
    for name in ("closed", "open"):
        if other and getattr(given, name):
            raise UsageError(f"--{name} and {other[0]} cannot be combined")
    if given.connections is not None or given.mappings:
        return _table(record, function, given, form, _columns(given, out)), "", ()
    if given.film:
        return _film(record, function, given, form)
    from scanviz.render import draw

    diagram = whole = _diagram(record, function, given, form)
    if folds(form, given):
        diagram = folded(whole, given, _named(given.open, record, function))
    wishes = draw.DrawOptions(
        types=given.types,
        engine=given.engine,
        seconds=float(given.seconds),
        width=_columns(given, out),
        ascii_only=given.ascii,
        dark=given.dark,
    )
    drawing = draw.written(diagram, form, wishes, () if diagram is whole else unfolded(whole, diagram))
    return drawing.data, drawing.engine if form in (*DRAWN[:3], "html") else "", drawing.notes


def _columns(given: Given, out: TextIO) -> int:
    """Return how wide text is: as --width or COLUMNS say, as the terminal is, or 160 where there is none."""
    return given.width or terminal_columns(out) or 160


def _function(record: ProfileRecord, given: Given) -> FunctionRecord:
    """Return the function that is drawn: the one that is asked for, or that has the loop, else the one that took most time."""
    name, scan = given.function, given.scan
    keys = {function.key for function in record.functions}
    if name is not None:
        problem = not_one_function(record, name)
        if problem:
            raise UsageError(problem)
        keys = {function.key for function in functions_called(record, name)}
    if scan is not None:
        keys = {_loop_named(record, keys, scan).function}
    functions = [
        function for function in record.functions if function.graph is not None and function.key in keys
    ]
    if not functions:
        raise UsageError("nothing to draw: no function was called, or its graph was too large to keep")
    return max(functions, key=lambda function: function.total_ns)


def _loop_named(record: ProfileRecord, functions: Collection[int], scan: str) -> LoopRecord:
    """Return the loop of one of the functions that is asked for."""
    among = [loop for loop in record.loops if loop.function in functions]
    problem = not_one_loop(record, scan, among)
    if problem:
        raise UsageError(problem)
    return next(loop for loop in loops_called(record, scan) if loop.function in functions)


def _diagram(record: ProfileRecord, function: FunctionRecord, given: Given, form: str) -> Diagram:
    """Return the picture that the options ask for."""
    from scanviz.render.diagram.build import diagram_of, with_closed
    from scanviz.render.diagram.difference import difference, near_changes
    from scanviz.render.diagram.unrolled import MOST_IN_ALL, MOST_STEPS, unrolled

    graph = function.graph
    assert graph is not None
    scan = given.scan
    if scan is not None:
        scan = _loop_named(record, {function.key}, scan).name
    if given.diff is not None:
        before, after = _moments(function, given.diff)
        changed = difference(before, after, plumbing=given.plumbing)
        return near_changes(with_closed(changed, _named(given.closed, record, function)))
    built = function.rewrites.snapshot(0) if function.rewrites is not None else None
    if given.before:
        if built is None:
            raise UsageError("the profile has this function's list of rewrites, but no graphs of them")
        graph, record_for = built, None
    else:
        record_for = record
    if given.unrolled is not None:
        most = MOST_IN_ALL if folds(form, given) else MOST_STEPS
        return unrolled(
            graph, scan, given.unrolled, record_for, plumbing=given.plumbing, most=most, built=built
        )
    return diagram_of(
        graph,
        record=record_for,
        function=function.key if record_for is not None else None,
        depth=given.depth,
        closed=_named(given.closed, record, function),
        scan=scan,
        plumbing=given.plumbing,
    )


def _named(wanted: Collection[str], record: ProfileRecord, function: FunctionRecord) -> list[str]:
    """Return the names of loops that are asked for, as the graph has them; any name that says which is meant will do."""
    names = []
    for asked in wanted:
        meant = [loop.name for loop in loops_called(record, asked) if loop.function == function.key]
        names.append(meant[0] if len(set(meant)) == 1 else asked)
    return names


def _moments(function: FunctionRecord, wanted: str):  # type: ignore[no-untyped-def]  # two GraphSnapshots
    """Return the graphs before and after a rewrite, which is named by its number or its rule."""
    history = function.rewrites
    applications = history.applications if history is not None else ()
    if wanted.isdecimal():
        found = [application.index for application in applications if application.index == int(wanted)]
    else:
        found = [application.index for application in applications if application.rule == wanted]
    if not found or history is None:
        rules = list(dict.fromkeys(application.rule for application in applications))
        raise UsageError(
            f"no rewrite {wanted!r} changed {sanitize(function.name)}{suggestion(wanted, rules)};"
            f" there were 0 to {len(applications) - 1}: {', '.join(map(sanitize, rules))}"
            if applications
            else f"no rewrite changed {sanitize(function.name)}"
        )
    before, after = history.snapshot(found[0]), history.snapshot(found[-1] + 1)
    if before is None or after is None:
        raise UsageError("the profile has this function's list of rewrites, but no graphs of them")
    return before, after


def _loop(
    record: ProfileRecord, function: FunctionRecord, given: Given, ends: tuple[int | str, ...] = ()
) -> LoopRecord:
    """Return the loop that is asked for; else the one that took most, first of those that have an input and an output so called."""
    from scanviz.render.diagram.connections import has_ends

    scan = given.scan
    if scan is not None:
        return _loop_named(record, {function.key}, scan)
    loops = [loop for loop in record.loops if loop.function == function.key]
    if not loops:
        raise UsageError(f"{sanitize(function.name)} has no loop")
    return max(loops, key=lambda loop: (has_ends(loop, *ends) if ends else True, loop.total_ns))


def _film(
    record: ProfileRecord, function: FunctionRecord, given: Given, form: str
) -> tuple[bytes, str, tuple[str, ...]]:
    """Return the film of a function's rewrites."""
    from scanviz.render.film.drawing import film_file, laid_out
    from scanviz.render.film.frames import film_of

    if function.rewrites is None:
        raise UsageError(f"no rewrite of {sanitize(function.name)} was kept")
    scan = given.scan
    name = _loop_named(record, {function.key}, scan).name if scan is not None else None
    film = film_of(function.rewrites, name, plumbing=given.plumbing, chips=True)
    return (
        film_file(laid_out(film), form, dark=given.dark),
        "",
        (f"{len(film.frames)} frames", *film.whole.notes),
    )


def _table(record: ProfileRecord, function: FunctionRecord, given: Given, form: str, width: int) -> bytes:
    """Return the connection matrix, a path in it, or the mappings, as text or drawn."""
    from scanviz.render.diagram.connections import connection_matrix
    from scanviz.render.diagram.mappings import mappings_table

    pair = given.connections
    forms = ("txt",) if pair else TABLES
    if form not in forms:
        what = "a path is text" if pair else "--connections and --mappings are text or drawn"
        raise UsageError(
            f"{what}: -o x.{' or x.'.join(forms)}, not .{form} (scanviz html shows them as tables)"
        )
    if pair:
        return _path_text(record, function, given, pair).encode()
    loop = _loop(record, function, given)
    joined = given.mappings
    if form == "txt":
        table = mappings_table(loop).as_text(width) if joined else connection_matrix(loop).as_text()
        return table.encode()
    from scanviz.render.colours import darkened
    from scanviz.render.engines import converted
    from scanviz.render.tables import connections_svg, mappings_svg

    drawn = mappings_svg(mappings_table(loop)) if joined else connections_svg(connection_matrix(loop))
    return converted((darkened(drawn) if given.dark else drawn).encode(), form)[0]


def _path_text(record: ProfileRecord, function: FunctionRecord, given: Given, pair: str) -> str:
    """Return the way by which one input reaches one output, in words."""
    from scanviz.render.diagram.connections import connecting_path

    source, comma, goal = pair.rpartition(",")
    if not comma:
        raise UsageError(
            "--connections takes the name or number of an input and of an output: --connections=W,h"
        )
    assert function.graph is not None
    row, column = (int(text) if text.strip().isdecimal() else text.strip() for text in (source, goal))
    loop = _loop(record, function, given, (row, column))
    path = connecting_path(function.graph, loop, row, column)
    if path is None:
        return f"{sanitize(source)} does not reach {sanitize(goal)}, however many steps there are\n"
    return "".join(f"{word}\n" for word in path.words)
