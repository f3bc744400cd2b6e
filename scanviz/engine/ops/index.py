"""Indexing: ``x[...]`` with NumPy's meaning, and the last row of a loop's result."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from scanviz.engine.errors import ScanvizIndexError, ScanvizTypeError
from scanviz.engine.graph import axes, notation
from scanviz.engine.graph.declaration import Declaration, Op
from scanviz.engine.graph.facts import Facts
from scanviz.engine.graph.nodes import Array, Variable, build_one, describe, tensor_type
from scanviz.engine.graph.syntax import meaning
from scanviz.engine.graph.types import BOOLEAN, Type
from scanviz.engine.ops.index_pattern import (
    INPUT,
    IndexEntry,
    IndexParameters,
    input_count,
    input_entries,
    is_basic,
    numpy_index,
    parse_index,
    picked,
)
from scanviz.engine.ops.shape import is_shape, stack_scalars
from scanviz.engine.ops.support import as_variable, infer_by, kept_dtype
from scanviz.engine.sizes.dims import Dims

_of_kept_dtype = infer_by(kept_dtype)


def _slice_size(entry: IndexEntry, size: Any, position: int, dims: Dims) -> Any:
    """Return how many elements a slice entry picks; ``position`` is its first input among the op's inputs."""
    _, start, stop, step, _ = entry
    if start is None and stop is None and step is None:
        return size
    numbers = []
    for number in (start, stop, step):
        if number == INPUT:
            numbers.append(dims.value(position))
            position += 1
        else:
            numbers.append(number)
    start, stop, step = numbers
    written = 1 if entry.step is None else step
    given = (entry.start is not None, entry.stop is not None)
    return dims.slice_length(size, start, stop, written, given)


def _shapes(op: Op, dims: Dims) -> Sequence[tuple[Any, ...]]:
    """Return the shape by NumPy's rules: arrays broadcast, at the place of the first if they stand together."""
    source = list(dims.shapes[0])
    result: list[Any] = []
    arrays: list[tuple[Any, ...]] = []
    places: list[int] = []  # entries that take part in advanced indexing
    first_place = 0
    entries = op.parameters.entries
    advanced = any(entry.kind == "array" for entry in entries)
    axis = 0
    for k, (entry, position, _) in enumerate(input_entries(op.parameters)):
        if entry.kind == "newaxis":
            result.append(1)
            continue
        if entry.kind == "slice":
            result.append(_slice_size(entry, source[axis], position + 1, dims))
            axis += 1
            continue
        if advanced:
            if not places:
                first_place = len(result)
            places.append(k)
        if entry.kind == "array":
            given = dims.shapes[position + 1]
            arrays.append((None,) if entry.consumed > 1 or _is_mask(entry) else given)
        axis += entry.consumed
    if arrays:
        together = places == list(range(places[0], places[0] + len(places)))
        at = first_place if together else 0
        result[at:at] = list(dims.broadcast(*arrays))
    return (tuple(result),)


def _is_mask(entry: IndexEntry) -> bool:
    return entry.stop == "mask"


def _infer(op: Op, inputs: Sequence[Variable]) -> Sequence[Type]:
    kind, found, axis = tensor_type(inputs[0]), _of_kept_dtype(op, inputs), 0
    for entry, position, _ in input_entries(op.parameters):
        size = kind.shape[axis] if axis < kind.ndim else None
        if (
            entry.kind == "integer"
            and isinstance(entry.start, int)
            and size is not None
            and not -size <= entry.start < size
        ):
            raise _out_of_bounds(describe(inputs[0]), entry.start, axis, size)
        if entry.kind == "array":
            _check_array(entry, inputs[position + 1], inputs[0], axis)
        axis += 0 if entry.kind == "newaxis" else entry.consumed
    return found


def _check_array(entry: IndexEntry, index: Variable, source: Variable, axis: int) -> None:
    kind = tensor_type(index)
    if kind.dtype == BOOLEAN:
        sizes = tensor_type(source).shape[axis : axis + entry.consumed]
        if any(a is not None and b is not None and a != b for a, b in zip(sizes, kind.shape, strict=False)):
            raise ScanvizIndexError.here(
                f"the mask `{describe(index)}` does not fit `{describe(source)}`",
                expected=sizes,
                found=kind.shape,
            )


def _out_of_bounds(name: str, index: Any, axis: int, size: int) -> ScanvizIndexError:
    return ScanvizIndexError.here(
        f"index {index} is out of bounds of `{name}`, along axis {axis}",
        expected=f"from {-size} to {size - 1}" if size else "no index at all: there are no rows",
        found=index,
    )


def _perform(op: Op, values: Sequence[Array]) -> Sequence[Array]:
    source = np.asarray(values[0])
    try:
        return (source[numpy_index(op.parameters, values[1:])],)
    except IndexError as error:
        raise ScanvizIndexError(str(error)) from None  # NumPy names index, axis and size


def _notation(op: Op, operands: Sequence[notation.WrittenTerm]) -> notation.WrittenTerm:
    return notation.subscripted(
        operands[0], op.parameters.written([operand.text for operand in operands[1:]])
    )


_BASIC = Facts(weight="free", cheap=True, foldable=True, selects=True, always_view=True, axes=picked)
_ADVANCED = Facts(
    weight="heavy",
    never_view=True,
    foldable=True,
    selects=True,
    axes=picked,
    calls=4,
    one_by_one=10,
)
_PICKED = Facts(foldable=True, selects=True, axes=axes.rows_below)
_of_rows = partial(Declaration, family="index", arity=2, facts=_PICKED)
INDEX = Declaration(
    "index",
    "index",
    arity=lambda op: 1 + input_count(op.parameters),
    doc="Some of the elements, by NumPy's indexing.",
    infer=_infer,
    perform=_perform,
    shapes=_shapes,
    notation=_notation,
    views=0,
    facts=lambda op: _BASIC if is_basic(op.parameters) else _ADVANCED,
)


@meaning("getitem")
def getitem(value: Any, key: Any) -> Variable:
    """Return ``value[key]``.

    Parameters
    ----------
    value : Variable or array_like
        The array to index.
    key : index
        Integers, slices, ``None`` and ``...``, with symbolic integers anywhere; integer arrays and boolean masks.

    Raises
    ------
    ScanvizIndexError
        If the index has too many parts, or a known integer is out of bounds.
    ScanvizTypeError
        If something in it cannot index.
    """
    variable = as_variable(value)
    parameters, inputs = parse_index(variable, key)
    picked = _of_shape(variable, parameters)
    if picked is not None:
        return picked
    return build_one(Op(INDEX, _marked(parameters, inputs)), variable, *inputs)


def _marked(parameters: IndexParameters, inputs: Sequence[Variable]) -> IndexParameters:
    """Return the pattern with boolean masks marked: the number of elements that they pick is known at run time only."""
    entries = []
    for entry, position, _ in input_entries(parameters):
        mask = entry.kind == "array" and tensor_type(inputs[position]).dtype == BOOLEAN
        entries.append(entry._replace(stop="mask") if mask else entry)
    return IndexParameters(tuple(entries))


def _of_shape(variable: Variable, parameters: IndexParameters) -> Variable | None:
    """Return the sizes themselves where the shape of a variable is indexed by constants.

    Any other vector of scalars is a value of its own: a user may differentiate by it, or put another one in its place.
    """
    node = variable.owner
    if node is None or len(parameters.entries) != 1 or not is_shape(node):
        return None
    entry = parameters.entries[0]
    if INPUT in entry.numbers() or entry.kind not in ("integer", "slice"):
        return None
    if entry.kind == "integer":
        if not -len(node.inputs) <= int(entry.start or 0) < len(node.inputs):
            return None  # the op reports it
        return node.inputs[int(entry.start or 0)]
    chosen = node.inputs[numpy_index(parameters, ())[0]]
    return stack_scalars(chosen)


def index_inputs(variable: Variable) -> tuple[Variable, IndexParameters, tuple[Variable, ...]]:
    """Return the source of a variable made by indexing, with the pattern and its inputs.

    Raises
    ------
    ScanvizTypeError
        If it was not made by indexing.
    """
    node = variable.owner
    if node is None or node.op.declaration is not INDEX:
        raise ScanvizTypeError.here(
            f"`{describe(variable)}` is no indexed array",
            fix="set_subtensor(x[index], value), with one index: x[0, 1], not x[0][1]",
        )
    return node.inputs[0], node.op.parameters, node.inputs[1:]


def _last_infer(op: Op, inputs: Sequence[Variable]) -> Sequence[Type]:
    rows, initial = tensor_type(inputs[0]), tensor_type(inputs[1])
    if rows.ndim != initial.ndim + 1 or rows.dtype != initial.dtype:
        raise ScanvizTypeError.here(
            f"the initial value `{describe(inputs[1])}` does not match a row of `{describe(inputs[0])}`",
            expected=f"{rows.dtype}, with {rows.ndim - 1} dimensions",
            found=initial,
        )
    return _of_kept_dtype(op, inputs)


def _last_shapes(op: Op, dims: Dims) -> Sequence[tuple[Any, ...]]:
    return (tuple(dims.same(a, b) for a, b in zip(dims.shapes[0][1:], dims.shapes[1], strict=True)),)


def _last_perform(op: Op, values: Sequence[Array]) -> Sequence[Array]:
    return (values[0][-1] if len(values[0]) else np.array(values[1]),)  # never a view of the second


LAST_ROW = _of_rows(
    "last_row",
    doc="Last row of the first input; the second where there is none.",
    infer=_last_infer,
    perform=_last_perform,
    shapes=_last_shapes,
    views=0,
)


def last_row(rows: Variable, initial: Variable) -> Variable:
    """Return the last of ``rows``, or ``initial`` if there are none, as after a loop of no steps."""
    return build_one(Op(LAST_ROW), rows, initial)


class HistoryParameters(NamedTuple):
    """Number of initial rows in front."""

    offset: int


def _history_infer(op: Op, inputs: Sequence[Variable]) -> Sequence[Type]:
    rows, initial = tensor_type(inputs[0]), tensor_type(inputs[1])
    one_row = initial.ndim == rows.ndim - 1
    if rows.dtype != initial.dtype or not (
        (one_row and op.parameters.offset == 1) or initial.ndim == rows.ndim
    ):
        raise ScanvizTypeError.here(
            f"the initial rows `{describe(inputs[1])}` do not match those of `{describe(inputs[0])}`",
            expected=rows,
            found=initial,
        )
    return _of_kept_dtype(op, inputs)


def _history_shapes(op: Op, dims: Dims) -> Sequence[tuple[Any, ...]]:
    rows, initial = dims.shapes
    row = initial if len(initial) < len(rows) else initial[1:]
    return ((dims.add(rows[0], op.parameters.offset), *map(dims.same, rows[1:], row)),)


def history_values(xp: Any, offset: int, rows: Any, initial: Any) -> Any:
    """Return rows of an array library with those that a state started from in front."""
    first = initial[None] if np.ndim(initial) < np.ndim(rows) else initial[:offset]
    return xp.concatenate([xp.asarray(first), xp.asarray(rows)])


STATE_HISTORY = _of_rows(
    "state_history",
    doc="All rows of a loop's state, those it started from in front.",
    infer=_history_infer,
    perform=lambda op, values: (history_values(np, op.parameters.offset, *values),),
    shapes=_history_shapes,
)


def state_history(rows: Variable, initial: Variable, offset: int) -> Variable:
    """Return ``rows`` with the ``offset`` rows that the loop started from in front.

    ``initial`` is one row, or a stack: its first ``offset`` rows count.  Where ``rows`` is the result of a loop, its own
    buffer holds both and nothing is copied (:mod:`scanviz.engine.program.lower`).
    """
    return build_one(Op(STATE_HISTORY, HistoryParameters(offset)), rows, initial)
