"""Keep results of a call in memory of their own, unless the user borrows them.

Two arrays that own their memory never share it, so usually it suffices that the owners of results differ from the owners of the
arguments.  Only if they do not differ, or an owner is unknown, arrays are compared pairwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from scanviz.engine.graph.shared import is_on_device
from scanviz.engine.program.instructions import BranchInstruction, Program
from scanviz.engine.runtime.buffer_pool import LentMemory

if TYPE_CHECKING:
    from scanviz.engine.graph.nodes import Array


class Memory:
    """A set of arrays that answers whether another array may share memory with any of them.

    An array is compared only with views of the same owner; arrays over foreign memory (a file, another library) are compared with
    all, arrays of a device by their addresses.  So a thousand queries take a thousand steps, not a million.

    Attributes
    ----------
    owners : set
        Owners of the arrays' memory, as returned by :func:`owner_of`.
    """

    __slots__ = ("_elsewhere", "_on_device", "_owned", "owners")

    def __init__(self, arrays: Iterable[Any] = ()) -> None:
        self._owned: dict[int, list[Any]] = {}  # owner of the memory → its views
        self._elsewhere: list[Any] = []
        self._on_device: list[
            tuple[int, int]
        ] = []  # addresses of each array's first byte and of the one after its last
        self.owners: set[int | None] = set()
        for array in arrays:
            self.add(array)

    def add(self, array: Any) -> None:
        """Add an array."""
        owner = owner_of(array)
        self.owners.add(owner)
        if is_on_device(array):
            self._on_device.append(_span(array))
        elif owner is None:
            self._elsewhere.append(array)
        else:
            self._owned.setdefault(owner, []).append(array)

    def may_hold(self, array: Any) -> bool:
        """Return whether an array may share memory with any in the set."""
        if is_on_device(array):
            start, end = _span(array)
            return any(start < after and first < end for first, after in self._on_device)
        owner = owner_of(array)
        if owner is not None:
            near = self._owned.get(owner, [])
            if near and not array.size:  # NumPy reports no sharing for it
                return True
            return any(np.may_share_memory(array, other) for other in (*near, *self._elsewhere))
        held = (array for near in self._owned.values() for array in near)
        return any(np.may_share_memory(array, other) for other in (*held, *self._elsewhere))


def unshared(
    arrays: list[Any], borrowed: Sequence[bool], held: Sequence[Any], constants: Memory
) -> list[Array]:
    """Copy the results of a call that share memory with an argument, a constant or an earlier result.

    Parameters
    ----------
    arrays : list of array
        The results; returned as they are if none shares memory.
    borrowed : sequence of bool
        Whether each result stays uncopied in any case.
    held : sequence of array
        The arguments of the call.
    constants : Memory
        The constants of all calls.
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
    """Yield the constants that a call may return: the program's, and those of the sides of branches.

    Loops return rows of their own.
    """
    yield from program.constants.values()
    for instruction in program.instructions:
        if isinstance(instruction, BranchInstruction):
            for side, _ in instruction.sides:
                yield from constants_of(side)


def _are_own(found: Iterable[Any], held: Iterable[Any], constants: set[int | None]) -> bool:
    """Return whether all results have known and distinct owners, none of them an argument's or a constant's.

    Hot path of every call: keep the checks minimal.
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
    """Return a host array for a number, and a device array unchanged."""
    return np.asarray(value) if isinstance(value, np.generic) or not is_on_device(value) else value


def owner_of(array: Any) -> int | None:
    """Return the id of the array that owns the memory of a view, or None for foreign memory.

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


def _span(value: Any) -> tuple[int, int]:
    """Return the addresses of an array's first byte and of the one after its last."""
    interface = value.__cuda_array_interface__
    shape, size, start = interface["shape"], np.dtype(interface["typestr"]).itemsize, interface["data"][0]
    if 0 in shape:
        return start, start
    strides = interface.get("strides")
    if strides is None:  # C order
        return start, start + size * int(np.prod(shape, dtype=np.int64))
    reach = [(length - 1) * stride for length, stride in zip(shape, strides, strict=True)]
    return start + sum(step for step in reach if step < 0), start + size + sum(
        step for step in reach if step > 0
    )
