"""Code of a loop as the cache on disk keeps it: the object file, what it is handed, and what a run needs of its plan.

All but the object file is data that nothing runs.

What belongs to one process is told by where it stands in the loop: an instruction by its number and those of the loops and branches
around it, a loop whose runs are counted by its number among those inside, a constant by the program that holds it.  Code that calls
out is not kept so: what it calls, and why, is told while it is written.
"""

from __future__ import annotations

import marshal
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from scanviz.engine.backends.native.arguments import CallArguments, CountedLoop, Path, Site
from scanviz.engine.program.instructions import LoopInstruction, all_loops, programs_in
from scanviz.engine.program.plan import RunMemory

if TYPE_CHECKING:
    from scanviz.engine.backends.native.places import Base

FORMAT = 2  # of `marshal`, which tells the same data by the same bytes, whoever holds them besides
_LENGTH = 8  # bytes that say how long the data are


def to_bytes(loop: LoopInstruction, handed: CallArguments, memory: RunMemory, code: bytes) -> bytes:
    """Return an entry of the cache, for code that calls nothing out."""
    loops = [inside.key for inside, _ in all_loops(loop.body)]
    data = [
        handed.addresses,
        handed.scratch,
        handed.stamped,
        handed.reported,
        [[base, path] for base, path in handed.constants.items()],
        [_site_data(site) for site in handed.sites],
        handed.holds_inside,
        [[loops.index(counted.key), counted.is_timed] for counted in handed.counted],
        # no rows mismatch: there is no code for such a loop
        [memory.buffers, memory.arena, memory.outputs, memory.over],
    ]
    told = marshal.dumps(data, FORMAT)
    return len(told).to_bytes(_LENGTH, "little") + told + code


def from_bytes(loop: LoopInstruction, entry: bytes) -> tuple[CallArguments, RunMemory, bytes] | None:
    """Return what code is handed, what a run needs of the plan, and the object file; None where the entry is no such thing."""
    end = _LENGTH + int.from_bytes(entry[:_LENGTH], "little")
    try:
        addresses, scratch, stamped, reported, constants, sites, holds_inside, counted, needed = (
            marshal.loads(entry[_LENGTH:end])
        )
        handed = CallArguments(
            tuple(map(_base, addresses)),
            scratch,
            tuple(map(tuple, stamped)),
            reported,
            {_base(base): _path(path) for base, path in constants},
            tuple(_site(loop, site) for site in sites),
            (),
            holds_inside,
            _counted(loop, counted),
        )
        memory = _memory(loop, handed, needed)
    except (ValueError, TypeError, LookupError, EOFError):
        return None
    return handed, memory, entry[end:]


def _base(data: Sequence[Any]) -> Base:
    kind, k, tap = data
    return kind, k, tap


def _path(data: Sequence[Sequence[int]]) -> Path:
    return tuple((number, side) for number, side in data)


def _counted(loop: LoopInstruction, data: Sequence[Any]) -> tuple[CountedLoop, ...]:
    loops = [inside for inside, _ in all_loops(loop.body)] if data else []
    return tuple(CountedLoop(loops[number].key, is_timed) for number, is_timed in data)


def _site_data(site: Site) -> Any:
    around = None if site.around is None else _site_data(site.around)
    return [site.number, site.side, site.shapes, around]


def _site(loop: LoopInstruction, data: Any) -> Site:
    number, side, found, outside = data
    shapes = tuple(map(tuple, found))
    if outside is None:
        return Site(loop.body, number, loop, None, side, shapes)
    around = _site(loop, outside)
    inner = around.instruction
    program = programs_in(inner)[side]
    return Site(program, number, inner if isinstance(inner, LoopInstruction) else None, around, side, shapes)


def _memory(loop: LoopInstruction, handed: CallArguments, data: Any) -> RunMemory:
    """Return what a run needs of a plan, or raise where that is not all: code writes into what is made by it."""
    buffers, arena, outputs, over = data
    memory = RunMemory(
        tuple((_shape(shape), np.dtype(dtype).name) for shape, dtype in buffers),
        arena,
        tuple(None if row is None else _shape(row) for row in outputs),
        tuple(over),
    )
    used = [k for kind, k, _ in handed.addresses if kind == "buffer"]
    if (
        type(arena) is not int
        or len(memory.outputs) != len(loop.step_outputs)
        or any(told not in (None, slot.over) for told, slot in zip(over, loop.step_outputs, strict=True))
        or max(used, default=-1) >= len(memory.buffers)
    ):
        raise ValueError("sizes are missing")
    return memory


def _shape(data: Sequence[int]) -> tuple[int, ...]:
    if not all(type(size) is int and size >= 0 for size in data):
        raise ValueError("no shape")
    return tuple(data)


__all__ = ["from_bytes", "to_bytes"]
