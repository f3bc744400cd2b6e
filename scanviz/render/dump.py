"""``scanviz.dprint``: a graph as text."""

from __future__ import annotations

import sys
from typing import Any, TextIO

from scanviz.record.snapshot import snapshot
from scanviz.render.text import print_graph


def dprint(
    what: Any, file: TextIO | None = None, *, print_type: bool = False, print_source: bool = False
) -> None:
    """Print the graph of a variable, several, a function or a Scan as a tree, with the steps of its loops below.

    Parameters
    ----------
    what : Variable, list of Variable, Function, Apply or Scan
        What to show; a function is shown as rewritten.
    file : text file, optional
        ``sys.stdout`` by default; coloured if it is a terminal.
    print_type : bool
        Whether to show dtypes and shapes.
    print_source : bool
        Whether to show the line that built each operation.

    Raises
    ------
    ScanvizTypeError
        If it has no graph.

    Examples
    --------
    >>> import scanviz
    >>> from scanviz import tensor as T
    >>> x = T.vector("x")
    >>> sums, _ = scanviz.scan(lambda x_t, total: total + x_t * 2, sequences=x, outputs_info=0.0, name="sums")
    >>> scanviz.dprint(sums)
    scan{sums} [B] total
      ├─ dimension{axis=0} [A]
      │  └─ x
      ├─ x
      └─ 0.0
    <BLANKLINE>
    loop sums
      sequence     x[t] ← x
      sitsot       total[t-1] ← 0.0; total[t] is read again as total[t-1]; gives total [B]
      total[t] = add [D]
        ├─ total[t-1]
        └─ multiply [C]
           ├─ x[t]
           └─ 2.0
    """
    print_graph(
        snapshot(what), file if file is not None else sys.stdout, types=print_type, lines=print_source
    )
