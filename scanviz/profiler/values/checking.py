"""Check values as they are computed: an observer that stops at the first bad result.

The observer asks the engine for every value, so functions run on the reference tier.  A view (a row, a transpose) is never
blamed, but the first operation that makes a bad number or *computes* with one.

Limits: a side of an ``ifelse`` is one operation; only forked processes of the program are checked, each for itself.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from scanviz.engine import observe
from scanviz.engine.graph.types import TensorType
from scanviz.engine.locks import lock
from scanviz.engine.observation.events import CompiledFunction
from scanviz.engine.observe import Observer
from scanviz.engine.program.instructions import Instruction, LoopInstruction, all_loops
from scanviz.engine.program.value_names import as_written, is_added_cast
from scanviz.profiler.values.finding import finding_of
from scanviz.profiler.values.held import OpenCalls
from scanviz.record.traces.finding import CheckedRecord, FindingRecord
from scanviz.record.traces.origins import Frame, moves_only


class CheckOptions(NamedTuple):
    """The values that a check looks for.

    Attributes
    ----------
    nan, inf : bool
        Numbers that are NaN, or infinite.
    big : float or None
        Numbers whose absolute value is larger.
    dtype : bool
        Results of a wider floating dtype than an input's.
    shape : bool
        Results whose shape changed since the last step.
    """

    nan: bool = True
    inf: bool = True
    big: float | None = None
    dtype: bool = False
    shape: bool = False


class Checker(Observer):
    """Check every result of every operation.

    Parameters
    ----------
    wanted : CheckOptions
        Values to look for.
    stops : bool
        Whether the first finding ends the program by ``SystemExit``, which ``except Exception`` does not catch.

    Attributes
    ----------
    finding : FindingRecord or None
        The first.

    Examples
    --------
    >>> import scanviz
    >>> from scanviz import tensor as T
    >>> x = T.vector("x")
    >>> with observe.observed_by(Checker(stops=False)) as checker:
    ...     result = scanviz.function([x], T.log(x))([1.0, -1.0])
    >>> checker.finding.problem, checker.finding.operation, checker.finding.result.where
    ('nan', 'log(x)', (1,))
    """

    detail = "values"

    def __init__(self, wanted: CheckOptions | None = None, stops: bool = True) -> None:
        self.wanted = wanted if wanted is not None else CheckOptions()
        self.finding: FindingRecord | None = None
        self.on_found: Callable[[FindingRecord], None] | None = None
        self._stops, self._checks = stops, number_checks(self.wanted)
        self._events: dict[int, CompiledFunction] = {}
        self._loops: dict[int, LoopInstruction] = {}
        self._runs: dict[int, itertools.count[int]] = {}
        self._calls: dict[int, itertools.count[int]] = {}
        self._thread = OpenCalls[
            tuple[CompiledFunction, list[Frame]]
        ]()  # each with its open loops, outer first
        self._lock = lock()
        self._counted = [0, 0, 0, 0]  # calls, steps, operations, values

    @property
    def record(self) -> CheckedRecord:
        """The counts so far, and the finding."""
        calls, steps, operations, values = self._counted
        return CheckedRecord(calls, steps, operations, values, self.finding)

    def compiled(self, event: CompiledFunction) -> None:
        """Remember a function."""
        self._events[event.key] = event
        self._calls.setdefault(event.key, itertools.count())
        for loop, _ in all_loops(event.program):
            self._loops[loop.key] = loop
            self._runs.setdefault(loop.key, itertools.count())

    def function_begin(self, function: int, call: int) -> None:
        """Open a call."""
        event = self._events.get(function)
        if event is not None and self.finding is None:
            number = next(self._calls[function])
            given = len(event.function.inputs if event.function is not None else event.program.inputs)
            self._thread.calls.append((call, (event, [Frame(event.program, number, given=given)])))
            self._count(0, 1)

    def function_end(self, function: int, call: int, elapsed_ns: int, error: BaseException | None) -> None:
        """Close a call and release its values."""
        self._thread.close(call)

    def _frames(self) -> list[Frame]:
        """Return the current call of this thread and its open loops, outer first."""
        current = self._thread.current
        return current[1] if current is not None else []

    def loop_begin(self, function: int, loop: int, n_steps: int, buffer_bytes: int) -> None:
        """Open a run."""
        frames, found = self._frames(), self._loops.get(loop)
        if frames and found is not None:
            inside = any(instruction is found for instruction in frames[-1].program.instructions)
            run = next(self._runs[loop])
            frames.append(Frame(found.body, run, found, inside, n_steps))

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
        frames = self._frames()
        if frames and frames[-1].loop is not None and frames[-1].loop.key == loop:
            frames.pop()
            frames[-1].steps_done[loop] = steps
            self._count(1, steps)

    def step_inputs(self, function: int, loop: int | None, step: int, values: tuple[Any, ...]) -> None:
        """Note the values at the start of a step."""
        frame = self._frame(loop)
        if frame is not None:
            frame.step = step
            frame.inputs = values
            frame.values = dict(zip(frame.program.inputs, values, strict=True))

    def _frame(self, loop: int | None) -> Frame | None:
        frames = self._frames()
        if not frames or self.finding is not None:
            return None
        frame = frames[-1]
        return frame if (frame.loop.key if frame.loop is not None else None) == loop else None

    def instruction(
        self, function: int, loop: int | None, step: int, index: int, elapsed_ns: int, values: tuple[Any, ...]
    ) -> None:
        """Check the results of an operation."""
        frame = self._frame(loop)
        if frame is None:
            return
        instruction = frame.program.instructions[index]
        frame.values.update(zip(instruction.outputs, values, strict=True))
        self._count(2, 1)
        if not isinstance(instruction, LoopInstruction):
            for register, value in zip(instruction.outputs, values, strict=True):
                found = self._problem(frame, index, register, np.asarray(value))
                if found is not None:
                    self._found(found[0], found[1], index, register)
        if not is_added_cast(instruction):  # the next operation shows the cast's input
            for number in instruction.frees:
                frame.values.pop(number, None)

    def _problem(
        self, frame: Frame, index: int, register: int, value: np.ndarray[Any, Any]
    ) -> tuple[str, str] | None:
        """Return the problem of a result and what was expected, None if it is fine."""
        self._count(3, value.size)
        if is_added_cast(frame.program.instructions[index]):
            return None  # reported with the operation that reads it
        wanted, moved = self.wanted, moves_only(frame.program.instructions[index])
        if value.dtype.kind == "f" and not moved and (wanted.big is not None or not np.isfinite(value).all()):
            for problem, is_bad in self._checks.items():
                if is_bad(value).any():
                    return problem, ""
        if wanted.dtype:
            narrow = _narrower_inputs(frame, index, value.dtype)
            if narrow:
                return "dtype", f"{narrow}, as one of its inputs is"
        if wanted.shape and frame.loop is not None:
            before = frame.shapes.get(register)
            frame.shapes[register] = value.shape
            if before is not None and before != value.shape:
                return "shape", f"{value.dtype}[{','.join(map(str, before))}], as in the step before"
        return None

    def _found(self, problem: str, expected: str, index: int, register: int) -> None:
        assert self._thread.current is not None  # an operation of it has a finding
        event, frames = self._thread.current
        found = finding_of(event, frames, index, register, problem, expected, self._checks.get(problem))
        with self._lock:
            if self.finding is not None:
                return
            self.finding = found
        self._count(1, sum((frame.step or 0) + 1 for frame in frames[1:]))
        observe.detach(self)
        if self.on_found is not None:
            self.on_found(found)
        if self._stops:
            raise SystemExit(1)  # no subclass: threads end silently by this one alone

    def _count(self, what: int, more: int) -> None:
        with self._lock:
            self._counted[what] += more


def number_checks(
    wanted: CheckOptions,
) -> Mapping[str, Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]]:
    """Return, by problem, a test for the numbers that have it.

    Examples
    --------
    >>> {name: is_bad(np.array([1.0, np.inf])).tolist() for name, is_bad in number_checks(CheckOptions()).items()}
    {'nan': [False, False], 'inf': [False, True]}
    """
    found: dict[str, Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]] = {}
    if wanted.nan:
        found["nan"] = np.isnan
    if wanted.inf:
        found["inf"] = np.isinf
    limit = wanted.big
    if limit is not None:
        found["big"] = lambda value: np.abs(value) > limit
    return found


def _narrower_inputs(frame: Frame, index: int, dtype: np.dtype[Any]) -> str:
    """Return the narrowest floating dtype among an operation's inputs if its result is wider; empty if it is not.

    A cast that the user wrote is wanted, and so is a value stored in a wider array.
    """
    instruction = frame.program.instructions[index]
    if dtype.kind != "f" or not isinstance(instruction, Instruction):
        return ""
    if instruction.op.name == "cast" or instruction.op.declaration.family == "index":
        return ""
    types = [frame.program.registers[number].type for number in as_written(frame.program, instruction)]
    inputs = [np.dtype(kind.dtype) for kind in types if isinstance(kind, TensorType)]
    narrow = [given for given in inputs if given.kind == "f" and given.itemsize < dtype.itemsize]
    return str(min(narrow, key=lambda given: given.itemsize)) if narrow else ""
