"""The gate between what the application draws and the terminal: no control character of a record passes.

Views write unsafe characters out (:func:`scanviz.record.plain_text.sanitize`), so that they are seen and have a width.  What one of
them forgets is left out here, where every line of every widget comes by, notices and titles included.
"""

from __future__ import annotations

from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from scanviz.record.plain_text import is_plain, sanitize


class Harmless(LineFilter):
    """Leaves out what could steer the terminal; what takes a column becomes a blank, so that the rest stays in its place."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the segments of a line without unsafe characters."""
        if all(is_plain(segment.text) for segment in segments if not segment.control):
            return segments
        return [
            segment if segment.control else Segment(_without_unsafe(segment.text), segment.style)
            for segment in segments
        ]


def _without_unsafe(text: str) -> str:
    return "".join(char if sanitize(char) == char else " " * cell_len(char) for char in text)
