"""Python side of callouts, and errors of instructions in machine code."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from scanviz.engine.backends.native.emit.call_arguments import Callout, Site
from scanviz.engine.backends.other_tier import OtherTierRunner
from scanviz.engine.errors import InternalError
from scanviz.engine.graph.nodes import Array
from scanviz.engine.program.instructions import Instruction, dtype_of
from scanviz.engine.runtime.arena import LoopArena

if TYPE_CHECKING:
    from scanviz.engine.backends.native.emit.places import ArrayPlace, Base
    from scanviz.engine.backends.native.run.stamps import NativeRecord
    from scanviz.engine.observation.probe import Probe

Runners = Mapping[int, Any]  # the runners of inner loops and branches, by index
Perform = Callable[[Sequence[Any], "Probe | None"], Sequence[Any]]
Finder = Callable[[int], Array]
Addresses = ctypes.Array[ctypes.c_int64]
_NONE = np.empty(0)
_ROWS = frozenset({"sequence", "state", "output"})
_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)


def perform_of(site: Site, runners: Runners) -> Perform:
    """Return the function that performs a called out instruction; ``runners`` are those of the outermost step."""
    instruction = site.instruction
    if isinstance(instruction, Instruction):
        return lambda values, probe: instruction.op.perform(values)
    runner: Perform = _runners_of(site, runners)[site.number]
    return runner


def _runners_of(site: Site, runners: Runners) -> Runners:
    """Return the runners of the program that a site is in."""
    if site.around is None:
        return runners
    around = _runners_of(site.around, runners)[site.around.number]
    if isinstance(around, OtherTierRunner):  # mode="native" inside a loop of another mode
        around = around.runner
    found: Runners = around.sides[site.side][0].runners if site.loop is None else around.runners
    return found


class Calls:
    """Callouts of native code during one run.

    Parameters
    ----------
    called : sequence of (Callout, callable)
        The callouts of the code, with the functions that perform them.
    arena : LoopArena
        The arena of the run.
    bases : mapping
        The arrays whose addresses are arguments.

    Attributes
    ----------
    address : int
        The address of the function that the code calls.
    error : BaseException or None
        The error that was raised.
    failed : Callout or None
        The callout that raised it.
    values : list
        The values it had read.
    """

    def __init__(
        self, called: Sequence[tuple[Callout, Perform]], arena: LoopArena, bases: Mapping[Base, Array]
    ) -> None:
        self._called, self._probe, self._bases = called, arena.probe, bases
        self._record: NativeRecord | None = arena.record
        self._finders: dict[int, tuple[Addresses, list[Finder]]] = {}
        self._function = _FUNCTION(self._perform)
        self.address = ctypes.cast(self._function, ctypes.c_void_p).value or 0
        self.error: BaseException | None = None
        self.failed: Callout | None = None
        self.values: list[Any] = []

    def _perform(self, number: int, step: int, table: int) -> int:
        """Perform an instruction on the arrays whose addresses are at ``table``; return 0, or 1 if it failed."""
        callout, perform = self._called[number]
        values: list[Any] = []
        try:
            known = self._finders.get(number) or self._find_arrays(number, table)
            arrays = [look(address) for look, address in zip(known[1], known[0], strict=True)]
            count = len(callout.inputs)
            values = [array if array.shape else array[()] for array in arrays[:count]]
            results = perform(values, self._probe)
            if self._record is not None:
                self._record.note()
            if len(results) > 1:  # a result may be a view of what another result overwrites
                results = [np.array(result) for result in results]
            for target, result in zip(arrays[count:], results, strict=True):
                if result.shape != target.shape:
                    raise InternalError(f"an operation gave the shape {result.shape}, not {target.shape}")
                target[...] = result
        except BaseException as error:
            self.error, self.failed = error, callout
            self.values = [np.array(value) for value in values]
            return 1
        return 0

    def _find_arrays(self, number: int, table: int) -> tuple[Addresses, list[Finder]]:
        """Return the table of an instruction's addresses, and the functions that find its arrays."""
        callout = self._called[number][0]
        places = (*callout.inputs, *callout.outputs)
        addresses = (ctypes.c_int64 * len(places)).from_address(table)
        found = self._finders[number] = addresses, [self._finder(place) for place in places]
        return found

    def _finder(self, place: ArrayPlace) -> Finder:
        """Return a function that finds the array at an address; arrays at fixed addresses are made once."""
        rows = self._bases.get((*place.base[:2], 0)) if place.base[0] in _ROWS else None
        if rows is not None and rows.shape[1:] == place.shape and rows.strides[1:] == place.strides:
            start, step = rows.__array_interface__["data"][0], rows.strides[0] or 1
            return lambda address: rows[(address - start) // step]
        made: list[tuple[int, Array]] = [(0, _NONE)]

        def look(address: int) -> Array:
            if made[0][0] != address:
                made[0] = address, array_at(address, place)
            return made[0][1]

        return look


def array_at(address: int, place: ArrayPlace) -> Array:
    """Return the array whose first element is at an address."""
    dtype = np.dtype(place.dtype)
    if 0 in place.shape:
        return np.empty(place.shape, dtype)
    ends = [(size - 1) * step for size, step in zip(place.shape, place.strides, strict=True)]
    low, high = sum(min(0, end) for end in ends), sum(max(0, end) for end in ends)
    memory: Any = (ctypes.c_char * (high - low + dtype.itemsize)).from_address(address + low)
    return np.ndarray(place.shape, dtype, memory, -low, place.strides)


def put_error(arena: LoopArena, calls: Calls | None, sites: Sequence[Site], report: Sequence[int]) -> int:
    """Put the error that ended a run into the arena; return the instruction of the outermost step.

    Parameters
    ----------
    arena : LoopArena
        The arena of the run.
    calls : Calls or None
        The callouts of the run.
    sites : sequence of Site
        The sites of the code.
    report : sequence of int
        The code's report: the site, or -1 for a callout; the steps of all loops around it; numbers it read.
    """
    from scanviz.engine.runtime.errors import Failure, in_words  # few runs fail

    if calls is not None and calls.failed is not None and calls.error is not None:
        if not isinstance(calls.error, Exception):
            raise calls.error
        site, error, values = sites[calls.failed.site], calls.error, tuple(calls.values)
        steps = list(report[1:])
    else:
        site = sites[report[0]]
        depth = _depth(site)
        steps = list(report[1 : 1 + depth])
        error, values = _stand_in_error(site, report[1 + depth :])
    depth = _depth(site)
    while site.around is not None:
        step = steps[depth - 1] if site.loop is not None else None
        depth -= site.loop is not None
        failure = Failure(site.number, step, values)
        worded = in_words(error, site.program, failure, site.loop)
        error = worded if isinstance(worded, Exception) else error
        site, values = site.around, ()
    arena.error, arena.error_values = error, values
    return site.number


def runs_ended(calls: Calls | None, sites: Sequence[Site], report: Sequence[int]) -> list[tuple[int, int]]:
    """Return the inner runs that an error ended, innermost first: (key of the loop, steps done).

    Parameters
    ----------
    calls, sites, report
        As :func:`put_error` takes them.
    """
    called = calls is not None and calls.failed is not None
    site: Site | None = sites[calls.failed.site if called else report[0]]  # type: ignore[union-attr]  # only called when it exists
    found = []
    while site is not None and site.around is not None:
        if site.loop is not None:
            found.append((site.loop.key, report[_depth(site)]))
        site = site.around
    return found


def _depth(site: Site) -> int:
    """Return the number of loops around a site."""
    above = 0 if site.around is None else _depth(site.around)
    return above + (site.loop is not None)


def _stand_in_error(site: Site, numbers: Sequence[int]) -> tuple[Exception, tuple[Any, ...]]:
    """Return NumPy's error of an instruction on stand-ins of its arrays, and the values."""
    instruction = site.instruction
    assert isinstance(instruction, Instruction)
    stand_ins = [
        np.broadcast_to(np.zeros((), dtype_of(site.program, number)), shape)
        for number, shape in zip(instruction.inputs, site.shapes, strict=False)
    ]
    values = (*stand_ins, *map(np.int64, numbers[: len(instruction.inputs) - len(stand_ins)]))
    try:
        instruction.op.perform(values)
    except Exception as error:
        return error, values
    return InternalError(f"native code refused `{instruction.op.name}`, which NumPy does"), values
