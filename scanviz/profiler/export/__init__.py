"""Profiles in the formats of other tools: one file a format, one line each in ``FORMATS``.

A format turns a record into named pieces of bytes and touches no file; the command writes them.  What has only totals and a sample
of steps cannot show when something happened, so formats with a time axis lay times out to scale and say so (``frames.py``,
``timeline.py``).
"""

from __future__ import annotations

import importlib
from typing import NamedTuple

from scanviz.record.model import ProfileRecord


class Format(NamedTuple):
    """A format.

    Attributes
    ----------
    suffix : str
        How names of its files end.
    about : str
        What reads it.
    tables : bool
        Whether it is made of several tables, a file each.
    """

    suffix: str
    about: str
    tables: bool = False


FORMATS = {
    "chrome": Format(".trace.json", "Trace Event JSON: Perfetto's page, chrome://tracing, speedscope"),
    "perfetto": Format(".perfetto-trace", "Perfetto's own binary trace: ui.perfetto.dev, trace_processor"),
    "speedscope": Format(
        ".speedscope.json", "speedscope.app: flame graph, and the recorded steps of each loop"
    ),
    "collapsed": Format(
        ".collapsed.txt", "stacks and nanoseconds, a line each: flamegraph.pl, inferno, speedscope"
    ),
    "json": Format(".json", "the whole record, as docs/profile-format.md describes it"),
    "csv": Format(".csv", "tables: run, functions, loops, operations, variables, steps", tables=True),
    "parquet": Format(".parquet", "the same tables with types, for pandas, polars and DuckDB", tables=True),
}


def export(record: ProfileRecord, name: str) -> dict[str, bytes]:
    r"""Return a record in another format.

    Parameters
    ----------
    record : ProfileRecord
        What to export.
    name : str
        One of ``FORMATS``.

    Returns
    -------
    dict of str to bytes
        Contents by table; the name of the only piece of a format without tables is empty.

    Raises
    ------
    MissingLibraryError
        If the format needs a package that is not installed.

    Examples
    --------
    >>> from scanviz.record.model import ProfileRecord
    >>> export(ProfileRecord(script="rnn.py", wall_ns=12), "collapsed")
    {'': b"rnn.py 0\nrnn.py;the script's own time 12\n"}
    """
    module = importlib.import_module(f"scanviz.profiler.export.{name}_format")
    pieces: dict[str, bytes] = module.export(record)
    return pieces


class MissingLibraryError(Exception):
    """A format needs a package that is not installed; the message says how to get it."""


__all__ = ["FORMATS", "Format", "MissingLibraryError", "export"]


def __dir__() -> list[str]:
    return sorted(__all__)
