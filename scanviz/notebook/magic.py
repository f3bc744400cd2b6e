"""The cell magic ``%%scanviz``: run a cell, record every loop in it, and show the profile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from IPython.core.magic import Magics, cell_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring
from IPython.display import display

from scanviz.notebook.shown import framed
from scanviz.profiler.recording.session import profile
from scanviz.record.errors import ScanvizTypeError
from scanviz.record.model import ProfileRecord

LAST = "_scanviz"  # the variable that a recording is put into where none is named


@contextmanager
def numbered_as_this_cell(shell: Any) -> Iterator[int]:
    """Give a magic's code its cell number: some versions of IPython increment it before the run."""
    known = (
        len(shell.user_ns.get("In", ())) - 1
    )  # the cell's own text is there already, if the cell is kept at all
    before = shell.execution_count
    shell.execution_count = known if known > 0 else before
    try:
        yield shell.execution_count
    finally:
        shell.execution_count = before


@magics_class
class ScanvizMagics(Magics):
    """The magics of scanviz."""

    @magic_arguments()
    @argument("name", nargs="?", default=LAST, help=f"the variable that the recording is put into ({LAST})")
    @argument(
        "--page", action="store_true", help="show the whole page: steps, picture, rewrites, step by step"
    )
    @argument("--ops", action="store_true", help="time each operation of every step, which costs more")
    @cell_magic
    def scanviz(self, line: str, cell: str) -> None:
        """Run a cell under the profiler, and show where its time went.

        An error in the cell is shown as usual; the record until then is shown as well.
        """
        arguments = parse_argstring(self.scanviz, line)
        session = profile("ops" if arguments.ops else "steps")
        shell: Any = self.shell
        with numbered_as_this_cell(shell) as number, session:
            session.recorder.describe_script(f"cell In[{number}]", ())
            shell.run_cell(cell)
        shell.user_ns[arguments.name] = session
        display(PageFrame(session.record) if arguments.page else session)


HEIGHT = 720  # pixels


class PageFrame:
    """The page of a profile, as a cell shows it.

    Parameters
    ----------
    what : Session or ProfileRecord
        The profile.
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
                expected="the result of scanviz.profile(), or its record",
                found=type(what).__name__,
            )
        self.record, self.height = record, height

    def __repr__(self) -> str:
        return f"<page of {self.record.script or 'a profile'}: a notebook shows it>"

    def _repr_html_(self) -> str:
        """Return the page in a frame."""
        from scanviz.cli.html import page_of

        return framed(page_of(self.record), self.height)
