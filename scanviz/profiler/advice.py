"""Advice: what a record gives reason to change, with an estimate from its own figures.

Each rule looks for one thing, and says nothing where the record has no evidence for it or where it costs less than 2 % of the
run.  Gains are estimates, each with how it was made in its text; those of several pieces of advice don't add up where they are
about the same loop.
"""

from __future__ import annotations

from collections.abc import Iterator

from scanviz.profiler import advice_run
from scanviz.profiler.advice_item import Advice, places
from scanviz.profiler.advice_rules import MEMORY_RULES, RULES
from scanviz.record.model import ProfileRecord


def advice_of(record: ProfileRecord) -> list[Advice]:
    """Return what a record gives reason to change, the largest gain first.

    Parameters
    ----------
    record : ProfileRecord
        The run.

    Returns
    -------
    list of Advice
        By estimated time, then by estimated memory, then those without a figure; empty where there is nothing to say.

    Examples
    --------
    >>> advice_of(ProfileRecord(script="rnn.py"))
    []
    """
    return sorted(_all(record), key=lambda each: (-(each.gain_ns or 0.0), -(each.gain_bytes or 0)))


def _all(record: ProfileRecord) -> Iterator[Advice]:
    found = list(places(record))
    for place in found:
        for rule in (*RULES, *MEMORY_RULES):
            yield from rule(place)
    for of_run in advice_run.RULES:
        yield from of_run(record)
    yield from advice_run.unnamed(record, found)
    yield from advice_run.recording(record)


__all__ = ["Advice", "advice_of"]
