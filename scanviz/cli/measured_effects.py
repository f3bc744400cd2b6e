"""What rules were measured to be worth, put into a profile of the same functions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from scanviz.profiler.report.text import QUIET, WARNING, ReportLine
from scanviz.record.file import load, save
from scanviz.record.model import FunctionRecord
from scanviz.record.names import functions_called
from scanviz.record.plain_text import sanitize
from scanviz.record.rewrites import EffectRecord, RewritesRecord
from scanviz.record.rewrites_snapshot import rewrites_record

if TYPE_CHECKING:
    from scanviz.engine.function import Function


def put_into(path: Path, measured: Function, effects: list[EffectRecord]) -> ReportLine:
    """Put what rules were measured to buy into a profile's functions that are the measured one, beside what is there of others.

    That is the function of its name; of several, those that were rewritten as it was.
    """
    record = load(path)
    named = [
        function for function in functions_called(record, measured.name) if function.rewrites is not None
    ]
    if not named:
        text = (
            f"  {path.name} has no function {sanitize(measured.name)} with rewrites: nothing was put into it"
        )
        return ReportLine(text, WARNING)
    history = rewrites_record(measured.rewrites)
    alike = [function for function in named if len(named) == 1 or _alike(function.rewrites, history)]
    if not alike:
        text = f"  none of the {len(named)} functions {sanitize(measured.name)} in {path.name} was rewritten like this one"
        return ReportLine(f"{text}: nothing was put into it", WARNING, wraps=True)
    keys, rules = {function.key for function in alike}, {effect.rule for effect in effects}
    functions = [
        _with_effects(function, effects, rules) if function.key in keys else function
        for function in record.functions
    ]
    save(replace(record, functions=tuple(functions)), path)
    return ReportLine(f"  put into {path.name}", QUIET)


def _alike(kept: RewritesRecord | None, measured: RewritesRecord) -> bool:
    """Return whether the same rules did the same to two functions."""
    if kept is None:
        return False
    done, found = (
        [
            (application.rule, application.message)
            for application in one.applications
            if application.phase != "memory"
        ]
        for one in (kept, measured)
    )
    return done == found


def _with_effects(function: FunctionRecord, effects: list[EffectRecord], rules: set[str]) -> FunctionRecord:
    if function.rewrites is None:
        return function
    kept = [effect for effect in function.rewrites.effects if effect.rule not in rules]
    return replace(function, rewrites=replace(function.rewrites, effects=(*kept, *effects)))


__all__ = ["put_into"]
