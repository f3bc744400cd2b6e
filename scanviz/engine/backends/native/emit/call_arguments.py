"""The arguments of a loop's code, and the meaning of the numbers that it writes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

from msgspec import Struct

from scanviz.engine.program.instructions import AnyInstruction, LoopInstruction, Program

if TYPE_CHECKING:
    from scanviz.engine.backends.native.emit.places import ArrayPlace, Base
    from scanviz.engine.graph.nodes import Array

CodeVariant = Literal["plain", "timed", "strip_mined"]


class Site(NamedTuple):
    """An instruction and the program around it.

    Attributes
    ----------
    program : Program
        The program that the instruction is in.
    number : int
        Its index in the program.
    loop : LoopInstruction or None
        The loop whose step the program is; None for a side of a branch.
    around : Site or None
        The loop or the branch that the program is part of; None in the outermost loop.
    side : int
        The side of the branch.
    shapes : tuple of tuple of int
        The shapes of the inputs before those whose values an error shows.
    """

    program: Program
    number: int
    loop: LoopInstruction | None
    around: Site | None
    side: int
    shapes: tuple[tuple[int, ...], ...]

    @property
    def instruction(self) -> AnyInstruction:
        """The instruction."""
        return self.program.instructions[self.number]


class RunCounter(NamedTuple):
    """Counter of the runs of an inner loop.

    Attributes
    ----------
    key : int
        The loop's key.
    is_timed : bool
        Whether its ticks are counted too.
    """

    key: int
    is_timed: bool


class Callout(NamedTuple):
    """An instruction that native code leaves to Python.

    Attributes
    ----------
    site : int
        The index of its :class:`Site`.
    inputs, outputs : tuple of ArrayPlace
        The memory of what it reads and writes; scalars have no axes.
    why : str
        Why it has no native code.
    seldom : bool
        Whether it is called out only in rare cases.
    """

    site: int
    inputs: tuple[ArrayPlace, ...]
    outputs: tuple[ArrayPlace, ...]
    why: str
    seldom: bool = False


class CallArguments(Struct, frozen=True):
    """The arguments of a loop's code, in order.

    Attributes
    ----------
    addresses : tuple of Base
        The bases of the addresses; ``("stamps", 0, 0)`` is last in timed code.
    scratch : int
        Bytes of scratch memory.
    stamped : tuple of tuple of int
        In timed code: the instructions that end at each stamp of a step whose operations are timed.
    reported : int
        Number of int64 numbers of an error: the site, the step of each loop around it, and values of its last inputs.
    constants : mapping
        The arrays of constants, in C order.
    sites : tuple of Site
        Instructions that may fail or are called out.
    callouts : tuple of Callout
        The callouts.
    holds_inside : bool
        Whether inner loops or branches are part of the code, so that observers are not notified of them.
    counted : tuple of RunCounter
        The inner loops whose runs the code counts.
    strip_mined : bool
        Whether the code takes strips of elements through many steps.
    """

    addresses: tuple[Base, ...]
    scratch: int
    stamped: tuple[tuple[int, ...], ...]
    reported: int
    constants: Mapping[Base, Array]
    sites: tuple[Site, ...]
    callouts: tuple[Callout, ...]
    holds_inside: bool
    counted: tuple[RunCounter, ...]
    strip_mined: bool
