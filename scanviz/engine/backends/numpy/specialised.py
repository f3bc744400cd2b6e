"""A loop's generated code for the shapes met: planned, written and cached.

Code is kept for the last few sets of shapes and never depends on the number of steps.  A loop that keeps meeting new shapes
gets code made for no shapes in particular, which checks each row as it is stored.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from scanviz.engine.backends.base import Watch
from scanviz.engine.backends.buffers import StateRows
from scanviz.engine.backends.numpy.compiled import CompiledSource, compile_source
from scanviz.engine.backends.numpy.emit import overwrites, writes
from scanviz.engine.backends.numpy.pool import Pool
from scanviz.engine.backends.numpy.source import LoopWriter, Variant
from scanviz.engine.program.instructions import LoopInstruction, StateSlot
from scanviz.engine.program.shapes import ConcreteShape, propagate_shapes
from scanviz.engine.program.specialise import MemoryPlan, specialise
from scanviz.engine.program.verify import verify_plan

CACHED = 8  # sets of shapes whose code is kept
MISSES = 24  # after so many, shapes are taken to change all the time
POOLED = 4  # sets of buffers kept between runs: as many threads as can run at once without new ones
_ANY = "any shapes"


@dataclass(slots=True)
class Specialised:
    """Code and buffers for one set of shapes.

    Attributes
    ----------
    plan : MemoryPlan
        Where registers live.
    checked : set
        Slots whose rows are checked as they are stored.
    mismatch : tuple or None
        A state that cannot have its rows' shape, with both shapes: raised when a step is run.
    code : dict
        Variant → code.
    buffers : Pool
        Buffers left by earlier runs.
    """

    plan: MemoryPlan
    checked: set[tuple[str, int]]
    mismatch: tuple[StateSlot, tuple[int, ...], tuple[int, ...]] | None = None
    code: dict[Variant, CompiledSource] = field(default_factory=dict)
    buffers: Pool[list[Any]] = field(init=False)

    def __post_init__(self) -> None:
        self.buffers = Pool(self._new_buffers, POOLED)

    def _new_buffers(self) -> list[Any]:
        return [np.empty(shape, dtype) for shape, dtype in self.plan.buffers]


class LoopCode:
    """The code of one loop by shapes of a step's inputs.

    Parameters
    ----------
    loop : LoopInstruction
        The loop.
    runners : dict
        What runs the loops and branches inside the step, by index of the instruction.
    """

    def __init__(self, loop: LoopInstruction, runners: dict[int, Any]) -> None:
        self.loop, self.runners = loop, runners
        self.cache: OrderedDict[object, Specialised] = OrderedDict()
        self.misses = 0
        self._lock = threading.RLock()

    def get(self, shapes: tuple[Any, ...], states: Sequence[StateRows], watch: Watch | None) -> Specialised:
        """Return the code for shapes, making it where they are new.

        Parameters
        ----------
        shapes : tuple of shape
            Of the body's inputs.
        states : sequence of StateRows
            The rows of each state.
        watch : Watch or None
            Is told of new code.
        """
        with self._lock:
            found = self.cache.get(shapes)
            if found is not None:
                self.cache.move_to_end(shapes)
                return found
            begun = time.perf_counter_ns()
            self.misses += 1
            changing = self.misses > MISSES
            if changing and _ANY in self.cache:
                self.cache.move_to_end(_ANY)
                return self.cache[_ANY]
            found = (
                self._for_any() if changing else self._for_shapes(shapes, [each.row_shape for each in states])
            )
            self.cache[_ANY if changing else shapes] = found
            if len(self.cache) > CACHED:
                self.cache.popitem(last=False)
            self.variant(found, "plain")
        if watch is not None:
            why = "the shapes change from run to run" if changing else "generated for the shapes met"
            watch.specialised(self.loop.key, time.perf_counter_ns() - begun, "numpy", why)
        return found

    def _for_shapes(self, shapes: Sequence[ConcreteShape], rows: Sequence[tuple[int, ...]]) -> Specialised:
        loop = self.loop
        known = propagate_shapes(loop.body, shapes)
        straight: dict[tuple[str, int], tuple[int, ...]] = {}
        checked: set[tuple[str, int]] = set()
        mismatch = None
        for k, (slot, row) in enumerate(zip(loop.states, rows, strict=True)):
            straight["state", k] = row
            for _, number in slot.writes:
                shape = known[number]
                if shape is None:
                    checked.add(("state", k))
                elif shape != row and mismatch is None:
                    mismatch = (slot, row, shape)
        for k, output in enumerate(loop.step_outputs):
            shape = known[output.inner]
            if shape is None:
                checked.add(("output", k))
            elif output.result is not None:
                straight["output", k] = shape
        for slot_key in checked:
            straight.pop(slot_key, None)
        plan = specialise(loop, shapes, {} if mismatch else straight, writes, overwrites)
        verify_plan(loop.body, plan)
        return Specialised(plan, checked, mismatch)

    def _for_any(self) -> Specialised:
        plan = specialise(self.loop, [None] * len(self.loop.body.inputs), {}, writes, overwrites)
        verify_plan(self.loop.body, plan)
        slots = {("state", k) for k in range(len(self.loop.states))}
        slots |= {("output", k) for k in range(len(self.loop.step_outputs))}
        return Specialised(plan, slots)

    def all_made(self) -> list[Specialised]:
        """Return what is kept, for all shapes."""
        with self._lock:
            return list(self.cache.values())

    def variant(self, made: Specialised, variant: Variant) -> CompiledSource:
        """Return one variant of the code, written when first needed."""
        found = made.code.get(variant)
        return found if found is not None else self._written(made, variant)

    def _written(self, made: Specialised, variant: Variant) -> CompiledSource:
        with self._lock:
            found = made.code.get(variant)
            if found is not None:
                return found
            source = LoopWriter(self.loop, made.plan, variant, made.checked, self.runners).write()
            found = compile_source(
                source.text,
                source.entry,
                source.namespace,
                source.lines,
                source.names,
                f"loop {self.loop.name}",
            )
            made.code[variant] = found
        return found
