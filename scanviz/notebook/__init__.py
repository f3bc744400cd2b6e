"""scanviz in notebooks: ``%load_ext scanviz`` adds the cell magic ``%%scanviz``; records, loops and functions have rich displays.

``magic`` profiles a cell, ``shown`` writes a record or a loop as HTML without scripts, ``frame`` puts the page into a cell.
"""

from __future__ import annotations

from typing import Any


def load_ipython_extension(shell: Any) -> None:
    """Add the cell magic ``%%scanviz`` to a notebook.

    Parameters
    ----------
    shell : InteractiveShell
        IPython's, which calls this on ``%load_ext scanviz``.
    """
    from scanviz.notebook.magic import ScanvizMagics

    shell.register_magics(ScanvizMagics)


__all__ = ["load_ipython_extension"]


def __dir__() -> list[str]:
    return sorted(__all__)
