"""Arguments of a kernel: arrays with their strides, numbers, and states of random generators."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from scanviz.engine.backends.cupy.elements import INSIDE, Elements, Registers
from scanviz.engine.backends.cupy.kernel_rows import Index
from scanviz.engine.program.instructions import Program, dtype_of
from scanviz.engine.program.plan import Plan
from scanviz.engine.scalar.cuda_source import TYPES


class Argument(NamedTuple):
    """An array or a number that a kernel takes.

    Attributes
    ----------
    kind : str
        ``"sequence"``, ``"state"``, ``"output"``, ``"carry"``, ``"fixed"`` (a non-sequence) or ``"constant"``; ``"number"`` for a
        non-sequence passed by value; ``"random_carry"`` and ``"random_fixed"`` for the state of a random generator;
        ``"state_rows"`` and ``"output_rows"`` for the number of rows of a ring.
    number : int
        Number of the slot; the register of a constant.
    strides : tuple of int
        The axes, from 0, whose strides are passed.
    is_start : bool
        Whether it is a copy of the array as it was before the first step: some threads read what others write.
    """

    kind: str
    number: int
    strides: tuple[int, ...] = ()
    is_start: bool = False


class KernelArguments(Registers):
    """The arguments of a kernel as they are added, and the names that it gives them.

    Attributes
    ----------
    arguments : list of Argument
        After the first step, the last one, and sizes and strides.
    parameters : list of str
        Their declarations.
    numbers : int
        Number of passed sizes and strides.
    before : list of str
        Statements that name them.
    """

    def __init__(self, body: Program, plan: Plan, elements: Elements) -> None:
        super().__init__(body, plan, elements)
        self.arguments: list[Argument] = []
        self.parameters: list[str] = []
        self.numbers = 1 + len(elements.sizes)
        self.before: list[str] = []

    def array(self, kind: str, number: int, register: int, written: bool = False, start: bool = False) -> str:
        """Add an array to the arguments and return its name in the kernel, where it begins at the thread's element."""
        name = f"{kind}{number}{'_start' if start else ''}"
        made = TYPES[dtype_of(self.body, register)]
        self.parameters.append(
            f"{made}* {name}_data" if written else f"const {made}* __restrict__ {name}_data"
        )
        strides = []
        has_rows = kind in ("sequence", "state", "output")
        if has_rows:
            strides.append(0)
            self.before.append(f"const long long {name}_row = {self._next_number()};")
        terms = []
        for axis, along in enumerate(self.along(register)):
            if along is not None:
                strides.append(axis + has_rows)
                stride = f"{name}_axis{axis}"
                self.before.append(f"const long long {stride} = {self._next_number()};")
                if along != INSIDE:
                    terms.append(f"i{along} * {stride}")
        self.arguments.append(Argument(kind, number, tuple(strides), start))
        self.before.append(
            f"{made if written else 'const ' + made}* {name} = {name}_data + ({' + '.join(terms) or '0'});"
        )
        return name

    def _next_number(self) -> str:
        self.numbers += 1
        return f"z.of[{self.numbers - 1}]"

    def count(self, kind: str, number: int) -> str:
        """Add the number of rows of a ring to the arguments and return its name."""
        name = f"{kind}{number}_rows"
        self.arguments.append(Argument(f"{kind}_rows", number))
        self.parameters.append(f"const long long {name}")
        return name

    def stream(self, kind: str, number: int) -> str:
        """Return the name of the random state at the first step, added to the arguments where it is new."""
        found = Argument(f"random_{kind}", number)
        name = f"{found.kind}{number}"
        if found not in self.arguments:
            self.arguments.append(found)
            self.parameters.append(f"const sv_state {name}")
        return name

    def steps(self, name: str, register: int, index: Index) -> Iterator[str]:
        """Yield the distances from the thread's element to one inside its row."""
        for axis, along in enumerate(self.along(register)):
            if along == INSIDE:
                yield f"({index[axis]}) * {name}_axis{axis}"

    def condition(self, register: int, further: str = "") -> str:
        """Return the condition for a thread to write a value that not every thread has for itself."""
        conditions = [f"i{axis} == 0" for axis in self.missing(register)] + ([further] if further else [])
        return f"if ({' && '.join(conditions)}) " if conditions else ""
