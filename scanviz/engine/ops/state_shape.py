"""What is computed for a state without its loop, in the state's shape: with the loop's own error where it has another.

A step whose result has another shape than the state is an error of the loop.  Where the step stands in its loop's place, or the
sum of all its terms does, the same is found here.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from scanviz.engine.errors import ShapeError
from scanviz.engine.graph.declaration import Declaration, Op, fitted
from scanviz.engine.graph.facts import Facts
from scanviz.engine.graph.nodes import Variable, build_one
from scanviz.engine.graph.types import shape_text
from scanviz.engine.ops import axes
from scanviz.engine.ops.support import infer_by, kept_dtype, wanted_shape


class StateParameters(NamedTuple):
    """What to call the state and its loop in a message, and whether a smaller value is spread over it."""

    state: str
    loop: str
    spreads: bool

    def __str__(self) -> str:
        return f"{{{self.state} of {self.loop}}}"


def shape_remedy(
    state: str, started: Sequence[int | None], returned: Sequence[int | None], joined: bool
) -> str:
    """Return what to write where a step returns a state in another shape.

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
    """Return a value in the shape that the other values say, by the functions of an array library ``xp``."""
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
        What was computed.
    sizes : sequence of int64 scalars
        Those of the state's initial row.
    state, loop : str
        What to call them in a message.
    spreads : bool
        Whether a value of fewer dimensions, or of size 1 along some, is spread; else it is an error as any other shape.
    """
    return build_one(Op(STATE_SHAPE, StateParameters(state, loop, spreads)), value, *sizes)
