"""Show how rewrites changed the functions of a script or of a saved profile, and why a rewrite did not apply.

Without options, the command lists the rewrites of each function with their effects, on standard error when the script ends. With
--json the script's output goes to standard error, and standard output holds only JSON. --verify and --bisect exit with 1 if a
rewrite changed a value.

for example:
  scanviz rewrites train.py                   what was rewritten?
  scanviz rewrites --step 3 train.py          rewrite 3, line by line
  scanviz rewrites --why-not PushOutSeqScan train.py
  scanviz rewrites --verify train.py          are all values still the same?
"""

from __future__ import annotations

import contextlib
import itertools
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from msgspec.structs import replace

from scanviz.cli.built import own_output
from scanviz.cli.files import loaded
from scanviz.cli.fitted import fitted_to
from scanviz.cli.options import (
    MODE,
    Given,
    Option,
    UsageError,
    number,
    options_after_file,
    parse,
    positive,
    program_of,
    suggestion,
)
from scanviz.cli.run import set_mode
from scanviz.record.names import not_one_function
from scanviz.record.plain_text import sanitize, write_json, write_text

if TYPE_CHECKING:
    from scanviz.engine.function import Function
    from scanviz.profiler.report.rewrites import RewritesOptions
    from scanviz.profiler.run.runner import Script
    from scanviz.record.model import ProfileRecord

USAGE = "rewrites [options] SCRIPT|FILE.scanviz [arguments]"
STYLES = ("unified", "side-by-side", "tree", "costs")
OPTIONS = (
    Option(("--function",), "NAME", "this function alone"),
    Option(("--scan",), "NAME", "changes of this loop"),
    Option(("--rule",), "RULE", "changes by this rule"),
    Option(
        ("--step",), "N", "rewrite N line by line, before and after", number("the number of a rewrite", 0)
    ),
    Option(("--unified",), "", "changed lines in one list (the default)"),
    Option(("--side-by-side",), "", "before on the left, after on the right"),
    Option(("--tree",), "", "the whole graph with its changes marked"),
    Option(("--costs",), "", "cost of the graph before and after, in your sizes"),
    Option(("--all",), "", "show also how often each rule refused"),
    Option(("--why",), "NAME|LINE", "where a variable or line comes from, down to the script"),
    Option(("--why-not",), "RULE", "why this rule did not apply, the nearest miss first"),
    Option(
        ("--verify",),
        "",
        "compare values and gradients before and after every rewrite",
    ),
    Option(("--bisect",), "", "find the first rewrite that changed a value, by halving"),
    Option(("--ablate",), "", "measure what each rule gains, by leaving it out: time and memory"),
    Option(("--into",), "FILE.scanviz", "save the results of --ablate in this profile"),
    Option(("--budget",), "SECONDS", "how long --ablate may measure (60)", positive),
    Option(("--json",), "", "print everything as JSON on standard output"),
    Option(("--rules",), "", "list all rules"),
    MODE,
)
MEASURED = ("ablate", "bisect", "verify")


def main(arguments: list[str]) -> int:
    """Show rewrites and return the exit code; a program's own exit code ends the process."""
    given = parse(arguments, OPTIONS, program=True)
    if given.rules:
        write_text(fitted_to(_rules(), sys.stdout), sys.stdout)
        return 0
    view = _view(given)
    if given.rest and given.rest[0].endswith(".scanviz"):
        return _of_file(given)
    program = program_of(given.rest, "rewrites")
    set_mode(given.mode)
    flags = frozenset(name for name in MEASURED if getattr(given, name))
    into = None if given.into is None else Path(given.into).absolute()
    if into is not None:
        if not given.ablate:
            raise UsageError("--into needs --ablate")
        loaded(into)  # fails before the script runs
    if flags:
        from scanviz.cli.rewrites_measured import MeasurementOptions, run_and_measure

        problem = lambda found: _not_there(found, view)  # noqa: E731  # called with the functions later
        return run_and_measure(program, MeasurementOptions(flags, view, given.budget or 60, problem, into))
    return _run_and_show(program, view, own_output() if given.json else None)


def _run_and_show(program: Script, view: RewritesOptions, own: TextIO | None) -> int:
    """Run a program and show the rewrites of its functions at its end, as JSON if there is a stream for it."""
    from scanviz.engine.measurement.captured_calls import Uncalled
    from scanviz.profiler.run.profiled import RunOptions, run_profiled

    uncalled = Uncalled()

    def show(record: ProfileRecord, stream: TextIO) -> None:
        with contextlib.suppress(BrokenPipeError):  # nobody reads any more
            _show(_with_uncalled(record, uncalled.functions), view, own is not None, own or stream)

    with uncalled.observing():
        run_profiled(program, RunOptions(None, False, 8, None, "steps", show))
    return 0


def _with_uncalled(record: ProfileRecord, functions: Sequence[Function]) -> ProfileRecord:
    """Return a record with functions that were built but never called."""
    from scanviz.engine.observation.events import CompiledFunction
    from scanviz.record.graphs.rewrites_snapshot import rewrites_of
    from scanviz.record.program_snapshot import function_record

    known = {function.key for function in record.functions}
    more = [
        replace(
            function_record(CompiledFunction(f.key, f.name, f, f.program, f.backend, f.build_ns, f.where)),
            rewrites=rewrites_of(f),
        )
        for f in functions
        if f.key not in known
    ]
    return replace(record, functions=(*record.functions, *more))


def _not_there(functions: Sequence[Function], view: RewritesOptions) -> str:
    """Return the problem of the requested names, given the functions; empty if there is none."""
    from scanviz.record.model import ProfileRecord

    if view.function is None and view.scan is None:
        return ""
    return _unknown(_with_uncalled(ProfileRecord(), functions), view)


def _view(given: Given) -> RewritesOptions:
    from scanviz.profiler.report.rewrites import RewritesOptions

    _go_together(given)
    for rule in (given.rule, given.why_not):
        if rule is not None:
            _known_rule(rule)
    style = next((name for name in STYLES if _has(given, name)), "")
    return RewritesOptions(
        given.function, given.scan, given.rule, given.step, style, given.all, given.why, given.why_not
    )


def _has(given: Given, name: str) -> bool:
    value = getattr(given, name.replace("-", "_"))
    return value is not None and value is not False  # 0 is a step


def _go_together(given: Given) -> None:
    """Refuse options that cannot be combined."""
    apart = [
        *itertools.product(MEASURED, ("step", "why", "why-not", "all", "json", *STYLES)),
        *itertools.product(("bisect",), ("rule", "scan")),
        *itertools.combinations(("step", "why", "why-not"), 2),
        *itertools.combinations(STYLES, 2),
        *itertools.product(("why", "why-not"), STYLES),
    ]
    for one, other in apart:
        if _has(given, one) and _has(given, other):
            raise UsageError(f"--{one} and --{other} cannot be combined")
    if given.budget is not None and not given.ablate:
        raise UsageError("--budget needs --ablate, whose measuring time it limits")


def _known_rule(name: str) -> None:
    from scanviz.engine.rewrites.families import all_rules, load_outside
    from scanviz.engine.rewrites.rule import RULES

    known = [rule.name for rule in all_rules()]
    failed = load_outside(name) if name not in known else []
    if failed:
        raise UsageError(failed[0])
    if name not in known and name not in RULES:
        raise UsageError(
            f"there is no rule named {name!r}{suggestion(name, known)}; scanviz rewrites --rules"
        )


def _of_file(given: Given) -> int:
    given = options_after_file(given, OPTIONS, "rewrites")
    view, record = _view(given), loaded(Path(given.rest[0]))
    problem = _unknown(record, view)
    if problem:
        raise UsageError(problem)
    asked = [f"--{name}" for name in ("verify", "bisect", "ablate") if getattr(given, name)]
    if asked:
        raise UsageError(f"{asked[0]} runs the functions again: it needs a SCRIPT, not a saved profile")
    _show(record, view, given.json, sys.stdout)
    return 0


def _unknown(record: ProfileRecord, view: RewritesOptions) -> str:
    """Return the problem of the requested names; empty if there is none."""
    from scanviz.profiler.report.rewrites import chosen

    if view.function is not None:
        problem = not_one_function(record, view.function)
        if problem:
            return problem
    keys = {function.key for function in chosen(record, view)}
    loops = [loop.name for loop in record.loops if loop.function in keys]
    for function in chosen(record, view):
        loops += function.rewrites.loops() if function.rewrites is not None else ()
    if view.scan is not None and view.scan not in loops:
        known = ", ".join(map(sanitize, dict.fromkeys(loops))) or "none"
        return f"there is no loop named {view.scan!r}{suggestion(view.scan, loops)}; loops: {known}"
    return ""


def _show(record: ProfileRecord, view: RewritesOptions, as_json: bool, stream: TextIO) -> None:
    from scanviz.profiler.report.rewrites import chosen, render_rewrites
    from scanviz.profiler.report.text import wants_color, width_of

    problem = _unknown(record, view)
    if problem:  # a script's names are known at its end
        write_text(f"scanviz: {problem}\n", sys.stderr)
        return
    if not record.functions and not as_json:
        write_text("no function was built\n", stream)
        return
    if as_json:
        from scanviz.record.graphs.rewrites import with_lines

        data = [
            {
                "function": function.name,
                "rewrites": with_lines(function.rewrites) if function.rewrites is not None else None,
            }
            for function in chosen(record, view)
        ]
        write_json(data, stream)
        stream.flush()
        return
    color = wants_color(stream)
    write_text(render_rewrites(record, view, width=width_of(stream), color=color), stream, colours=color)


def _rules() -> str:
    from scanviz.engine.rewrites.families import all_rules, load_outside
    from scanviz.engine.rewrites.rule import PHASES

    failed = load_outside()
    lines: list[str] = []
    for phase in PHASES:
        lines.append(f"{phase}")
        for rule in all_rules():
            if phase == rule.phases[0]:
                tags = ", ".join(sorted(rule.tags - set(rule.phases)))
                again = f"; again in {', '.join(rule.phases[1:])}" if len(rule.phases) > 1 else ""
                lines += [f"  {rule.name}", f"      {rule.doc}", f"      {rule.where}  tags: {tags}{again}"]
    return "\n".join([*lines, *failed]) + "\n"
