"""Collapsed stacks: a line ``script;function;loop;operation nanoseconds`` for each frame with time of its own.

The form is Brendan Gregg's for ``flamegraph.pl``.  Counts are whole nanoseconds and add up to the run; ``;`` and line
ends in names are written in another way, and equal stacks are one line.
"""

from __future__ import annotations

import re

from scanviz.profiler.export.frames import StackFrame, frames_of, stacks
from scanviz.record.model import ProfileRecord
from scanviz.record.plain_text import sanitize

_READ_AS_MORE = re.compile(r"(?:^|\s)[\d.]+$|^#")  # a second count (of differential graphs), or a comment


def export(record: ProfileRecord) -> dict[str, bytes]:
    """Return the stacks."""
    lines: dict[str, int] = {}
    for stack, own in stacks(frames_of(record)):
        if own > 0 or len(stack) == 1:
            name = ";".join(map(_name, stack))
            lines[name] = lines.get(name, 0) + own
    return {"": "".join(f"{name} {own}\n" for name, own in lines.items()).encode()}


def _name(frame: StackFrame) -> str:
    """Return a frame's name; the line distinguishes operations and built functions of the same name."""
    with_line = frame.kind in ("operation", "building") and frame.source is not None
    place = f" ({frame.source})" if with_line else ""
    return safe(frame.name + place)


def safe(name: str) -> str:
    r"""Return a name that is valid in a collapsed stack, in brackets if its end looks like a number.

    Examples
    --------
    >>> safe("a;b\nc"), safe("x + 1"), safe("x1")
    ('a,b\\nc', '(x + 1)', 'x1')
    """
    text = " ".join(sanitize(name).replace(";", ",").split()) or "?"
    return f"({text})" if _READ_AS_MORE.search(text) else text
