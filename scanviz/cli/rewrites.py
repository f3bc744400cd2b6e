"""Show what rewrites did to the functions of a script, or of a saved profile, and why one did not fire.

Without more, the list of rewrites of each function: what each did and what it bought. A script is run as under python, and
what it prints stays what it is; the list goes to standard error when it ends. NO_COLOR is honoured.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from scanviz.cli.options import Option, Parsed, UsageError, help_text, parse, program_of, suggestion
from scanviz.cli.run import set_mode
from scanviz.record.plain_text import plain

if TYPE_CHECKING:
    from scanviz.profiler.report_rewrites import RewritesView
    from scanviz.record.model import ProfileRecord

USAGE = "rewrites [options] SCRIPT|FILE.scanviz [arguments]"
OPTIONS = (
    Option(("--function",), "NAME", "this function alone"),
    Option(("--scan",), "NAME", "what was done to this loop"),
    Option(("--rule",), "RULE", "what this rule did"),
    Option(("--step",), "N", "one rewrite line by line, before and after"),
    Option(("--unified",), "", "lines that changed, one list (the default)"),
    Option(("--side-by-side",), "", "before at the left, after at the right"),
    Option(("--tree",), "", "the whole graph with what changed in it"),
    Option(("--all",), "", "also how often each rule refused"),
    Option(("--why",), "NAME|LINE", "where something comes from, down to the line of the script"),
    Option(("--why-not",), "RULE", "why a rule did not fire, nearest first"),
    Option(
        ("--verify",),
        "",
        "compare values and gradients before and after every rewrite, on the script's inputs",
    ),
    Option(("--bisect",), "", "find the first rewrite that changed a value, by halving"),
    Option(("--ablate",), "", "measure each function without each rule in turn, time and memory"),
    Option(("--budget",), "SECONDS", "how long --ablate may measure (60)"),
    Option(("--json",), "", "print everything as JSON to standard output"),
    Option(("--rules",), "", "list all rules, and what they do"),
    Option(("--mode",), "NAME", "tier that runs functions which name none"),
)


def main(arguments: list[str]) -> int:
    """Show rewrites and return the exit code; a program that is run ends the process by its own."""
    parsed = parse(arguments, OPTIONS, program=True)
    if "help" in parsed.options:
        sys.stdout.write(help_text(USAGE, __doc__, OPTIONS))
        return 0
    if "rules" in parsed.options:
        sys.stdout.write(_rules())
        return 0
    view = _view(parsed)
    if parsed.rest and parsed.rest[0].endswith(".scanviz"):
        return _of_file(parsed, view)
    program = program_of(parsed.rest, "rewrites")
    set_mode(parsed.options.get("mode"))
    from scanviz.profiler.profiled_run import Wishes, run_profiled
    from scanviz.profiler.runner import CannotRunError

    as_json = "json" in parsed.options
    flags = frozenset(parsed.options) & {"verify", "bisect", "ablate"}
    show = _measuring(flags, view, parsed.number("budget", 60)) if flags else None

    def listed(record: ProfileRecord, stream: TextIO) -> None:
        _show(record, view, as_json, stream)

    try:
        run_profiled(program, Wishes(None, False, 8, None, "steps", show or listed))
    except CannotRunError as error:
        sys.stderr.write(f"scanviz: {error}\n")
        return error.code
    return 0


def _measuring(
    flags: frozenset[str], view: RewritesView, seconds: int
) -> Callable[[ProfileRecord, TextIO], None]:
    """Keep the inputs of calls from now on, and return what is done with them at the end."""
    from scanviz.cli.rewrites_measured import show_measured
    from scanviz.engine.function.callable import CALLS
    from scanviz.profiler.captured_calls import CapturedCalls

    captured = CapturedCalls()
    CALLS.append(captured.take)

    def show(record: ProfileRecord, stream: TextIO) -> None:
        CALLS.remove(captured.take)
        color = stream.isatty() and not os.environ.get("NO_COLOR")
        width = shutil.get_terminal_size((110, 24)).columns
        show_measured(captured, flags, view.function, seconds, stream, width, color)

    return show


def _view(parsed: Parsed) -> RewritesView:
    from scanviz.profiler.report_rewrites import RewritesView

    options = parsed.options
    for key in ("rule", "why-not"):
        if key in options:
            _known_rule(options[key])
    step = options.get("step")
    if step is not None and not step.isdigit():
        raise UsageError(f"--step takes the number of a rewrite, not {step!r}")
    style = next((each for each in ("side-by-side", "tree", "unified") if each in options), "")
    return RewritesView(
        options.get("function"),
        options.get("scan"),
        options.get("rule"),
        None if step is None else int(step),
        style,
        "all" in options,
        options.get("why"),
        options.get("why-not"),
    )


def _known_rule(name: str) -> None:
    from scanviz.engine.rewrites.rule import all_rules

    known = [each.name for each in all_rules()]
    if name not in known:
        raise UsageError(
            f"there is no rule named {name!r}{suggestion(name, known)}; scanviz rewrites --rules"
        )


def _of_file(parsed: Parsed, view: RewritesView) -> int:
    from scanviz.record.file import load

    path = Path(parsed.rest[0])
    if len(parsed.rest) > 1:  # options may follow a file
        again = parse([*parsed.rest[1:], *_given(parsed)], OPTIONS, program=False)
        if again.rest:
            raise UsageError(f"scanviz rewrites takes one FILE, found {again.rest[0]!r} too")
        parsed, view = again, _view(again)
    try:
        record = load(path)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from None
    problem = _unknown(record, view)
    if problem:
        raise UsageError(problem)
    asked = [f"--{each}" for each in ("verify", "bisect", "ablate") if each in parsed.options]
    if asked:
        raise UsageError(f"{asked[0]} runs functions again: it takes a SCRIPT, not a saved profile")
    _show(record, view, "json" in parsed.options, sys.stdout)
    return 0


def _given(parsed: Parsed) -> list[str]:
    return [f"--{key}={value}" if value else f"--{key}" for key, value in parsed.options.items()]


def _unknown(record: ProfileRecord, view: RewritesView) -> str:
    """Return what is wrong with the names that are asked for, empty if nothing is."""
    from scanviz.profiler.report_rewrites import chosen

    functions = [each.name for each in record.functions]
    loops = [each.name for each in record.loops]
    for each in chosen(record, view):
        loops += each.rewrites.loops() if each.rewrites is not None else ()
    asked = (("function", view.function, functions), ("loop", view.scan, loops))
    for noun, name, names in asked:
        if name is not None and name not in names:
            known = ", ".join(map(plain, dict.fromkeys(names))) or "none"
            return f"there is no {noun} named {name!r}{suggestion(name, names)}; {noun}s: {known}"
    return ""


def _show(record: ProfileRecord, view: RewritesView, as_json: bool, stream: TextIO) -> None:
    from scanviz.profiler.report_rewrites import chosen, render_rewrites
    from scanviz.profiler.report_text import plainest

    problem = _unknown(record, view)
    if problem:  # of a script: only at its end it is known what there is
        sys.stderr.write(f"scanviz: {problem}\n")
        return
    if as_json:
        import json

        from scanviz.record.codec import encode

        data = [{"function": each.name, "rewrites": encode(each.rewrites)} for each in chosen(record, view)]
        json.dump(data, sys.stdout)
        sys.stdout.write("\n")
        return
    color = stream.isatty() and not os.environ.get("NO_COLOR")
    width = shutil.get_terminal_size((100, 24)).columns
    text = render_rewrites(record, view, width=width, color=color)
    stream.write(plainest(text, getattr(stream, "encoding", None) or "utf-8"))


def _rules() -> str:
    from scanviz.engine.rewrites.rule import PHASES, all_rules

    lines: list[str] = []
    for phase in PHASES:
        lines.append(f"{phase}")
        for each in all_rules():
            if phase == each.phases[0]:
                tags = ", ".join(sorted(each.tags - set(each.phases)))
                again = f"; again in {', '.join(each.phases[1:])}" if len(each.phases) > 1 else ""
                lines += [f"  {each.name}", f"      {each.doc}", f"      {each.where}  tags: {tags}{again}"]
    return "\n".join(lines) + "\n"
