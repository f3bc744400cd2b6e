"""The twelve maps between a loop's lists as one table: outer inputs, inner inputs, inner outputs, outer outputs.

Each loop variable has a group of rows; a line joins two entries where a map leads from one to the other.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import Literal

from msgspec import Struct

from scanviz.record.graphs.graph import LoopVariableRecord, cell_name
from scanviz.record.loops import LoopRecord
from scanviz.record.plain_text import sanitize

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
        The list: ``"outer_inp"``, ``"inner_inp"``, ``"inner_out"`` or ``"outer_out"``.
    index : int
        Its place there.
    label : str
        Its name.
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
    >>> h = LoopVariableRecord("sitsot", "h", (-1,), (0,), ("h[t-1]",), ("tanh(h[t-1])",), "h0", "h")
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


HEADINGS = ("outer inputs", "inner inputs", "inner outputs", "outer outputs")
_LONGEST = 30  # characters of a label in text
_LEAST = 6  # characters of a label on the narrowest terminal


class MappingLine(Struct, frozen=True):
    """A line of the table: from an entry of one column to an entry of a column to the right."""

    left: Column
    left_index: int
    right: Column
    right_index: int


class MappingGroup(Struct, frozen=True):
    """The rows of one loop variable.

    Attributes
    ----------
    variable : int
        Its index in the loop, -1 for the number of steps.
    name, kind : str
        Its name and kind.
    cells : tuple of tuple of ListEntry
        Its entries in the four columns.
    """

    variable: int
    name: str
    kind: str
    cells: tuple[tuple[ListEntry, ...], ...]


class MappingsTable(Struct, frozen=True):
    """A loop's four lists and the lines between them.

    Attributes
    ----------
    loop : str
        The loop's name.
    groups : tuple of MappingGroup
        In the order of the outer inputs.
    lines : tuple of MappingLine
        Between any two columns; those of neighbouring columns are drawn.
    """

    loop: str
    groups: tuple[MappingGroup, ...]
    lines: tuple[MappingLine, ...]

    def entries(self, column: Column) -> tuple[ListEntry, ...]:
        """Return one column, in order."""
        place = COLUMNS.index(column)
        return tuple(
            sorted((e for g in self.groups for e in g.cells[place]), key=lambda list_entry: list_entry.index)
        )

    def as_text(self, width: int | None = None) -> str:
        """Return the table as sanitised text.

        Parameters
        ----------
        width : int, optional
            Columns that it should fit: labels become shorter, down to 6 characters.  By default the table is as wide as it is.
        """
        for longest in range(_LONGEST, _LEAST - 1, -1):
            text = _text_of(self, longest)
            if width is None or max(map(len, text.split("\n"))) <= width:
                break
        return text


def _text_of(table: MappingsTable, longest: int) -> str:
    """Return the table as text, with labels cut to a length."""
    rows, joints, drawn = [list(HEADINGS)], [[""] * 4], frozenset(table.lines)
    for group in table.groups:
        for k, cells in enumerate(zip_longest(*group.cells)):
            rows.append([_cell(cell, longest) for cell in cells])
            joints.append([*(_joint(group, drawn, column, k) for column in range(3)), ""])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [f"loop {sanitize(table.loop)}"]
    for row, joint in zip(rows, joints, strict=True):
        cells_of = zip(row, joint, widths, strict=True)
        lines.append("".join(f"{cell:<{wide}} {line:3} " for cell, line, wide in cells_of).rstrip())
    return "".join(f"{line}\n" for line in lines)


def mappings_table(loop: LoopRecord) -> MappingsTable:
    """Return the twelve maps of a loop as one table.

    Parameters
    ----------
    loop : LoopRecord
        A loop of a profile.

    Examples
    --------
    >>> from scanviz.record.graphs.graph import LoopVariableRecord
    >>> h = LoopVariableRecord("sitsot", "h", (-1,), (0,), ("h[t-1]",), ("tanh(h[t-1])",), "h0", "h")
    >>> maps = {"inner_inp_from_outer_inp": {"0": (), "1": (0,)}, "inner_out_from_inner_inp": {"0": (0,)}}
    >>> maps["outer_out_from_inner_out"] = {"0": (0,)}
    >>> table = mappings_table(LoopRecord(1, 1, None, "rnn", None, variables=(h,), var_mappings=maps))
    >>> print(table.as_text(), end="")
    loop rnn
    outer inputs     inner inputs     inner outputs     outer outputs
    0 n_steps
    1 h          ─── 0 h[t-1]     ─── 0 h[t]        ─── 0 h
    """
    lists = entries_of(loop)
    groups = []
    for first in lists["outer_inp"]:
        cells = tuple(
            tuple(list_entry for list_entry in lists[column] if list_entry.variable == first.variable)
            for column in COLUMNS
        )
        name = loop.variables[first.variable].name if first.variable >= 0 else "n_steps"
        groups.append(MappingGroup(first.variable, name, first.kind, cells))
    return MappingsTable(loop.name, tuple(groups), _lines(loop, {k: len(v) for k, v in lists.items()}))


def _lines(loop: LoopRecord, sizes: dict[Column, int]) -> tuple[MappingLine, ...]:
    """Return the lines of the maps, each once; a map gives the indices in another list for an index."""
    found: dict[MappingLine, None] = {}
    for a, left in enumerate(COLUMNS):
        for right in COLUMNS[a + 1 :]:
            pairs = [(i, j) for i, js in _read(loop, f"{right}_from_{left}") for j in js]
            pairs += [(i, j) for j, indices in _read(loop, f"{left}_from_{right}") for i in indices]
            for i, j in sorted(set(pairs)):
                if 0 <= i < sizes[left] and 0 <= j < sizes[right]:
                    found[MappingLine(left, i, right, j)] = None
    return tuple(found)


def _read(loop: LoopRecord, name: str) -> list[tuple[int, tuple[int, ...]]]:
    entries = loop.var_mappings.get(name, {})
    return [(int(index), found) for index, found in entries.items() if index.isdecimal()]


def _cell(entry: ListEntry | None, longest: int) -> str:
    if entry is None:
        return ""
    label = sanitize(entry.label)
    return f"{entry.index} " + (label if len(label) <= longest else label[: longest - 1] + "…")


def _joint(group: MappingGroup, drawn: frozenset[MappingLine], column: int, row: int) -> str:
    """Return the line between two neighbouring columns in one row of a group."""
    left, right = group.cells[column], group.cells[column + 1]
    joined = {
        (i, j)
        for i, a in enumerate(left)
        for j, b in enumerate(right)
        if MappingLine(a.column, a.index, b.column, b.index) in drawn
    }
    if not joined or row >= max(len(left), len(right)):
        return ""
    last = max(max(pair) for pair in joined)
    if last == 0:
        return "───" if row == 0 else ""
    from_left = "─" if any(i == row for i, _ in joined) else " "
    to_right = "─" if any(j == row for _, j in joined) else " "
    if row > last:
        return ""
    return from_left + _corner(from_left == "─", to_right == "─", row > 0, row < last) + to_right


def _corner(left: bool, right: bool, up: bool, down: bool) -> str:
    signs = {
        (False, False): "│",
        (True, False): "┐┘┤",
        (False, True): "┌└├",
        (True, True): "┬┴┼",
    }[left, right]
    if len(signs) == 1:
        return signs
    return signs[2] if up and down else signs[1] if up else signs[0]
