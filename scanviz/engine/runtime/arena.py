"""The arena of a run of a loop: the memory that one call owns while it runs, so that threads share none.

It holds the rows of the slots, the buffers of the plan, the carries between chunks, and the error that ended the run.  It is the
first argument of a loop's code (:mod:`scanviz.engine.runtime.calling`).  The offset of each part in one piece of memory comes from
:mod:`scanviz.engine.program.plan.arena`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from operator import index as whole_number
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from scanviz.engine.program.instructions import LoopInstruction, is_scalar
from scanviz.engine.runtime.row_storage import (
    OutputForm,
    OutputRows,
    RunInstruction,
    StateForm,
    StateRows,
    check_sequences,
    count_steps,
    first_room,
    row_shape_without_steps,
)

if TYPE_CHECKING:
    from scanviz.engine.observation.ledger import Ledger
    from scanviz.engine.observation.probe import Probe
    from scanviz.engine.program.plan import BufferLayout
    from scanviz.engine.runtime.array_module import ArrayModule

_Kept = Literal["state", "history", "output", "carry"]


class LoopInputs:
    """The positions of a loop's slots among the inputs of its instruction.

    Parameters
    ----------
    loop : LoopInstruction
        The loop.
    module : ArrayModule
        The array library that its steps run on.
    """

    __slots__ = (
        "carries",
        "constants",
        "loop",
        "module",
        "n_steps",
        "outputs",
        "reads",
        "results",
        "sequences",
        "states",
    )

    def __init__(self, loop: LoopInstruction, module: ArrayModule) -> None:
        self.loop, self.module, body = loop, module, loop.body
        place = {number: k for k, number in enumerate(loop.inputs)}
        self.n_steps = place[loop.n_steps]
        self.sequences = [place[slot.outer] for slot in loop.sequences]
        self.states = [StateForm(loop, slot, place[slot.outer], module) for slot in loop.states]
        self.outputs = [OutputForm(loop, slot, module) for slot in loop.step_outputs]
        self.reads = [k for k, slot in enumerate(loop.states) for _ in slot.reads]
        self.carries = [(place[slot.outer], is_scalar(body, slot.read)) for slot in loop.carries]
        self.constants = [(place[slot.outer], is_scalar(body, slot.inner)) for slot in loop.non_sequences]
        self.results = self._places_of_results()

    def steps_of(self, values: Sequence[Any]) -> int:
        """Return the largest number of steps of a run, from the values of the instruction's inputs."""
        return whole_number(self.module.to_host(values[self.n_steps]))

    def _places_of_results(self) -> list[tuple[_Kept, int]]:
        """Return the slot of each result of the loop, in order."""
        loop = self.loop
        found: dict[int | None, tuple[_Kept, int]] = {}
        for k, slot in enumerate(loop.states):
            found[slot.result] = "state", k
            found[slot.history] = "history", k
        found |= {slot.result: ("output", k) for k, slot in enumerate(loop.step_outputs)}
        found |= {slot.result: ("carry", k) for k, slot in enumerate(loop.carries)}
        return [found[number] for number in loop.outputs]


class LoopArena:
    """The memory of one run of a loop.

    Parameters
    ----------
    inputs : LoopInputs
        The positions of values.
    values : sequence
        The values of the inputs of the loop's instruction.
    probe : Probe or None
        The probe of the call.

    Attributes
    ----------
    steps : int
        Number of wanted steps; reduced when the stop condition holds.
    sequences, fixed : list
        Arrays of the sequences, values of the non-sequences.
    states, outputs : list
        Rows of the states and step outputs.
    carried : tuple
        Carries for the next step; the code of the loop sets them when it returns.
    buffers : list
        Buffers of the plan.
    code : LoopCode
        The code of the steps.
    hand_over : callable or None
        ``hand_over(arena, step)`` returns the code from a step on at which rows grow.
    shapes : tuple
        Shapes of the inputs of a step, in the order of the body's inputs.
    record : object
        The argument through which the code takes times; None if unobserved.
    failed_step, error, error_values
        The step that failed, or -1; its error; and the values that the instruction read, as far as known.
    """

    __slots__ = (
        "_ledger", "_room", "_steps_at_once", "_weighed", "buffers", "carried", "code", "error", "error_values", "failed_step",
        "fixed", "hand_over", "inputs", "loop", "memory", "module", "outputs", "probe", "record", "sequences", "shapes", "states",
        "steps",
    )  # fmt: skip

    def __init__(self, inputs: LoopInputs, values: Sequence[Any], probe: Probe | None) -> None:
        loop = self.loop = inputs.loop
        module = self.module = inputs.module
        self.inputs, self.probe = inputs, probe
        self.record: Any = None
        self.code: Any = None
        self.hand_over: Callable[[LoopArena, int], Any] | None = None
        steps = self.steps = count_steps(loop, module.to_host(values[inputs.n_steps]))
        self._room = steps
        self._ledger: Ledger | None = None
        self._weighed = 0
        self.failed_step = -1
        self.error: BaseException | None = None
        self.error_values: Sequence[Any] = ()
        shapes: list[Any] = []
        self.sequences = sequences = [values[k] for k in inputs.sequences]
        if sequences:
            check_sequences(loop, sequences, steps)
            shapes += [sequence.shape[1:] for sequence in sequences]
        self.states = states = [StateRows(form, values[form.place], steps) for form in inputs.states]
        shapes += [states[k].row_shape for k in inputs.reads]
        number = module.number
        self.carried: tuple[Any, ...] = ()
        if inputs.carries:
            self.carried = tuple([number(values[k]) if one else values[k] for k, one in inputs.carries])
            shapes += [array.shape for array in self.carried]
        self.fixed: list[Any] = []
        if inputs.constants:
            self.fixed = [number(values[k]) if one else values[k] for k, one in inputs.constants]
            shapes += [array.shape for array in self.fixed]
        self.shapes = tuple(shapes)

    def open(self, memory: BufferLayout | None, buffers: list[Any], steps_at_once: int | None) -> None:
        """Take the buffers of a plan, and make rows for the outputs of known shape.

        ``steps_at_once`` is the largest number of steps per call of the code.
        """
        forms = self.inputs.outputs
        self.outputs: Sequence[OutputRows] = [OutputRows(form, self.steps) for form in forms] if forms else ()
        self._take(memory, buffers, steps_at_once)
        if self.loop.until is not None:
            self._room = self._first_room()

    def _take(self, memory: BufferLayout | None, buffers: list[Any], steps_at_once: int | None) -> None:
        self.memory, self.buffers, self._steps_at_once = memory, buffers, steps_at_once
        if memory is not None:
            for rows, row, over in zip(self.outputs, memory.outputs, memory.over, strict=True):
                if rows.array is None and row is not None:
                    rows.start(row, None if over is None else self.sequences[over])

    def check_rows(self) -> None:
        """Raise if, by the shapes met, the first step writes a row of another shape than it reads."""
        if self.memory is not None and self.memory.mismatch is not None and self.steps:
            slot, expected, given = self.memory.mismatch
            from scanviz.engine.runtime.errors import changed_shape

            raise changed_shape(self.loop, slot, 0, expected, given)

    def chunk_end(self, first: int, wanted: int) -> int:
        """Return the end of the chunk that begins at a step, making room for rows if needed."""
        if first >= self._room:
            self._room = min(self.steps, max(first + 1, 2 * self._room, self._first_room()))
            for state in self.states:
                state.reserve(self._room)
                self._weigh_grown(state)
            for output in self.outputs:
                output.reserve(self._room)
                self._weigh_grown(output)
            if self.probe is not None:
                self.probe.measured(self.loop.key, "row_growths", 1)
            if self.hand_over is not None:
                code = self.hand_over(self, first)
                if code is not self.code:
                    self.code = code
                    self._take(code.memory, code.buffers.take(), code.steps_at_once)
        if self._steps_at_once is not None:
            wanted = min(wanted, first + self._steps_at_once)
        return min(wanted, self._room)

    def _first_room(self) -> int:
        """Return the number of steps for which all results have rows: few, if the end is unknown."""
        rooms = [first_room(self.loop, self.steps, 0)]
        rooms += [rows.size - rows.form.offset for rows in self.states if rows.form.grows]
        rooms += [
            rows.size for rows in self.outputs if rows.form.keep is None and rows.slot.result is not None
        ]
        return min(rooms)

    def held(self, step: int) -> tuple[Any, ...]:
        """Return host copies of the rows of each state, then of the carries, before a step."""
        to_host = self.module.to_host
        rows = [state.window(step) for state in self.states]
        return tuple([np.array(to_host(array)) for array in (*rows, *self.carried)])

    def resume(self, step: int, held: Sequence[Any]) -> None:
        """Restore the copies of :meth:`held`, to continue from that step."""
        self.chunk_end(step, step + 1)
        for state, rows in zip(self.states, held, strict=False):
            state.restore(step, self.module.from_host(rows))
        self.carried = tuple([self.module.from_host(array) for array in held[len(self.states) :]])

    def in_words(self, step: int, instruction: int) -> BaseException:
        """Return the error in the user's words, given the step and the instruction that failed (-1 if unknown)."""
        assert self.error is not None
        from scanviz.engine.runtime.errors import Failure, in_words

        failure = Failure(instruction, step, tuple(self.error_values)) if instruction >= 0 else None
        return in_words(self.error, self.loop.body, failure, self.loop)

    def row_bytes(self) -> tuple[int, ...]:
        """Return the bytes of the rows of each state, then of each step output."""
        arrays = [*(state.array for state in self.states), *(output.array for output in self.outputs)]
        return tuple(0 if array is None else int(array.nbytes) for array in arrays)

    def bytes_held(self) -> int:
        """Return the bytes of rows and buffers, including rows that are made with the first step."""
        held = sum(self.row_bytes()) + (0 if self.memory is None else self.memory.arena)
        for rows in self.outputs:
            if rows.array is None and rows.slot.result is not None:
                row = self._row_shape(rows.slot.inner, None)
                held += rows.size * prod(row) * rows.form.dtype.itemsize
        return held

    def weigh(self, ledger: Ledger | None) -> None:
        """Count the bytes of the arena in a ledger from now on; None stops counting."""
        if self._ledger is not None:
            self._ledger.release(self._weighed)
        self._ledger, self._weighed = ledger, 0
        if ledger is not None:
            self._weighed = self._own_bytes()
            ledger.hold(self._weighed)

    def _own_bytes(self) -> int:
        """Return the bytes held, without donated arrays."""
        taken = [rows.array for rows in self.states if rows.slot.in_place]
        taken += [rows.array for rows in self.outputs if rows.is_over]
        return self.bytes_held() - sum(int(array.nbytes) for array in taken)

    def _weigh_grown(self, rows: StateRows | OutputRows) -> None:
        """Count rows that were made longer; the old rows existed until they were copied."""
        if self._ledger is None or rows.array is None:
            return
        before, self._weighed = self._weighed, self._own_bytes()
        if self._weighed > before:
            made = int(rows.array.nbytes)
            self._ledger.hold(made)
            self._ledger.release(before + made)
            self._ledger.hold(self._weighed)

    def results(self, done: int, compute: RunInstruction) -> list[Any]:
        """Return the results after ``done`` steps, in order; ``compute`` runs a single instruction of the step."""
        return [self._result(kept, k, done, compute) for kept, k in self.inputs.results]

    def _result(self, kept: _Kept, k: int, done: int, compute: RunInstruction) -> Any:
        match kept:
            case "state":
                return self.states[k].result(done)
            case "history":
                return self.states[k].history(done)
            case "output":
                output = self.outputs[k]
                fallback = self._row_shape(output.slot.inner, compute) if output.array is None else ()
                return output.result(done, fallback)
            case "carry":  # copied: it may be an input, or a buffer of the outer loop
                return self.module.copy(self.carried[k])

    def _row_shape(self, inner: int, compute: RunInstruction | None) -> tuple[int, ...]:
        return row_shape_without_steps(self.loop, inner, self.shapes, self.fixed, compute, self.module)
