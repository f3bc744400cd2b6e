"""Tables as Parquet, through pyarrow (``pip install 'scanviz[parquet]'``)."""

from __future__ import annotations

from typing import Any

from scanviz.profiler.export import MissingLibraryError
from scanviz.profiler.export.tables import TABLES, Table
from scanviz.record.model import ProfileRecord


def export(record: ProfileRecord) -> dict[str, bytes]:
    """Return the tables."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingLibraryError(
            "the parquet format needs pyarrow: pip install 'scanviz[parquet]'  (csv needs nothing)"
        ) from None
    return {name: _packed(pyarrow, table, record) for name, table in TABLES.items()}


def _packed(pyarrow: Any, table: Table, record: ProfileRecord) -> bytes:
    types = {
        int: pyarrow.int64(),
        float: pyarrow.float64(),
        str: pyarrow.string(),
        bool: pyarrow.bool_(),
    }
    columns = list(zip(*table.rows(record), strict=True)) or [()] * len(table.columns)
    arrays = [
        pyarrow.array(column, types[kind])
        for column, kind in zip(columns, table.columns.values(), strict=True)
    ]
    sink = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(pyarrow.table(arrays, names=list(table.columns)), sink)
    packed: bytes = sink.getvalue().to_pybytes()
    return packed
