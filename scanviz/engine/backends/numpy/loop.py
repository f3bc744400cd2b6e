"""Running a loop by generated code: code by shapes of a step's inputs, buffers by call, chunks when watched.

Code is cached for the last few sets of shapes and never depends on the number of steps.  A loop that keeps meeting new
shapes runs code made for no shapes in particular.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from scanviz.engine.backends.base import Watch
from scanviz.engine.backends.buffers import ArrayModule, OutputRows, StateRows, check_sequences, count_steps
from scanviz.engine.backends.errors import changed_shape, translate
from scanviz.engine.backends.interpreter import row_shape_without_steps
from scanviz.engine.backends.numpy.compiled import CompiledSource, compile_source, failing_line
from scanviz.engine.backends.numpy.emit import dtype_of, overwrites, writes
from scanviz.engine.backends.numpy.source import LoopWriter, Variant, stamps_a_step
from scanviz.engine.backends.numpy.watched import run_watched
from scanviz.engine.program.instructions import BranchInstruction, Instruction, LoopInstruction
from scanviz.engine.program.shapes import ConcreteShape
from scanviz.engine.program.specialise import MemoryPlan, is_scalar, specialise
from scanviz.engine.program.verify import verify_plan

CACHED = 8  # sets of shapes whose code is kept
MISSES = 24  # after so many, shapes are taken to change all the time
_HOST = ArrayModule()


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
        A state or output that cannot have its rows' shape: raised when a step is run.
    """

    plan: MemoryPlan
    checked: set[tuple[str, int]]
    mismatch: tuple[Any, tuple[int, ...], tuple[int, ...]] | None
    code: dict[str, CompiledSource] = field(default_factory=dict)
    pool: list[list[Any]] = field(default_factory=list)

    def scratch(self) -> list[Any]:
        """Return the buffers of one run: those left by an earlier run, or new ones."""
        try:
            return self.pool.pop()
        except IndexError:
            return [np.empty(shape, dtype) for shape, dtype in self.plan.buffers]


class LoopRunner:
    """Runs one loop instruction.

    Parameters
    ----------
    loop : LoopInstruction
        The loop.
    make_runner : callable
        Makes what runs loops and branches inside the step.
    """

    def __init__(
        self, loop: LoopInstruction, make_runner: Callable[[LoopInstruction | BranchInstruction], Any]
    ) -> None:
        self.loop = loop
        self.runners = {
            k: make_runner(each)
            for k, each in enumerate(loop.body.instructions)
            if not isinstance(each, Instruction)
        }
        place = {number: k for k, number in enumerate(loop.inputs)}
        self.n_steps = place[loop.n_steps]
        self.sequences = [place[slot.outer] for slot in loop.sequences]
        self.states = [place[slot.outer] for slot in loop.states]
        self.carries = [place[slot.outer] for slot in loop.carries]
        self.constants = [place[slot.outer] for slot in loop.non_sequences]
        self.dtypes = [dtype_of(loop.body, slot.writes[0][1]) for slot in loop.states]
        self.scalar_constants = [is_scalar(loop.body, slot.inner) for slot in loop.non_sequences]
        self.cache: OrderedDict[Any, Specialised] = OrderedDict()
        self.misses = 0

    def __call__(self, values: Sequence[Any], watch: Watch | None) -> list[Any]:
        """Run the loop for the values of its instruction's inputs and return its results."""
        return LoopCall(self, values, watch).run()

    def specialised(
        self, key: tuple[Any, ...], states: Sequence[StateRows], watch: Watch | None
    ) -> Specialised:
        """Return the code for shapes, making it where they are new."""
        found = self.cache.get(key)
        if found is not None:
            if len(self.cache) > 1:
                self.cache.move_to_end(key)
            return found
        begun = time.perf_counter_ns()
        self.misses += 1
        generic = self.misses > MISSES
        if generic:
            key = ("any shapes", *(each.row_shape for each in states))
            known = self.cache.get(key)
            if known is not None:
                return known
        found = self._specialise([None] * len(self.loop.body.inputs) if generic else list(key), states)
        self.cache[key] = found
        while len(self.cache) > CACHED:
            self.cache.popitem(last=False)
        self.code(found, "plain")
        if watch is not None:
            why = "shapes change from call to call" if generic else "generated for the shapes met"
            watch.specialised(self.loop.key, time.perf_counter_ns() - begun, "numpy", why)
        return found

    def _specialise(self, shapes: list[ConcreteShape], states: Sequence[StateRows]) -> Specialised:
        loop = self.loop
        rows: dict[tuple[str, int], tuple[int, ...]] = {
            ("state", k): each.row_shape for k, each in enumerate(states)
        }
        probe = specialise(loop, shapes, {}, writes, overwrites)
        checked: set[tuple[str, int]] = set()
        mismatch = None
        for k, slot in enumerate(loop.states):
            for _, number in slot.writes:
                shape = probe.shapes[number]
                if shape is None:
                    checked.add(("state", k))
                    rows.pop(("state", k), None)
                elif shape != states[k].row_shape and mismatch is None:
                    mismatch = (slot, states[k].row_shape, shape)
        for k, output in enumerate(loop.step_outputs):
            shape = probe.shapes[output.inner]
            if shape is None:
                checked.add(("output", k))
            elif output.result is not None:
                rows["output", k] = shape
        plan = specialise(loop, shapes, {} if mismatch else rows, writes, overwrites)
        verify_plan(loop.body, plan)
        return Specialised(plan, checked, mismatch)

    def code(self, made: Specialised, variant: Variant) -> CompiledSource:
        """Return one variant of the code, written when first needed."""
        found = made.code.get(variant)
        if found is None:
            source = LoopWriter(self.loop, made.plan, variant, made.checked, self.runners).write()
            entry = source.namespace.pop("__entry__")
            found = compile_source(
                source.text, entry, source.namespace, source.lines, f"loop {self.loop.name}"
            )
            made.code[variant] = found
        return found


class LoopCall:
    """One run of a loop: its rows and buffers."""

    def __init__(self, runner: LoopRunner, values: Sequence[Any], watch: Watch | None) -> None:
        self.begun = time.perf_counter_ns() if watch is not None else 0
        self.runner, self.watch = runner, watch
        loop = self.loop = runner.loop
        self.steps = count_steps(loop, values[runner.n_steps])
        self.sequences = [values[k] for k in runner.sequences]
        check_sequences(loop, self.sequences, self.steps)
        self.states = [
            StateRows(loop, slot, np.asarray(values[k]), self.steps, dtype, _HOST)
            for slot, k, dtype in zip(loop.states, runner.states, runner.dtypes, strict=True)
        ]
        self.carried = tuple(values[k] for k in runner.carries)
        self.constants = [
            np.asarray(values[k])[()] if scalar else values[k]
            for k, scalar in zip(runner.constants, runner.scalar_constants, strict=True)
        ]
        key = [each.shape[1:] for each in self.sequences]
        key += [rows.row_shape for rows in self.states for _ in rows.slot.reads]
        key += [each.shape for each in (*self.carried, *self.constants)]
        self.made = runner.specialised(tuple(key), self.states, watch)
        self.outputs = self._outputs(key)

    def _outputs(self, shapes: Sequence[tuple[int, ...]]) -> list[OutputRows]:
        found = []
        for k, slot in enumerate(self.loop.step_outputs):
            rows = OutputRows(self.loop, slot, self.steps, _HOST)
            shape = self.made.plan.shapes[slot.inner]
            if slot.result is not None and ("output", k) not in self.made.checked and shape is not None:
                rows.start(shape)
            found.append(rows)
        self.shapes = shapes
        return found

    def run(self) -> list[Any]:
        """Run all steps and return the results in the order of the instruction's outputs."""
        made, loop = self.made, self.loop
        if made.mismatch is not None and self.steps:
            slot, expected, given = made.mismatch
            raise changed_shape(loop, slot, 0, expected, given)
        scratch = made.scratch()
        if self.watch is not None:
            arrays = [*(each.array for each in self.states), *(each.array for each in self.outputs)]
            bytes_held = sum(each.nbytes for each in arrays if each is not None)
            self.watch.loop_begin(loop.key, self.steps, bytes_held + made.plan.buffer_bytes)
        done, spent = self._run_steps(scratch)
        results = self._results(done)
        if not loop.allow_gc and len(made.pool) < 4:
            made.pool.append(scratch)
        if self.watch is not None:
            elapsed = time.perf_counter_ns() - self.begun
            self.watch.loop_end(loop.key, done, elapsed, max(0, elapsed - spent))
        return results

    def _run_steps(self, scratch: list[Any]) -> tuple[int, int]:
        if self.steps == 0:
            return 0, 0
        if self.watch is None:
            done, self.carried = self.run_chunk("plain", 0, self.steps, scratch, None)
            return done, 0
        return run_watched(self, scratch, self.watch)

    def run_chunk(
        self,
        variant: Variant,
        first: int,
        last: int,
        scratch: list[Any],
        record: Callable[[int], None] | None,
    ) -> tuple[int, tuple[Any, ...]]:
        """Run steps ``first`` to ``last``; return where it stopped and what the carries are then."""
        code = self.runner.code(self.made, variant)
        rows = (
            *self.sequences,
            *(each.array for each in self.states),
            *(each.size for each in self.states),
            *(each.array for each in self.outputs),
            *(max(each.size, 1) for each in self.outputs),
        )
        keepers = (*self.states, *self.outputs)
        try:
            done, carried = code.function(
                first, last, rows, self.carried, self.constants, scratch, keepers, self.watch, record
            )
        except Exception as error:
            raise self._told(error, code) or error from error.__cause__
        return done, carried

    def _told(self, error: Exception, code: CompiledSource) -> BaseException | None:
        line, names = failing_line(error, code)
        index = code.lines.get(line)
        if index is None:
            return None
        instruction = self.loop.body.instructions[index]
        writer = LoopWriter(self.loop, self.made.plan, "plain", self.made.checked, self.runner.runners)
        writer.write()
        values = [names.get(writer.emitter.name(number)) for number in instruction.inputs]
        return translate(error, self.loop.body, instruction, values, self.loop, names.get("t"))

    def _results(self, done: int) -> list[Any]:
        found: dict[int, Any] = {}
        for rows in self.states:
            if rows.slot.result is not None:
                found[rows.slot.result] = rows.result(done)
        for output in self.outputs:
            if output.slot.result is not None:
                fallback: tuple[int, ...] = ()
                if output.array is None:
                    fallback = row_shape_without_steps(self.loop, output.slot.inner, self.shapes)
                found[output.slot.result] = output.result(done, fallback)
        for slot, value in zip(self.loop.carries, self.carried, strict=True):
            if slot.result is not None:
                found[slot.result] = value
        return [found[number] for number in self.loop.outputs]


__all__ = ["LoopCall", "LoopRunner", "Specialised", "stamps_a_step"]
