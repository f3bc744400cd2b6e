"""The files that rules are written in, which register them when they are imported, and the list of all rules.

A new file of rules is one line here; in which order rules are tried says ``ORDER`` in :mod:`scanviz.engine.rewrites.rule`.  A rule
about operations that a plain loop does not have is a line of :data:`LATER` instead: its file is imported once one of them occurs.
"""

from __future__ import annotations

import importlib
from collections.abc import Collection, Mapping

from scanviz.engine.errors import PluginError, ScanvizValueError
from scanviz.engine.rewrites import (  # noqa: F401  # they register their rules
    arithmetic,
    fewer_steps,
    fill,
    first_row,
    fold,
    inline,
    keep,
    merge,
    push_after,
    push_before,
    push_sums,
    residuals,
    scan_merge,
    scan_merge_inouts,
    shape,
    unused,
)
from scanviz.engine.rewrites import rule as rules
from scanviz.engine.rewrites.rule import GENERAL, RULES_ABOVE, UNSAFE, Phase, Rule, RuleLater

# By their names; tests/engine/rewrites/test_families.py compares what is said here with the rules.
LATER: Mapping[str, RuleLater] = {
    rule.name: rule
    for rule in (
        RuleLater("inline_subgraphs", "subgraph", ("gradient",), ("subgraph",), ("general",)),
        RuleLater(
            "remove_barriers",
            "stop_gradient",
            ("gradient",),
            ("disconnected_grad", "zero_grad", "grad_clip"),
            ("general",),
        ),
        RuleLater("unsafe_arithmetic", "unsafe", GENERAL, None, (UNSAFE,)),
        RuleLater("simplify_casts", "casts", GENERAL, ("cast",), ("general",)),
        RuleLater(
            "simplify_reshapes",
            "reshapes",
            GENERAL,
            ("reshape", "specify_shape", "state_shape"),
            ("general",),
        ),
        RuleLater("subtensor_chains", "subtensor", GENERAL, ("index",), ("general",)),
        RuleLater(
            "subtensor_lift", "subtensor_lift", ("simplify", "merge", "clean"), ("index",), ("general",)
        ),
        RuleLater("simplify_assignments", "assignments", GENERAL, ("assign",), ("general",)),
        RuleLater(
            "simplify_reductions",
            "reductions",
            ("canonical", "simplify"),
            ("sum_to_shape", "sum", "prod", "max", "min", "all", "any"),
            ("general",),
        ),
        RuleLater("split_factorisation", "split", ("loops",), ("solve",), ("scan", "push_out")),
        RuleLater("batch_draws", "batch_draws", ("loops",), ("random",), ("scan", "push_out")),
    )
}


def in_order() -> list[Rule | RuleLater]:
    """Return all rules, in the order they are tried; those whose files are imported when they may have work as such."""
    for register in RULES_ABOVE:
        register()
    found = [LATER.get(name) or rules.RULES.get(name) for name in (*rules.ORDER, *rules.OUTSIDE)]
    return [rule for rule in found if rule is not None]


def imported(later: RuleLater) -> Rule:
    """Return a rule after importing its file, all of it: another thread may be in the middle of it."""
    importlib.import_module(f"scanviz.engine.rewrites.{later.file}")
    return rules.RULES[later.name]


def all_rules() -> list[Rule]:
    """Return all rules, in the order they are tried."""
    return [imported(rule) if isinstance(rule, RuleLater) else rule for rule in in_order()]


def load_outside(name: str | None = None) -> list[str]:
    """Load the rules that other distributions add, or the one of a name, and return in words what could not be loaded."""
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


def rules_of(phase: Phase) -> list[Rule | RuleLater]:
    """Return the rules of a phase, in the order they are tried."""
    return [rule for rule in in_order() if phase in rule.phases]


def memory_rules() -> list[Rule]:
    """Return the rules about Programs, in the order they are tried."""
    return [rule for rule in in_order() if isinstance(rule, Rule) and "memory" in rule.phases]


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
