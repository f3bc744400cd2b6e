"""Random draws that leave a loop: the numbers of all steps as one draw before it, which the loop reads as a sequence.

The draws of a step take a fixed stride of the generator (:mod:`scanviz.engine.rewrites.loops.step_draws`), so step ``t`` begins
``t`` strides after the first.  One draw with a row per step, each as long as a stride, holds the very numbers that the loop
would have drawn.  The numbers of a step lie in its row, in the order of its draws.  The rest of a row is thrown away.  The
state after the large draw is the state after all steps.

It is written with the draws and indices that there are, so every tier has it; draws of one distribution that share a state are
one large draw once equal operations are merged.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.nodes import Apply, Variable, build, tensor_type
from scanviz.engine.graph.provenance import moved_from
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.ops.elementwise import maximum
from scanviz.engine.ops.index import getitem
from scanviz.engine.ops.join import concatenate
from scanviz.engine.ops.shape import alloc, reshape
from scanviz.engine.ops.sizes import as_size
from scanviz.engine.ops.support import constant_integer
from scanviz.engine.rewrites.level import Level
from scanviz.engine.rewrites.loops.loop_facts import (
    MOST_ROW_BYTES,
    SHORT_ROW,
    counts,
    drawn_name,
    elements,
    is_short,
    most_dimensions,
    own_tier,
    random_states,
    results_left,
    stays_in_step,
    unchecked_reason,
    unread_sequence,
)
from scanviz.engine.rewrites.rule import Match, Refusal, counted, rule
from scanviz.engine.scan.loop import SCAN, ScanView
from scanviz.engine.scan.rebuild import rebuilt_loop
from scanviz.engine.scan.variables import LoopVariable, inner_outputs
from scanviz.engine.scan.variables import Sequence as LoopSequence
from scanviz.engine.sizes.dims import SIZES

if TYPE_CHECKING:
    from scanviz.engine.rewrites.loops.step_draws import Chain, StepDraw


@rule(name="batch_draws", phase="loops", on=(SCAN,), single=True, tags=("scan", "push_out"))
def batch_draws(node: Apply, level: Level) -> Match | Refusal | None:
    """Draw the random numbers of all steps at once, before the loop."""
    view = ScanView(node)
    op = view.op
    if not random_states(op):
        return None
    if (refusal := own_tier(view, level)) is not None:
        return refusal
    if op.until is not None:
        return Refusal(f"`{op.scan_name}` may end early: numbers would be drawn that no step reads", 1)
    if level.target.why_numpy(op) is None:
        return Refusal(stays_in_step(op), 1)
    from scanviz.engine.rewrites.loops.step_draws import (
        chains_of,  # with all draws: much code, which few loops need
    )

    fitting: list[Chain] = []
    refusals: list[Refusal] = []
    for found in chains_of(view):
        answer = found if isinstance(found, Refusal) else _too_much(found, view, level) or found
        (refusals if isinstance(answer, Refusal) else fitting).append(answer)  # type: ignore[arg-type]
    if not fitting:
        return max(refusals, key=lambda refusal: refusal.preconditions_met)
    gone = [chain.carry for chain in fitting]
    if not results_left(op, gone):
        if (unread := unread_sequence(view)) is not None:
            return Refusal(unchecked_reason(unread), 3)
        if not counts(view):
            return Refusal("only the loop checks that its number of steps is not negative", 3)
    return _drawn_before(view, fitting)


def _too_much(chain: Chain, view: ScanView, level: Level) -> Refusal | None:
    """Return why drawing for all steps at once would take too much memory or time; None if it pays."""
    steps, most = constant_integer(view.n_steps), most_dimensions(view, level)
    total = 0
    for draw in chain.draws:
        values = draw.node.outputs[1]
        if not is_short(values):
            why = f"`{drawn_name(draw.node)}` has more than {SHORT_ROW} numbers: a draw of its own for each step costs no more"
            return Refusal(why, 4)
        unknown = elements(values) is None
        if (steps is None and most is None) or (unknown and tensor_type(values).ndim > (most or 0)):
            why = f"the numbers of `{drawn_name(draw.node)}` may take much more memory than the loop's inputs and results together"
            return Refusal(why, 4)
        if steps is not None and isinstance(draw.stride, int):
            total += steps * draw.stride * tensor_type(values).itemsize
    if total > MOST_ROW_BYTES:
        return Refusal(f"the numbers of all steps would take {total} bytes, more than {MOST_ROW_BYTES}", 4)
    return None


def _drawn_before(view: ScanView, chains: Sequence[Chain]) -> Match:
    """Return the loop that reads the numbers of its draws as sequences."""
    op = view.op
    read = {variable for node in toposort(op.inner_outputs) for variable in node.inputs}
    read |= {output for variable in op.variables for output in inner_outputs(variable)}
    mapping: dict[Variable, Variable] = {}
    rows: dict[LoopVariable, Variable] = {}
    values: dict[Variable, Variable] = {}
    for chain in chains:
        state = view.outer(chain.carry)
        for draw in chain.draws:
            drawn = draw.node.outputs[1]
            following, numbers = _numbers(draw, state, view)
            mapping.setdefault(view.result(chain.carry), following)
            if drawn in read:
                kind, name = tensor_type(numbers), drawn_name(draw.node)
                sequence = LoopSequence(name, Variable(kind.with_shape(kind.shape[1:]), name))
                rows[sequence], values[drawn] = numbers, sequence.slice
    gone = [chain.carry for chain in chains]
    if results_left(op, gone):
        added = list(rows)
        _, results = rebuilt_loop(view, dict.fromkeys(gone), added=added, outer=rows, values=values)
        mapping.update(results)
    names = counted(draw.node.op.name for chain in chains for draw in chain.draws)
    return Match(mapping, f"{names} of all steps at once, before `{op.scan_name}`")


def _numbers(draw: StepDraw, state: Variable, view: ScanView) -> tuple[Variable, Variable]:
    """Return the state after all steps, and the numbers that a draw has at each: its shape, with steps first."""
    node, count, begin = draw.node, draw.count, draw.begin
    with moved_from(node.provenance, node.node_id):
        steps = view.n_steps if counts(view) else maximum(view.n_steps, 0)
        op = Op(node.op.declaration, node.op.parameters._replace(sizes=2))
        following, rows = build(op, [state, steps, as_size(draw.stride), *_row_parameters(draw)])
        if not draw.sizes:
            return following, getitem(rows, (slice(None), as_size(begin)))
        if count != draw.stride:
            rows = getitem(rows, (slice(None), slice(as_size(begin), as_size(SIZES.add(begin, count)))))
        if len(draw.sizes) > 1:
            rows = reshape(rows, [steps, *(as_size(size) for size in draw.sizes)])
        return following, rows


def _row_parameters(draw: StepDraw) -> list[Variable]:
    """Return the parameters of a draw for a row as long as a stride; where it is not read they are the first ones again."""
    from scanviz.engine.ops.random import parameters_by_category

    found = []
    for parameter, by_category in zip(draw.parameters, parameters_by_category(draw.node.op), strict=False):
        if tensor_type(parameter).ndim == by_category:
            found.append(parameter)
            continue
        own = reshape(alloc(parameter, list(draw.sizes)), (draw.count,))
        rest = draw.stride - draw.begin - draw.count
        filled = [alloc(getitem(own, 0), [size]) for size in (draw.begin, rest)]
        found.append(concatenate([filled[0], own, filled[1]]) if draw.count != draw.stride else own)
    return found
