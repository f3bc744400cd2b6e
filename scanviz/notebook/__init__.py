"""scanviz in a notebook: ``%load_ext scanviz`` gives the cell magic ``%%scanviz``; records, loops and functions show themselves.

``magic`` profiles a cell, ``shown`` writes a record or a loop as HTML without scripts, ``frame`` puts the page into a cell.
"""

from __future__ import annotations

from typing import Any


def load_ipython_extension(shell: Any) -> None:
    """Give a notebook the cell magic ``%%scanviz``.

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
