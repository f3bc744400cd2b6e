"""What a notebook shows of anything of scanviz's: a profile or a loop of it in numbers, what has a graph as its picture."""

from __future__ import annotations

from typing import Any


def bundle(what: Any) -> dict[str, str]:
    """Return what a notebook shows, by media type.

    Examples
    --------
    >>> from scanviz.record.model import ProfileRecord
    >>> sorted(bundle(ProfileRecord(script="rnn.py")))
    ['text/html', 'text/plain']
    """
    from scanviz.record.loops import LoopRecord
    from scanviz.record.model import ProfileRecord

    record = getattr(what, "record", what)
    if isinstance(record, ProfileRecord):
        from scanviz.notebook.shown import record_bundle

        return record_bundle(record)
    if isinstance(what, LoopRecord):
        from scanviz.notebook.shown import loop_bundle

        return loop_bundle(what)
    from scanviz.render.draw import notebook_bundle

    return notebook_bundle(what)
