"""The report's lines in the application: the same text, with its styles."""

from __future__ import annotations

from collections.abc import Iterable

from rich.text import Text

from scanviz.profiler.report.text import Line, styled
from scanviz.tui.colours import with_our_colours


def report_text(lines: Iterable[Line], width: int) -> Text:
    r"""Return lines of the report as styled text of at most so many columns.

    Examples
    --------
    >>> report_text([Line("a"), Line("b", "1")], 20).plain
    'a\nb'
    """
    texts = (Text.from_ansi(styled(each, max(20, width), True)) for each in lines)
    return with_our_colours(Text("\n").join(texts))
