"""The plain CuPy backend: one CuPy call an operation, on an NVIDIA GPU.

What each operation is in CuPy stands in an explicit table (:mod:`scanviz.engine.backends.cupy.table`), for CuPy lacks some
of NumPy.  Scalars that are known on the host (sizes, step numbers, constants) stay there; arrays live on the device.
Functions take CuPy arrays without copies and then give CuPy arrays back; given NumPy arrays they give NumPy arrays.
Random numbers are drawn on the host by the one formula set, so they equal the other backends'.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Sequence
from typing import Any

import numpy as np

from scanviz.engine.backends.base import Availability, Executable, Watch
from scanviz.engine.backends.buffers import ArrayModule
from scanviz.engine.backends.cupy.table import CUPY, load_rows
from scanviz.engine.backends.interpreter import Interpreter
from scanviz.engine.errors import BackendError
from scanviz.engine.graph.declaration import Op
from scanviz.engine.program.instructions import Program
from scanviz.engine.program.verify import verify_program

INSTALL = 'pip install "scanviz[cuda13]" (CUDA 13) or "scanviz[cuda12]" (CUDA 12)'


def is_device(value: Any) -> bool:
    """Return whether a value lies in a GPU's memory."""
    return hasattr(value, "__cuda_array_interface__")


class DeviceModule(ArrayModule):
    """CuPy as the array library of the interpreter; 0-d values from the host stay on the host.

    Parameters
    ----------
    xp : module
        CuPy, or a stand-in with its names.
    """

    __slots__ = ("xp",)

    def __init__(self, xp: Any) -> None:
        self.xp = xp

    def empty(self, shape: tuple[int, ...], dtype: str) -> Any:
        """Return a new array on the device."""
        return self.xp.empty(shape, dtype)

    def copy(self, value: Any) -> Any:
        """Return a copy that nothing else holds."""
        return self.xp.array(value) if is_device(value) else np.array(value)

    def to_host(self, value: Any) -> Any:
        """Return a value in the host's memory; waits for the device."""
        return value.get() if is_device(value) else np.asarray(value)

    def from_host(self, value: Any) -> Any:
        """Return an array on the device; 0-d values and random states stay where they are."""
        stays = is_device(value) or np.ndim(value) == 0 or getattr(value, "dtype", None) == np.uint32
        return value if stays else self.xp.asarray(value)


class DevicePerform:
    """Performs operations on the device, or on the host where all inputs are scalars of the host."""

    def __init__(self, module: DeviceModule) -> None:
        self.module, self.xp = module, module.xp

    def __call__(self, op: Op, values: Sequence[Any]) -> Sequence[Any]:
        """Return the results of an operation."""
        row = CUPY[op.declaration]
        if row.host or (row.scalars_on_host and not any(is_device(each) for each in values)):
            given = [self.module.to_host(each) for each in values]
            return [self._placed(each) for each in op.perform(given)]
        return row.perform(
            self.xp, op, [each if is_device(each) else np.asarray(each)[()] for each in values]
        )

    def _placed(self, value: Any) -> Any:
        return self.module.from_host(np.asarray(value))


class DeviceExecutable:
    """A program interpreted on the device."""

    def __init__(self, program: Program, xp: Any) -> None:
        self.module = DeviceModule(xp)
        self.interpreter = _OnDevice(program, DevicePerform(self.module), self.module, "cupy")

    def run(self, inputs: Sequence[Any], watch: Watch | None) -> list[Any]:
        """Return the outputs: on the device if an input was, else on the host."""
        results = self.interpreter.run(inputs, watch)
        if any(is_device(each) for each in inputs):
            return results
        return [self.module.to_host(each) for each in results]


class _OnDevice(Interpreter):
    """An interpreter whose results stay where they are."""

    def run(self, inputs: Sequence[Any], watch: Watch | None) -> list[Any]:
        from scanviz.engine.backends.loop_driver import Place

        with np.errstate(all="ignore"):
            given = [self.module.from_host(each) for each in inputs]
            return self.run_program(self.program, given, Place(watch, tell=watch is not None))


class CupyBackend:
    """The CuPy tier."""

    name = "cupy"

    def availability(self) -> Availability:
        """Return whether CuPy, a driver and a GPU are here; never raises, imports CuPy only where it is installed."""
        if importlib.util.find_spec("cupy") is None:
            return Availability(False, "CuPy is not installed", INSTALL)
        try:
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


def compile_for(program: Program, xp: Any) -> DeviceExecutable:
    """Return an executable for an array module with CuPy's names: CuPy itself, or a stand-in for tests.

    Raises
    ------
    ScanvizNotImplementedError
        If an operation of the program has no row in the table.
    """
    verify_program(program)
    load_rows()
    return DeviceExecutable(program, xp)
