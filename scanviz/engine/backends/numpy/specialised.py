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

from scanviz.engine.backends.numpy.compiled import CompiledSource, compile_source
from scanviz.engine.backends.numpy.emit import EMITS
from scanviz.engine.backends.numpy.source import LoopWriter, Variant
from scanviz.engine.program.instructions import LoopInstruction
from scanviz.engine.program.plan import Plan, plan_loop, single
from scanviz.engine.program.shapes import ConcreteShape
from scanviz.engine.program.verify import verify_plan
from scanviz.engine.runtime.events import Watch
from scanviz.engine.runtime.pool import Pool
from scanviz.engine.runtime.rows import StateRows

CACHED = 8  # sets of shapes whose code is kept
MISSES = 24  # after so many, shapes are taken to change all the time
POOLED = 4  # sets of buffers kept between runs: as many threads as can run at once without new ones
_ANY = "any shapes"


@dataclass(slots=True)
class Specialised:
    """Code and buffers for one set of shapes.

    Attributes
    ----------
    plan : Plan
        Where registers live.
    code : dict
        Variant → code.
    buffers : Pool
        Buffers left by earlier runs.
    """

    plan: Plan
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
        self._unread = [k for k, slot in enumerate(loop.states) if not slot.reads]
        self._planned: Plan | None = None
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
        key = (shapes, *(states[k].row_shape for k in self._unread)) if self._unread else shapes
        with self._lock:
            found = self.cache.get(key)
            if found is not None:
                self.cache.move_to_end(key)
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
            self.cache[_ANY if changing else key] = found
            if len(self.cache) > CACHED:
                self.cache.popitem(last=False)
            self.variant(found, "plain")
        if watch is not None:
            why = "the shapes change from run to run" if changing else "generated for the shapes met"
            watch.specialised(self.loop.key, time.perf_counter_ns() - begun, "numpy", why)
        return found

    def _for_shapes(self, shapes: Sequence[ConcreteShape], rows: Sequence[tuple[int, ...]]) -> Specialised:
        known = self._planned  # with the loop around this one
        if known is not None and _is_for(known, self.loop, shapes, rows):
            return Specialised(known)
        return self._planned_for(shapes, rows)

    def take_plan(self, made: Plan) -> None:
        """Take the plan that was made with that of the loop around this one, for the shapes that are met there."""
        self._planned = made

    def _for_any(self) -> Specialised:
        return self._planned_for(None, [None] * len(self.loop.states))

    def _planned_for(
        self, shapes: Sequence[ConcreteShape] | None, rows: Sequence[ConcreteShape]
    ) -> Specialised:
        made = plan_loop(self.loop, shapes, single, EMITS, rows)
        verify_plan(self.loop.body, made)
        for index, (inner, *_) in made.inner.items():
            take = getattr(self.runners[index], "take_plan", None)
            if take is not None:
                take(inner)
        return Specialised(made)

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
            source = LoopWriter(self.loop, made.plan, variant, self.runners).write()
            found = compile_source(
                source.text,
                source.entry,
                source.namespace,
                source.lines,
                source.names,
                f"loop {self.loop.name}",
                steps=True,
            )
            made.code[variant] = found
        return found


def _is_for(made: Plan, loop: LoopInstruction, shapes: Sequence[Any], rows: Sequence[Any]) -> bool:
    """Return whether a plan was made for the shapes of a step's inputs and of the states' rows."""
    planned = [made.places[number].shape for number in loop.body.inputs]
    kept = [made.stores["state", k].row for k in range(len(loop.states))]
    return planned == list(shapes) and kept == list(rows)
