"""mitmot_to_sitsot: a buffer in which each step only passes a row to the next becomes a state of one row.

Back through time a state's cotangents lie in a buffer with a row for each step: what arrives there from outside, and what the
step after it has added.  Where the cost reads the last row alone, ``h[-1]``, nothing but zeros arrives at all others; where it
reads none, as of the cell of an LSTM, at any.  So a cell holds zero when it is added to, and the value of the step before when
it is read: the state reads its row before (tap -1) and writes a row, as a sitsot does.  That saves the buffer, and filling it
with zeros.  Where rows arrive at all steps from outside, they are read as a sequence, and what steps add is passed on.

All buffers of a loop are looked at before it is rebuilt: a loop of many states has as many of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from itertools import chain
from typing import NamedTuple

import numpy as np

from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.nodes import Apply, Constant, Variable, build_one, is_floating, rebuild, tensor_type
from scanviz.engine.ops import elementwise as e
from scanviz.engine.ops.index import INDEX, getitem, last_row
from scanviz.engine.ops.index_pattern import IndexEntry
from scanviz.engine.ops.shape import ALLOC, alloc
from scanviz.engine.ops.sizes import as_size, size_of, surely_equal
from scanviz.engine.ops.support import constant
from scanviz.engine.ops.symbolic_shape import shape_of
from scanviz.engine.rewrites.arithmetic.identities import is_positive_zero
from scanviz.engine.rewrites.level import Level
from scanviz.engine.rewrites.rule import Match, Refusal, rule
from scanviz.engine.scan.loop import SCAN, Scan, ScanView, nodes_of
from scanviz.engine.scan.rebuild import rebuilt_loop
from scanviz.engine.scan.variables import LoopVariable, State
from scanviz.engine.scan.variables import Sequence as LoopSequence
from scanviz.engine.sizes.dims import SIZES


@rule(name="mitmot_to_sitsot", phase="merge", on=(SCAN,), single=True, tags=("scan", "memory"))
def hand_on_a_row(node: Apply, level: Level) -> Match | Refusal | None:
    """Let a step hand on a row instead of writing into a buffer, where nothing but that is done in it, or rows arrive there."""
    view = ScanView(node)
    found = {one: _of_state(one, view, level) for one in view.op.of_type(State) if one.kind == "mitmot"}
    changes = {state: change for state, change in found.items() if not isinstance(change, Refusal)}
    if not changes:
        refusals = [refusal for refusal in found.values() if isinstance(refusal, Refusal)]
        return max(refusals, key=lambda refusal: refusal.preconditions_met, default=None)
    outer = {variable: rows for change in changes.values() for variable, rows in change.outer.items()}
    _, mapping = rebuilt_loop(
        view,
        {state: change.state for state, change in changes.items()},
        added=[variable for variable in outer if isinstance(variable, LoopSequence)],
        outer=outer,
        values={old: new for change in changes.values() for old, new in change.values.items()},
    )
    for state, change in changes.items():
        result = view.outer_output(state)
        if result is not None:
            last = change.last(mapping.pop(result))
            mapping |= {reader.outputs[0]: last for reader, _ in level.readers(result)}
    return Match(mapping, "; ".join(change.message for change in changes.values()))


def _of_state(state: State, view: ScanView, level: Level) -> OneRowState | Refusal:
    """Return the one-row state that replaces a buffer of a gradient's loop, or why there is none."""
    if set(state.reads) != {0, 1} or set(state.writes) != {1}:
        return Refusal(f"a step reads or writes rows of `{state.name}` other than its own and the next", 0)
    given = view.outer(state).owner
    if given is not None and given.op.name == "concatenate":
        return read_as_sequence(state, given, view, level)

    return one_row_state(state, view, level)


def read_as_sequence(state: State, joined: Apply, view: ScanView, level: Level) -> OneRowState | Refusal:
    """Return the one-row state that replaces a buffer of arriving rows, which become a sequence, or why there is none.

    Parameters
    ----------
    state : State
        The buffer.  A step reads its row and the next, and writes the next.
    joined : Apply
        The concatenation of the rows and the zeros behind them.
    view, level : ScanView, Level
        The loop, and the graph that it is in.
    """
    rows, behind = joined.inputs if len(joined.inputs) == 2 else (None, None)
    if rows is None or behind is None or not _are_zeros(behind) or joined.op.parameters.axis != 0:
        return Refusal(f"the initial rows of `{state.name}` are not rows followed by zeros", 1)
    lengths = [level.shape(given)[0] for given in joined.inputs]
    if view.op.until is not None or not surely_equal(lengths[1], 1):
        return Refusal(f"`{state.name}` may not have exactly one row more than arrive", 2)
    if not surely_equal(lengths[0], size_of(view.n_steps)):
        return Refusal(f"`{state.name}` may not receive exactly one row for each step", 3)
    added = _added(state, view)
    if added is None:
        return Refusal(f"a step does more with the next row of `{state.name}` than add to it", 4)
    if not is_read_at_its_end(state, view, level):
        return Refusal(f"rows of `{state.name}` before the last are read after the loop", 5)
    return _reading(state, added, rows, behind, level)


def _are_zeros(rows: Variable) -> bool:
    """Return whether rows are zeros without a sign."""
    if isinstance(rows, Constant):
        return not (rows.value.any() or np.signbit(rows.value).any())
    return rows.owner is not None and is_zeros(rows.owner)


def _added(state: State, view: ScanView) -> Variable | None:
    """Return the term that a step adds to the next row, broadcast to it, where it does nothing else with that row."""
    arriving, written = state.reads[1], state.writes[1]
    node = written.owner
    if node is None or node.op.declaration is not e.add or arriving not in node.inputs:
        return None
    (term,) = [given for given in node.inputs if given is not arriving] or [arriving]
    dtypes = {one.type.dtype for one in (term, arriving, written)}
    if view.op.once(_times_read)[arriving] > 1 or len(dtypes) > 1:
        return None
    row, sizes = shape_of(state.reads[0]), shape_of(term)
    # the cotangent of a row is of its shape, but for sizes of 1 that addition repeats; anything else could be repeated, too
    is_cotangent = view.op.settings.gradient_of is not None
    is_of_its_shape = len(sizes) == len(row) and all(
        surely_equal(one, other) or (is_cotangent and one != 1) for one, other in zip(sizes, row, strict=True)
    )
    return term if is_of_its_shape else alloc(term, [as_size(size) for size in row])


def _times_read(op: Scan) -> Counter[Variable]:
    """Return how often operations of the step read each variable, or it is a result of the step."""
    return Counter(chain(*(node.inputs for node in op.once(nodes_of)), op.inner_outputs))


def _reading(state: State, added: Variable, rows: Variable, behind: Variable, level: Level) -> OneRowState:
    before = state.reads[0]
    kind, name = tensor_type(before), before.name or state.name
    arriving = Variable(kind.with_shape(tensor_type(rows).shape[1:]), f"{name} from outside")
    through_time = Variable(kind, f"{name} through time")
    sequence = LoopSequence(f"{state.name} from outside", arriving)
    nothing = constant(-0.0 if kind.dtype.startswith("float") else 0, kind.dtype)
    start = alloc(nothing, [as_size(size) for size in level.shape(rows)[1:]])
    one_row = State(state.name, {-1: through_time}, {0: added}, shared=state.shared)
    return OneRowState(
        one_row,
        {state: start, sequence: rows},
        {before: build_one(Op(e.add), arriving, through_time, name=before.name)},
        lambda rows: build_one(Op(e.add), last_row(rows, start), getitem(behind, 0)),
        f"`{state.name}` is a row passed from step to step, and arriving gradients are a sequence: no buffer is joined",
    )


class OneRowState(NamedTuple):
    """A one-row state in place of one with a buffer.

    Attributes
    ----------
    state : State
        The state.
    outer : mapping
        The state as it was → what it starts from; a sequence that is read beside it → its rows.
    values : mapping
        Variables of the step → what the step computes with in their place.
    last : callable
        ``last(rows)``: what stands for the last row of the buffer.
    message : str
        The change, in one line.
    """

    state: State
    outer: Mapping[LoopVariable, Variable]
    values: Mapping[Variable, Variable]
    last: Callable[[Variable], Variable]
    message: str


def one_row_state(state: State, view: ScanView, level: Level) -> OneRowState | Refusal:
    """Return a one-row state in place of one with a buffer of zeros but for the first row, or a refusal."""
    row = _first_row(state, view, level)
    if isinstance(row, Refusal):
        return row
    before, arriving = state.reads[0], state.reads[1]
    # -0.0 changes no number that it is added to, so that the sum leaves the step
    nothing = constant(-0.0 if is_floating(arriving) else 0, arriving.type.dtype)
    zero = alloc(nothing, [as_size(size) for size in shape_of(before)])
    one_row = State(state.name, {-1: before}, {0: state.writes[1]}, shared=state.shared)
    message = (
        f"`{state.name}` is a row passed from step to step: its buffer was zeros except for the first row"
    )
    return OneRowState(one_row, {state: row}, {arriving: zero}, lambda rows: last_row(rows, row), message)


def _first_row(state: State, view: ScanView, level: Level) -> Variable | Refusal:
    """Return the first row of a buffer whose other rows are zeros, if only the last row of its result is read."""
    given = view.outer(state).owner
    is_set = given is not None and given.op.name == "assign"
    zeros = given.inputs[0].owner if given is not None and is_set else given
    if given is None or zeros is None or not is_zeros(zeros):
        return Refusal(f"the initial rows of `{state.name}` are not zeros", 1)
    from scanviz.engine.rewrites.indexing.places import (  # gradients have such buffers, few others
        is_whole,
        surely_exists,
    )

    entries: tuple[IndexEntry, ...] = given.op.parameters.pattern.entries if is_set else ()
    if is_set and (
        entries[0].kind != "integer" or entries[0].start != 0 or not all(map(is_whole, entries[1:]))
    ):
        return Refusal(f"a row of `{state.name}` after the first is set before the loop", 2)
    shape = level.shape(zeros.outputs[0])
    # of fewer than no steps the loop makes an error itself
    one_a_step = view.op.until is None and surely_equal(shape[0], SIZES.add(size_of(view.n_steps), 1))
    if not one_a_step and not (is_set and surely_exists(entries, shape)):
        return Refusal(f"`{state.name}` may have no row", 3)
    if not is_read_at_its_end(state, view, level):
        return Refusal(f"rows of `{state.name}` before the last are read after the loop", 4)
    if not one_a_step and _is_read(state, view, level):
        return Refusal(f"the last row of `{state.name}` may be one that no step writes", 4)
    first = rebuild(zeros, [zeros.inputs[0], constant(1, "int64"), *zeros.inputs[2:]]).outputs[0]
    return getitem(rebuild(given, [first, *given.inputs[1:]]).outputs[0] if is_set else first, 0)


def is_read_at_its_end(state: State, view: ScanView, level: Level) -> bool:
    """Return whether of a state's result the last row is read, or nothing."""
    result = view.outer_output(state)
    if result is None or not _is_read(state, view, level):
        return True
    return result not in level.wanted and all(_reads_the_end(*reader) for reader in level.readers(result))


def _is_read(state: State, view: ScanView, level: Level) -> bool:
    result = view.outer_output(state)
    return result is not None and level.is_read(result)


def is_zeros(node: Apply) -> bool:
    """Return whether a node makes an array of zeros without a sign."""
    value = node.inputs[0] if node.op.declaration is ALLOC else None
    return isinstance(value, Constant) and value.value.size == 1 and is_positive_zero(value.value.reshape(()))


def _reads_the_end(node: Apply, position: int) -> bool:
    """Return whether a reader takes the last row alone."""
    from scanviz.engine.rewrites.indexing.places import is_whole

    if node.op.declaration is not INDEX or position != 0:
        return False
    first, *others = node.op.parameters.entries
    return first.kind == "integer" and first.start == -1 and all(map(is_whole, others))
