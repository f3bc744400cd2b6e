"""Entering a loop's machine code without an arena: rows, addresses and the call stand in one function of Python.

An arena, and asking it for all addresses, takes longer than thousands of short steps.  As on NumPy
(:mod:`scanviz.engine.backends.source.entry`) what is unusual is left to it: other shapes, rows that are not in C order, and runs so
long that threads may take them, or that ctrl+c must be heard.  Code that may fail, that calls out, or whose loops inside are
counted for who observes, has no such entry.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

import numpy as np

from scanviz.engine.backends.native.cache.jit import Machine
from scanviz.engine.backends.native.emit.call_arguments import CallArguments
from scanviz.engine.backends.source.around import AroundSteps, is_planned
from scanviz.engine.backends.source.compiled import compile_source
from scanviz.engine.backends.source.emitter import Emitter
from scanviz.engine.program.instructions import LoopInstruction, is_scalar
from scanviz.engine.program.plan import Plan
from scanviz.engine.program.plan.location import ALIGNMENT
from scanviz.engine.runtime.address import address
from scanviz.engine.runtime.aligned import LONG
from scanviz.engine.runtime.array_module import ArrayModule
from scanviz.engine.runtime.calling import Entry

if TYPE_CHECKING:
    from scanviz.engine.backends.native.emit.places import Base

OF_A_RUN = {"carry", "called", "report", "counts", "stamps"}  # what an arena brings


class EnteredCode(Protocol):
    """The machine code of a loop."""

    loop: LoopInstruction
    plan: Plan
    machine: Machine
    handed: CallArguments

    @property
    def short_steps(self) -> int:
        """How many steps take so little time that one thread takes them, in one call."""
        ...


class _Names:
    """What rows are called: as the slots are."""

    def __init__(self, loop: LoopInstruction, emitter: Emitter) -> None:
        fresh = emitter.fresh
        self.sequences = [fresh(f"{slot.name}_rows") for slot in loop.sequences]
        self.states = [fresh(f"{slot.name}_rows") for slot in loop.states]
        self.sizes = [fresh(f"{slot.name}_size") for slot in loop.states]
        self.outputs = [fresh(f"{slot.name}_out") for slot in loop.step_outputs]
        self.output_sizes = [fresh(f"{slot.name}_size") for slot in loop.step_outputs]


def entry_of(code: EnteredCode, module: ArrayModule) -> Entry | None:
    """Return what enters and runs a loop; None where an arena is needed.

    Parameters
    ----------
    code : EnteredCode
        The plain variant of its code.
    module : ArrayModule
        Where rows come from.
    """
    loop, handed = code.loop, code.handed
    if loop.carries or handed.sites or handed.holds_inside or not is_planned(loop, code.plan):
        return None
    if any(base[0] in OF_A_RUN for base in handed.addresses):
        return None
    return _Entry(code, module).function()


class _Entry(AroundSteps):
    """Writes an entry."""

    shortest = LONG

    def __init__(self, code: EnteredCode, module: ArrayModule) -> None:
        emitter = Emitter(code.loop.body, module.constant)
        super().__init__(code.loop, code.plan, emitter, module, _Names(code.loop, emitter))
        self._code = code

    def function(self) -> Entry:
        """Return the compiled function."""
        emitter, loop, code = self.emitter, self.loop, self._code
        name, where, what = (emitter.fresh(word) for word in (f"enter_{loop.name}", "where", "what"))
        self.refused.append(f"last > {emitter.bind(code, 'code')}.short_steps")
        self._refuse_other_orders()
        lines = self.head(name)
        if code.plan.buffers:
            buffers = [emitter.fresh(f"buffer{k}") for k in range(len(code.plan.buffers))]
            lines.append(f"    {', '.join(buffers)}, = buffers")
        else:
            buffers = []
        addresses = [self._address(base, buffers, lines) for base in code.handed.addresses]
        of_type = emitter.bind(array, "array")
        lines.append(f"    {where} = {of_type}('Q', ({''.join(f'{text}, ' for text in addresses)}))")
        lines.append(f"    {what} = {of_type}('q', ({''.join(f'{text}, ' for text in self._numbers())}))")
        run = emitter.bind(code.machine.function, "run")
        lines.append(f"    {run}(0, last, {where}.buffer_info()[0], {what}.buffer_info()[0])")
        lines.append(f"    return [{', '.join(self.results())}]")
        text, title = "\n".join(lines) + "\n", f"entry of loop {loop.name}"
        made: Entry = compile_source(text, name, emitter.namespace, {}, {}, title).function
        return made

    def _refuse_other_orders(self) -> None:
        """Leave arrays whose rows are not in C order to the arena, which copies them."""
        for sequence in self.loop.sequences:
            given = self.place[sequence.outer]
            if not is_scalar(self.loop.body, sequence.inner):
                self.refused.append(
                    f"not (last < 1 or {given}.flags.c_contiguous or {given}[0].flags.c_contiguous)"
                )
        for state in self.loop.states:
            if state.kind == "mitmot" and state.in_place:
                self.refused.append(f"not {self.place[state.outer]}.flags.c_contiguous")

    def take(self, outer: int, inner: int) -> None:
        """Take what is the same in all steps: an array, for it has an address."""
        given = self.place[outer]
        if is_scalar(self.loop.body, inner):
            self.rows.append(f"{given} = {self.emitter.bind(np.asarray, 'asarray')}({given})")
        else:
            self.expect(given, inner)
            self.refused.append(f"not {given}.flags.c_contiguous")

    def _address(self, base: Base, buffers: list[str], lines: list[str]) -> str:
        """Return the source of an address; memory that only this run needs is made in a line before."""
        kind, k, _ = base
        at = self.emitter.bind(address, "address")
        match kind:
            case "sequence":
                return f"{at}({self.names.sequences[k]})"
            case "state":
                return f"{at}({self.names.states[k]})"
            case "output":
                return f"{at}({self.names.outputs[k]})"
            case "fixed":
                return f"{at}({self.place[self.loop.non_sequences[k].outer]})"
            case "buffer":
                return f"{at}({buffers[k]})"
            case _ if base in self._code.handed.constants:
                return str(address(self._code.handed.constants[base]))
        scratch, empty = self.emitter.fresh("scratch"), self.emitter.bind(np.empty, "empty")
        byte = self.emitter.bind(np.dtype(np.uint8), "byte")
        lines.append(f"    {scratch} = {empty}({self._code.handed.scratch + ALIGNMENT}, {byte})")
        return f"({at}({scratch}) + {ALIGNMENT - 1} & {-ALIGNMENT})"

    def _numbers(self) -> Iterator[str]:
        """Iterate over the source of the numbers beside the addresses."""
        names, loop = self.names, self.loop
        for rows in names.sequences:
            yield f"{rows}.strides[0]"
        for k, state in enumerate(loop.states):
            yield f"len({names.states[k]})" if state.kind == "mitmot" else names.sizes[k]
        for output in loop.step_outputs:
            yield "last" if output.keep_last is None else f"min(last, {output.keep_last})"
