"""A speedscope file: the run as weighted stacks, and each loop's recorded steps in order.

Written from speedscope's published JSON schema (https://www.speedscope.app/file-format-schema.json).  All profiles are of
type ``sampled``: a stack with a weight in nanoseconds each.  What a reader has to know about time stands in the names of
the profiles, which speedscope shows.
"""

from __future__ import annotations

import json
from typing import Any

from scanviz.profiler.export.frames import WHOLE, StackFrame, clear, frames_of, stacks
from scanviz.record.model import LoopRecord, ProfileRecord, SourceRecord

_SCHEMA = "https://www.speedscope.app/file-format-schema.json"


class _Frames:
    """The table of distinct frames, to which stacks refer by number."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self._numbers: dict[tuple[str, str, int], int] = {}

    def number(self, name: str, source: SourceRecord | None = None) -> int:
        key = (name, "", 0) if source is None else (name, source.file, source.line)
        if key not in self._numbers:
            self._numbers[key] = len(self.rows)
            row: dict[str, Any] = {"name": name}
            if source is not None:
                row |= {"file": source.file, "line": source.line}
            self.rows.append(row)
        return self._numbers[key]


def export(record: ProfileRecord) -> dict[str, bytes]:
    """Return the file."""
    frames = _Frames()
    root = frames_of(record)
    samples, weights = [], []
    loops: list[tuple[StackFrame, LoopRecord]] = []
    for stack, own in stacks(root):
        innermost = stack[-1]
        if innermost.loop is not None and len(innermost.loop.series):
            loops.append((innermost, innermost.loop))
        if own > 0:
            samples.append([frames.number(stack_frame.name, stack_frame.source) for stack_frame in stack])
            weights.append(own)
    profiles = [_profile(f"{root.name}, {WHOLE}", samples, weights)]
    profiles += [_steps(frame, loop, frames) for frame, loop in loops]
    document = {
        "$schema": _SCHEMA,
        "name": root.name,
        "exporter": f"scanviz@{clear(record.scanviz)}",
        "activeProfileIndex": 0,
        "shared": {"frames": frames.rows},
        "profiles": profiles,
    }
    return {"": json.dumps(document, separators=(",", ":"), allow_nan=False).encode() + b"\n"}


def _profile(name: str, samples: list[list[int]], weights: list[int]) -> dict[str, Any]:
    return {
        "type": "sampled",
        "name": name,
        "unit": "nanoseconds",
        "startValue": 0,
        "endValue": sum(weights),
        "samples": samples,
        "weights": weights,
    }


def _steps(frame: StackFrame, loop: LoopRecord, frames: _Frames) -> dict[str, Any]:
    """Return the recorded steps of a loop, grouped by run."""
    samples, weights = [], []
    outer = frames.number(frame.name, frame.source)
    for timed_steps in loop.timed():
        samples.append([outer, frames.number(f"run {timed_steps.run}"), frames.number(timed_steps.words)])
        weights.append(timed_steps.total_ns)
    return _profile(f"steps of {frame.name}: a sample, gaps left out", samples, weights)
