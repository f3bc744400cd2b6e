"""Index expressions as a pattern known when building and integer inputs known at run time.

``x[i, 1:n, None, ::2]`` becomes one entry a part; an entry has its kind, and the inputs among its numbers.  Constant integers
stay in the pattern, so that it can be read and shapes be inferred.  Which axes of the result go along which of the array
follows from it too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal, NamedTuple

import numpy as np

from scanviz.engine.errors import ScanvizIndexError, ScanvizTypeError, some
from scanviz.engine.graph.axes import Shapes, broadcast
from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.facts import Along, Shape
from scanviz.engine.graph.nodes import Variable, describe, tensor_type
from scanviz.engine.graph.types import BOOLEAN, INTEGERS
from scanviz.engine.ops.support import as_integer, as_variable, constant_integer

# A number in a pattern: an int, None where nothing is written, INPUT where an input of the op holds it, or "mask" (of an array).
INPUT: Final = "input"
Number = int | Literal["input", "mask"] | None
FROM_THE_LAST = None, None, -1  # the numbers of a slice of all rows, the last one first

_MOST = 1 << 62  # what is less is an int64


class IndexEntry(NamedTuple):
    """One part of an index: ``newaxis``, ``integer``, ``slice`` or ``array``.

    ``consumed`` is the number of dimensions of the indexed array that an ``array`` entry stands for: 1, or as many as a
    boolean mask has.
    """

    kind: Literal["newaxis", "integer", "slice", "array"]
    start: Number = None
    stop: Number = None
    step: Number = None
    consumed: int = 1

    def numbers(self) -> tuple[Number, Number, Number]:
        """Return start, stop and step."""
        return self.start, self.stop, self.step


WHOLE = IndexEntry("slice")  # all rows, in order


class IndexParameters(NamedTuple):
    """The parts of an index, one for each dimension of the array from the first, new axes between."""

    entries: tuple[IndexEntry, ...]

    def __str__(self) -> str:
        return self.written(())

    def written(self, inputs: Sequence[str]) -> str:
        """Return the index as written, with the texts of its inputs where they are given.

        Examples
        --------
        >>> IndexParameters((IndexEntry("integer", INPUT), IndexEntry("slice", 1, None))).written(["t"])
        '[t, 1:]'
        """
        given = iter(inputs)
        parts = [_shown(entry, given) for entry in self.entries]
        while len(parts) > 1 and parts[-1] == ":":
            parts.pop()
        return f"[{', '.join(parts)}]"


def _shown(entry: IndexEntry, inputs: Iterator[str]) -> str:
    if entry.kind == "newaxis":
        return "None"
    if entry.kind == "array":
        return next(inputs, "array")
    parts = [
        next(inputs, "?") if number == INPUT else "" if number is None else str(number)
        for number in entry.numbers()
    ]
    if entry.kind == "integer":
        return parts[0]
    return ":".join(parts) if entry.step is not None else ":".join(parts[:2])


def parse_index(variable: Variable, key: Any) -> tuple[IndexParameters, list[Variable]]:
    """Return the pattern of an index of ``variable`` and its run-time inputs.

    Raises
    ------
    ScanvizIndexError
        If there are more parts than dimensions.
    ScanvizTypeError
        If a part cannot index.
    """
    parts = list(key) if isinstance(key, tuple) else [key]
    ndim = tensor_type(variable).ndim
    entries: list[IndexEntry] = []
    inputs: list[Variable] = []
    parsed = [part if part is Ellipsis else _entry(variable, part) for part in parts]
    used = sum(_consumed(entry[0]) for entry in parsed if entry is not Ellipsis)
    gaps = sum(1 for entry in parsed if entry is Ellipsis)
    if gaps > 1 or used > ndim:
        problem = "has more than one `...`" if gaps > 1 else f"has {used} parts"
        raise ScanvizIndexError.here(
            f"the index of `{describe(variable)}` {problem}",
            expected="at most one" if gaps > 1 else f"at most {ndim}: it has {some(ndim, 'dimension')}",
        )
    for entry in parsed:
        if entry is Ellipsis:
            entries.extend([IndexEntry("slice")] * (ndim - used))
        else:
            entries.append(entry[0])
            inputs.extend(entry[1])
    entries.extend([IndexEntry("slice")] * (ndim - used if not gaps else 0))
    return IndexParameters(tuple(entries)), inputs


def _consumed(entry: IndexEntry) -> int:
    return 0 if entry.kind == "newaxis" else entry.consumed


def _entry(variable: Variable, part: Any) -> tuple[IndexEntry, list[Variable]]:
    if part is None:
        return IndexEntry("newaxis"), []
    if isinstance(part, slice):
        numbers, inputs = [], []
        for bound in (part.start, part.stop, part.step):
            number, given = _number(bound, variable)
            numbers.append(number)
            inputs.extend(given)
        if numbers[2] == 0:
            raise ScanvizIndexError.here(f"the index of `{describe(variable)}` has a step of 0")
        return IndexEntry("slice", numbers[0], numbers[1], numbers[2]), inputs
    if isinstance(part, int | np.integer) and not isinstance(part, bool):
        if abs(int(part)) > _MOST:
            raise ScanvizIndexError.here(f"index {part} is beyond every axis of `{describe(variable)}`")
        return IndexEntry("integer", int(part)), []
    if isinstance(part, str | bytes):
        raise _no_index(variable, repr(part), type(part).__name__, None)
    index = as_variable(part)
    kind = tensor_type(index)
    if kind.dtype in INTEGERS and kind.ndim == 0:
        number, inputs = _number(index, variable)
        return IndexEntry("integer", number), inputs
    if kind.dtype in INTEGERS:
        return IndexEntry("array"), [index]
    if isinstance(part, list) and not part:
        return IndexEntry("array"), [as_variable(np.zeros(0, np.int64))]
    if kind.dtype == BOOLEAN and kind.ndim >= 1:
        return IndexEntry("array", consumed=kind.ndim), [index]
    castable = isinstance(part, Variable) and kind.dtype.startswith("float")
    raise _no_index(variable, f"`{describe(index)}`", kind, "T.cast(index, 'int64')" if castable else None)


def _no_index(variable: Variable, shown: str, found: object, fix: str | None) -> ScanvizTypeError:
    return ScanvizTypeError.here(
        f"{shown} cannot index `{describe(variable)}`",
        expected="integers, slices, None, ..., integer arrays or a boolean mask",
        found=found,
        fix=fix,
    )


def _number(value: Any, variable: Variable) -> tuple[Number, list[Variable]]:
    if value is None:
        return None, []
    if type(value) is int and abs(value) < _MOST:
        return value, []
    scalar = as_integer(value, f"an index of `{describe(variable)}`")
    known = constant_integer(scalar)
    return (known, []) if known is not None else (INPUT, [scalar])


def is_basic(parameters: IndexParameters) -> bool:
    """Return whether an index has no arrays, so that NumPy gives a view."""
    return all(entry.kind != "array" for entry in parameters.entries)


def picking(parameters: IndexParameters) -> tuple[int, tuple[IndexEntry, ...]] | None:
    """Return how many whole axes stand before the arrays and integers of an index, and these; None where others are between."""
    whole = [entry.kind == "slice" and entry.numbers() == (None, None, None) for entry in parameters.entries]
    before = whole.index(False)
    found = parameters.entries[before : len(whole) - whole[::-1].index(False)]
    return None if any(entry.kind not in ("array", "integer") for entry in found) else (before, found)


def numpy_index(parameters: IndexParameters, values: Sequence[Any]) -> tuple[Any, ...]:
    """Return the index for NumPy, from the pattern and the values of its inputs."""
    given = iter(values)
    return tuple(_numpy_part(entry, given) for entry in parameters.entries)


def _numpy_part(entry: IndexEntry, given: Iterator[Any]) -> Any:
    if entry.kind == "newaxis":
        return None
    if entry.kind == "array":
        return next(given)
    numbers = [int(next(given)) if number == INPUT else number for number in entry.numbers()]
    return numbers[0] if entry.kind == "integer" else slice(*numbers)


def input_entries(parameters: IndexParameters) -> Iterator[tuple[IndexEntry, int, int]]:
    """Iterate over entries with the position of the first of their inputs, from 0, and how many they have."""
    position = 0
    for entry in parameters.entries:
        kind, start, stop, step, _ = entry
        count = 1 if kind == "array" else (start == INPUT) + (stop == INPUT) + (step == INPUT)
        yield entry, position, count
        position += count


def input_count(pattern: IndexParameters) -> int:
    """Return how many inputs hold the numbers and arrays of an index."""
    return sum(count for _, _, count in input_entries(pattern))


def _is_whole(entry: IndexEntry) -> bool:
    return entry.kind == "slice" and entry.numbers() == (None, None, None)


def picked(op: Op, given: Shapes, made: Shapes) -> Sequence[Sequence[Along]]:
    """Return those of an index: the axes that it takes whole, and the axes of the arrays of places."""
    return (_of_pattern(op.parameters, given, 1, made[0]),)


def _of_pattern(parameters: IndexParameters, given: Shapes, before: int, part: Shape) -> list[Along]:
    """Return the axes that the result of an index keeps; index arrays are inputs from ``before`` on."""
    found: list[Along] = []
    arrays: list[int] = []
    places: list[int] = []  # of entries that take part in advanced indexing
    at = axis = 0
    advanced = not is_basic(parameters)
    for k, (entry, position, _) in enumerate(input_entries(parameters)):
        if entry.kind == "newaxis":
            found.append({})
        elif entry.kind == "slice":
            found.append({0: axis} if _is_whole(entry) else {})
            axis += 1
        else:
            if advanced and not places:
                at = len(found)
            places.append(k)
            arrays += [position + before] if entry.kind == "array" else []
            axis += entry.consumed
    if advanced:
        together = places == list(range(places[0], places[0] + len(places)))
        at = at if together else 0
        found[at:at] = _of_places(parameters, given, arrays, part[at : at + len(part) - len(found)])
    return found


def _of_places(parameters: IndexParameters, given: Shapes, arrays: Sequence[int], made: Shape) -> list[Along]:
    """Return the axes kept by index arrays: their own, unless one is a mask."""
    if any(entry.kind == "array" and entry.stop == "mask" for entry in parameters.entries):
        return [{} for _ in made]
    along = broadcast([given[k] for k in arrays], made)
    return [{arrays[k]: axis for k, axis in mapping.items()} for mapping in along]


def assigned(op: Op, given: Shapes, made: Shapes) -> Sequence[Sequence[Along]]:
    """Return all axes of the array, and of the value those that go along an axis which the index takes whole."""
    found: list[Along] = [{0: axis} for axis in range(len(given[0]))]
    if is_basic(op.parameters.pattern):
        part = _of_pattern(op.parameters.pattern, given, 2, ())
        sizes = tuple(given[0][mapping[0]] if mapping else None for mapping in part)
        for whole, value in zip(part, broadcast([given[1]], sizes), strict=True):
            if whole and value:
                found[whole[0]] = {**whole, 1: value[0]}
    return (found,)


def written_at(op: Op) -> frozenset[int]:
    """Return the axes of an array along which an assignment writes at some places alone."""
    found: set[int] = set()
    axis = 0
    for entry in op.parameters.pattern.entries:
        if entry.kind == "newaxis":
            continue
        consumed = 1 if entry.kind == "slice" else entry.consumed
        if not _is_whole(entry):
            found.update(range(axis, axis + consumed))
        axis += consumed
    return frozenset(found)
