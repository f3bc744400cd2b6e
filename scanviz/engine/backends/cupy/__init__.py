"""The CuPy backend: loops as kernels where possible, else one CuPy call per operation, on an NVIDIA GPU.

A loop whose step mixes no elements, or only those of a row, is one kernel for all steps
(:mod:`scanviz.engine.backends.cupy.kernel`).  Other loops are generated Python and planned as in the NumPy tier
(:mod:`scanviz.engine.backends.source`).  A table (:mod:`scanviz.engine.backends.cupy.table`) has the CuPy meaning of each
operation, since CuPy lacks some of NumPy.  Scalars known on the host (sizes, step numbers, constants) stay there; arrays live on
the device.  Functions take CuPy arrays without copies and return CuPy arrays; for NumPy arrays they return NumPy arrays.  Random
numbers equal those of other backends: outside of kernels they are drawn on the host.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from typing import Any

from scanviz.engine.backends.base import Availability, Executable, supported_by
from scanviz.engine.backends.cupy.executable import device_executable
from scanviz.engine.backends.cupy.kernel_support import why_no_code
from scanviz.engine.backends.cupy.table import CUPY
from scanviz.engine.backends.source.executable import SourceExecutable
from scanviz.engine.backends.tiers import check_support
from scanviz.engine.errors import BackendError
from scanviz.engine.program.instructions import Program
from scanviz.engine.program.verify import verify_program

INSTALL = 'pip install "scanviz[cuda13]" (CUDA 13) or "scanviz[cuda12]" (CUDA 12)'


supports = supported_by(CUPY)  # on the device or on the host


def missing_libraries() -> list[str]:
    """Return the parts of CUDA that CuPy calls and its finder does not find; a CuPy without the finder is trusted."""
    try:
        finder = importlib.import_module("cuda.pathfinder")
    except ImportError:
        return []
    missing = [] if finder.find_nvidia_header_directory("cudart") else ["CUDA's headers"]
    for name, shown in {"nvrtc": "NVRTC", "cublas": "cuBLAS"}.items():
        try:
            finder.load_nvidia_dynamic_lib(name)
        except RuntimeError:  # the finder's errors derive from it
            missing.append(shown)
    return missing


class CupyBackend:
    """The CuPy tier."""

    name = "cupy"
    supports = staticmethod(supports)
    why_no_code = staticmethod(why_no_code)

    def availability(self) -> Availability:
        """Return whether CuPy, a driver and a GPU are here; never raises, imports CuPy only where it is installed."""
        try:
            if importlib.util.find_spec("cupy") is None:
                return Availability(False, "CuPy is not installed", INSTALL)
            cupy = importlib.import_module("cupy")
        except Exception as error:  # a broken installation may raise anything at import
            return Availability(False, f"CuPy cannot be imported ({type(error).__name__}: {error})", INSTALL)
        version = str(getattr(cupy, "__version__", ""))
        if re.match(r"[0-9]\.|1[0-3]\.", version):
            return Availability(False, f"CuPy {version} is too old: 14.2 is needed", INSTALL, version)
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
        missing = missing_libraries()
        if missing:
            return Availability(False, f"CuPy does not find {', '.join(missing)}", INSTALL, version)
        return Availability(True, "CuPy, loops as kernels or one call an operation", version=version)

    def owns(self, array: object) -> bool:
        """Return whether an array is one of CuPy's."""
        return isinstance(array, getattr(sys.modules.get("cupy"), "ndarray", ()))

    def compile(self, program: Program) -> Executable:
        """Return an executable of a program.

        Raises
        ------
        BackendError
            If CuPy, the driver or a GPU is missing; the message has the command that installs it.
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
    check_support(program, name, supports)
    return device_executable(program, xp, name)
