"""Trace Event JSON, the format of ``chrome://tracing``: begin and end events on named threads.

Written from the public document "Trace Event Format" (Nat Duca, Dan Sinclair): ``ts`` is microseconds, the events of a
thread stand in order of time and nest, and metadata events name process and threads.  Complete events (``X``) would be
shorter, but readers add their start and length in floating point: slices that end together then overlap by a rounding
error.  Ends are written out here, so equal times are equal numbers.
"""

from __future__ import annotations

import json
from typing import Any

from scanviz.profiler.export.frames import LAYOUT, StackFrame, clear, edges, tracks_of
from scanviz.record.model import ProfileRecord

_PROCESS = 1


def export(record: ProfileRecord) -> dict[str, bytes]:
    """Return the trace."""
    tracks = tracks_of(record)
    events = [_named("process_name", 1, name=clear(record.script, "run"))]
    for thread, track in enumerate(tracks, 1):
        events.append(_named("thread_name", thread, name=track.name))
        events.append(_named("thread_sort_index", thread, sort_index=thread))
    for thread, track in enumerate(tracks, 1):
        events.extend(_event(*edge, thread) for edge in edges(track))
    document = {
        "traceEvents": events,
        "displayTimeUnit": "ns",
        "otherData": {
            "layout": LAYOUT,
            "scanviz": clear(record.scanviz),
            "script": clear(record.script),
            "started": clear(record.started),
            "machine": clear(record.machine),
            "detail": record.detail,
        },
    }
    return {"": json.dumps(document, separators=(",", ":"), allow_nan=False).encode() + b"\n"}


def _named(what: str, thread: int, **arguments: Any) -> dict[str, Any]:
    return {"ph": "M", "pid": _PROCESS, "tid": thread, "name": what, "args": arguments}


def _event(frame: StackFrame, time: int, begins: bool, thread: int) -> dict[str, Any]:
    event: dict[str, Any] = {
        "ph": "B" if begins else "E",
        "pid": _PROCESS,
        "tid": thread,
        "ts": time / 1000,
        "name": frame.name,
        "cat": frame.kind,
    }
    if begins:
        facts: dict[str, int | str] = dict(frame.facts)
        if frame.source is not None:
            facts |= {"line": str(frame.source), "text": frame.source.text}
        event["args"] = facts
    return event
