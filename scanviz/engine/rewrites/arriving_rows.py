"""Buffers of a gradient through time that begin as the rows that arrive from outside, and a row of zeros behind them.

A step reads its row, which the step before it has added to, and adds to the next.  Whether that sum is made when a step hands it on
or when the next one reads it, it is the same: so the rows that arrive may be read as a sequence, and what steps add is a row that
they hand on (rule ``mitmot_to_sitsot``).  Nothing is joined or written over then, and rows that come from other work are read where
they lie.

The sum of two numbers does not know their order, so every bit is as before: the first step adds -0.0 to its row, which changes no
number, and who reads the last row adds the zeros behind the rows to it.
"""

from __future__ import annotations

import numpy as np

from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.nodes import Apply, Constant, Variable, build_one, tensor_type
from scanviz.engine.ops import elementwise as e
from scanviz.engine.ops.index import getitem, last_row
from scanviz.engine.ops.shape import alloc
from scanviz.engine.ops.sizes import as_size, size_of, surely_equal
from scanviz.engine.ops.support import constant
from scanviz.engine.ops.symbolic_shape import shape_of
from scanviz.engine.rewrites.buffers_of_zeros import HandedOn, is_read_at_its_end, is_zeros
from scanviz.engine.rewrites.level import Level
from scanviz.engine.rewrites.rule import Refusal
from scanviz.engine.scan.loop import ScanView, nodes_of
from scanviz.engine.scan.variables import Sequence as LoopSequence
from scanviz.engine.scan.variables import State


def read_as_sequence(state: State, joined: Apply, view: ScanView, level: Level) -> HandedOn | Refusal:
    """Return the state that hands on a row and whose buffer begins with rows that are read as a sequence, or why it does not.

    Parameters
    ----------
    state : State
        The buffer, of which steps read their row and the next, and write the next.
    joined : Apply
        What joins the rows with what stands behind them.
    view, level : ScanView, Level
        The loop, and the graph that it is in.
    """
    rows, behind = joined.inputs if len(joined.inputs) == 2 else (None, None)
    if rows is None or behind is None or not _are_zeros(behind) or joined.op.parameters.axis != 0:
        return Refusal(f"rows of `{state.name}` are no rows with zeros behind them when the loop begins", 1)
    lengths = [level.shape(given)[0] for given in joined.inputs]
    if view.op.until is not None or not surely_equal(lengths[1], 1):
        return Refusal(f"it is not known that `{state.name}` has one row more than arrive", 2)
    if not surely_equal(lengths[0], size_of(view.n_steps)):
        return Refusal(f"it is not known that for each step one row of `{state.name}` arrives", 3)
    added = _added(state, view)
    if added is None:
        return Refusal(f"a step does more with the next row of `{state.name}` than add to it", 4)
    if not is_read_at_its_end(state, view, level):
        return Refusal(f"other rows of `{state.name}` than the last are read after the loop", 5)
    return _reading(state, added, rows, behind, level)


def _are_zeros(rows: Variable) -> bool:
    """Return whether rows are zeros without a sign."""
    if isinstance(rows, Constant):
        return not (rows.value.any() or np.signbit(rows.value).any())
    return rows.owner is not None and is_zeros(rows.owner)


def _added(state: State, view: ScanView) -> Variable | None:
    """Return what a step adds to the next row, repeated as addition repeats it, where it does nothing else with it."""
    arriving, written = state.reads[1], state.writes[1]
    node = written.owner
    if node is None or node.op.declaration is not e.add or arriving not in node.inputs:
        return None
    read = sum(given is arriving for other in view.op.once(nodes_of) for given in other.inputs)
    results = sum(result is arriving for result in view.op.inner_outputs)
    (term,) = [given for given in node.inputs if given is not arriving] or [arriving]
    if read != 1 or results or len({one.type.dtype for one in (term, arriving, written)}) > 1:
        return None
    row, sizes = shape_of(state.reads[0]), shape_of(term)
    # the cotangent of a row is of its shape, but for sizes of 1 that addition repeats; anything else could be repeated, too
    is_cotangent = view.op.settings.gradient_of is not None
    is_of_its_shape = len(sizes) == len(row) and all(
        surely_equal(one, other) or (is_cotangent and one != 1) for one, other in zip(sizes, row, strict=True)
    )
    return term if is_of_its_shape else alloc(term, [as_size(size) for size in row])


def _reading(state: State, added: Variable, rows: Variable, behind: Variable, level: Level) -> HandedOn:
    before = state.reads[0]
    kind, name = tensor_type(before), before.name or state.name
    arriving = Variable(kind.with_shape(tensor_type(rows).shape[1:]), f"{name} from outside")
    through_time = Variable(kind, f"{name} through time")
    sequence = LoopSequence(f"{state.name} from outside", arriving)
    nothing = constant(-0.0 if kind.dtype.startswith("float") else 0, kind.dtype)
    start = alloc(nothing, [as_size(size) for size in level.shape(rows)[1:]])
    handed = State(state.name, {-1: through_time}, {0: added}, shared=state.shared)
    return HandedOn(
        handed,
        {state: start, sequence: rows},
        {before: build_one(Op(e.add), arriving, through_time, name=before.name)},
        lambda rows: build_one(Op(e.add), last_row(rows, start), getitem(behind, 0)),
        f"`{state.name}` is a row that steps hand on, and what arrives a sequence: nothing is joined",
    )


__all__ = ["read_as_sequence"]
