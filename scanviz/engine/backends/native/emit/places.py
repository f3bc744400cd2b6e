"""Places of a step's arrays: base address, offset in bytes, strides.

Rows of sequences, arrays that a mitmot takes over and non-sequences are contiguous when the code is called, so all strides are
known when it is written.  Arrays that the plan calls fresh lie in scratch memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from scanviz.engine.backends.native.emit import RunError
from scanviz.engine.backends.native.emit.ir import Value
from scanviz.engine.errors import ScanvizError
from scanviz.engine.graph.nodes import Array
from scanviz.engine.graph.types import TensorType
from scanviz.engine.program.instructions import Instruction, Program, dtype_of, is_scalar
from scanviz.engine.program.plan import Buffer, Plan, Row, Size, StoreKind
from scanviz.engine.program.plan.location import aligned, packed
from scanviz.engine.runtime.address import address


def must_fit(fits: bool) -> None:
    """Raise RunError unless sizes fit; NumPy's code then raises the user's error."""
    if not fits:
        raise RunError("sizes that do not fit are an error of the run")


Base = tuple[str, int, int]  # ("row of a state", which, tap), ("buffer", which, 0), …
CONSTANT, SCRATCH = "constant", "scratch"


class ArrayPlace(NamedTuple):
    """The place of an array.

    Attributes
    ----------
    base : tuple
        The base of its address: ``("sequence", k, 0)``, ``("state", k, tap)``, ``("output", k, 0)``, ``("buffer", k, 0)``,
        ``("fixed", k, 0)``, ``("constant", register, 0)`` or ``("scratch", where it begins, 0)``; rows and constants of inner
        loops have its number behind the word.
    offset : int
        Bytes from the base to the first element.
    shape, strides : tuple of int
        Sizes, and bytes from one element to the next along each axis.
    dtype : str
        The dtype of the elements.
    shift : Value or None
        Bytes that are added to the offset, computed in each step.
    """

    base: Base
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str
    shift: Value | None = None

    @property
    def elements(self) -> int:
        """Number of its elements."""
        return prod(self.shape)

    def spread(self, shape: Sequence[int]) -> ArrayPlace:
        """Broadcast to a shape: repeated axes have stride 0.

        Raises
        ------
        NotWrittenError
            If it does not: the run will fail.
        """
        missing = len(shape) - len(self.shape)
        fits = zip(self.shape, shape[max(missing, 0) :], strict=False)
        must_fit(missing >= 0 and all(size in (1, wanted) for size, wanted in fits))
        strides = [0] * missing
        strides += [
            0 if size == 1 and wanted != 1 else stride
            for size, wanted, stride in zip(self.shape, shape[missing:], self.strides, strict=True)
        ]
        return self._replace(shape=tuple(shape), strides=tuple(strides))

    def part(self, axis: int, start: int, size: int) -> ArrayPlace:
        """Return a part along an axis."""
        shape = (*self.shape[:axis], size, *self.shape[axis + 1 :])
        return self._replace(offset=self.offset + start * self.strides[axis], shape=shape)

    def row(self, number: int) -> ArrayPlace:
        """Return one row of it."""
        return self.part(0, number, 1)._replace(shape=self.shape[1:], strides=self.strides[1:])

    def seen(self, look: Callable[[Array], Array]) -> ArrayPlace | None:
        """Apply a NumPy function that returns a view; None if it returns none."""
        stand_in = as_strided(np.zeros((), self.dtype), self.shape, self.strides, writeable=False)
        found = np.asarray(look(stand_in))
        if not found.size:
            return self._replace(shape=found.shape, strides=found.strides)
        steps = [(size - 1) * step for size, step in zip(self.shape, self.strides, strict=True)]
        begin = address(found) - address(stand_in)
        outside = not sum(min(0, step) for step in steps) <= begin <= sum(max(0, step) for step in steps)
        if found.base is None or found.flags.owndata or outside:
            return None
        return self._replace(offset=self.offset + begin, shape=found.shape, strides=found.strides)


class Scratch:
    """Scratch memory of the code, beside the plan's buffers.

    Attributes
    ----------
    size : int
        The bytes so far.
    """

    def __init__(self) -> None:
        self.size = 0

    def room(self, shape: tuple[int, ...], dtype: str) -> ArrayPlace:
        """Allocate an array in C order."""
        itemsize = np.dtype(dtype).itemsize
        base = (SCRATCH, self.size, 0)  # buffers do not overlap
        place = ArrayPlace(base, 0, shape, packed(shape, itemsize), dtype)
        self.size += aligned(max(1, place.elements) * itemsize)
        return place


class ArrayPlaces:
    """Finds the places of a program's registers.

    Parameters
    ----------
    body : Program
        The program.
    plan : Plan
        Its plan.
    fixed : mapping
        In a loop's step: the registers of non-sequences, with their numbers.
    scratch : Scratch
        The scratch memory of the function.
    within : str
        A suffix that makes its bases unique; empty in the outermost loop.
    """

    def __init__(
        self, body: Program, plan: Plan, fixed: Mapping[int, int], scratch: Scratch, within: str = ""
    ) -> None:
        self.plan, self.body, self.scratch, self.within = plan, body, scratch, within
        self._fixed = fixed
        self._made = {n: maker for maker in body.instructions for n in maker.outputs}
        self._found: dict[int, ArrayPlace | None] = {}
        self._buffers: dict[int, ArrayPlace] = {}

    def shape(self, number: int) -> tuple[int, ...] | None:
        """Return the shape of a register, None if unknown."""
        value = self.body.constants.get(number)
        return value.shape if value is not None else self.plan.places[number].shape

    def of(self, number: int) -> ArrayPlace | None:
        """Return the place of an array, None if its shape depends on values."""
        if number not in self._found:
            self._found[number] = self._find(number)
        return self._found[number]

    def moved(self, number: int, place: ArrayPlace) -> None:
        """Set the place of an array."""
        self._found[number] = place

    def row(self, slot: str, k: int, tap: int, number: int) -> ArrayPlace | None:
        """Return the place of a slot's row, in the shape of a register; a single row has one base for all taps."""
        store = self.plan.stores.get((slot, k))
        if store is not None and store.kind is StoreKind.SINGLE:
            tap = -1
        return self._at((slot + self.within, k, tap), self.shape(number), dtype_of(self.body, number))

    def temporary(self, shape: tuple[int, ...], dtype: str) -> ArrayPlace:
        """Allocate an array in scratch memory."""
        return self.scratch.room(shape, dtype)

    def _at(self, base: Base, shape: tuple[int, ...] | None, dtype: str) -> ArrayPlace | None:
        if shape is None:
            return None
        return ArrayPlace(base, 0, shape, packed(shape, np.dtype(dtype).itemsize), dtype)

    def _find(self, number: int) -> ArrayPlace | None:
        dtype, shape = dtype_of(self.body, number), self.shape(number)
        if number in self.body.constants:
            return self._at((CONSTANT + self.within, number, 0), shape, dtype)
        if number in self._fixed:
            return self._at(("fixed", self._fixed[number], 0), shape, dtype)
        match self.plan.places[number].location:
            case Row((slot, k), tap):
                return self.row(slot, k, tap, number)
            case Buffer(k):
                return self._buffer(k, shape, dtype)
        maker = self._made.get(number)
        if isinstance(maker, Instruction) and maker.op.declaration.views is not None:
            seen = self.view(maker)
            if seen is not None:
                return seen
        old = self.plan.places[number].over
        if old is not None:
            return self.of(old)
        return None if shape is None else self.temporary(shape, dtype)

    def _buffer(self, k: int, shape: tuple[int, ...] | None, dtype: str) -> ArrayPlace | None:
        """Return a buffer of the plan: an argument of the outermost loop, scratch memory in inner programs."""
        if not self.within or shape is None:
            return self._at(("buffer", k, 0), shape, dtype)
        if k not in self._buffers:
            self._buffers[k] = self.temporary(*self.plan.buffers[k])
        return self._buffers[k]._replace(shape=shape, strides=packed(shape, np.dtype(dtype).itemsize))

    def view(self, instruction: Instruction) -> ArrayPlace | None:
        """Return an instruction's result as a view of its first input; None if it is none, or depends on values."""
        source, *others = instruction.inputs
        (output,) = instruction.outputs
        if is_scalar(self.body, source) or not isinstance(self.body.registers[source].type, TensorType):
            return None
        given = [self.number(other) for other in others]
        place = self.of(source)
        if place is None or any(number is None for number in given):
            return None
        alone = is_scalar(self.body, output)  # NumPy gives a scalar instead of a view of one element
        longer = place._replace(shape=(*place.shape, 1), strides=(*place.strides, 0)) if alone else place
        try:
            found = longer.seen(lambda array: instruction.op.perform([array, *given])[0])
        except (ScanvizError, ValueError, IndexError):  # an error of the run
            return None
        if found is not None and alone and found.shape == (1,):
            found = found._replace(shape=(), strides=())
        return found if found is not None and found.shape == self.shape(output) else None

    def number(self, register: int) -> Any:
        """Return a number known when code is written (size or constant), else None."""
        location = self.plan.places[register].location
        if isinstance(location, Size):
            return np.int64(location.value)
        return self.body.constants.get(register)


def overlap(one: ArrayPlace, other: ArrayPlace) -> bool:
    """Return whether two places may share memory without being the same elements in the same order."""
    if one.base != other.base or one.base[0].startswith(CONSTANT):
        return False
    if (one.offset, one.strides, one.shape, one.shift) == (
        other.offset,
        other.strides,
        other.shape,
        other.shift,
    ):
        return False
    if one.shift is not None or other.shift is not None:
        return True
    return _ends(one)[0] < _ends(other)[1] and _ends(other)[0] < _ends(one)[1]


def _ends(place: ArrayPlace) -> tuple[int, int]:
    steps = [(n - 1) * step for n, step in zip(place.shape, place.strides, strict=True)]
    low = place.offset + sum(min(0, step) for step in steps)
    return low, place.offset + sum(max(0, step) for step in steps) + np.dtype(place.dtype).itemsize
