"""The first rows of a sequence, as many as a loop takes steps: what a loop reads of it, with the loop's own checks.

Work that leaves a loop reads the sequence in the loop's place; a sequence that is too short, or a negative number of steps, is
reported as the loop would.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError, some
from scanviz.engine.graph.declaration import Declaration, Op, fitted
from scanviz.engine.graph.facts import Facts
from scanviz.engine.graph.nodes import Variable, build_one, tensor_type
from scanviz.engine.graph.provenance import SourceLine
from scanviz.engine.ops import axes
from scanviz.engine.ops.support import infer_by, kept_dtype
from scanviz.engine.sizes.dims import Dims


class FirstRowsParameters(NamedTuple):
    """What to call the sequence and the loop in a message, and the loop's line."""

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
        What to call them in a message.
    where : SourceLine or None
        The loop's line.
    """
    assert tensor_type(rows).ndim
    return build_one(Op(FIRST_ROWS, FirstRowsParameters(sequence, loop, where)), rows, steps)
