"""The files that rules are written in, which register them when they are imported, and the list of all rules.

A new file of rules is one line here; ``ORDER`` in :mod:`scanviz.engine.rewrites.rule` is the order of rules.  This file is
imported when the first graph is rewritten.
"""

from __future__ import annotations

from collections.abc import Collection

from scanviz.engine.errors import PluginError, ScanvizValueError
from scanviz.engine.rewrites import rule as rules
from scanviz.engine.rewrites.arithmetic import (  # noqa: F401  # they register their rules
    fill,
    fold,
    reductions,
    reshapes,
    simplify,
    split,
    unsafe,
)
from scanviz.engine.rewrites.indexing import subtensor, subtensor_lift  # noqa: F401
from scanviz.engine.rewrites.loops import (  # noqa: F401
    batch_draws,
    fewer_steps,
    inline,
    mitmot_to_sitsot,
    push_after,
    push_before,
    push_sums,
    residuals,
    save_memory,
    scan_merge,
    unused,
)
from scanviz.engine.rewrites.rule import RULES_ABOVE, Phase, Rule


def all_rules() -> list[Rule]:
    """Return all rules, in the order they are tried."""
    for register in RULES_ABOVE:
        register()
    return [rules.RULES[name] for name in (*rules.ORDER, *rules.OUTSIDE) if name in rules.RULES]


def load_outside(name: str | None = None) -> list[str]:
    """Load the rules of other distributions, or the one of a name; describe those that could not be loaded."""
    failed: list[str] = []
    from scanviz.plugins import PluginFailure, plugins

    for plugin in plugins("scanviz.rewrites").values():
        if plugin.name in rules.RULES or name not in (None, plugin.name):
            continue
        try:
            plugin.load()
        except PluginFailure as failure:
            failed.append(str(failure))
            continue
        if plugin.name not in rules.RULES:
            failed.append(plugin.failed(f"importing {plugin.value} registered no rule of this name"))
    return failed


def rules_of(phase: Phase) -> list[Rule]:
    """Return the rules of a phase, in the order they are tried."""
    return [rule for rule in all_rules() if phase in rule.phases]


def known_names() -> set[str]:
    """Return the names and tags that rules can be selected by."""
    return {name for rule in all_rules() for name in (rule.name, *rule.tags)}


def check_names(names: Collection[str]) -> None:
    """Raise a ScanvizValueError for the first name that is neither a rule's nor a tag."""
    known = known_names()
    for name in names:
        if name not in known:
            failed = load_outside(name)
            if failed:
                raise PluginError(failed[0])
            if name in rules.RULES:
                continue
            import difflib  # slow to import, and seldom needed

            elsewhere = {
                "fast_run": ["all"],
                "fast_compile": ["none"],
                "None": ["none"],
            }  # Theano's optimizers
            close = elsewhere.get(name) or difflib.get_close_matches(name, known, n=1, cutoff=0.6)
            raise ScanvizValueError(
                f"there is no rewrite or tag named {name!r}",
                expected="a name that `scanviz rewrites --rules` lists",
                found=repr(name),
                fix=repr(close[0]) if close else None,
            )
