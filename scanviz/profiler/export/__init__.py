"""Profiles in the formats of other tools: one file a format, one line each in ``FORMATS``.

A format turns a record into named pieces of bytes and touches no file; the command writes them.  Totals and a sample of steps
have no points in time, so formats with a time axis lay times out to scale, with a note (``frames.py``, ``timeline.py``).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import NamedTuple

from scanviz.plugins import PluginFailure, plugins
from scanviz.record.model import ProfileRecord


class Format(NamedTuple):
    """A format.

    Attributes
    ----------
    suffix : str
        Suffix of its files.
    about : str
        Tools that read it.
    tables : bool
        Whether it has several tables, a file each.
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
    "json": Format(".json", "the whole record, as docs/reference/profile-format.md describes it"),
    "csv": Format(".csv", "tables: run, functions, loops, operations, variables, steps", tables=True),
    "parquet": Format(".parquet", "the same tables with types, for pandas, polars and DuckDB", tables=True),
}


def formats() -> tuple[dict[str, Format], list[str]]:
    """Return all formats by name, with those of plug-ins, and messages about plug-ins that failed to load."""
    found, failed = dict(FORMATS), list[str]()
    for name in plugins("scanviz.exports"):
        try:
            found.setdefault(name, format_named(name))
        except PluginFailure as failure:
            failed.append(str(failure))
    return found, failed


def format_named(name: str) -> Format:
    """Return the format of a name, one of ``FORMATS`` or of a plug-in.

    Raises
    ------
    PluginFailure
        If another distribution has it, and it cannot be loaded.
    KeyError
        If there is none.
    """
    if name in FORMATS:
        return FORMATS[name]
    return _of_another_distribution(name)[0]


def _of_another_distribution(name: str) -> tuple[Format, Callable[[ProfileRecord], dict[str, bytes]]]:
    """Return a plug-in's format and its writer: ``FORMAT`` and ``export`` of its module."""
    plugin = plugins("scanviz.exports")[name]
    module = plugin.load()
    form, write = getattr(module, "FORMAT", None), getattr(module, "export", None)
    if not isinstance(form, Format) or not callable(write):
        raise PluginFailure(
            plugin.failed(f"{plugin.value} has no FORMAT, a Format, or no function export(record)")
        )
    return form, write


def export(record: ProfileRecord, name: str) -> dict[str, bytes]:
    r"""Return a record in another format.

    Parameters
    ----------
    record : ProfileRecord
        The record.
    name : str
        One of ``FORMATS``, or a plug-in's.

    Returns
    -------
    dict of str to bytes
        Contents by table; the key is empty for formats without tables.

    Raises
    ------
    MissingLibraryError
        If the format needs a package that is not installed.
    PluginFailure
        If another distribution has the format, and it cannot be loaded.
    KeyError
        If there is no such format.

    Examples
    --------
    >>> from scanviz.record.model import ProfileRecord
    >>> export(ProfileRecord(script="rnn.py", wall_ns=12), "collapsed")
    {'': b"rnn.py 0\nrnn.py;the script's own time 12\n"}
    """
    if name not in FORMATS:
        return _of_another_distribution(name)[1](record)
    module = importlib.import_module(f"scanviz.profiler.export.{name}_format")
    pieces: dict[str, bytes] = module.export(record)
    return pieces


class MissingLibraryError(Exception):
    """A format needs a package that is not installed; the message has the command to install it."""


__all__ = ["FORMATS", "Format", "MissingLibraryError", "PluginFailure", "export", "format_named", "formats"]


def __dir__() -> list[str]:
    return sorted(__all__)
