"""The plain CuPy backend: one CuPy call an operation, on an NVIDIA GPU.

Loops are the same generated Python as the NumPy tier's, and rows, buffers and what is done once follow the same plan
(:mod:`scanviz.engine.backends.source`).  What each operation is in CuPy stands in an explicit table
(:mod:`scanviz.engine.backends.cupy.table`), for CuPy lacks some of NumPy.  Scalars that are known on the host (sizes, step
numbers, constants) stay there; arrays live on the device.
Functions take CuPy arrays without copies and then give CuPy arrays back; given NumPy arrays they give NumPy arrays.
Random numbers are drawn on the host by the one formula set, so they equal the other backends'.
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

from scanviz.engine.backends.base import Availability, Executable
from scanviz.engine.backends.cupy.executable import device_executable
from scanviz.engine.backends.cupy.table import CUPY, load_rows
from scanviz.engine.backends.source.executable import SourceExecutable
from scanviz.engine.errors import BackendError, ScanvizNotImplementedError
from scanviz.engine.program.instructions import (
    BranchInstruction,
    LoopInstruction,
    Program,
)
from scanviz.engine.program.verify import verify_program

INSTALL = 'pip install "scanviz[cuda13]" (CUDA 13) or "scanviz[cuda12]" (CUDA 12)'


class CupyBackend:
    """The CuPy tier."""

    name = "cupy"

    def availability(self) -> Availability:
        """Return whether CuPy, a driver and a GPU are here; never raises, imports CuPy only where it is installed."""
        try:
            if importlib.util.find_spec("cupy") is None:
                return Availability(False, "CuPy is not installed", INSTALL)
            cupy = importlib.import_module("cupy")
        except Exception as error:  # a broken installation may raise anything at import
            return Availability(False, f"CuPy cannot be imported ({type(error).__name__}: {error})", INSTALL)
        version = str(getattr(cupy, "__version__", ""))
        try:
            if not cupy.cuda.runtime.driverGetVersion():
                return Availability(
                    False, "there is no NVIDIA driver", "install NVIDIA's driver for your system", version
                )
            if not cupy.is_available():
                return Availability(False, "there is no NVIDIA GPU", "run on a machine with one", version)
        except Exception as error:  # drivers fail in many ways
            return Availability(
                False, f"the driver does not answer ({error})", "update NVIDIA's driver", version
            )
        return Availability(True, "CuPy, one call an operation", version=version)

    def compile(self, program: Program) -> Executable:
        """Return an executable of a program.

        Raises
        ------
        BackendError
            If CuPy, the driver or a GPU is missing; it says how to get it.
        """
        found = self.availability()
        if not found.works:
            raise BackendError(f"the backend 'cupy' cannot run here: {found.why}", fix=found.how_to_get)
        return compile_for(program, importlib.import_module("cupy"))


def compile_for(program: Program, xp: Any, name: str = "cupy") -> SourceExecutable:
    """Return an executable for an array module with CuPy's names: CuPy itself, or a stand-in for tests.

    Raises
    ------
    ScanvizNotImplementedError
        If an operation of the program has no row in the table.
    """
    verify_program(program)
    load_rows()
    check_rows(program, name)
    return device_executable(program, xp, name)


def check_rows(program: Program, name: str, loop: LoopInstruction | None = None) -> None:
    """Check that CuPy offers all operations of a program and of its loops but those that another tier runs.

    Raises
    ------
    ScanvizNotImplementedError
        If it does not; names the operation, the loop and the line.
    """
    for instruction in program.instructions:
        if isinstance(instruction, LoopInstruction):
            if instruction.mode in (None, "auto", name):
                check_rows(instruction.body, name, instruction)
        elif isinstance(instruction, BranchInstruction):
            check_rows(instruction.then_program, name, loop)
            check_rows(instruction.else_program, name, loop)
        elif instruction.op.declaration not in CUPY:
            source = instruction.provenance.source
            raise ScanvizNotImplementedError(
                f"the backend 'cupy' has no {instruction.op.name!r}"
                + (f", used in loop `{loop.name}`" if loop is not None else ""),
                text=source.text() if source is not None else "",
                where=source,
                fix="scan(..., mode='numpy') runs this loop on the host"
                if loop is not None
                else "mode='numpy'",
            )
