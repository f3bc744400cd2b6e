"""Tables as CSV (RFC 4180): UTF-8, one heading line, cells without a value empty, ``true`` and ``false``.

Text that begins with ``=``, ``+``, ``-`` or ``@``, which a spreadsheet would take for a formula, gets a ``'`` before it.  OWASP's
page on CSV injection advises this: names come from scripts of unknown authors.
"""

from __future__ import annotations

import csv
import io

from scanviz.profiler.export.tables import TABLES, Cell
from scanviz.record.model import ProfileRecord

_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")


def export(record: ProfileRecord) -> dict[str, bytes]:
    """Return the tables."""
    found = {}
    for name, table in TABLES.items():
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\r\n")
        writer.writerow(table.columns)
        writer.writerows([_cell(cell) for cell in row] for row in table.rows(record))
        found[name] = text.getvalue().encode()
    return found


def _cell(value: Cell) -> Cell:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str) and value.lstrip().startswith(_FORMULA) and not _is_numbers(value):
        return f"'{value}"
    return value


def _is_numbers(text: str) -> bool:
    """Return whether a cell holds only numbers, such as taps ``-1 0``."""
    return all(word.removeprefix("-").isdecimal() for word in text.split())
