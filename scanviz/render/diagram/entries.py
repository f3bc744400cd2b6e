"""The documents' four lists of a loop: outer inputs, inner inputs, inner outputs, outer outputs, from its loop variables alone.

- outer inputs: n_steps, sequences, mitmot, mitsot, sitsot, shared, nitsot lengths, non-sequences
- inner inputs: sequences, mitmot taps, mitsot taps, sitsot, shared, non-sequences
- inner outputs: mitmot taps, mitsot, sitsot, nitsot, shared
- outer outputs: mitmot, mitsot, sitsot, nitsot, shared

("Shared" are the carries.)  Source: the orders of ``reference/001_scan_internals.txt``, as the engine's layout of a Scan has them.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from scanviz.record.graphs.graph import LoopVariableRecord
from scanviz.record.loops import LoopRecord
from scanviz.record.traces.cell_names import cell_name

Column = Literal["outer_inp", "inner_inp", "inner_out", "outer_out"]
COLUMNS: tuple[Column, ...] = ("outer_inp", "inner_inp", "inner_out", "outer_out")
ORDERS: dict[Column, tuple[str, ...]] = {
    "outer_inp": ("sequence", "mitmot", "mitsot", "sitsot", "carry", "nitsot", "non_sequence"),
    "inner_inp": ("sequence", "mitmot", "mitsot", "sitsot", "carry", "non_sequence"),
    "inner_out": ("mitmot", "mitsot", "sitsot", "nitsot", "carry"),
    "outer_out": ("mitmot", "mitsot", "sitsot", "nitsot", "carry"),
}


class ListEntry(Struct, frozen=True):
    """A place in one of the four lists.

    Attributes
    ----------
    column : str
        Which list: ``"outer_inp"``, ``"inner_inp"``, ``"inner_out"`` or ``"outer_out"``.
    index : int
        Its place there.
    label : str
        What it is called.
    kind : str
        Kind of its loop variable, ``"n_steps"`` for the number of steps.
    variable : int
        Index of its loop variable in the loop, -1 for the number of steps.
    """

    column: Column
    index: int
    label: str
    kind: str
    variable: int


def entries_of(loop: LoopRecord) -> dict[Column, tuple[ListEntry, ...]]:
    """Return the four lists.

    Examples
    --------
    >>> h = LoopVariableRecord("sitsot", "h", (-1,), (0,), ("h[t-1]",), ("tanh(…)",), "h0", "h")
    >>> lists = entries_of(LoopRecord(1, 1, None, "rnn", None, variables=(h,)))
    >>> [entry.label for column in lists.values() for entry in column]
    ['n_steps', 'h', 'h[t-1]', 'h[t]', 'h']
    """
    found: dict[Column, tuple[ListEntry, ...]] = {}
    for column in COLUMNS:
        start = [ListEntry(column, 0, "n_steps", "n_steps", -1)] if column == "outer_inp" else []
        for kind in ORDERS[column]:
            for place, variable in enumerate(loop.variables):
                if variable.kind == kind:
                    start += [
                        ListEntry(column, len(start) + k, label, kind, place)
                        for k, label in enumerate(_labels(column, variable))
                    ]
        found[column] = tuple(start)
    return found


def _labels(column: Column, variable: LoopVariableRecord) -> tuple[str, ...]:
    match column:
        case "outer_inp":
            return (_outer_label(variable),)
        case "inner_inp":
            return variable.inner_inputs
        case "inner_out":
            reads = list(zip(variable.reads, variable.inner_inputs, strict=False))
            writes = variable.writes or (0,) * len(variable.inner_outputs)
            return tuple(cell_name(variable.name, write, reads) for write in writes)
        case _:
            return (variable.name,)


def _outer_label(variable: LoopVariableRecord) -> str:
    if variable.kind == "nitsot":
        return f"length of {variable.name}"
    if variable.kind == "sequence" and variable.reads not in ((), (0,)):
        return f"{variable.name}, tap {variable.reads[0]}"
    return variable.name
