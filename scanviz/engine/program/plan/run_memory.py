"""What a run needs of its loop's plan, and a plan that is made when somebody asks for more than that.

Code that is found on disk has its plan in it: a run needs the sizes of buffers, and the rows that are made before the first step.
Where registers live is wanted by who writes code, and by who looks at it; planning takes longer than all else that is left then.
"""

from __future__ import annotations

from collections.abc import Callable

from scanviz.engine.named_tuple import NamedTuple
from scanviz.engine.program.instructions import StateSlot
from scanviz.engine.program.plan.location import Plan, StoreKind
from scanviz.engine.program.shapes import ConcreteShape


class RunMemory(NamedTuple):
    """What a run needs of a plan.

    Attributes
    ----------
    buffers : tuple of (shape, dtype)
        The buffers to make.
    arena : int
        Bytes of all buffers.
    outputs : tuple of shape or None
        Of each step output the shape of its rows; None where none are kept, or the first row that is stored says it.
    over : tuple of int or None
        Of each step output the sequence whose rows it may be written over.
    mismatch : tuple or None
        A state whose rows cannot have the shape that the step gives, and both shapes: an error of the first step.
    """

    buffers: tuple[tuple[tuple[int, ...], str], ...]
    arena: int
    outputs: tuple[ConcreteShape, ...]
    over: tuple[int | None, ...]
    mismatch: tuple[StateSlot, tuple[int, ...], tuple[int, ...]] | None = None


def run_memory(plan: Plan) -> RunMemory:
    """Return what a run of a loop needs of its plan."""
    outputs: list[ConcreteShape] = []
    over: list[int | None] = []
    while (store := plan.stores.get(("output", len(outputs)))) is not None:
        outputs.append(None if store.kind is StoreKind.NONE or store.checked else store.row)
        over.append(store.over)
    return RunMemory(plan.buffers, plan.arena, tuple(outputs), tuple(over), plan.mismatch)


class LatePlan:
    """A plan that is made when it is first asked for; threads that ask at once may each make it, and make the same.

    Parameters
    ----------
    make : callable
        Makes it.
    """

    __slots__ = ("_make", "_memory", "_plan")

    def __init__(self, make: Callable[[], Plan]) -> None:
        self._make = make
        self._plan: Plan | None = None
        self._memory: RunMemory | None = None

    @property
    def plan(self) -> Plan:
        """The plan."""
        if self._plan is None:
            self._plan = self._make()
        return self._plan

    @property
    def memory(self) -> RunMemory:
        """What a run needs of it."""
        if self._memory is None:
            self._memory = run_memory(self.plan)
        return self._memory

    def know(self, memory: RunMemory) -> None:
        """Take what a run needs, as it was kept with code: the plan is not made for that."""
        self._memory = memory


__all__ = ["LatePlan", "RunMemory", "run_memory"]
