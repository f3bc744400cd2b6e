"""A line of a Program as text, before lines are set beside or below one another."""

from __future__ import annotations

from typing import NamedTuple

from scanviz.engine.graph.provenance import SourceLine


class TextLine(NamedTuple):
    """A line before it is aligned with others: how deep it stands, its text, and what stands beside it."""

    depth: int
    text: str
    type: str = ""
    place: str = ""
    source: SourceLine | None = None


def source_text(line: SourceLine | None, shown: set[SourceLine]) -> str:
    """Return a user's line as a comment, with its text where it comes for the first time."""
    if line is None:
        return ""
    text = "" if line in shown else " ".join(line.text().split())
    shown.add(line)
    return f"# {line}: {text}" if text else f"# {line}"
