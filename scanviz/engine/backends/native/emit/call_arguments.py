"""The arguments of a loop's code, and what the numbers that it leaves mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

from msgspec import Struct

from scanviz.engine.program.instructions import AnyInstruction, LoopInstruction, Program

if TYPE_CHECKING:
    from scanviz.engine.backends.native.emit.places import ArrayPlace, Base
    from scanviz.engine.graph.nodes import Array

CodeVariant = Literal["plain", "timed", "strips"]


class Site(NamedTuple):
    """An instruction and the program around it.

    Attributes
    ----------
    program : Program
        What it stands in.
    number : int
        Its number there.
    loop : LoopInstruction or None
        The loop whose step the program is; None of a side of a branch.
    around : Site or None
        The loop or the branch that the program is part of; None in the outermost loop.
    side : int
        Which side of the branch.
    shapes : tuple of tuple of int
        Of what the instruction reads before the numbers that its error is made from.
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
        The loop's.
    is_timed : bool
        Whether its ticks are counted too.
    """

    key: int
    is_timed: bool


class Callout(NamedTuple):
    """An instruction that is called out.

    Attributes
    ----------
    site : int
        Which instruction.
    inputs, outputs : tuple of ArrayPlace
        How what it reads and writes lies; numbers have no axes.
    why : str
        Why it has no native code.
    seldom : bool
        Whether that is so in rare cases alone.
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
        What their addresses are counted from; ``("stamps", 0, 0)`` last where times are taken.
    scratch : int
        Bytes of scratch memory.
    stamped : tuple of tuple of int
        Of code that notes times: the instructions that end at each stamp of a step whose operations are timed.
    reported : int
        How many int64 numbers an error leaves: the site, the step of each loop around it, and values of its last inputs.
    constants : mapping
        Those that are constants, in C order.
    sites : tuple of Site
        Instructions that an error may be of, or that are called out.
    callouts : tuple of Callout
        Those that are called out.
    holds_inside : bool
        Whether inner loops or branches are part of the code, so that observers are not notified of them.
    counted : tuple of RunCounter
        The inner loops whose runs the code counts.
    in_strips : bool
        Whether it takes strips of elements through many steps, one after the other.
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
    in_strips: bool
