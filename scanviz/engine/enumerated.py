"""``Enum`` as in the standard library, for classes that must be defined quickly and have a few names.

The standard library takes a seventh of a millisecond a class.  Here a class has members alone, no methods, and is not iterated
over; members are the same otherwise, and mypy is told that this *is* ``enum.Enum``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from enum import Enum as Enum
else:

    class Enum:
        """Base of a class of which there are a few instances, each with a name: ``enum.Enum``.

        Examples
        --------
        >>> class Side(Enum):
        ...     LEFT = "left"
        ...     RIGHT = "right"
        >>> Side.LEFT, Side.LEFT.name, Side.RIGHT.value, isinstance(Side.LEFT, Side)
        (<Side.LEFT: 'left'>, 'LEFT', 'right', True)
        """

        __slots__ = ("name", "value")

        def __init_subclass__(cls) -> None:
            for name, value in [*vars(cls).items()]:
                if not name.startswith("_"):
                    member = object.__new__(cls)
                    member.name, member.value = name, value
                    setattr(cls, name, member)

        def __repr__(self) -> str:
            return f"<{type(self).__qualname__}.{self.name}: {self.value!r}>"

        def __str__(self) -> str:
            return f"{type(self).__name__}.{self.name}"

        def __reduce__(self) -> tuple[Any, ...]:
            return getattr, (
                type(self),
                self.name,
            )  # a copy, and what is read from a file, is the member itself
