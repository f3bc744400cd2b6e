"""Sizes that are checked when they are met: promised ones, and those that a loop looks at where something stands in its place.

A step whose result has another shape than the state is an error of the loop, and so are a sequence that is too short and a
negative number of steps.  Rules replace loops by their step or by a sum of all terms, and move work that reads a sequence out
of the loop.  There these checks raise the loop's own error.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError, ShapeError, some
from scanviz.engine.graph import axes
from scanviz.engine.graph.declaration import Declaration, Op, fitted
from scanviz.engine.graph.facts import Facts
from scanviz.engine.graph.nodes import Array, Variable, build_one, describe, tensor_type
from scanviz.engine.graph.provenance import SourceLine
from scanviz.engine.graph.types import shape_text
from scanviz.engine.ops.support import (
    as_integer,
    as_variable,
    constant,
    infer_by,
    kept_dtype,
    listed,
    wanted_shape,
)
from scanviz.engine.sizes.dims import Dims


class PromisedParameters(NamedTuple):
    """Parts of the error message: the variable, the user's function, and its argument that the first size belongs to."""

    name: str
    asked_as: str = "specify_shape"
    like: str = ""


def _specify_shapes(op: Op, dims: Dims) -> Sequence[tuple[Any, ...]]:
    wanted = [dims.value(k) for k in range(1, len(dims.shapes))]
    merged = [
        given if size == -1 else dims.same(given, size)
        for given, size in zip(dims.shapes[0], wanted, strict=True)
    ]
    return (tuple(merged),)


def _specify_perform(op: Op, values: Sequence[Array]) -> Sequence[Array]:
    given = np.shape(values[0])
    wanted = tuple(int(value) for value in values[1:])
    if any(size not in (-1, found) for size, found in zip(wanted, given, strict=True)):
        if op.parameters.like:
            raise _other_rows(op.parameters, given, wanted)
        shown = ", ".join("any" if size == -1 else str(size) for size in wanted)
        raise ShapeError(
            f"`{op.parameters.name}` has the wrong shape",
            expected=f"shape ({shown}{',' * (len(wanted) == 1)})",
            found=f"shape {given}",
        )
    return (values[0],)


def _other_rows(parameters: PromisedParameters, given: Sequence[int], wanted: Sequence[int]) -> ShapeError:
    return ShapeError(
        "the arguments have different numbers of rows",
        expected=f"as many as {parameters.like}: {wanted[0]}",
        found=f"`{parameters.name}`, shape {tuple(given)}: {given[0]}",
        fix=None
        if parameters.like == "axis_size"
        else "in_axes=None for an argument that is the same for all rows",
    )


SPECIFY_SHAPE = Declaration(
    "specify_shape",
    "shape",
    arity=(1, None),
    doc="The same value, its shape checked at run time.",
    infer=infer_by(kept_dtype),
    perform=_specify_perform,
    shapes=_specify_shapes,
    views=0,
    facts=Facts(weight="free", cheap=True, foldable=True, axes=axes.elementwise),
)


def specify_shape(
    value: Any, sizes: Sequence[Any], asked_as: str = "specify_shape", name: str = "", like: str = ""
) -> Variable:
    """Return ``value`` with sizes promised: known when building, checked at run time; None promises nothing.

    Messages call it by what the user called, and by the names of the user's arguments.
    """
    variable = as_variable(value)
    sizes = listed(sizes, "specify_shape: the sizes")
    if len(sizes) != tensor_type(variable).ndim:
        raise ShapeError.here(
            f"{asked_as}: `{describe(variable)}` has the wrong number of dimensions",
            expected=variable.type,
            found=tuple(sizes),
        )
    wanted = [
        constant(-1, "int64") if size is None else as_integer(size, "specify_shape: a size") for size in sizes
    ]
    return build_one(
        Op(SPECIFY_SHAPE, PromisedParameters(name or describe(variable), asked_as, like)), variable, *wanted
    )


class StateParameters(NamedTuple):
    """Names of the state and its loop in a message, and whether a smaller value is spread over it."""

    state: str
    loop: str
    spreads: bool

    def __str__(self) -> str:
        return f"{{{self.state} of {self.loop}}}"


def shape_remedy(
    state: str, started: Sequence[int | None], returned: Sequence[int | None], joined: bool
) -> str:
    """Advise about a step that returns a state in another shape.

    Parameters
    ----------
    state : str
        Its name.
    started, returned : sequence of int or None
        The shape it had, and that of what the step returns for it; None for sizes that are not known.
    joined : bool
        Whether the step joins arrays to what it returns.
    """
    if joined and len(started) == len(returned):
        return (
            "return the new row alone, with None in outputs_info: the result has a row per step, and until cuts it to those done\n"
            f"or start with a buffer, T.zeros((n, …)), and return T.set_subtensor({state}[t], row), with sequences=T.arange(n)"
        )
    spread = zip(started[::-1], returned[::-1], strict=False)
    if len(started) == len(returned) > 0 and all(one in (1, None, size) for one, size in spread):
        column = ", such as v[:, None] for a vector v" if len(started) > 1 and started[-1] == 1 else ""
        return (
            f"what is combined with `{state}` in shape {shape_text(started)}{column}: broadcasting made the result larger\n"
            f"or start with the larger shape, outputs_info={_zeros(returned)}"
        )
    return (
        f"return shape {shape_text(started)} from every step, or start with outputs_info={_zeros(returned)}"
    )


def _zeros(sizes: Sequence[int | None]) -> str:
    return "T.zeros_like(…)" if None in sizes else f"T.zeros({shape_text(sizes)})"


def _fits(given: Sequence[int], wanted: Sequence[int], spreads: bool) -> bool:
    if not spreads:
        return tuple(given) == tuple(wanted)
    pairs = zip(given[::-1], wanted[::-1], strict=False)
    return len(given) <= len(wanted) and all(size in (1, goal) for size, goal in pairs)


def in_shape_of_state(xp: Any, parameters: StateParameters, values: Sequence[Any]) -> Any:
    """Return a value in the shape given by the other values, by the functions of an array library ``xp``."""
    value, *sizes = values
    given, wanted = np.shape(value), tuple(int(size) for size in sizes)
    if given == wanted:
        return value
    if not _fits(given, wanted, parameters.spreads):
        if parameters.spreads:  # what the step returned: the value beside the state
            with suppress(ValueError):
                given = np.broadcast_shapes(given, wanted)
        raise ShapeError(
            f"state `{parameters.state}` of loop `{parameters.loop}` changed its shape",
            expected=f"shape {wanted}, as its initial state",
            found=f"shape {given}",
            fix=shape_remedy(parameters.state, wanted, given, joined=False),
        )
    return xp.array(xp.broadcast_to(value, wanted))


STATE_SHAPE = Declaration(
    "state_shape",
    "shape",
    arity=(1, None),
    doc="A value in the shape of a loop's state, an error where it does not fit.",
    infer=infer_by(kept_dtype),
    perform=lambda op, values: (in_shape_of_state(np, op.parameters, values),),
    shapes=wanted_shape,
    notation=fitted,
    views=0,
    facts=Facts(weight="free", cheap=True, foldable=True, for_loop=True, axes=axes.elementwise),
)


def state_shape(
    value: Variable, sizes: Sequence[Variable], state: str, loop: str, *, spreads: bool
) -> Variable:
    """Return a value in the shape of a state.

    Parameters
    ----------
    value : Variable
        The computed value.
    sizes : sequence of int64 scalars
        Those of the state's initial row.
    state, loop : str
        Their names in a message.
    spreads : bool
        Whether a value of fewer dimensions, or of size 1 along some, is spread; else it is an error as any other shape.
    """
    return build_one(Op(STATE_SHAPE, StateParameters(state, loop, spreads)), value, *sizes)


class FirstRowsParameters(NamedTuple):
    """Names of the sequence and the loop in a message, and the loop's line."""

    sequence: str
    loop: str
    where: SourceLine | None = None

    def __str__(self) -> str:
        return f"{{of {self.loop}}}"


def negative_steps(loop: str, steps: int, where: SourceLine | None) -> ScanvizValueError:
    """Return the error of a negative number of steps."""
    return ScanvizValueError(
        f"loop `{loop}` was asked for {steps} steps",
        where=where,
        expected="0 or more",
        found=steps,
        fix="go_backwards=True to run over the sequences from their ends",
    )


def short_sequence(
    sequence: str, loop: str, rows: int, steps: int, where: SourceLine | None
) -> ScanvizValueError:
    """Return the error of a sequence with fewer rows than steps."""
    return ScanvizValueError(
        f"sequence {sequence} is too short for loop `{loop}`",
        where=where,
        expected=f"at least {some(steps, 'row')} after its taps, for n_steps = {steps}",
        found=some(rows, "row"),
        fix="a smaller n_steps, or no n_steps at all to stop with the shortest sequence",
    )


def first_rows_values(parameters: FirstRowsParameters, rows: Any, steps: Any) -> Any:
    """Return the first rows, of whatever array library they are."""
    count, (sequence, loop, where) = int(steps), parameters
    if count < 0:
        raise negative_steps(loop, count, where)
    if len(rows) < count:
        raise short_sequence(f"`{sequence}`", loop, len(rows), count, where)
    return rows[:count]


def _shapes(op: Op, dims: Dims) -> Sequence[tuple[Any, ...]]:
    if not dims.shapes[0]:
        raise ScanvizTypeError("a scalar has no rows", expected="at least one dimension")
    return ((dims.value(1), *dims.shapes[0][1:]),)


FIRST_ROWS = Declaration(
    "first_rows",
    "index",
    arity=2,
    doc="As many rows of a sequence as a loop takes steps; an error where there are fewer.",
    infer=infer_by(kept_dtype),
    perform=lambda op, values: (first_rows_values(op.parameters, *values),),
    shapes=_shapes,
    notation=fitted,
    views=0,
    facts=Facts(
        weight="free",
        cheap=True,
        foldable=True,
        selects=True,
        always_view=True,
        for_loop=True,
        axes=axes.rows_below,
    ),
)


def first_rows(
    rows: Variable, steps: Variable, sequence: str, loop: str, where: SourceLine | None
) -> Variable:
    """Return the first rows of a sequence of a loop.

    Parameters
    ----------
    rows : Variable
        The sequence, at least one dimension.
    steps : Variable
        int64 scalar: the loop's number of steps.
    sequence, loop : str
        Their names in a message.
    where : SourceLine or None
        The loop's line.
    """
    assert tensor_type(rows).ndim
    return build_one(Op(FIRST_ROWS, FirstRowsParameters(sequence, loop, where)), rows, steps)
