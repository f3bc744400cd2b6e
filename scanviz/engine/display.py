"""What a notebook shows of variables, functions and records: a picture, if the layer that draws is there.

The engine draws nothing.  Upper layers put a function into :data:`PICTURES` that does; until then a notebook shows text.
So it is with the lines that :class:`~scanviz.engine.ops.effects.Print` prints, and :data:`WRITERS`.
Source of the method's name and form: IPython's rich display, ``_repr_mimebundle_``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TextIO

PICTURES: list[Callable[[Any], dict[str, str]]] = []
# what writes a line that a running function prints: the layer that knows how text gets to a terminal without steering it
WRITERS: list[Callable[[str, TextIO], None]] = []


class Shown:
    """What shows itself as a picture in a notebook."""

    __slots__ = ()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """Return representations by media type."""
        return PICTURES[0](self) if PICTURES else {"text/plain": repr(self)}
