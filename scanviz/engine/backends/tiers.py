"""Support of instructions by tiers, with the reasons against.

So a Program is refused before it runs, ``scanviz program`` prints which tiers cannot run an operation, and loops can be assigned to
tiers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from scanviz.engine.backends.base import RUNS, Support, Supports
from scanviz.engine.backends.registry import names, resolve
from scanviz.engine.errors import BackendError, ScanvizNotImplementedError
from scanviz.engine.program.instructions import (
    AnyInstruction,
    Instruction,
    LoopInstruction,
    Program,
    programs_in,
)


class Unsupported(NamedTuple):
    """An operation that a tier cannot run.

    Attributes
    ----------
    instruction : Instruction
        The operation.
    loop : LoopInstruction or None
        The innermost loop around it.
    why : str
        The reason.
    """

    instruction: Instruction
    loop: LoopInstruction | None
    why: str


def unsupported(
    instruction: AnyInstruction,
    program: Program,
    tier: str,
    supports: Supports,
    loop: LoopInstruction | None = None,
) -> Iterator[Unsupported]:
    """Iterate over the operations that a tier cannot run, without loops of another ``mode``.

    Parameters
    ----------
    instruction : AnyInstruction
        An operation; a loop or a branch stands for everything in it.
    program : Program
        The program that holds it.
    tier : str
        The tier's name.
    supports : callable
        The tier's function ``supports``.
    loop : LoopInstruction, optional
        The innermost loop around the program.
    """
    if isinstance(instruction, Instruction):
        found = supports(instruction, program)
        if not found.runs:
            yield Unsupported(instruction, loop, found.why)
    elif isinstance(instruction, LoopInstruction):
        if not instruction.runs_on(tier):
            return
        loop = instruction
    for inside in programs_in(instruction):
        for within in inside.instructions:
            yield from unsupported(within, inside, tier, supports, loop)


def check_support(program: Program, tier: str, supports: Supports) -> None:
    """Check that a tier runs all operations of a program, except in loops of another ``mode``.

    Raises
    ------
    ScanvizNotImplementedError
        If it does not; the message names the operation, the loop and the line.
    """
    for part in program.instructions:
        for instruction, loop, why in unsupported(part, program, tier, supports):
            source = instruction.provenance.source
            raise ScanvizNotImplementedError(
                f"the backend {tier!r} has no {instruction.op.name!r}"
                + (f", used in loop `{loop.name}`" if loop is not None else ""),
                text=source.text() if source is not None else "",
                where=source,
                found=why,
                fix="scan(..., mode='numpy') runs this loop on the host"
                if loop is not None
                else "mode='numpy'",
            )


def tiers_of(
    instruction: AnyInstruction, program: Program, tiers: Sequence[str] | None = None
) -> dict[str, Support]:
    """Return for each tier whether it can run an instruction, and why not.

    Parameters
    ----------
    instruction : AnyInstruction
        An operation; a tier runs a loop or a branch if it runs everything in it.
    program : Program
        The program that holds it.
    tiers : sequence of str, optional
        By default all that can be loaded, whether they work here or not.

    Examples
    --------
    >>> import scanviz
    >>> from scanviz import tensor as T
    >>> x = T.vector("x")
    >>> f = scanviz.function([x], T.exp(x))
    >>> found = tiers_of(f.program.instructions[0], f.program)
    >>> found["reference"].runs, found["numpy"].runs
    (True, True)
    """
    return {
        name: _support(instruction, program, name, supports)
        for name, supports in _loaded(names() if tiers is None else tiers).items()
    }


def _support(instruction: AnyInstruction, program: Program, tier: str, supports: Supports) -> Support:
    first = next(unsupported(instruction, program, tier, supports), None)
    if first is None:
        return RUNS
    within = "" if first.instruction is instruction else f"`{first.instruction.op.name}` in it: "
    return Support(False, f"{within}{first.why}")


def _loaded(tiers: Sequence[str]) -> dict[str, Supports]:
    """Return the ``supports`` functions of loadable tiers; a tier without one runs everything."""
    found: dict[str, Supports] = {}
    for name in tiers:
        try:
            backend = resolve(name)
        except BackendError:
            continue
        found[name] = getattr(backend, "supports", None) or _everything
    return found


def _everything(instruction: Instruction, program: Program) -> Support:
    return RUNS


def refused_by(tiers: Sequence[str] | None = None) -> Callable[[Program, AnyInstruction], str]:
    """Return a function that lists the tiers that cannot run an instruction, with the reasons."""
    known = _loaded(names() if tiers is None else tiers)

    def words(program: Program, instruction: AnyInstruction) -> str:
        found = {name: _support(instruction, program, name, supports) for name, supports in known.items()}
        return "; ".join(
            f"not on {name}: {support.why}" for name, support in found.items() if not support.runs
        )

    return words
