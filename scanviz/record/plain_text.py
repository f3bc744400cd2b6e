"""Text from scripts made harmless: every view writes what it shows of a record through here."""

from __future__ import annotations

import re

# Controls, line separators, directions of writing, invisible characters and lone surrogates.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]"
)


def plain(text: str) -> str:
    r"""Return text from a script with unsafe characters written out, so that it can't steer a terminal.

    Examples
    --------
    >>> print(plain("a\x1b[31mb\nc"))
    a\x1b[31mb\nc
    """
    return _UNSAFE.sub(lambda found: found.group().encode("unicode_escape").decode(), text)
