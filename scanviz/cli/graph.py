"""Draw the graph of a script's function, or of a saved profile, with its loops open.

Without -o the picture is drawn in characters on standard output. The extension of FILE chooses the format: svg, png, pdf, dot,
html, txt, json (node-link) or graphml; for --film svg or html, for --stepper html. A script is profiled first, so that the picture
shows where the time went; its own output goes to standard error, and the profile is not saved. Options stand before SCRIPT; later
words belong to the script. scanviz lays pictures out itself; --engine dot asks Graphviz, which alone writes a pdf.

A large picture (svg, png, pdf, html) is folded to a readable size: formulas replace single operations, loops are closed, and the
middle steps become one box. Notes list the folded parts; --whole draws everything.

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
from typing import TYPE_CHECKING, NamedTuple, TextIO

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
from scanviz.render.engines import CannotDrawError  # before a script's folder is on sys.path

if TYPE_CHECKING:
    from scanviz.record.graphs.graph import GraphSnapshot
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
    Option(("--values",), "", "with --unrolled: write the values of rows and gradients, no times"),
    Option(("--connections",), "[=FROM,TO]", "show which inputs reach which outputs, or one path"),
    Option(
        ("--mappings",),
        "",
        "show how outer and inner inputs and outputs of a loop belong together",
    ),
    Option(("--diff",), "RULE|N", "draw the graph before and after a rewrite in one picture"),
    Option(("--film",), "", "show the rewrites one by one: -o x.html or x.svg"),
    Option(("--stepper",), "", "show a loop's buffers step by step, with their values: -o x.html"),
    Option(("--engine",), "NAME", "layout engine (auto, dot, own)", one_of("auto", "dot", "own"), "auto"),
    Option(("--seconds",), "N", "time limit of dot (10)", _from(1), 10),
    Option(("--dark",), "", "dark colours, for svg, png, pdf, html and dot"),
    Option(("--ascii",), "", "use only ASCII characters"),
    Option(("--width",), "N", "columns of a picture in characters", _from(20)),
    Option(("--pixels",), "N", "with --unrolled: width of an svg, png or html", _from(100)),
    Option(("--force",), "", "replace FILE even if scanviz did not draw it"),
    MODE,
)
NO_GRAPHS = "the profile has this function's list of rewrites, but no graphs of them"
DRAWN = ("svg", "png", "pdf", "dot")
WRITTEN = ("txt", "json", "graphml", "html")
PLAYED = {"film": ("html", "svg"), "stepper": ("html",)}
NO_LOOPS_CLOSED = (
    "unrolled",
    "connections",
    "mappings",
    "film",
    "stepper",
)  # pictures without boxes for loops
TABLES = ("txt", "svg", "png")  # formats of mappings and connections
FITTED = ("svg", "png", "html")  # formats of steps that --pixels draws


class DrawTarget(NamedTuple):
    """Path and format of the picture."""

    path: Path | None
    form: str


def main(arguments: list[str]) -> int:
    """Draw a graph and return the exit code; a script ends the process with its own."""
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

    run_profiled(
        program,
        RunOptions(
            None, False, 8, None, "steps", show, values="*" if given.values or given.stepper else None
        ),
    )
    return 0


def _target(given: Given) -> DrawTarget:
    """Return the target of the picture.

    Raises
    ------
    UsageError
        If the format is unknown or has no such width, or the file is not by scanviz.
    """
    target = _place(given)
    if given.width and target.form != "txt":
        raise UsageError(
            "--width is for pictures in characters; --unrolled N --pixels N sets that of a svg, png or html"
        )
    if given.pixels and (given.unrolled is None or target.form not in FITTED):
        raise UsageError(f"--pixels needs --unrolled and -o {' or '.join(f'x.{form}' for form in FITTED)}")
    return target


def _place(given: Given) -> DrawTarget:
    """Return the file of the picture; refuse one that is not by scanviz."""
    out = given.output
    played = next((name for name in PLAYED if getattr(given, name)), None)
    forms = (*DRAWN, *WRITTEN) if played is None else PLAYED[played]
    if out is None or out in STANDARD_OUTPUT:
        if played is not None:
            raise UsageError(f"--{played} needs a file: -o {' or '.join(f'x.{form}' for form in forms)}")
        return DrawTarget(None, "txt")
    from scanviz.render.marks import is_picture

    path = Path(out).absolute()
    form = path.suffix.removeprefix(".").lower()
    if form not in forms:
        known = ", ".join(f".{text}" for text in forms)
        raise UsageError(
            f"unsupported extension {path.suffix or out}{suggestion(form, forms)}; supported: {known}"
        )
    free_place(path, force=given.force, ours=is_picture, what="picture of scanviz", fix="--force replaces it")
    return DrawTarget(path, form)


def _deliver(record: ProfileRecord, given: Given, target: DrawTarget, out: TextIO, notes_to: TextIO) -> None:
    """Draw the picture and write it."""
    from scanviz.record.errors import ScanvizError

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
    write_text(f"wrote {target.path.name}{f', laid out by {engine}' if engine else ''}\n", notes_to)
    for note in notes:
        write_text(f"  {sanitize(note)}\n", notes_to)


class _Asked(NamedTuple):
    """The requested subject, a function or one of its loops, and the format."""

    record: ProfileRecord
    function: FunctionRecord
    loop: LoopRecord | None
    given: Given
    form: str
    width: int


def _made(record: ProfileRecord, given: Given, form: str, out: TextIO) -> tuple[bytes, str, tuple[str, ...]]:
    """Return the file's content, the engine's name and notes."""
    if given.values and (given.unrolled is None or given.before):
        raise UsageError("--values needs --unrolled, and no --before")
    other = [f"--{name}" for name in NO_LOOPS_CLOSED if getattr(given, name) not in (None, False)]
    for name in ("closed", "open"):
        if other and getattr(given, name):
            raise UsageError(f"--{name} and {other[0]} cannot be combined")
    width = given.width or terminal_columns(out) or 160
    asked = _Asked(record, *_function_and_loop(record, given), given, form, width)
    if given.connections is not None or given.mappings:
        return _table(asked), "", ()
    if given.film:
        return _film(asked)
    if given.stepper:
        return _stepper(asked)
    from scanviz.render import draw

    diagram = whole = _diagram(asked)
    if folds(form, given):
        diagram = folded(whole, given, _named(asked, given.open))
    drawing = draw.written(
        diagram,
        form,
        types=given.types,
        engine=given.engine,
        seconds=float(given.seconds),
        width=width,
        ascii_only=given.ascii,
        dark=given.dark,
        widest=given.pixels,
        unfolded=() if diagram is whole else unfolded(whole, diagram),
    )
    return drawing.data, drawing.engine if form in (*DRAWN[:3], "html") else "", drawing.notes


def _function_and_loop(record: ProfileRecord, given: Given) -> tuple[FunctionRecord, LoopRecord | None]:
    """Return the requested function and loop; by default the function that took the most time."""
    functions, loop = record.functions, None
    if given.function is not None:
        _refuse(not_one_function(record, given.function))
        functions = tuple(functions_called(record, given.function))
    if given.scan is not None:
        keys = {function.key for function in functions}
        _refuse(not_one_loop(record, given.scan, [loop for loop in record.loops if loop.function in keys]))
        loop = next(loop for loop in loops_called(record, given.scan) if loop.function in keys)
        functions = tuple(function for function in functions if function.key == loop.function)
    drawn = [function for function in functions if function.graph is not None]
    if not drawn:
        raise UsageError("nothing to draw: no function was called, or its graph was too large to keep")
    return max(drawn, key=lambda function: function.total_ns), loop


def _refuse(problem: str) -> None:
    if problem:
        raise UsageError(problem)


def _diagram(asked: _Asked) -> Diagram:
    """Return the picture for the options."""
    from scanviz.render.diagram.build import diagram_of, with_closed
    from scanviz.render.diagram.difference import difference, near_changes
    from scanviz.render.diagram.unrolled import MOST_IN_ALL, MOST_STEPS, unrolled

    function, given = asked.function, asked.given
    scan = None if asked.loop is None else asked.loop.name
    closed, plumbing = _named(asked, given.closed), given.plumbing
    if given.diff is not None:
        before, after = _moments(function, given.diff)
        return near_changes(with_closed(difference(before, after, plumbing=plumbing), closed))
    graph = function.graph
    built = function.rewrites.snapshot(0) if function.rewrites is not None else None
    if given.before:
        graph = built
    if graph is None:
        raise UsageError(NO_GRAPHS)
    record = None if given.before else asked.record
    if given.unrolled is not None:
        most = MOST_IN_ALL if folds(asked.form, given) else MOST_STEPS
        return unrolled(
            graph,
            scan,
            given.unrolled,
            record,
            plumbing=plumbing,
            most=most,
            built=built,
            values=given.values,
        )
    key = None if record is None else function.key
    return diagram_of(
        graph, record=record, function=key, depth=given.depth, closed=closed, scan=scan, plumbing=plumbing
    )


def _named(asked: _Asked, wanted: Collection[str]) -> list[str]:
    """Return the names of loops in the graph, for any names that identify them."""
    names = []
    for name in wanted:
        meant = {
            loop.name for loop in loops_called(asked.record, name) if loop.function == asked.function.key
        }
        names.append(meant.pop() if len(meant) == 1 else name)
    return names


def _moments(function: FunctionRecord, wanted: str) -> tuple[GraphSnapshot, GraphSnapshot]:
    """Return the graphs before and after a rewrite, given by its number or rule."""
    history, name = function.rewrites, sanitize(function.name)
    if history is None or not history.applications:
        raise UsageError(f"no rewrite changed {name}")
    found = [one.index for one in history.applications if wanted in (one.rule, str(one.index))]
    if not found:
        rules = list(dict.fromkeys(one.rule for one in history.applications))
        known = f"0 to {len(history.applications) - 1}: {', '.join(map(sanitize, rules))}"
        raise UsageError(
            f"no rewrite {wanted!r} changed {name}{suggestion(wanted, rules)}; there were {known}"
        )
    before, after = history.snapshot(found[0]), history.snapshot(found[-1] + 1)
    if before is None or after is None:
        raise UsageError(NO_GRAPHS)
    return before, after


def _film(asked: _Asked) -> tuple[bytes, str, tuple[str, ...]]:
    """Return the film of a function's rewrites."""
    from scanviz.render.film.drawing import film_file, laid_out
    from scanviz.render.film.frames import film_of

    history, given = asked.function.rewrites, asked.given
    if history is None:
        raise UsageError(f"no rewrite of {sanitize(asked.function.name)} was kept")
    name = None if asked.loop is None else asked.loop.name
    film = film_of(history, name, plumbing=given.plumbing, chips=True)
    data = film_file(laid_out(film), asked.form, dark=given.dark)
    return data, "", (f"{len(film.frames)} frames", *film.whole.notes)


def _stepper(asked: _Asked) -> tuple[bytes, str, tuple[str, ...]]:
    """Return the page that goes through the steps of a loop."""
    from scanviz.render.stepper.page import stepper_page

    assert asked.function.graph is not None
    name = None if asked.loop is None else asked.loop.name
    page = stepper_page(asked.record, asked.function.graph, name, dark=asked.given.dark)
    return page.encode("utf-8", "backslashreplace"), "", ()


def _table(asked: _Asked) -> bytes:
    """Return the connection matrix, a path in it, or the mappings, as text or drawn."""
    from scanviz.render.diagram.connections import connection_matrix
    from scanviz.render.diagram.mappings import mappings_table

    given, form, pair = asked.given, asked.form, asked.given.connections
    forms = ("txt",) if pair else TABLES
    if form not in forms:
        what = "a path is text" if pair else "--connections and --mappings are text or drawn"
        known = " or x.".join(forms)
        raise UsageError(f"{what}: -o x.{known}, not .{form} (scanviz html shows them as tables)")
    if pair:
        return _path_text(asked, pair).encode()
    loop = _loop(asked)
    if form == "txt":
        text = (
            mappings_table(loop).as_text(asked.width) if given.mappings else connection_matrix(loop).as_text()
        )
        return text.encode()
    from scanviz.render.colours import darkened
    from scanviz.render.engines import converted
    from scanviz.render.tables import connections_svg, mappings_svg

    drawn = mappings_svg(mappings_table(loop)) if given.mappings else connections_svg(connection_matrix(loop))
    return converted((darkened(drawn) if given.dark else drawn).encode(), form)[0]


def _path_text(asked: _Asked, pair: str) -> str:
    """Return the path from an input to an output, in words."""
    from scanviz.render.diagram.connections import connecting_path

    source, comma, goal = pair.rpartition(",")
    if not comma:
        raise UsageError(
            "--connections takes the name or number of an input and of an output: --connections=W,h"
        )
    assert asked.function.graph is not None
    row, column = (int(text) if text.strip().isdecimal() else text.strip() for text in (source, goal))
    path = connecting_path(asked.function.graph, _loop(asked, row, column), row, column)
    if path is None:
        return f"{sanitize(source)} does not reach {sanitize(goal)}, however many steps there are\n"
    return "".join(f"{word}\n" for word in path.words)


def _loop(asked: _Asked, *ends: int | str) -> LoopRecord:
    """Return the requested loop; by default the one that took the most time, among those with such an input and output."""
    from scanviz.render.diagram.connections import has_ends

    if asked.loop is not None:
        return asked.loop
    loops = [loop for loop in asked.record.loops if loop.function == asked.function.key]
    if not loops:
        raise UsageError(f"{sanitize(asked.function.name)} has no loop")
    return max(loops, key=lambda loop: (has_ends(loop, *ends) if ends else True, loop.total_ns))
