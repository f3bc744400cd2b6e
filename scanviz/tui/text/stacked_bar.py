"""One bar of several parts that fill it exactly, and their names with shares that sum to 100 %."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from rich.text import Text

from scanviz.tui.text.colours import CYAN, GREEN, YELLOW

_LOOKS = (("█", CYAN), ("▓", GREEN), ("▒", YELLOW), ("░", CYAN), ("·", ""))  # distinct without colours too


class Segment(Struct, frozen=True):
    """A part of a bar."""

    title: str
    value: float


def stacked(segments: Sequence[Segment], width: int) -> Text:
    """Return a bar of exactly ``width`` columns.

    Examples
    --------
    >>> stacked([Segment("loops", 3), Segment("outside", 1)], 8).plain
    '██████▓▓'
    """
    text = Text()
    for number, cells in enumerate(apportioned([segment.value for segment in segments], width)):
        sign, style = _look(number)
        text.append(sign * cells, style)
    return text


def legend(segments: Sequence[Segment]) -> Text:
    """Return the parts by name with their shares in whole percents, which sum to 100.

    Examples
    --------
    >>> legend([Segment("loops", 2), Segment("outside", 1)]).plain
    '█ 67 % loops  ▓ 33 % outside'
    """
    text = Text()
    shares = apportioned([segment.value for segment in segments], 100)
    for number, (segment, share) in enumerate(zip(segments, shares, strict=True)):
        sign, style = _look(number)
        text.append("  " if number else "").append(sign, style).append(f" {share} % {segment.title}")
    return text


def fitting(segments: Sequence[Segment], width: int) -> list[Segment]:
    """Merge the last parts into one until the legend fits; keep at least two parts.

    Examples
    --------
    >>> parts = [Segment("loops", 5), Segment("outside", 3), Segment("recording", 1), Segment("checks", 1)]
    >>> [part.title for part in fitting(parts, 45)]
    ['loops', 'outside', 'the rest']
    """
    found = list(segments)
    for count in range(min(len(segments), len(_LOOKS)), 1, -1):
        found = list(segments[:count])
        if count < len(segments):
            found[-1] = Segment("the rest", sum(segment.value for segment in segments[count - 1 :]))
        if legend(found).cell_len <= width:
            break
    return found


def apportioned(values: Sequence[float], whole: int) -> list[int]:
    """Round values to integers that sum to ``whole`` (largest-remainder method).

    Examples
    --------
    >>> apportioned([1, 1, 1], 100)
    [34, 33, 33]
    """
    total = sum(values)
    if total <= 0:
        return [whole if k == len(values) - 1 else 0 for k in range(len(values))]
    exact = [whole * max(0, value) / total for value in values]
    found = [int(width) for width in exact]
    order = sorted(range(len(values)), key=lambda k: (found[k] - exact[k], k))
    for k in order[: whole - sum(found)]:
        found[k] += 1
    return found


def _look(number: int) -> tuple[str, str]:
    return _LOOKS[min(number, len(_LOOKS) - 1)]
