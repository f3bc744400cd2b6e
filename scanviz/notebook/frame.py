"""The page of a profile inside a notebook's cell."""

from __future__ import annotations

import html
from typing import Any

from scanviz.record.errors import ScanvizTypeError
from scanviz.record.model import ProfileRecord

HEIGHT = 720  # pixels


class PageFrame:
    """The page of a profile, as a cell shows it.

    The page stands in a frame that is closed to everything around it: it may run its own script, and reach nothing.

    Parameters
    ----------
    what : Session or ProfileRecord
        What to show.
    height : int
        Of the frame, in pixels.

    Raises
    ------
    ScanvizTypeError
        If it is no profile.

    Examples
    --------
    >>> PageFrame(ProfileRecord(script="rnn.py"))
    <page of rnn.py: a notebook shows it>
    """

    def __init__(self, what: Any, height: int = HEIGHT) -> None:
        record = getattr(what, "record", what)
        if not isinstance(record, ProfileRecord):
            raise ScanvizTypeError(
                "only a profile has a page",
                expected="what scanviz.profile() gives, or a record of it",
                found=type(what).__name__,
            )
        self.record, self.height = record, height

    def __repr__(self) -> str:
        return f"<page of {self.record.script or 'a profile'}: a notebook shows it>"

    def _repr_html_(self) -> str:
        """Return the page in a frame."""
        from scanviz.cli.html import page_of

        return (
            f'<iframe srcdoc="{html.escape(page_of(self.record))}" sandbox="allow-scripts" title="scanviz"'
            f' style="width: 100%; height: {self.height}px; border: 1px solid #8885; border-radius: 6px"></iframe>'
        )
