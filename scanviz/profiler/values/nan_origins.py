"""Origins of NaN: an observer that follows each NaN of a call from the operation that computed it to the results.

A NaN that a ``switch`` masks out ends there.  A value has one origin: of an operation's inputs those count whose NaN stand where
the result's do.  Limits: all rows of a loop's result have the origin of the first NaN; a side of an ``ifelse`` is one operation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from scanviz.engine.observation.events import CompiledFunction
from scanviz.engine.observe import Observer
from scanviz.engine.ops.elementwise_declaration import ElementwiseDeclaration
from scanviz.engine.program.instructions import (
    AnyInstruction,
    Instruction,
    LoopInstruction,
    Program,
    all_loops,
)
from scanviz.engine.program.value_names import is_added_cast
from scanviz.record.traces.origins import moves_only


class NanOrigin(NamedTuple):
    """An operation that gave a NaN.

    Attributes
    ----------
    number : int
        Number of the operation in the call, from 1 in order of execution.
    was_given : bool
        Whether all its NaN came from outside.
    """

    number: int
    was_given: bool


class _Frame:
    """The values of a call, or of a step of a loop, and the origins of those that hold a NaN.

    Attributes
    ----------
    origins, before : dict of int to NanOrigin
        By register: of this step, and of the one before.
    written : dict of int to NanOrigin
        The origin of the first NaN in each result of earlier steps.
    ended : list of _Frame
        Runs of loops in the operation that goes on.
    """

    def __init__(self, program: Program, loop: LoopInstruction | None = None) -> None:
        self.program, self.loop = program, loop
        self.values: dict[int, Any] = {}
        self.origins: dict[int, NanOrigin] = {}
        self.before: dict[int, NanOrigin] = {}
        self.written: dict[int, NanOrigin] = {}
        self.ended: list[_Frame] = []

    def value(self, register: int) -> Any:
        return self.program.constants.get(register, self.values.get(register))

    def end_step(self) -> None:
        self.before, self.origins = self.origins, {}
        for register in self.program.outputs:
            if register in self.before:
                self.written.setdefault(register, self.before[register])

    def of_input(self, register: int, around: dict[int, NanOrigin]) -> NanOrigin | None:
        """Return the origin of a NaN in an input of the step; ``around`` has those outside of the loop."""
        assert self.loop is not None
        outer = {slot.inner: slot.outer for slot in self.loop.sequences}
        outer |= {slot.inner: slot.outer for slot in self.loop.non_sequences}
        if register in outer:
            return around.get(outer[register])
        for carry in self.loop.carries:
            if carry.read == register:
                return self.before.get(carry.write, around.get(carry.outer))
        for state in self.loop.states:
            if any(read == register for _, read in state.reads):
                known = [self.before[write] for _, write in state.writes if write in self.before]
                return min(known, default=around.get(state.outer))
        return None

    def of_result(self, register: int, around: dict[int, NanOrigin]) -> NanOrigin | None:
        """Return the origin of a NaN in a result of the loop, which has ended."""
        assert self.loop is not None
        for carry in self.loop.carries:
            if carry.result == register:
                return self.before.get(carry.write, around.get(carry.outer))
        for output in self.loop.step_outputs:
            if output.result == register:
                return (self.written if output.keep_last is None else self.before).get(output.inner)
        for state in self.loop.states:
            if register in (state.result, state.history):
                last = state.keep_last is not None and register == state.result
                known = self.before if last else self.written
                found = [known[write] for _, write in state.writes if write in known]
                return min(found, default=around.get(state.outer))
        return None

    def held(self) -> Iterator[NanOrigin]:
        """Iterate over the origins of all NaN that are held now."""
        yield from self.written.values()
        yield from (origin for register, origin in self.origins.items() if register in self.values)
        for run in self.ended:
            yield from run.held()


class NanOrigins(Observer):
    """Follow the NaN of one call to its results.

    Examples
    --------
    >>> NanOrigins().found is None
    True
    """

    detail = "values"

    def __init__(self) -> None:
        self.number = 0
        self._program: Program | None = None
        self._loops: dict[int, LoopInstruction] = {}
        self._frames: list[_Frame] = []

    @property
    def found(self) -> NanOrigin | None:
        """The origin of a NaN in the results; of a call that has not ended, of one that is held."""
        if not self._frames:
            return None
        call = self._frames[0]
        results = [call.origins[number] for number in call.program.outputs if number in call.origins]
        return min(results or (one for frame in self._frames for one in frame.held()), default=None)

    def compiled(self, event: CompiledFunction) -> None:
        """Note the function."""
        self._program = event.program
        self._loops = {loop.key: loop for loop, _ in all_loops(event.program)}

    def loop_begin(self, function: int, loop: int, n_steps: int, buffer_bytes: int) -> None:
        """Open a run."""
        self._frames.append(_Frame(self._loops[loop].body, self._loops[loop]))

    def loop_end(
        self,
        function: int,
        loop: int,
        steps: int,
        elapsed_ns: int,
        setup_ns: int,
        error: BaseException | None,
    ) -> None:
        """Close a run."""
        ended = self._frames.pop()
        ended.end_step()
        self._frames[-1].ended.append(ended)

    def step_inputs(self, function: int, loop: int | None, step: int, values: tuple[Any, ...]) -> None:
        """Begin the call, or a step."""
        if loop is None:
            assert self._program is not None
            self._frames = [_Frame(self._program)]
        frame = self._frames[-1]
        frame.end_step()
        frame.values = dict(zip(frame.program.inputs, values, strict=True))
        if frame.loop is not None:
            around = self._around(frame.loop)
            for register, value in frame.values.items():
                if nan_in(value) is not None and (origin := frame.of_input(register, around)) is not None:
                    frame.origins[register] = origin

    def _around(self, loop: LoopInstruction) -> dict[int, NanOrigin]:
        """Return the origins of values outside of a loop; of one in a side of an ``ifelse`` they are not known."""
        frame = self._frames[-2]
        return frame.origins if any(one is loop for one in frame.program.instructions) else {}

    def instruction(
        self, function: int, loop: int | None, step: int, index: int, elapsed_ns: int, values: tuple[Any, ...]
    ) -> None:
        """Give each NaN of an operation's results its origin."""
        self.number += 1
        frame = self._frames[-1]
        instruction = frame.program.instructions[index]
        for register, value in zip(instruction.outputs, values, strict=True):
            bad = nan_in(value)
            origin = self._origin(frame, instruction, register, bad) if bad is not None else None
            if origin is not None:
                frame.origins[register] = origin
        frame.values.update(zip(instruction.outputs, values, strict=True))
        frame.ended.clear()
        for number in instruction.frees:
            frame.values.pop(number, None)

    def _origin(
        self, frame: _Frame, instruction: AnyInstruction, register: int, bad: np.ndarray[Any, Any]
    ) -> NanOrigin | None:
        """Return the origin of a NaN in a result; None for one from outside that no operation computed with."""
        if isinstance(instruction, LoopInstruction):
            return frame.ended[-1].of_result(register, frame.origins) if frame.ended else None
        read = {number: nan_in(frame.value(number)) for number in instruction.inputs}
        given = {number: found for number, found in read.items() if found is not None}
        if _is_elementwise(instruction):
            given = {number: found for number, found in given.items() if (found & bad).any()}
        known = [frame.origins[number] for number in given if number in frame.origins]
        known += [origin for run in frame.ended for origin in run.written.values()]  # in a side of an ifelse
        made = not given or made_here(instruction, bad, given.values()) is not None
        if known and not (made and all(one.was_given for one in known)):
            return min(known)
        if given and (moves_only(instruction) or is_added_cast(instruction)):
            return None
        return NanOrigin(self.number, not made)


def made_here(
    instruction: AnyInstruction, bad: np.ndarray[Any, Any], given: Iterable[np.ndarray[Any, Any]]
) -> np.ndarray[Any, Any] | None:
    """Return which NaN of a result are in no input of an elementwise operation; None where all are, and for other operations."""
    if not _is_elementwise(instruction):
        return None
    made = bad & ~np.logical_or.reduce([np.broadcast_to(one, bad.shape) for one in given])
    return made if made.any() else None


def _is_elementwise(instruction: AnyInstruction) -> bool:
    return isinstance(instruction, Instruction) and isinstance(
        instruction.op.declaration, ElementwiseDeclaration
    )


def nan_in(value: Any) -> np.ndarray[Any, Any] | None:
    """Return which numbers are NaN; None if none is."""
    array = np.asarray(value)
    if array.dtype.kind != "f":
        return None
    found = np.isnan(array)
    return found if found.any() else None
