"""Rebuild a loop with loop variables changed, removed or added.

Rules, gradients and edits give the changes by loop variable; :func:`rebuilt_loop` makes the new Apply and maps old results to
new ones.  Loop variables that do not change stay the same objects, so that two loops made of one loop are known to belong
together (:mod:`scanviz.engine.rewrites.loops.residuals`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from scanviz.engine.graph.nodes import Apply, Variable
from scanviz.engine.graph.replace import replace
from scanviz.engine.scan.loop import Scan, ScanView, knows_step_of
from scanviz.engine.scan.settings import ScanSettings
from scanviz.engine.scan.variables import (
    LoopVariable,
    Until,
    giving,
    has_outer_input,
    has_outer_output,
    inner_outputs,
)


def rebuilt_loop(
    view: ScanView,
    changed: Mapping[LoopVariable, LoopVariable | None],
    *,
    added: Sequence[LoopVariable] = (),
    outer: Mapping[LoopVariable, Variable] | None = None,
    values: Mapping[Variable, Variable] | None = None,
    n_steps: Variable | None = None,
    settings: ScanSettings | None = None,
) -> tuple[ScanView, dict[Variable, Variable]]:
    """Return a loop with loop variables changed, and a map from old results to new ones.

    Parameters
    ----------
    view : ScanView
        The loop as it is.
    changed : mapping
        Loop variable → the one in its place; None takes it away.
    added : sequence of loop variables
        Put in: sequences and non-sequences before the others of their kind, results after them.
    outer : mapping, optional
        Outer inputs of loop variables that are new.
    values : mapping, optional
        Variables of the step → what the step computes with in their place.
    n_steps : Variable, optional
        The number of steps, by default as before.
    settings : ScanSettings, optional
        Its settings, by default as before.

    Returns
    -------
    ScanView
        The new loop; it keeps its node id, and the names of results.
    dict
        Old result → new result.
    """
    given = dict(outer or {})
    op = view.op
    pairs: list[tuple[LoopVariable | None, LoopVariable]] = [
        (None, variable) for variable in added if not has_outer_output(variable)
    ]
    for variable in op.variables:
        now = changed.get(variable, variable)
        if now is not None:
            pairs.append((variable, now))
    pairs += [(None, variable) for variable in added if has_outer_output(variable)]
    until = op.until
    if values:
        pairs, until = _with_values(pairs, until, values)
    inputs = [n_steps if n_steps is not None else view.n_steps]
    for old, now in pairs:
        if not has_outer_input(now):
            continue
        source = given.get(now)
        if source is None and old is not None:
            source = given.get(old, view.outer_input(old))
        assert source is not None, f"loop variable `{now.name}` has no outer input"
        inputs.append(source)
    fresh = Scan([now for _, now in pairs], until, op.settings if settings is None else settings)
    gives = [(old, now) for old, now in pairs if has_outer_output(now)]
    results = [None if old is None else view.outer_output(old) for old, _ in gives]
    knows_step_of(fresh, op)
    names = [
        now.name if before is None else before.name for before, (_, now) in zip(results, gives, strict=True)
    ]
    node = Apply(fresh, inputs, node_id=view.node.node_id, names=names)
    mapping = {
        before: after for before, after in zip(results, node.outputs, strict=True) if before is not None
    }
    return ScanView(node), mapping


def _with_values(
    pairs: Iterable[tuple[LoopVariable | None, LoopVariable]],
    until: Until | None,
    values: Mapping[Variable, Variable],
) -> tuple[list[tuple[LoopVariable | None, LoopVariable]], Until | None]:
    """Return loop variables and condition over replaced variables of the step."""
    listed = list(pairs)
    results = [output for _, now in listed for output in inner_outputs(now)]
    if until is not None:
        results.append(until.condition)
    fresh = iter(replace(results, values, check=False))
    made = giving([now for _, now in listed], fresh)
    return list(zip((old for old, _ in listed), made, strict=True)), Until(
        next(fresh)
    ) if until is not None else None


def with_results(op: Scan, results: Sequence[Variable]) -> Scan:
    """Replace the step's outputs, in the order of ``inner_outputs``."""
    given = iter(results)
    return op.with_variables(
        giving(op.variables, given), Until(next(given)) if op.until is not None else None
    )
