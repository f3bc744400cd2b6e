"""Store-to-load forwarding: reuse values that were just stored to memory.

A load that follows a store of the same bytes waits for it, longest if the bytes were stored in pieces.  So the writer remembers
the value of each store and uses it instead of a load.  The stores stay.

Places are compared by array and offset; arrays never overlap (see the bases of :mod:`scanviz.engine.backends.native.emit.places`).
A store at an unknown offset forgets its array; a store to an unknown address, or a new block, forgets everything.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

from scanviz.engine.backends.native.emit.values import Value, size_of


class StoredLanes(NamedTuple):
    """Adjacent lanes of a value in memory."""

    value: Value
    lane: int
    lanes: int

    @property
    def bytes(self) -> int:
        """Size in bytes."""
        return self.lanes * size_of(self.value.dtype)


class KnownMemory:
    """Values that memory is known to hold at one point of the code.

    Attributes
    ----------
    values : dict
        Array → offset → the lanes there; blocks that store nothing leave it as it was.
    """

    def __init__(self) -> None:
        self._places: dict[
            str, tuple[Hashable, int | None]
        ] = {}  # address → its array and its offset in bytes
        self.values: dict[Hashable, dict[int, StoredLanes]] = {}

    def locate(self, address: Value, array: Hashable, offset: int) -> None:
        """Enter the array of an address, and its offset in bytes."""
        self._places[address.text] = array, offset

    def further(self, address: Value, start: Value, offset: int | None) -> None:
        """Enter an address at an offset from another one; None for an unknown offset."""
        place = self._places.get(start.text)
        if place is not None:
            array, before = place
            unknown = offset is None or before is None
            self._places[address.text] = array, None if unknown else before + offset  # type: ignore[operator]

    def forget(self) -> None:
        """Forget everything."""
        self.values = {}  # another one: values that are known again do not change

    def stored(self, value: Value, address: Value) -> None:
        """Enter a store."""
        place = self._places.get(address.text)
        if place is None:
            self.forget()
            return
        array, offset = place
        if offset is None:
            self.values.pop(array, None)
            return
        parts = self.values.setdefault(array, {})
        new = StoredLanes(value, 0, value.lanes)
        old = parts.get(offset)
        if old is None or old.bytes != new.bytes:
            _cut(parts, offset, offset + new.bytes)
        parts[offset] = new

    def found(self, address: Value, dtype: str, lanes: int) -> list[StoredLanes] | None:
        """Return the known lanes from an address on; None unless all are known."""
        array, offset = self._places.get(address.text, (None, None))
        parts = self.values.get(array)
        if offset is None or not parts:
            return None
        size, found = size_of(dtype), []
        end = offset + lanes * size
        while offset < end:
            part = _from(parts, offset)
            if part is None or part.value.dtype != dtype:
                return None
            part = part._replace(lanes=min(part.lanes, (end - offset) // size))
            found.append(part)
            offset += part.bytes
        return found


def _from(parts: dict[int, StoredLanes], offset: int) -> StoredLanes | None:
    """Return the part at an offset, from there on."""
    if offset in parts:
        return parts[offset]
    for start, part in parts.items():
        if start < offset < start + part.bytes:
            lanes, rest = divmod(offset - start, size_of(part.value.dtype))
            return None if rest else StoredLanes(part.value, part.lane + lanes, part.lanes - lanes)
    return None


def _cut(parts: dict[int, StoredLanes], begin: int, end: int) -> None:
    """Remove the bytes between two offsets from the parts; the rest of a part stays, as whole numbers."""
    for start, part in list(parts.items()):
        stop = start + part.bytes
        if start >= end or begin >= stop:
            continue
        del parts[start]
        size = size_of(part.value.dtype)
        before = max(0, begin - start) // size
        if before:
            parts[start] = part._replace(lanes=before)
        after = max(0, stop - end) // size
        if after:
            parts[stop - after * size] = StoredLanes(part.value, part.lane + part.lanes - after, after)
