"""Entering a loop without an arena: one function that makes its rows, takes its steps and returns its results.

A short loop takes longer to enter than to run, where each run makes an arena first: a dozen objects for rows that may grow, for
observers and for errors.  Here all that is known from the plan stands in the source, around the very lines of the steps that the
plain variant has; rows are local variables.  Whatever is unusual is left to the arena: the function returns None, before it has
changed anything, where the shapes are others, where there is no step, or where something about the inputs is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from math import prod

import numpy as np

from scanviz.engine.backends.source.assembly import put_steps
from scanviz.engine.backends.source.compiled import (
    NOTE_FAILURE,
    CompiledSource,
    compile_source,
    failure_of,
    raised_in,
)
from scanviz.engine.backends.source.loop import LoopWriter
from scanviz.engine.program.instructions import LoopInstruction, StateSlot, is_scalar
from scanviz.engine.program.plan import Plan, StoreKind, wraps
from scanviz.engine.program.plan.arena import ring_size
from scanviz.engine.runtime.calling import FailedRun
from scanviz.engine.runtime.errors import in_words
from scanviz.engine.runtime.recycled import SHORTEST
from scanviz.engine.runtime.rows import last_rows
from scanviz.engine.runtime.specialised import Entry


def is_planned(loop: LoopInstruction, plan: Plan) -> bool:
    """Return whether a plan says all about the rows of a loop: none is checked when it is stored."""
    inputs = (plan.places[number].shape for number in loop.body.inputs)
    stores = [plan.stores["state", k] for k in range(len(loop.states))]
    stores += [
        plan.stores["output", k] for k, slot in enumerate(loop.step_outputs) if slot.result is not None
    ]
    return (
        plan.mismatch is None
        and None not in inputs
        and not any(store.checked or store.row is None for store in stores)
    )


def written_entry(writer: LoopWriter) -> Entry | None:
    """Return what enters and runs a loop, with 0 for the number of its first step; None where the plan does not say all.

    The loop has no stop condition and no effects, and its arrays are NumPy's.
    """
    if not is_planned(writer.loop, writer.plan):
        return None
    made: Entry = _Entry(writer.write()).assembled().function
    return made


class _Entry:
    """Writes what is around the steps."""

    def __init__(self, writer: LoopWriter) -> None:
        self.writer, self.loop, self.plan, self.emitter = writer, writer.loop, writer.plan, writer.emitter
        self.module = writer.library.tier.module
        self.given = [self.emitter.fresh(f"given{k}") for k in range(len(self.loop.inputs))]
        self.place = dict(zip(self.loop.inputs, self.given, strict=True))
        self.refused: list[str] = []  # conditions under which the arena is to see to it
        self.rows: list[str] = []  # lines that make rows, and numbers of what is given

    def assembled(self) -> CompiledSource:
        """Return the compiled function."""
        emitter, writer = self.emitter, self.writer
        name = emitter.fresh(f"enter_{self.loop.name}")
        self._sequences()
        self._states()
        self._others()
        lines = [f"def {name}(given, buffers):", f"    {', '.join(self.given)}, = given"]
        lines.append(f"    last = int({self.place[self.loop.n_steps]})")
        lines.append(f"    if {' or '.join(['last < 1', *self.refused])}:")
        lines.append("        return None")
        lines += [f"    {text}" for text in self.rows]
        if writer.buffers:
            lines.append(f"    {', '.join(writer.buffers)}, = buffers")
        if writer.runners:
            lines.append("    watch = None")
        where: dict[int, int] = {}
        lines.append("    try:")
        put_steps(writer, lines, where)
        lines += ["    except Exception as error:", f"        return {NOTE_FAILURE}(error)"]
        lines += [f"    {text}" for text in writer.store_held("last")]
        lines.append(f"    return [{', '.join(self._results())}]")
        text, title = "\n".join(lines) + "\n", f"entry of loop {self.loop.name}"
        failed = partial(failed_run, self.loop)
        return compile_source(text, name, emitter.namespace, where, emitter.names(), title, failed)

    def _sequences(self) -> None:
        for slot, name in zip(self.loop.sequences, self.writer.sequences, strict=True):
            given = self.place[slot.outer]
            self.refused.append(f"len({given}) < last")
            self._expect(given, slot.inner, skipped=1)
            self.rows.append(f"{name} = {given}")

    def _expect(self, given: str, inner: int, skipped: int = 0) -> None:
        """Refuse an array whose shape, but for some axes in front, is not that of a register of the step."""
        shape = self.plan.places[inner].shape
        assert shape is not None
        self._expect_shape(given, shape, skipped)

    def _expect_shape(self, given: str, shape: tuple[int, ...], skipped: int) -> None:
        if shape:  # how many axes there are is known from the type
            axes = f"[{skipped}:]" if skipped else ""
            self.refused.append(f"{given}.shape{axes} != {shape!r}")

    def _states(self) -> None:
        for k, slot in enumerate(self.loop.states):
            given, rows = self.place[slot.outer], self.writer.states[k]
            store = self.plan.stores["state", k]
            assert store.row is not None
            self._expect_shape(given, store.row, 0 if slot.kind == "sitsot" else 1)
            if slot.kind == "mitmot":
                self._mitmot(slot, given, rows)
                continue
            size = self.writer.sizes[k]
            self.rows.append(f"{size} = {self._rows_of(slot)}")
            self._make(rows, size, store.row, store.dtype)
            if slot.kind == "sitsot":
                self.rows.append(f"{rows}[0] = {given}")
            else:
                self.refused.append(f"len({given}) < {slot.offset}")
                self.rows.append(f"{rows}[:{slot.offset}] = {given}[:{slot.offset}]")

    def _mitmot(self, slot: StateSlot, given: str, rows: str) -> None:
        taps = max(tap for tap, _ in (*slot.reads, *slot.writes))
        self.refused.append(f"len({given}) < last + {slot.offset + taps}")
        copy = f"{self.emitter.bind(self.module.copy, 'copy')}({given})"
        self.rows.append(f"{rows} = {given if slot.in_place else copy}")

    def _rows_of(self, slot: StateSlot) -> str:
        """Return the source of how many rows a state has."""
        if not wraps(slot):
            return f"last + {slot.offset}"
        if slot.offset and (slot.result is None or slot.keep_last == 1):
            return str(slot.offset + 1)
        return f"{self.emitter.bind(partial(ring_size, slot), 'ring_size')}(last)"

    def _make(self, name: str, size: str, row: tuple[int, ...], dtype: str) -> None:
        element, kind = self.emitter.bind(np.dtype(dtype), "dtype"), np.dtype(dtype)
        shape = f"({', '.join(map(str, (size, *row)))},)"
        make = self.emitter.bind(np.empty, "empty")
        if row_bytes := prod(row) * kind.itemsize:  # of many rows the module knows better where they lie
            longer = self.emitter.bind(self.module.empty, "long")
            make = f"({make} if {size} < {-(-SHORTEST // row_bytes)} else {longer})"
        self.rows.append(f"{name} = {make}({shape}, {element})")

    def _others(self) -> None:
        """Take carries and non-sequences, and make the rows of outputs."""
        for carry in self.loop.carries:
            self._take(carry.outer, carry.read)
        for fixed in self.loop.non_sequences:
            self._take(fixed.outer, fixed.inner)
        for k, output in enumerate(self.loop.step_outputs):
            store = self.plan.stores["output", k]
            if store.kind is StoreKind.NONE or store.row is None:
                continue
            size = "last"
            if output.keep_last is not None:
                size = self.writer.output_sizes[k]
                self.rows.append(f"{size} = min(last, {output.keep_last})")
            self._make(self.writer.outputs[k], size, store.row, store.dtype)

    def _take(self, outer: int, inner: int) -> None:
        given, name = self.place[outer], self.emitter.name(inner)
        if is_scalar(self.loop.body, inner):
            given = f"{self.emitter.bind(self.module.number, 'number')}({given})"
        else:
            self._expect(given, inner)
        self.rows.append(f"{name} = {given}")

    def _results(self) -> Iterator[str]:
        """Iterate over the source of the loop's results, in order."""
        writer, found = self.writer, dict[int | None, str]()
        for k, slot in enumerate(self.loop.states):
            rows = writer.states[k]
            found[slot.history] = rows  # all rows, in a buffer that keeps all
            found[slot.result] = (
                rows if slot.kind == "mitmot" else self._kept(rows, slot.offset, slot.keep_last)
            )
        for k, output in enumerate(self.loop.step_outputs):
            found[output.result] = self._kept(writer.outputs[k], 0, output.keep_last)
        for carry in self.loop.carries:  # copied: it may be an input
            copy = self.emitter.bind(self.module.copy, "copy")
            found[carry.result] = f"{copy}({self.emitter.name(carry.read)})"
        for number in self.loop.outputs:
            yield found[number]

    def _kept(self, rows: str, offset: int, keep: int | None) -> str:
        """Return the source of the last rows of a store that are kept."""
        if keep is None:
            return f"{rows}[{offset}:]" if offset else rows
        if keep == 1:  # there is a step
            place = f"{f'last + {offset - 1}' if offset > 1 else f'last - {1 - offset}' if not offset else 'last'}"
            return f"{rows}[({place}) % len({rows}):][:1]"
        last = self.emitter.bind(partial(last_rows, self.module), "last_rows")
        end = f"last + {offset}" if offset else "last"
        return f"{last}({rows}, {end}, min(last, {keep}))"


def failed_run(loop: LoopInstruction, code: CompiledSource, error: BaseException) -> FailedRun:
    """Return how the run ended in which the code of a loop's entry raised an error."""
    raised = raised_in(error, code)
    step, failure = raised.names.get("t", 0), failure_of(raised, code, loop.body)
    if failure is not None:
        failure = failure._replace(step=step)
    return FailedRun(step, in_words(error, loop.body, failure, loop), error.__cause__)


__all__ = ["is_planned", "written_entry"]
