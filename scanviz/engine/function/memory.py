"""Which arrays share memory: what a call returns or keeps is nobody else's, unless the user borrows it.

Two arrays that own their memory never share it, so mostly it is enough that the owners of what a call found are others than
those of what it was given.  Only where they are not, or where an owner is not known, arrays are compared with one another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from scanviz.engine.function.arguments import is_on_device
from scanviz.engine.program.instructions import BranchInstruction, Program
from scanviz.engine.runtime.recycled import LentMemory

if TYPE_CHECKING:
    from scanviz.engine.graph.nodes import Array


class Memory:
    """Arrays that are held, asked whether another may share memory with one of them.

    An array is compared with those that look into the same array's memory alone; arrays over memory of somebody else (a file,
    another library, a device) are compared with all.  So asking for a thousand arrays takes a thousand steps, not a million.

    Attributes
    ----------
    owners : set
        Of the arrays' memory, as :func:`owner_of` tells them.
    """

    __slots__ = ("_elsewhere", "_owned", "owners")

    def __init__(self, arrays: Iterable[Any] = ()) -> None:
        self._owned: dict[int, list[Any]] = {}  # owner of the memory → the arrays that look into it
        self._elsewhere: list[Any] = []
        self.owners: set[int | None] = set()
        for array in arrays:
            self.add(array)

    def add(self, array: Any) -> None:
        """Hold one more array."""
        owner = owner_of(array)
        self.owners.add(owner)
        if owner is None:
            self._elsewhere.append(array)
        else:
            self._owned.setdefault(owner, []).append(array)

    def may_hold(self, array: Any) -> bool:
        """Return whether an array may share memory with one that is held."""
        owner = owner_of(array)
        if owner is not None:
            near = self._owned.get(owner, [])
            if near and not array.size:  # NumPy says that it shares nothing; it may be read only all the same
                return True
            return any(may_share_memory(array, other) for other in (*near, *self._elsewhere))
        held = (array for near in self._owned.values() for array in near)
        return any(may_share_memory(array, other) for other in (*held, *self._elsewhere))


def unshared(
    arrays: list[Any], borrowed: Sequence[bool], held: Sequence[Any], constants: Memory
) -> list[Array]:
    """Return what a call found, copied where it shares memory with what is held or with one found before it.

    Parameters
    ----------
    arrays : list of array
        What was found; is returned itself where nothing of it is shared.
    borrowed : sequence of bool
        Which of them stay as they are in any case.
    held : sequence of array
        What the call was given.
    constants : Memory
        What every call holds.
    """
    if _are_own(arrays, held, constants.owners):
        return arrays
    found: list[Array] = [array if type(array) is np.ndarray else _as_array(array) for array in arrays]
    memory = Memory(held)
    for k, array in enumerate(found):
        if not borrowed[k] and (memory.may_hold(array) or constants.may_hold(array)):
            found[k] = array.copy()
        memory.add(found[k])
    return found


def constants_of(program: Program) -> Iterator[Array]:
    """Yield the constants that a call may find: the program's, and those of the sides that it chooses from.

    Loops give rows of their own.
    """
    yield from program.constants.values()
    for instruction in program.instructions:
        if isinstance(instruction, BranchInstruction):
            for side, _ in instruction.sides:
                yield from constants_of(side)


def _are_own(found: Iterable[Any], held: Iterable[Any], constants: set[int | None]) -> bool:
    """Return whether arrays look into memory of owners that are known, each into another, and none that is held into any of it.

    The way of every call: no more is asked than that takes.
    """
    owners, arrays = set(), np.ndarray
    for array in held:
        while type(array) is arrays and (base := array.base) is not None:
            array = base
        owners.add(id(array))
    for array in found:
        if type(array) is not arrays:
            return False
        holder: Any = array
        while (base := holder.base) is not None:
            holder = base
            if type(holder) is not arrays:
                if type(holder) is not LentMemory:
                    return False
                break
        else:
            if not holder.flags.owndata:
                return False
        owner = id(holder)
        if owner in owners or owner in constants:
            return False
        owners.add(owner)
    return True


def _as_array(value: Any) -> Any:
    """Return an array of the host for a number, and one of the device as it is."""
    return np.asarray(value) if isinstance(value, np.generic) or not is_on_device(value) else value


def owner_of(array: Any) -> int | None:
    """Return which array owns the memory that an array looks into, None where it is no array's own.

    Examples
    --------
    >>> rows = np.zeros((2, 3))
    >>> owner_of(rows[1, 1:]) == owner_of(rows), owner_of(np.frombuffer(b"12345678"))
    (True, None)
    """
    if not isinstance(array, np.ndarray):
        return None
    while isinstance(array.base, np.ndarray):
        array = array.base
    return id(array) if array.flags.owndata else id(array.base) if type(array.base) is LentMemory else None


def may_share_memory(first: Any, second: Any) -> bool:
    """Return whether two arrays, both of the host or both of the device, may share memory; on a device, by their spans."""
    on_device = is_on_device(first)
    if on_device != is_on_device(second):
        return False
    if not on_device:
        return bool(np.may_share_memory(first, second))
    (a, b), (c, d) = _span(first), _span(second)
    return a < d and c < b


def _span(value: Any) -> tuple[int, int]:
    """Return the addresses of an array's first byte and of the one after its last."""
    told = value.__cuda_array_interface__
    shape, size, start = told["shape"], np.dtype(told["typestr"]).itemsize, told["data"][0]
    if 0 in shape:
        return start, start
    strides = told.get("strides")
    if strides is None:  # C order
        return start, start + size * int(np.prod(shape, dtype=np.int64))
    reach = [(length - 1) * stride for length, stride in zip(shape, strides, strict=True)]
    return start + sum(step for step in reach if step < 0), start + size + sum(
        step for step in reach if step > 0
    )
