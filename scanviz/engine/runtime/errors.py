"""Runtime errors in the user's words: the operation and its line, its inputs, the loop and the step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from scanviz.engine.errors import ScanvizError, ScanvizValueError, ShapeError, some
from scanviz.engine.graph.types import TensorType
from scanviz.engine.program.instructions import (
    AnyInstruction,
    LoopInstruction,
    Program,
    StateSlot,
    StepOutputSlot,
)

TRANSLATED = (
    ValueError,
    TypeError,
    IndexError,
    ArithmeticError,
    MemoryError,
    np.linalg.LinAlgError,
    ScanvizError,
)


class Failure(NamedTuple):
    """The place where a Program failed, as each tier reports it.

    Attributes
    ----------
    instruction : int
        Index of the instruction in the Program, or in the body of the loop.
    step : int or None
        The step of the loop; None outside of loops.
    values : tuple
        The values of the instruction's inputs; None for unknown ones.
    """

    instruction: int
    step: int | None = None
    values: tuple[Any, ...] = ()


def in_words(
    error: BaseException, program: Program, failure: Failure | None, loop: LoopInstruction | None = None
) -> BaseException:
    """Return the error to raise for an error at an instruction; the error itself if the instruction is unknown."""
    if failure is None:
        return error
    instruction = program.instructions[failure.instruction]
    return translate(error, program, instruction, failure.values, loop, failure.step) or error


def translate(
    error: BaseException,
    program: Program,
    instruction: AnyInstruction,
    values: Sequence[Any],
    loop: LoopInstruction | None = None,
    step: int | None = None,
) -> ScanvizError | None:
    """Return the error to raise in place of an instruction's error; None to keep the error.

    Parameters
    ----------
    error : exception
        The original error.
    program : Program
        The program of the instruction.
    instruction : instruction
        The instruction.
    values : sequence
        The values of its inputs, as far as known.
    loop, step : optional
        The loop it belongs to and its step.
    """
    if isinstance(error, ScanvizError) and error.translated:
        _add_loop(error, loop, step)
        return None
    if not isinstance(error, TRANSLATED):
        return None
    from scanviz.engine.program.value_names import as_written  # only for errors
    from scanviz.engine.runtime.wording import Words, names_an_index, worded

    source = instruction.provenance.source
    text = source.text() if source is not None else ""
    inputs = ", ".join(
        _input(program, number, value)
        for number, value in zip(as_written(program, instruction), values, strict=False)
    )
    if isinstance(error, ScanvizError) and not names_an_index(error):
        named = _named(instruction, error.what)
        words = Words(type(error), named, error.expected, error.found, error.fix)
        where = error.where if error.where is not None else source
    else:
        words, where = worded(error, program, instruction, values), source
    translated = words.kind(
        words.what + _of_loop(instruction, loop),
        text=text,
        where=where,
        step=step if loop is not None else words.step,
        expected=words.expected,
        found=words.found if words.found is not None else inputs or None,
        fix=words.fix,
    )
    translated.translated = True  # outer loops only add their names
    translated.__dict__["loops"] = [loop.key] if loop is not None else []
    if loop is None:
        translated.__dict__["beside"] = _of_loop(instruction, None)
    return translated


def _named(instruction: AnyInstruction, what: str) -> str:
    """Return the message of an own error, with the operation in front unless it names a loop."""
    of_loop = isinstance(instruction, LoopInstruction) or instruction.op.facts.for_loop
    return what if of_loop else f"{instruction.op.asked_as}: {what}"


def _of_loop(instruction: AnyInstruction, loop: LoopInstruction | None) -> str:
    """Return the loop of an operation: the one that runs it, or the one whose steps it was pushed out of."""
    if loop is not None:
        return f" in loop `{loop.name}`"
    scans, rule = instruction.provenance.scans, instruction.provenance.rule
    if not scans or isinstance(instruction, LoopInstruction):
        return ""
    return f" in loop `{scans[-1]}`, {'for all its steps at once' if rule else 'outside of its steps'}"


def _add_loop(error: ScanvizError, loop: LoopInstruction | None, step: int | None) -> None:
    """Add the outer loop and its step to an error."""
    loops: list[int] = error.__dict__.setdefault("loops", [])
    if loop is None or loop.key in loops:
        return
    loops.append(loop.key)
    inner = f", at step {error.step}" if error.step is not None else ""
    beside, what = error.__dict__.pop("beside", ""), error.what
    if beside.startswith(f" in loop `{loop.name}`,"):  # a side of a branch in its step
        error.what, error.step = f"{what.removesuffix(beside)} in loop `{loop.name}`", step
        return
    error.what, error.step = f"{what}{inner}, in loop `{loop.name}`", step


def _input(program: Program, number: int, value: Any) -> str:
    name, kind = program.registers[number].name, program.registers[number].type
    shape, dtype = np.shape(value), getattr(value, "dtype", type(value).__name__)
    dtype = kind.dtype if isinstance(kind, TensorType) else dtype  # before a cast that lowering added
    called = f"`{name}`" if name else _called(program, number)
    return f"{called} {dtype}{list(shape)}"


def _called(program: Program, number: int) -> str:
    """Return the name of an unnamed value: its expression, or its position among the inputs."""
    from scanviz.engine.program.value_names import ValueNames  # only for errors

    found = ValueNames(program).of(number)
    return "a constant" if found == "constant" else f"`{found}`"


def short_state(loop: LoopInstruction, slot: StateSlot, rows: int, needed: int) -> ScanvizError:
    """Return the error of an initial state with too few rows for its taps."""
    taps = [tap for tap, _ in slot.reads]
    return ScanvizValueError(
        f"the initial state of `{slot.name}` in loop `{loop.name}` has too few rows for taps {taps}",
        where=loop.provenance.source,
        expected=f"{'at least ' if slot.kind == 'mitmot' else ''}{some(needed, 'row')}",
        found=some(rows, "row"),
        fix=f"initial rows for the steps {-needed} to -1, the oldest first" if needed > 1 else None,
    )


def long_state(loop: LoopInstruction, slot: StateSlot, rows: int, needed: int) -> ScanvizError:
    """Return the error of an initial state with more rows than its taps read."""
    taps = [tap for tap, _ in slot.reads]
    return ScanvizValueError(
        f"the initial state of `{slot.name}` in loop `{loop.name}` has more rows than taps {taps} read",
        where=loop.provenance.source,
        expected=some(needed, "row"),
        found=some(rows, "row"),
        fix=f"initial[-{needed}:] for its last rows, or initial[:{needed}], which Theano takes",
    )


def changed_shape(
    loop: LoopInstruction,
    slot: StateSlot | StepOutputSlot,
    step: int,
    expected: tuple[int, ...],
    found: tuple[int, ...],
) -> ScanvizError:
    """Return the error of a state or output whose shape differs from the rows before."""
    inner = slot.writes[0][1] if isinstance(slot, StateSlot) else slot.inner
    producer = next(
        (instruction for instruction in loop.body.instructions if inner in instruction.outputs), None
    )
    source = producer.provenance.source if producer is not None else loop.provenance.source
    text = source.text() if source is not None else ""
    what = "state" if isinstance(slot, StateSlot) else "output"
    changed = ShapeError(
        f"{what} `{slot.name}` of loop `{loop.name}` changed its shape",
        where=source,
        text=text,
        step=step,
        expected=f"shape {expected}, as {'its initial state' if what == 'state' and step == 0 else 'before'}",
        found=f"shape {found}",
        fix=_remedy(slot, producer, expected, found),
    )
    changed.translated = True
    changed.__dict__["loops"] = [loop.key]
    return changed


def _remedy(
    slot: StateSlot | StepOutputSlot,
    producer: AnyInstruction | None,
    expected: tuple[int, ...],
    found: tuple[int, ...],
) -> str:
    if isinstance(slot, StepOutputSlot):
        return "the same shape from every step: T.where(T.arange(n) < t, v, 0) instead of v[:t]"
    from scanviz.engine.ops.join import CONCATENATE  # only for errors
    from scanviz.engine.ops.size_checks import shape_remedy

    return shape_remedy(
        slot.name, expected, found, producer is not None and producer.op.declaration is CONCATENATE
    )
