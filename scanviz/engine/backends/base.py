"""The protocol of a backend.

A backend compiles a :class:`~scanviz.engine.program.instructions.Program` into an :class:`Executable`.  Third parties
add theirs under the entry-point group ``scanviz.backends``; the value is a class without arguments that follows
:class:`Backend`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

if TYPE_CHECKING:
    from scanviz.engine.graph.meaning_table import MeaningTable
    from scanviz.engine.graph.shared import SharedVariable
    from scanviz.engine.observation.probe import Probe
    from scanviz.engine.program.instructions import Instruction, Program


class Availability(NamedTuple):
    """The availability of a backend on this machine.

    Attributes
    ----------
    works : bool
        Whether programs can be run.
    why : str
        The device or library that it uses, or the missing part.
    how_to_get : str
        The command that installs what is missing; empty where nothing is.
    version : str
        The version of its library, empty if unknown.
    """

    works: bool
    why: str
    how_to_get: str = ""
    version: str = ""


class Support(NamedTuple):
    """The answer of a tier to one instruction: it can run it, or the reason why not.

    Attributes
    ----------
    runs : bool
        Whether the tier runs it.
    why : str
        The reason if not.
    """

    runs: bool
    why: str = ""


RUNS = Support(True)
# an operation that is an instruction of a program
Supports = Callable[["Instruction", "Program"], Support]


def supported_by(*tables: MeaningTable[Any]) -> Supports:
    """Return a ``supports`` function: a tier runs the operations that have a row in one of its tables.

    Examples
    --------
    >>> from scanviz.engine.graph.meaning_table import MeaningTable
    >>> supports = supported_by(MeaningTable("meaning of mine", "my_package/{family}.py"))
    >>> import scanviz
    >>> from scanviz import tensor as T
    >>> x = T.vector("x")
    >>> program = scanviz.function([x], T.exp(x)).program
    >>> supports(program.instructions[0], program).why
    '`exp` has no meaning of mine'
    """

    def supports(instruction: Instruction, program: Program) -> Support:
        declaration = instruction.op.declaration
        if any(declaration in table for table in tables):
            return RUNS
        return Support(False, f"`{declaration.name}` has no {' or '.join(table.meaning for table in tables)}")

    return supports


class Executable(Protocol):
    """A compiled program.

    ``run`` may be called from several threads at once.  It never writes into the arrays it is given, and never returns
    an array that it will write to again; results may share memory with inputs, constants or other outputs.

    The attribute ``gives_own`` is True if results never share memory: then calls skip the check.
    One that runs by plans also has a method ``plans()``: the plan of each loop run so far, by the loop's key, for the history of
    rewrites and for printed Programs.
    """

    def run(self, inputs: Sequence[Any], probe: Probe | None) -> list[Any]:
        """Return the program's outputs for its inputs, both in the program's order."""
        ...


@runtime_checkable
class KeepsShared(Protocol):
    """An executable that keeps shared variables in memory of its own between calls."""

    def share(self, first_input: int, first_result: int) -> None:
        """Note the positions from which on inputs are shared variables, and results their new values."""
        ...

    def shared_values(self, variables: Sequence[SharedVariable]) -> list[Any]:
        """Return the values of shared variables, as ``run`` takes them."""
        ...

    def store(self, variables: Sequence[SharedVariable], values: Sequence[Any]) -> None:
        """Store new values, as ``run`` returns them, all or none."""
        ...


class Backend(Protocol):
    """A tier: something that compiles programs.

    One that cannot run every operation also has a method ``supports(instruction, program)`` (:data:`Supports`,
    :func:`supported_by`); printed Programs show what it refuses.  One that compiles whole loops also has a method
    ``why_no_code(node)``: why an operation has no code in them, None where it has; rewrites then keep elementwise work and draws in
    the step.  One that takes arrays of a device has ``owns(array)``: whether an array is of its library.
    """

    name: str

    def availability(self) -> Availability:
        """Return whether it works here, without raising."""
        ...

    def compile(self, program: Program) -> Executable:
        """Return an executable of a program."""
        ...
