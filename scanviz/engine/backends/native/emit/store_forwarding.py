"""Store-to-load forwarding: reuse values that were just stored to memory.

A load that follows a store of the same bytes waits for it, longest if the bytes were stored in pieces.  So the writer remembers
the value of each store and uses it, or some of its lanes, instead of a load.  The stores stay.  A loop over a state of three
numbers takes 1.65 times as long without it.

Places are compared by array and offset; arrays never overlap (see the bases of :mod:`scanviz.engine.backends.native.emit.places`).
A store forgets the values that it overlaps; at an unknown offset it forgets its array; a store to an unknown address, or a new
block, forgets everything.
"""

from __future__ import annotations

from collections.abc import Hashable

from scanviz.engine.backends.native.emit.values import Value, size_of


class KnownMemory:
    """Values that memory is known to hold at one point of the code.

    Attributes
    ----------
    values : dict
        Array → offset → the value there; blocks that store nothing leave it as it was.
    """

    def __init__(self) -> None:
        # address → its array and its offset in bytes
        self._places: dict[str, tuple[Hashable, int | None]] = {}
        self.values: dict[Hashable, dict[int, Value]] = {}

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
        array, begin = place
        if begin is None:
            self.values.pop(array, None)
            return
        known, end = self.values.setdefault(array, {}), begin + _bytes(value)
        for start, other in list(known.items()):
            if start < end and begin < start + _bytes(other):
                del known[start]
        known[begin] = value

    def found(self, address: Value, dtype: str, lanes: int) -> tuple[Value, int] | None:
        """Return the value that holds the lanes from an address on, and the first of them; None if they are unknown."""
        array, offset = self._places.get(address.text, (None, None))
        if offset is not None:
            for start, value in self.values.get(array, {}).items():
                lane, rest = divmod(offset - start, size_of(dtype))
                if value.dtype == dtype and not rest and 0 <= lane <= value.lanes - lanes:
                    return value, lane
        return None


def _bytes(value: Value) -> int:
    return value.lanes * size_of(value.dtype)
