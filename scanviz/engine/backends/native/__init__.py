"""The native tier: LLVM compiles each loop to one function; operations outside of loops run on NumPy."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from scanviz.engine.backends.base import RUNS, Availability, Support
from scanviz.engine.backends.native.cache.llvm import REINSTALL
from scanviz.engine.backends.numpy import LIBRARY as NUMPY
from scanviz.engine.backends.tier_policy import TierPolicy
from scanviz.engine.backends.whole_function import WholeFunctionExecutable
from scanviz.engine.errors import BackendError
from scanviz.engine.program.instructions import Instruction, Program
from scanviz.engine.program.verify import verify_program

if TYPE_CHECKING:
    from scanviz.engine.runtime.specialised import SpecialisedLoop

__all__ = ["LIBRARY", "NativeBackend"]


def _loop(*given: Any) -> SpecialisedLoop:
    from scanviz.engine.backends.native.run.tier import NativeRunner  # slow to import: it loads LLVM

    return NativeRunner(*given)


LIBRARY = NUMPY._replace(tier=NUMPY.tier._replace(name="native"), loops=_loop)


class NativeBackend:
    """The native tier."""

    name = "native"

    def availability(self) -> Availability:
        """Return whether llvmlite is installed and the platform is supported."""
        try:
            import llvmlite
        except Exception as error:  # a broken installation may raise anything at import
            if isinstance(error, ModuleNotFoundError) and error.name == "llvmlite":
                return Availability(False, "llvmlite is not installed", "pip install llvmlite")
            return Availability(
                False, f"llvmlite cannot be imported ({type(error).__name__}: {error})", REINSTALL
            )
        if sys.platform != "linux":
            return Availability(False, "native code has been tried on Linux alone")
        return Availability(True, "machine code through LLVM", version=getattr(llvmlite, "__version__", ""))

    def supports(self, instruction: Instruction, program: Program) -> Support:
        """Return whether an operation of a loop's step has native code."""
        from scanviz.engine.backends.native.emit.instructions import (
            why_not,
        )  # slow to import, and seldom needed

        reason = why_not(instruction, program)
        return RUNS if reason is None else Support(False, reason)

    def compile(self, program: Program) -> WholeFunctionExecutable:
        """Return NumPy's code for a program, with native code for its loops.

        Raises
        ------
        BackendError
            If LLVM is missing; the message has the command that installs it.
        """
        found = self.availability()
        if not found.works:
            raise BackendError(f"the backend 'native' cannot run here: {found.why}", fix=found.how_to_get)
        verify_program(program)
        return WholeFunctionExecutable(program, LIBRARY, TierPolicy(compiles_all=True))
