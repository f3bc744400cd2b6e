"""The fast path into a loop: one function that makes the rows, takes the steps and returns the results.

Making an arena (objects for rows that may grow, for observers and for errors) takes longer than a few short steps.  An entry has
the plan in its source, around the lines of the steps, and rows in local variables.  It returns None, before it has changed
anything, where an arena is needed: for other shapes, for zero steps, or where an input is wrong.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from functools import partial
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from scanviz.engine.backends.source.assembly import put_steps
from scanviz.engine.backends.source.compiled import (
    NOTE_FAILURE,
    CompiledSource,
    compile_source,
    failure_of,
    raised_in,
)
from scanviz.engine.program.instructions import LoopInstruction, StateSlot, is_scalar
from scanviz.engine.program.plan import Plan, Store, StoreKind, wraps
from scanviz.engine.program.plan.location import SHORTEST_OVER, ring_size
from scanviz.engine.runtime.buffer_pool import SHORTEST
from scanviz.engine.runtime.calling import FailedRun
from scanviz.engine.runtime.errors import in_words
from scanviz.engine.runtime.row_storage import OutputForm, last_rows

if TYPE_CHECKING:
    from scanviz.engine.backends.source.loop import SourceWriter
    from scanviz.engine.runtime.calling import Entry


def written_entry(writer: SourceWriter) -> Entry | None:
    """Return the entry of a loop whose first step is 0; None unless it is fully planned.

    The loop has no stop condition and no effects, and its arrays are NumPy's.
    """
    if not is_planned(writer.loop, writer.plan):
        return None
    made: Entry = EntryWriter(writer.write()).assembled().function
    return made


def is_planned(loop: LoopInstruction, plan: Plan) -> bool:
    """Return whether a plan knows the shapes of all rows of a loop: then no row is checked when stored."""
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


class EntryWriter:
    """Writes an entry around the lines of a loop's steps.

    Attributes
    ----------
    given : list of str
        Names of the loop's inputs, in order.
    place : dict
        Register → its name.
    refused : list of str
        Conditions under which an arena is needed.
    rows : list of str
        Lines that make rows and read sizes.
    """

    def __init__(self, writer: SourceWriter) -> None:
        self.writer, self.loop, self.plan, self.emitter = writer, writer.loop, writer.plan, writer.emitter
        self.module = writer.library.tier.module
        self.given = [self.emitter.fresh(f"given{k}") for k in range(len(self.loop.inputs))]
        self.place = dict(zip(self.loop.inputs, self.given, strict=True))
        self.refused: list[str] = []
        self.rows: list[str] = []

    def assembled(self) -> CompiledSource:
        """Return the compiled function."""
        emitter, writer = self.emitter, self.writer
        name = emitter.fresh(f"enter_{self.loop.name}")
        lines = self.head(name)
        if writer.buffers:
            lines.append(f"    {', '.join(writer.buffers)}, = buffers")
        if writer.runners:
            lines.append("    probe = None")
        where: dict[int, int] = {}
        lines.append("    try:")
        put_steps(writer, lines, where)
        lines += ["    except Exception as error:", f"        return {NOTE_FAILURE}(error)"]
        lines += [f"    {text}" for text in writer.store_held("last")]
        lines.append(f"    return [{', '.join(self.results())}]")
        failed = partial(failed_run, self.loop)
        return compile_source(lines, name, emitter, where, f"entry of loop {self.loop.name}", failed)

    def head(self, name: str) -> list[str]:
        """Return the lines before the first step."""
        self._sequences()
        self._states()
        self._others()
        lines = [f"def {name}(given, buffers):", f"    {', '.join(self.given)}, = given"]
        # of NumPy's integers it takes a fifth of the time that ``int`` does
        whole_number = self.emitter.bind(operator.index, "whole_number")
        lines.append(f"    last = {whole_number}({self.place[self.loop.n_steps]})")
        lines.append(f"    if {' or '.join(['last < 1', *self.refused])}:")
        lines.append("        return None")
        return [*lines, *(f"    {text}" for text in self.rows)]

    def _sequences(self) -> None:
        for slot, name in zip(self.loop.sequences, self.writer.sequences, strict=True):
            given = self.place[slot.outer]
            self.refused.append(f"len({given}) < last")
            self.expect(given, slot.inner, skipped=1)
            self.rows.append(f"{name} = {given}")

    def expect(self, given: str, inner: int, skipped: int = 0) -> None:
        """Refuse an array whose shape, without leading axes, differs from that of a register."""
        shape = self.plan.places[inner].shape
        assert shape is not None
        self._expect_shape(given, shape, skipped)

    def _expect_shape(self, given: str, shape: tuple[int, ...], skipped: int) -> None:
        if shape:  # the number of axes is known from the type
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
            self.rows.append(f"{rows} = {self._made(size, store.row, store.dtype)}")
            if slot.kind == "sitsot":
                self.rows.append(f"{rows}[0] = {given}")
            else:
                self.refused.append(f"len({given}) != {slot.offset}")
                self.rows.append(f"{rows}[:{slot.offset}] = {given}")

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

    def _made(self, size: str, row: tuple[int, ...], dtype: str) -> str:
        """Return the source of a new array of rows."""
        element, kind = self.emitter.bind(np.dtype(dtype), "dtype"), np.dtype(dtype)
        shape = f"({', '.join(map(str, (size, *row)))},)"
        make = self.emitter.bind(np.empty, "empty")
        if row_bytes := prod(row) * kind.itemsize:  # long arrays come from the module's own function
            longer = self.emitter.bind(self.module.empty, "long")
            make = f"({make} if {size} < {-(-SHORTEST // row_bytes)} else {longer})"
        return f"{make}({shape}, {element})"

    def _others(self) -> None:
        """Take carries and non-sequences, and make the rows of outputs."""
        for carry in self.loop.carries:
            self.take(carry.outer, carry.read)
        for fixed in self.loop.non_sequences:
            self.take(fixed.outer, fixed.inner)
        for k, output in enumerate(self.loop.step_outputs):
            store = self.plan.stores["output", k]
            if store.kind is StoreKind.NONE or store.row is None:
                continue
            size = "last"
            if output.keep_last is not None:
                size = self.writer.output_sizes[k]
                self.rows.append(f"{size} = min(last, {output.keep_last})")
            made = self._made(size, store.row, store.dtype)
            if output.backwards and self.module.lays_backwards:
                made += "[::-1]"
            if store.over is not None and store.row_bytes:
                made += f" if last < {-(-SHORTEST_OVER // store.row_bytes)} else {self._over(k, store)}"
            self.rows.append(f"{self.writer.outputs[k]} = {made}")

    def _over(self, k: int, store: Store) -> str:
        """Return the source of an output that takes over a sequence's rows."""
        assert store.over is not None
        form = OutputForm(self.loop, self.loop.step_outputs[k], self.module)
        return f"{self.emitter.bind(form.made, 'made')}(last, {store.row!r}, {self.writer.sequences[store.over]})[0]"

    def take(self, outer: int, inner: int) -> None:
        """Take a non-sequence or a carry."""
        given, name = self.place[outer], self.emitter.name(inner)
        if is_scalar(self.loop.body, inner):
            given = f"{self.emitter.bind(self.module.number, 'number')}({given})"
        else:
            self.expect(given, inner)
        self.rows.append(f"{name} = {given}")

    def results(self) -> Iterator[str]:
        """Iterate over the source of the loop's results, in order."""
        names, found = self.writer, dict[int | None, str]()
        for k, slot in enumerate(self.loop.states):
            rows = names.states[k]
            found[slot.history] = rows  # all rows, in a buffer that keeps all
            found[slot.result] = (
                rows if slot.kind == "mitmot" else self._kept(rows, slot.offset, slot.keep_last)
            )
        for k, output in enumerate(self.loop.step_outputs):
            found[output.result] = self._kept(names.outputs[k], 0, output.keep_last)
        for carry in self.loop.carries:  # copied: it may be an input
            copy = self.emitter.bind(self.module.copy, "copy")
            found[carry.result] = f"{copy}({self.emitter.name(carry.read)})"
        for number in self.loop.outputs:
            yield found[number]

    def _kept(self, rows: str, offset: int, keep: int | None) -> str:
        """Return the source of the kept rows of a store."""
        if keep is None:
            return f"{rows}[{offset}:]" if offset else rows
        if keep == 1:  # there is a step
            place = f"{f'last + {offset - 1}' if offset > 1 else f'last - {1 - offset}' if not offset else 'last'}"
            at = self.emitter.fresh("at")
            return f"{rows}[({at} := ({place}) % len({rows})):{at} + 1]"
        last = self.emitter.bind(partial(last_rows, self.module), "last_rows")
        end = f"last + {offset}" if offset else "last"
        return f"{last}({rows}, {end}, min(last, {keep}))"


def failed_run(loop: LoopInstruction, code: CompiledSource, error: BaseException) -> FailedRun:
    """Return how a run ended in which an entry raised an error."""
    raised = raised_in(error, code)
    step, failure = raised.names.get("t", 0), failure_of(raised, code, loop.body)
    if failure is not None:
        failure = failure._replace(step=step)
    return FailedRun(step, in_words(error, loop.body, failure, loop), error.__cause__)
