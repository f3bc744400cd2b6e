"""Registration points for the display of variables, functions and records in a notebook, and for printed lines.

The engine draws nothing.  An upper layer registers a function that draws in :data:`PICTURES`; without one, a notebook shows text.
Likewise :data:`WRITERS` for the lines of :class:`~scanviz.engine.ops.effects.Print`.
Source of the method's name and form: IPython's rich display, ``_repr_mimebundle_``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TextIO

PICTURES: list[Callable[[Any], dict[str, str]]] = []
# writes a printed line to a terminal, with control characters made harmless
WRITERS: list[Callable[[str, TextIO], None]] = []


class Shown:
    """Base of objects that a notebook shows as a picture."""

    __slots__ = ()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """Return representations by media type."""
        return PICTURES[0](self) if PICTURES else {"text/plain": repr(self)}
