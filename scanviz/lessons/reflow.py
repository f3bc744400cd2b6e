"""Lines of a lesson as long as a terminal is wide: paragraphs and items of lists are filled anew, all else stays as it is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from textwrap import wrap

_ITEM = re.compile(r"(?:- |\d+\. )")
_FENCE = "```"


def reflowed(page: str, width: int) -> str:
    r"""Return Markdown whose paragraphs fit a width; programs, tables, headings and indented lines stay as they are.

    Examples
    --------
    >>> print(reflowed("One two\nthree.\n\n    kept as it is\n- an item of a list", 12))
    One two
    three.
    <BLANKLINE>
        kept as it is
    - an item of
      a list
    """
    blocks = _blocks(page)
    return "\n".join(line for block, fills in blocks for line in (_filled(block, width) if fills else block))


def _blocks(page: str) -> Iterator[tuple[list[str], bool]]:
    """Iterate over paragraphs and items of a list, which are filled, and over all other lines one by one, which are not."""
    open_block: list[str] = []
    fenced = False
    for line in page.split("\n"):
        fence = line.startswith(_FENCE)
        alone = fenced or not line or line.startswith(("#", "|", _FENCE))
        alone = alone or (line.startswith("    ") and not open_block)
        if (alone or _ITEM.match(line)) and open_block:
            yield open_block, True
            open_block = []
        if alone:
            yield [line], False
        else:
            open_block.append(line)
        fenced = fenced != fence
    if open_block:
        yield open_block, True


def _filled(block: list[str], width: int) -> list[str]:
    item = _ITEM.match(block[0])
    behind = " " * len(item[0]) if item else ""
    text = " ".join(line.strip() for line in block)
    return wrap(text, width, subsequent_indent=behind, break_long_words=False, break_on_hyphens=False)
