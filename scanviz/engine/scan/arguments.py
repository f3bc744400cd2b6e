"""Canonical arguments of scan: every accepted form as lists of described arguments.

Nothing of the caller's is modified.  A sequence with several taps becomes one cut sequence a tap
(``reference/003_scan_internals_older.txt``): tap k of a sequence of length L with smallest tap a (at most 0) and largest
tap b (at least 0) is ``x[k - a : L - (b - k)]``, so that row t belongs to step t and L - (b - a) steps are possible.

The number of steps is a graph: ``n_steps``, checked against every sequence, or else the length of the shortest.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError, some
from scanviz.engine.graph.nodes import Constant, Variable, describe, tensor_type
from scanviz.engine.graph.provenance import user_line
from scanviz.engine.graph.types import TensorType, shape_text
from scanviz.engine.ops.elementwise import maximum, minimum, subtract
from scanviz.engine.ops.index import getitem
from scanviz.engine.ops.shape import dimension
from scanviz.engine.ops.support import (
    as_integer,
    as_value,
    as_variable,
    check_meant,
    constant,
    constant_integer,
)

Number = bool | int | float


class SequenceArgument(Struct, frozen=True):
    """One of the user's sequences with its taps, in the order given."""

    position: int
    variable: Variable
    taps: tuple[int, ...]

    @property
    def label(self) -> str:
        """Name in messages."""
        return f"`{self.variable.name}`" if self.variable.name else f"number {self.position}"


class OutputArgument(Struct, frozen=True):
    """One item of ``outputs_info``.

    ``initial`` is None for a result that is not fed back; ``weak`` holds the Python numbers it was given as, if it was: one,
    or a list with one for each row.
    """

    position: int
    initial: Variable | None
    taps: tuple[int, ...]
    weak: Number | list[Number] | None = None


def as_list(value: Any) -> list[Any]:
    """Return an argument that may be one thing, a list of things or None as a new list."""
    if value is None:
        return []
    check_meant(value)
    if isinstance(value, list | tuple):
        return list(value)
    return [value]


def sequence_arguments(sequences: Any) -> list[SequenceArgument]:
    """Return the canonical form of ``sequences``."""
    return [_sequence_argument(position, given) for position, given in enumerate(as_list(sequences))]


def _sequence_argument(position: int, given: Any) -> SequenceArgument:
    taps: tuple[int, ...] = (0,)
    if isinstance(given, Mapping):
        _check_keys(given, {"input", "taps"}, f"sequences[{position}]", "input")
        if given.get("taps") is not None:
            taps = _taps(given["taps"], f"the taps of sequences[{position}]")
        given = given["input"]
    variable = as_variable(given)
    kind = variable.type
    if not isinstance(kind, TensorType) or kind.ndim == 0:
        raise ScanvizTypeError.here(
            f"sequences[{position}], `{describe(variable)}`, has no rows to run over",
            expected="at least one dimension",
            found=str(kind),
            fix="non_sequences=[…] for a value that is the same at every step\n"
            "outputs_info=[…] for the first value of a state, which JAX's scan has in this place: docs/moving.md",
        )
    return SequenceArgument(position, variable, taps)


_OLD_KEYS = {"return_steps", "store_steps", "membuf"}  # by which scripts of Theano asked for fewer rows
_ROWS_KEPT = "nothing for them: where out[-1] or out[-k:] alone is read, no other rows are kept"


def _check_keys(given: Mapping[Any, Any], known: set[str], what: str, needed: str | None = None) -> None:
    unknown = sorted(str(key) for key in given if key not in known)
    if unknown:
        from difflib import get_close_matches  # of an error

        fix = _ROWS_KEPT if set(unknown) & _OLD_KEYS else None
        close = get_close_matches(unknown[0], known, 1)
        if close:
            fix = f"dict({close[0]}=…) in place of {unknown[0]}"
        elif not known & given.keys():  # values by names, as in a tree of JAX
            argument = what.partition("[")[0]
            fix = f"a list in place of a dict, in the order of the step's arguments: {argument}=[{', '.join(unknown)}]"
        raise ScanvizValueError.here(
            f"{what} has unknown keys: {', '.join(unknown)}", expected=", ".join(sorted(known)), fix=fix
        )
    if needed and given.get(needed) is None:
        raise ScanvizValueError.here(f"{what} needs the key {needed!r}", fix=f"dict({needed}=…, taps=[…])")


def _taps(given: Any, what: str) -> tuple[int, ...]:
    items = [given] if isinstance(given, int | np.integer) else given
    if not isinstance(items, list | tuple | range) or any(
        isinstance(tap, bool) or not isinstance(tap, int | np.integer) for tap in items
    ):
        raise ScanvizTypeError.here(
            f"{what} must be integers",
            expected="such as [-1, 0, 2]",
            found=repr(given),
            fix=_by_index(items, what),
        )
    taps = tuple(int(tap) for tap in items)
    if len(set(taps)) < len(taps):
        raise ScanvizValueError.here(f"{what} name a step twice", found=list(taps), fix="each tap once")
    if not taps:
        raise ScanvizValueError.here(f"{what} are empty", fix="leave `taps` out for the current step alone")
    return taps


def _by_index(items: Any, what: str) -> str | None:
    """Return the remedy for taps that are only known at run time."""
    if not any(isinstance(tap, Variable) for tap in (items if isinstance(items, list | tuple) else [items])):
        return None
    if "sequences" in what:
        return (
            "x[t - lag] in the step, with x in non_sequences and t from sequences=T.arange(lag, x.shape[0])"
        )
    return (
        "the last rows as the state, outputs_info=rows: the step reads rows[-lag]\n"
        "and returns T.concatenate([rows[1:], new[None]])"
    )


def output_arguments(outputs_info: Any) -> list[OutputArgument]:
    """Return the canonical form of ``outputs_info``; an empty list means that no result is fed back."""
    return [_output_argument(position, given) for position, given in enumerate(as_list(outputs_info))]


def _output_argument(position: int, given: Any) -> OutputArgument:
    what = f"outputs_info[{position}]"
    if given is None:
        return OutputArgument(position, None, ())
    taps: tuple[int, ...] = (-1,)
    initial = given
    if isinstance(given, Mapping):
        _check_keys(given, {"initial", "taps"}, what)
        initial, wanted = given.get("initial"), given.get("taps")
        no_tap = wanted is None or (isinstance(wanted, list | tuple) and not wanted)
        if initial is None and not no_tap:
            raise ScanvizValueError.here(
                f"{what} asks for taps but has no initial state",
                found=f"taps={wanted!r}",
                fix=f"dict(initial=…, taps={wanted!r}), with the rows that step 0 reads",
            )
        if initial is None:
            return OutputArgument(position, None, ())
        if "taps" in given and no_tap:
            warnings.warn(
                f"{user_line()}: {what} has taps=None, so its initial value is not used; give None instead",
                stacklevel=6,
            )
            return OutputArgument(position, None, ())
        if wanted is not None:
            taps = _past_taps(wanted, what)
    several = isinstance(initial, list | tuple) and taps != (-1,)
    weak = list(initial) if several else initial
    return OutputArgument(position, _initial(initial, taps, what), taps, weak if number_type(weak) else None)


def number_type(weak: Any) -> type[bool] | type[int] | type[float] | None:
    """Return the type of a Python number, or of a list of them; None of anything else."""
    types = {type(number) for number in (weak if isinstance(weak, list) else [weak])}
    return next((kind for kind in (float, int, bool) if kind in types and types <= {bool, int, float}), None)


def _past_taps(given: Any, what: str) -> tuple[int, ...]:
    taps = _taps(given, f"the taps of {what}")
    future = [tap for tap in taps if tap >= 0]
    if future:
        raise ScanvizValueError.here(
            f"{what} reads results of later steps",
            expected="negative taps: -1 is the step before",
            found=f"taps={list(taps)}",
            fix=f"taps={past}"
            if (past := [tap for tap in taps if tap < 0])
            else f"taps={sorted(-tap for tap in taps if tap)}, with minus signs"
            if any(taps)
            else "taps=[-1] for the step before",
        )
    return taps


def _initial(given: Any, taps: tuple[int, ...], what: str) -> Variable:
    initial = as_value(given)
    if taps == (-1,):
        return initial
    if not isinstance(initial.type, TensorType):
        raise ScanvizValueError.here(
            f"{what} is a {initial.type}: a step reads only the one before",
            expected="taps=[-1]",
            found=f"taps={list(taps)}",
        )
    depth, kind = -min(taps), tensor_type(initial)
    rows = kind.shape[0] if kind.ndim else None
    if rows is not None and rows > depth:
        name = initial.name if initial.name is not None and initial.name.isidentifier() else "initial"
        raise ScanvizValueError.here(
            f"{what}: the initial state `{describe(initial)}` has more rows than taps {list(taps)} read",
            expected=some(depth, "row"),
            found=some(rows, "row"),
            fix=f"{name}[-{depth}:] for its last rows, or {name}[:{depth}], which Theano takes",
        )
    if kind.ndim == 0 or (kind.shape[0] is not None and kind.shape[0] < depth):
        name = f"`{describe(initial)}`"
        raise ScanvizValueError.here(
            f"{what}: the initial state {name} must have a row for each step before the first that taps {list(taps)} reach",
            expected=f"{some(depth, 'row')}: shape ({depth}, *shape of a step's result)",
            found=f"shape {shape_text(kind.shape)}",
            fix=f"T.stack([row(-{depth}), …, row(-1)])",
        )
    return initial


def non_sequence_arguments(non_sequences: Any) -> list[Variable]:
    """Return ``non_sequences`` as a list of variables."""
    return [as_value(given) for given in as_list(non_sequences)]


def slice_bounds(argument: SequenceArgument) -> dict[int, tuple[int, int | None]]:
    """Return for each tap the start and the (negative) stop of its cut, None for no stop."""
    low, high = min(0, *argument.taps), max(0, *argument.taps)
    return {tap: (tap - low, None if tap == high else tap - high) for tap in argument.taps}


def lost_rows(argument: SequenceArgument) -> int:
    """Return how many steps fewer than rows a sequence allows, because of its taps."""
    return max(0, *argument.taps) - min(0, *argument.taps)


def number_of_steps(sequences: Sequence[SequenceArgument], n_steps: Any, name: str) -> Variable:
    """Return the number of steps as an int64 scalar: as asked, or as many as the shortest sequence allows.

    Raises
    ------
    ScanvizValueError
        If the number is unknown or negative, or a sequence is known to be too short.
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
    """Return the number of steps that a sequence allows: its rows minus those lost to taps, at least 0."""
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
