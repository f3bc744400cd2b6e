"""How many steps a loop does, and its sequences cut and turned for their taps.

The number of steps is a graph: ``n_steps``, checked against every sequence, or else the length of the shortest.  Each tap of a
sequence becomes a slice of it, so that step t reads row t of all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError, some
from scanviz.engine.graph.nodes import Constant, Variable, describe, tensor_type
from scanviz.engine.ops.elementwise import maximum, minimum, subtract
from scanviz.engine.ops.index import getitem
from scanviz.engine.ops.shape import dimension
from scanviz.engine.ops.support import as_integer, constant, constant_integer
from scanviz.engine.scan.arguments import SequenceArgument, lost_rows, slice_bounds


def number_of_steps(sequences: Sequence[SequenceArgument], n_steps: Any, name: str) -> Variable:
    """Return the number of steps as an int64 scalar: as asked, or as many as the shortest sequence allows.

    Raises
    ------
    ScanvizValueError
        If nothing says how many, the number is negative, or a sequence is known to be too short.
    ScanvizTypeError
        If ``n_steps`` is no integer.
    """
    if n_steps is None:
        if not sequences:
            raise ScanvizValueError.here(
                f"loop `{name}` has no number of steps", fix="n_steps=…, or sequences=… to run over"
            )
        lengths = [possible_steps(sequence) for sequence in sequences]
        shortest = lengths[0]
        for length in lengths[1:]:
            shortest = _smaller(shortest, length)
        return shortest
    if isinstance(n_steps, float) or (
        isinstance(n_steps, Variable) and tensor_type(n_steps).dtype.startswith("float")
    ):
        shown = f"`{describe(n_steps)}`, {n_steps.type}" if isinstance(n_steps, Variable) else repr(n_steps)
        fix = "T.cast(n, 'int64')" if isinstance(n_steps, Variable) else f"n_steps=int({n_steps})"
        if isinstance(n_steps, Variable) and tensor_type(n_steps).ndim:
            fix = "sequences=x, for a step each row of x, or n_steps=x.shape[0]"
        raise ScanvizTypeError.here("n_steps must be an integer", found=shown, fix=fix)
    steps = as_integer(n_steps, "n_steps")
    asked = constant_integer(steps)
    if asked is not None and asked < 0:
        raise ScanvizValueError.here(
            f"n_steps cannot be negative: {asked}",
            fix="go_backwards=True to run over the sequences from their ends",
        )
    for sequence in sequences:
        _check_length(sequence, asked)
    return steps


def possible_steps(sequence: SequenceArgument) -> Variable:
    """Return how many steps a sequence allows: its rows less those that its taps lose, at least 0."""
    rows, lost = dimension(sequence.variable, 0), lost_rows(sequence)
    if not lost:
        return rows
    known = constant_integer(rows)
    if known is not None:
        return constant(max(0, known - lost), "int64")
    return maximum(subtract(rows, lost), 0)


def _smaller(first: Variable, second: Variable) -> Variable:
    if isinstance(first, Constant) and isinstance(second, Constant):
        return first if int(first.value) <= int(second.value) else second
    return first if first is second else minimum(first, second)


def _check_length(sequence: SequenceArgument, asked: int | None) -> None:
    rows = tensor_type(sequence.variable).shape[0]
    if asked is None or rows is None or rows - lost_rows(sequence) >= asked:
        return
    taps = f" with taps {list(sequence.taps)}" if sequence.taps != (0,) else ""
    raise ScanvizValueError.here(
        f"sequence {sequence.label} is too short for {asked} steps{taps}",
        expected=f"at least {some(asked + lost_rows(sequence), 'row')}",
        found=some(rows, "row"),
        fix="a smaller n_steps, or no n_steps at all to stop with the shortest sequence",
    )


def cut_sequences(sequences: Sequence[SequenceArgument], go_backwards: bool) -> list[dict[int, Variable]]:
    """Return for each sequence: tap → the outer variable whose row t belongs to step t."""
    return [
        {
            tap: _cut(sequence.variable, start, stop, go_backwards)
            for tap, (start, stop) in slice_bounds(sequence).items()
        }
        for sequence in sequences
    ]


def _cut(variable: Variable, start: int, stop: int | None, backwards: bool) -> Variable:
    cut = variable if start == 0 and stop is None else getitem(variable, slice(start or None, stop))
    if cut is not variable and variable.name:
        cut.name = f"{variable.name}[{start or ''}:{'' if stop is None else stop}]"
    if not backwards:
        return cut
    turned = getitem(cut, slice(None, None, -1))
    if cut.name:
        turned.name = f"{cut.name}[::-1]"
    return turned
