"""Lines of a Program as text: aligned in columns, or wrapped for a narrow terminal.

There the user's lines stand above what is of them, and what is too long goes on below.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import NamedTuple

from scanviz.engine.graph.provenance import SourceLine


class TextLine(NamedTuple):
    """A line before alignment: its depth, its text, and the columns beside it."""

    depth: int
    text: str
    type: str = ""
    place: str = ""
    source: SourceLine | None = None


def source_text(line: SourceLine | None, shown: set[SourceLine]) -> str:
    """Return a user's line as a comment, with its text at its first occurrence."""
    if line is None:
        return ""
    text = "" if line in shown else " ".join(line.text().split())
    shown.add(line)
    return f"# {line}: {text}" if text else f"# {line}"


_LEAST = 24  # columns of text before the type, however narrow the terminal is
_PLACE = 24  # columns for where registers live: longer ones go below
_CUT = "…"


def narrow(lines: Sequence[TextLine], with_sources: bool, width: int, indent: str) -> str:
    """Return lines so that they fit a width, as far as their single words do."""
    texts = [f"{indent * line.depth}{line.text}" for line in lines]
    types = max((len(line.type) for line in lines), default=0)
    places = max((len(line.place) for line in lines), default=0)
    room = max(_LEAST, width - types - min(places, _PLACE) - 4)
    beside = [text for text, line in zip(texts, lines, strict=True) if line.type]
    wide = max((len(text) for text in beside if len(text) <= room), default=0)
    found: list[str] = []
    before: SourceLine | None = None
    shown: set[SourceLine] = set()
    for text, line in zip(texts, lines, strict=True):
        if with_sources and line.source is not None and line.source != before:
            found.append(_cut(indent * line.depth + source_text(line.source, shown), width))
            before = line.source
        rest = f"{line.type:<{types}}  {line.place}".rstrip() if line.type or line.place else ""
        found += _fitted(text, rest, wide, width, indent * (line.depth + 2))
    return "\n".join(found)


def _fitted(text: str, rest: str, wide: int, width: int, below: str) -> Iterator[str]:
    """Iterate over a line with its columns, which move below it if they do not fit."""
    whole = f"{text:<{wide}}  {rest}".rstrip() if rest else text
    if len(whole) <= width:
        yield whole
        return
    yield from _wrapped(text, width, below)
    if rest:
        yield from _wrapped(below + rest, width, below)


def _wrapped(text: str, width: int, below: str) -> list[str]:
    if len(text) <= width:
        return [text]
    return wrap(text, width, subsequent_indent=below, break_long_words=False, break_on_hyphens=False)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + _CUT
