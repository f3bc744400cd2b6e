"""Colours of texts: of medium brightness, so that they are readable on light and dark and as greys (``NO_COLOR``).

The names of a terminal's colours are no good here: as greys, its red is as dark as a dark background.
"""

from __future__ import annotations

from collections.abc import Iterable

from rich.color import ColorType
from rich.style import Style
from rich.text import Span, Text

from scanviz.profiler.report.text import ReportLine, styled

RED, GREEN, YELLOW, CYAN = "#d04545", "#3c9a58", "#c8960c", "#2f97aa"
_SHARES = ((0.5, f"bold {RED}"), (0.2, f"bold {YELLOW}"), (0.01, ""))  # from what share on
_OF_TERMINALS = {1: RED, 2: GREEN, 3: YELLOW, 6: CYAN}  # by their numbers


def share_style(part: float, whole: float) -> str:
    """Return the style of a share of time: large shares stand out, negligible ones are dim.

    Examples
    --------
    >>> share_style(6, 10) == f"bold {RED}", share_style(1, 1000)
    (True, 'dim')
    """
    taken = part / whole if whole > 0 else 0.0
    known = (style for least, style in _SHARES if taken >= least)
    return next(known, "dim")


def with_our_colours(text: Text) -> Text:
    r"""Replace a terminal's colours by colours visible on light and dark backgrounds.

    Examples
    --------
    >>> print(with_our_colours(Text.from_ansi("\x1b[1;31mslow\x1b[0m")).spans[0].style)
    bold #d04545
    """
    for place, span in enumerate(text.spans):
        style = span.style
        if not isinstance(style, Style) or style.color is None or style.color.type is not ColorType.STANDARD:
            continue
        ours = _OF_TERMINALS.get(style.color.number or 0)
        if ours is not None:
            text.spans[place] = Span(span.start, span.end, style + Style(color=ours))
    return text


def report_text(lines: Iterable[ReportLine], width: int) -> Text:
    r"""Return lines of the report as styled text of at most ``width`` columns.

    Examples
    --------
    >>> report_text([ReportLine("a"), ReportLine("b", "1")], 20).plain
    'a\nb'
    """
    texts = (Text.from_ansi(styled(line, max(20, width), True)) for line in lines)
    return with_our_colours(Text("\n").join(texts))
