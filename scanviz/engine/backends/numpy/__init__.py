"""The NumPy tier: Python source generated for each loop, straight-line calls into preallocated arrays.

The three variants (plain, with a stamp per step, with a stamp per operation) are the same code, so a profile measures what runs
without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from scanviz.engine.backends.numpy import elementwise  # noqa: F401  # rows of source; the table has others when it is asked
from scanviz.engine.backends.numpy.added_to_zeros import added_to_zeros
from scanviz.engine.backends.numpy.emit import EMITS, statements
from scanviz.engine.backends.numpy.long_results import long_result
from scanviz.engine.backends.source.emitter import Emitter, Library
from scanviz.engine.backends.source.executable import SourceExecutable
from scanviz.engine.program.instructions import Instruction, Program, is_scalar
from scanviz.engine.program.verify import verify_program
from scanviz.engine.runtime.buffer_pool import LONG, AlignedArrays
from scanviz.engine.runtime.specialised import Tier

if TYPE_CHECKING:
    from scanviz.engine.backends.base import Availability
    from scanviz.engine.runtime.interpreter import Interpreter


class NumpyModule(AlignedArrays):
    """NumPy with scalars for single numbers, which are faster than 0-d arrays, and long arrays in reused memory."""

    __slots__ = ()

    def number(self, value: Any) -> Any:
        """Return a single number as generated code takes it."""
        return value if isinstance(value, np.generic) else np.asarray(value)[()]

    def copy(self, value: Any) -> Any:
        """Return a copy of an array, or a scalar."""
        return super().copy(value) if value.nbytes >= LONG else value.copy()

    def constant(self, program: Program, number: int) -> Any:
        """Return a constant, a single number as a scalar."""
        value = program.constants[number]
        return value[()] if is_scalar(program, number) else value


def _interpreted(program: Program) -> Interpreter:
    from scanviz.engine.backends.other_tier import OtherTierRunner  # seldom needed
    from scanviz.engine.backends.reference import perform
    from scanviz.engine.runtime.interpreter import Interpreter

    return Interpreter(program, perform, AlignedArrays(), other_tier=OtherTierRunner)


def _outside(emitter: Emitter, instruction: Instruction, over: str | None) -> list[str] | None:
    return long_result(emitter, instruction) if over is None else added_to_zeros(emitter, instruction, over)


LIBRARY = Library(
    Tier("numpy", EMITS, NumpyModule(), _interpreted),
    statements,
    outside=_outside,
)


class NumpyBackend:
    """The NumPy tier."""

    name = "numpy"

    def availability(self) -> Availability:
        """Return that it is available: it needs only NumPy."""
        from scanviz.engine.backends.base import Availability  # seldom needed

        return Availability(True, "NumPy, generated code", version=np.__version__)

    def compile(self, program: Program) -> SourceExecutable:
        """Return generated code for a program; each loop gets its code when its shapes are known."""
        verify_program(program)
        return SourceExecutable(program, LIBRARY)
