"""A function's graph rewritten: from its beginning, or from where it parts from that of the same function for another tier."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from scanviz.engine.config import config
from scanviz.engine.function.names import told_apart
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.observe import observers
from scanviz.engine.ops.support import constant_integer
from scanviz.engine.rewrites.history import RewriteHistory
from scanviz.engine.rewrites.target import TargetTier
from scanviz.engine.scan.loop import Scan, nodes_of

if TYPE_CHECKING:
    from scanviz.engine.backends.auto.counted import Counted
    from scanviz.engine.function.spec import FunctionSpec
    from scanviz.engine.graph.nodes import Apply, Variable
    from scanviz.engine.mode import Mode
    from scanviz.engine.rewrites.target import WhyNoCode

WEIGHED = "PushOutShortRows"  # what it moves out of loops is weighed from the loops as they are
SURELY = 2.5  # times what pays: so long are first calls by that guess which mostly pay, and others are rewritten for NumPy first


def rewrites_of(
    plan: FunctionSpec, checked: set[Apply], beside: RewriteHistory | None = None
) -> RewriteHistory:
    """Return what rules do to a function's graph, up to where it may wait for the function's first call.

    Parameters
    ----------
    plan : FunctionSpec
        What it was asked for.
    checked : set of Apply
        Filled with the nodes whose types were found to hold.
    beside : RewriteHistory, optional
        Of the same function with more rules: what both do is taken over.
    """
    found = None if beside is None else beside.without(plan.mode.rewrites, checked)
    if found is not None:
        return found
    other = plan.mode.for_machine_code()
    left_out = () if other is None else other.rewrites.left_out
    wanted = told_apart([*(output.variable for output in plan.outputs), *plan.updates.values()])
    history = RewriteHistory(
        wanted, plan.mode.rewrites, checked, left_out, bool(left_out), target_of(plan.mode)
    )
    if history.waits_for is not None and not _may_wait(plan, history):
        history.finish(checked)
    return history


def target_of(mode: Mode) -> TargetTier:
    """Return what the graph of a function of a mode is rewritten for."""
    return TargetTier(mode.backend, _native_code)


def _native_code() -> WhyNoCode | None:
    from scanviz.engine.backends.native_support import is_installed, why_no_code  # where there are loops

    return why_no_code if is_installed() else None


def _may_wait(plan: FunctionSpec, history: RewriteHistory) -> bool:
    """Return whether nobody misses the rest before the first call: nobody watches, and it is NumPy or machine code for all loops.

    Draws that would leave a loop are not weighed before it.
    """
    if history.waits_for != WEIGHED or plan.profile or observers():
        return False
    return all(op.settings.mode is None and not op.settings.profile for op, _ in loops_in(history.final))


def loops_in(outputs: Iterable[Variable]) -> Iterator[tuple[Scan, Apply]]:
    """Iterate over the loops of a graph and of the steps of loops."""
    todo: list[Sequence[Apply]] = [toposort(outputs)]
    while todo:
        for node in todo.pop():
            if isinstance(node.op, Scan):
                yield node.op, node
                todo.append(node.op.once(nodes_of))


def undecided() -> Counted:
    """Return what counts for a function that is finished for no tier yet: its first call is looked at."""
    from scanviz.engine.backends.auto.counted import Counted  # it is there: the function is for that tier

    counted = Counted()
    counted.let(due=False, is_new=True)
    return counted


def may_pay(outputs: Iterable[Variable], inputs: Sequence[Any]) -> bool:
    """Return whether a first call may be so long that machine code pays in it: a guess, from the number of operations."""
    loops = list(loops_in(outputs))
    weighed = [node for op, _ in loops for node in op.once(nodes_of) if node.op.facts.weight != "free"]
    steps = [constant_integer(node.inputs[0]) for _, node in loops]
    known = [count for count in steps if count is not None]
    is_nested = any(isinstance(node.op, Scan) for node in weighed)
    from scanviz.engine.backends.auto import most_ns  # it is there: the function is for that tier
    from scanviz.engine.backends.auto.loop import THIS_RUN

    return (
        THIS_RUN * most_ns(len(weighed), known, is_nested, inputs) >= SURELY * config.native.pays_after * 1e9
    )


__all__ = ["may_pay", "rewrites_of"]
