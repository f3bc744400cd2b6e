"""Advice about rows of loops: unread rows, rows a gradient could recompute, and the time to store them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from scanviz.profiler.advice.figures import FEWEST, step_ns, whole_ns
from scanviz.profiler.advice.item import LARGE_BYTES, Advice, SourcePlace, advise
from scanviz.profiler.report.units import amount, duration, share, size
from scanviz.record.graphs.graph import LoopVariableRecord, NodeRecord
from scanviz.record.names import given_name

_LAST = re.compile(r"index\[-(\d+):?[,\]]")  # the number of last rows that are read
_MUCH_COPYING = 0.1  # of a step


def rows_kept(place: SourcePlace) -> Iterator[Advice]:
    """Advise on results whose rows are all kept but not read."""
    if place.snapshot is None or place.around is None or place.loop.gradient_of is not None:
        return  # the user cannot change a gradient's loop
    for variable, drawn in zip(place.loop.variables, place.snapshot.variables, strict=False):
        result = drawn.outer_output
        same = (drawn.kind, drawn.name, drawn.keep_last) == (variable.kind, variable.name, None)
        if not same or variable.row_bytes < LARGE_BYTES or variable.read_backwards:
            continue
        if result is None or result in place.around.outputs:
            continue
        readers = [node for node in place.around.nodes if result in node.inputs]
        finding = _unread(readers, variable.kind == "nitsot")
        if finding is not None:
            yield _rows_advice(place, variable, finding)


def _unread(readers: list[NodeRecord], is_free: bool) -> tuple[str, str] | None:
    """Return which few rows of a result are read, and the advice; None if all are needed."""
    lasts = [_LAST.match(reader.op) for reader in readers]
    sizes = [reader for reader in readers if reader.op == "dimension{axis=0}"]
    depth = max((int(last.group(1)) for last in lasts if last), default=0)
    if len(sizes) + sum(last is not None for last in lasts) != len(readers) or depth > 16:
        return None
    if not readers and is_free:
        return "nothing reads them", "Leave it out of what the step returns."
    rows = "" if not depth else "its last row" if depth == 1 else f"its last {depth} rows"
    if sizes:
        rows = f"{rows} and how many there are" if rows else "how many there are"
    return (
        f"only {rows} is read" if rows else "nothing reads them",
        "The rewrites ScanSaveMem and count_steps keep the rows that are read alone: select them, or ask"
        " `scanviz rewrites --why-not ScanSaveMem` what hinders it.",
    )


def _rows_advice(place: SourcePlace, variable: LoopVariableRecord, finding: tuple[str, str]) -> Advice:
    loop = place.loop
    only, todo = finding
    written_bytes = _written_bytes(place, variable.row_bytes)
    rows = max(loop.longest_run, 1)
    gain = round(written_bytes * (1 - min(1.0, 2 / rows))) if written_bytes is not None else None
    how = " Estimate: the memory of the rows that were written, but for two." if gain is not None else ""
    return advise(
        place,
        "rows_kept",
        f"`{loop.name}` keeps all rows of `{variable.name}`, and {only}",
        f"{todo}{how}",
        f"room for {size(variable.row_bytes)} in the largest run, of {amount(rows)} steps",
        gain_bytes=gain,
    )


def _written_bytes(place: SourcePlace, room: int) -> float | None:
    """Return the bytes of rows that were written, which may be fewer in a loop that ended early."""
    if not place.loop.has_until:
        return float(room)
    steps = place.known_steps()
    return None if steps is None else room * min(1.0, place.loop.longest_run / max(steps, 1))


def checkpoints(place: SourcePlace) -> Iterator[Advice]:
    """Advise on loops that keep many bytes for their gradient."""
    loop = place.loop
    kept, steps = loop.kept_bytes, loop.longest_run
    if kept < LARGE_BYTES or steps < 64 or loop.has_until or _is_checkpointed(place):
        return
    left = kept * 2 / math.sqrt(steps)
    names = ", ".join(f"`{variable.name}`" for variable in loop.variables if variable.read_backwards)
    yield advise(
        place,
        "checkpoints",
        f"`{loop.name}` keeps {size(kept)} for its gradient",
        f'scan_checkpoints keeps a state every N steps and computes the rest again. Estimate: with save_every_N="auto" about'
        f" {size(left)} (2·√n rows of n), for the time of one more forward pass: {duration(loop.total_ns)} more"
        f" ({share(loop.total_ns, whole_ns(place.record))} of this run). It saves memory, not time.",
        f"rows of {names}: {size(kept)} in a run of {amount(steps)} steps{_of_peak(place, kept)}",
        gain_bytes=round(kept - left),
    )


def _of_peak(place: SourcePlace, kept: int) -> str:
    """Return the share of the rows in the peak memory of a call, in words, if measured."""
    peak = place.function.measures.get("peak_bytes", 0.0)
    return (
        f"; {share(kept, peak)} of the {size(peak)} that `{place.function.name}` held at most"
        if peak >= kept
        else ""
    )


def _is_checkpointed(place: SourcePlace) -> bool:
    """Return whether scan_checkpoints made a loop."""
    name = given_name(place.loop.name)
    if not name.endswith("_outer"):
        return False
    inner = name.removesuffix("_outer") + "_inner"
    return any(
        loop.parent == place.loop.key and given_name(loop.name) == inner for loop in place.record.loops
    )


def copies(place: SourcePlace) -> Iterator[Advice]:
    """Advise on loops that spend much time on storing rows that no gradient needs."""
    loop = place.loop
    if loop.gradient_of is not None:  # the user cannot change it
        return
    copying = loop.copy_ns if loop.sampled_steps >= FEWEST else 0.0
    spent = min(copying * loop.steps, float(loop.total_ns))
    stored = [
        variable
        for variable in loop.variables
        if variable.row_bytes and variable.keep_last is None and not variable.read_backwards
    ]
    if not place.is_worth(spent) or copying < _MUCH_COPYING * step_ns(place.loop) or not stored:
        return
    largest = max(stored, key=lambda variable: variable.row_bytes)
    yield advise(
        place,
        "copies",
        f"`{loop.name}` spends {share(copying, step_ns(place.loop))} of a step on storing rows",
        f"Most of it is `{largest.name}`: every row is stored. Where not all of them are needed, return a sum or a part"
        " from the step, or read its last row alone (`[-1]`): then no more than that is kept. Estimate: storing in usual steps;"
        " touching new memory for the first time comes on top.",
        f"{duration(copying)} of {duration(step_ns(place.loop))} a step, {amount(loop.steps)} steps; `{largest.name}` takes"
        f" {size(largest.row_bytes)} in the largest run",
        spent,
    )
