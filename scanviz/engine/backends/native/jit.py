"""Machine code from LLVM's text, for the processor that this runs on.

No optimisation pass runs: what is written is written well, and the code generator's own passes are enough.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

from scanviz.engine.backends.native.elementary import CALLED
from scanviz.engine.backends.native.ir import Code

ENTRY = "scanviz_loop"
_LOCK = threading.RLock()  # LLVM's engines are made one at a time


class Processor(NamedTuple):
    """The processor that code is made for.

    Attributes
    ----------
    name, features : str
        As LLVM calls them.
    vector_bytes : int
        Of its widest registers.
    """

    name: str
    features: str
    vector_bytes: int


@cache
def target() -> Processor:
    """Return the processor that this runs on; ``SCANVIZ_NATIVE_TARGET`` names another level of x86: baseline or avx2."""
    llvm = _llvm()
    features = llvm.get_host_cpu_features()
    wanted = os.environ.get("SCANVIZ_NATIVE_TARGET", "")
    name = llvm.get_host_cpu_name()
    if "x86" in llvm.get_default_triple() and wanted:
        name = {"baseline": "x86-64", "avx2": "x86-64-v3"}.get(wanted, wanted)
        return Processor(name, "", {"baseline": 16, "avx2": 32}.get(wanted, 64))
    width = 64 if features.get("avx512f") else 32 if features.get("avx2") else 16
    return Processor(name, features.flatten(), width)


@cache
def _llvm() -> Any:
    """Return llvmlite's binding, with SciPy's special functions under names that code may call."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()  # for marks in listings
    return llvm


@cache
def _special_functions() -> None:
    """Give LLVM the addresses of SciPy's special functions of float64 numbers."""
    from scipy.special import cython_special

    capsules: dict[str, Any] = dict(cython_special.__pyx_capi__)
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    told = ctypes.pythonapi.PyCapsule_GetName
    told.restype, told.argtypes = ctypes.c_char_p, [ctypes.py_object]
    for name in (called.name for called in CALLED.values() if called.special):
        capsule = next(
            capsules[key]
            for key in (name, f"__pyx_fuse_0{name}", f"__pyx_fuse_1{name}")
            if key in capsules
            and told(capsules[key]).startswith((b"double (double", b"npy_double (npy_double"))
        )
        _llvm().add_symbol(f"scanviz.special.{name}", pointer(capsule, told(capsule)))


class Machine(NamedTuple):
    """Compiled code.

    Attributes
    ----------
    text : str
        What it was made from.
    function : callable
        ``function(first, last, addresses, numbers)``.
    engine : object
        Holds its memory.
    target_machine : object
        Made it.
    """

    text: str
    function: Callable[..., int]
    engine: Any
    target_machine: Any

    def assembly(self) -> str:
        """Return the code as the processor's instructions."""
        module = _llvm().parse_assembly(self.text)
        listing: str = self.target_machine.emit_assembly(module)
        return listing


def module_text(code: Code, arguments: Sequence[str]) -> str:
    """Return a module of one function, from its lines."""
    names = ", ".join(arguments)
    attributes = 'attributes #0 = { nounwind "prefer-vector-width"="512" "min-legal-vector-width"="512" }'
    return "\n".join(
        [
            *code.tables,
            *code.declared.values(),
            f"define i64 @{ENTRY}({names}) #0 {{",
            "entry:",
            *code.lines,
            "}",
            attributes,
            "",
        ]
    )


def compiled(text: str) -> Machine:
    """Return machine code of a module's text."""
    with _LOCK:
        llvm, where = _llvm(), target()
        if "@scanviz.special." in text:
            _special_functions()
        machine = llvm.Target.from_default_triple().create_target_machine(
            cpu=where.name, features=where.features, opt=2, reloc="pic", codemodel="small"
        )
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(text), machine)
        engine.finalize_object()
        kind = ctypes.CFUNCTYPE(
            ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p
        )
        function = kind(engine.get_function_address(ENTRY))
        return Machine(text, function, engine, machine)


__all__ = ["ENTRY", "Machine", "Processor", "compiled", "module_text", "target"]
