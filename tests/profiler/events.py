"""Events of an engine, made by hand: a program with a nested loop, and a clock that the test moves."""

from functools import cache

import numpy as np
from msgspec.structs import replace

import scanviz
from scanviz import Mode
from scanviz import tensor as T
from scanviz.engine.observation.events import CompiledFunction, StepSeries
from scanviz.engine.program.instructions import LoopInstruction, Program
from scanviz.profiler.recording.overhead import FREE
from scanviz.profiler.recording.recorder import Recorder


class Clock:
    """Gives the time it was set to."""

    def __init__(self) -> None:
        self.now = 1_000_000

    def __call__(self) -> int:
        return self.now


@cache
def nested() -> scanviz.Function:
    """Return a function with a loop `rows` and a loop `cells` in its step."""

    def step(row, total):
        cells, _ = scanviz.scan(lambda cell, s: s + cell * 2.0, row, 0.0, name="cells")
        return total + cells[-1]

    matrix = T.matrix("X")
    rows, _ = scanviz.scan(step, matrix, 0.0, name="rows")
    return scanviz.function([matrix], rows, name="table", mode=Mode("numpy").excluding("push_out"))


def program(shift: int = 0) -> Program:
    """Return the program of :func:`nested`, the keys of its loops raised by ``shift``."""
    return _raised(nested().program, shift)


def _raised(given: Program, shift: int) -> Program:
    instructions = tuple(
        replace(instruction, key=instruction.key + shift, body=_raised(instruction.body, shift))
        if isinstance(instruction, LoopInstruction)
        else instruction
        for instruction in given.instructions
    )
    return replace(given, instructions=instructions)


def compiled(key: int = 1, shift: int = 0, name: str = "table") -> CompiledFunction:
    return CompiledFunction(key, name, None, program(shift), "numpy", {"rewrite": 5, "compile": 7}, None)


def loop_keys(shift: int = 0) -> tuple[int, int]:
    """Return the keys of `rows` and `cells`."""
    rows = next(
        instruction for instruction in program(shift).instructions if isinstance(instruction, LoopInstruction)
    )
    cells = next(
        instruction for instruction in rows.body.instructions if isinstance(instruction, LoopInstruction)
    )
    return rows.key, cells.key


def steps(loop: int, times: list[int], first: int = 0) -> StepSeries:
    return StepSeries(loop, first, np.array(times, np.int64))


def recorder(clock: Clock | None = None, **options: object) -> Recorder:
    """Return a recorder that knows of :func:`nested` as function 1, by a clock that stands still."""
    made = Recorder(clock=clock or Clock(), calibration=options.pop("calibration", FREE), **options)
    made.compiled(compiled())
    return made


def run(made: Recorder, loop: int, times: list[int], setup: int = 0) -> None:
    """Notify one run of a loop, in one chunk."""
    made.loop_begin(1, loop, len(times), 64)
    made.loop_steps(steps(loop, times))
    made.loop_end(1, loop, len(times), sum(times) + setup, setup, None)


def timed(loop: int, values: list[list[int]], copies: list[int], around: int, first: int = 0) -> StepSeries:
    """Return a chunk of steps whose operations took `values` (operation by step)."""
    operations = np.array(values, np.int64)
    copied = np.array(copies, np.int64)
    return StepSeries(loop, first, operations.sum(axis=0) + copied + around, operations, copied)


def control(loop: int, count: int, step_ns: int, entry_ns: int, first: int = 0) -> StepSeries:
    """Return a control block: steps that warm its code up, one step, and the others."""
    covers = np.array([8, 1, count - 9], np.int64)
    times = entry_ns + covers * step_ns
    times[0] += 5000  # cold
    return StepSeries(loop, first, times, covers=covers, control=True)
