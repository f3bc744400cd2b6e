"""LLVM through llvmlite's public interface: object files, assembly, linked code.

Code may call functions of this process and SciPy's special functions of float64 numbers.  Importing ``llvmlite.binding`` takes
some 30 ms, so it is imported on first use.
"""

from __future__ import annotations

import ctypes
import os
import re
from functools import cache
from itertools import count
from typing import Any, NamedTuple

from scanviz.engine.errors import BackendError
from scanviz.engine.locks import lock

LOCK = lock()  # held while LLVM loads or compiles
if hasattr(os, "register_at_fork"):  # else a fork during a compilation inherits LLVM's own locks, held
    os.register_at_fork(before=LOCK.acquire, after_in_parent=LOCK.release, after_in_child=LOCK.release)

REINSTALL = "pip install --force-reinstall llvmlite"
_NUMBERS = count()  # library names are unique


class Linked(NamedTuple):
    """Code in memory.

    Attributes
    ----------
    address : int
        The address of the function.
    held : object
        Keeps the memory alive.
    """

    address: int
    held: Any


def binding() -> Any:
    """Import ``llvmlite.binding`` once and return it; BackendError if it cannot be loaded."""
    with LOCK:
        return _loaded()


@cache
def _loaded() -> Any:
    try:
        import llvmlite.binding

        llvmlite.binding.initialize_native_target()
        llvmlite.binding.initialize_native_asmprinter()
        llvmlite.binding.initialize_native_asmparser()  # for the marks in listings
    except (ImportError, OSError) as error:  # a broken installation, or no memory for the library
        raise BackendError(
            f"llvmlite is installed, but LLVM cannot be loaded ({error})", fix=REINSTALL
        ) from error
    return llvmlite.binding


@cache
def versions() -> tuple[str, ...]:
    """Return the versions of llvmlite and of LLVM, on which the code depends."""
    import llvmlite

    return llvmlite.__version__, ".".join(map(str, binding().llvm_version_info))


def object_file(text: str, name: str, features: str) -> bytes:
    """Compile a module to an object file for a processor; RuntimeError if it is no valid IR."""
    llvm = binding()
    with LOCK:
        code: bytes = _machine(name, features).emit_object(llvm.parse_assembly(text, llvm.create_context()))
    return code


def assembly(text: str, name: str, features: str) -> str:
    """Return the assembly of a module for a processor."""
    llvm = binding()
    with LOCK:
        listing: str = _machine(name, features).emit_assembly(
            llvm.parse_assembly(text, llvm.create_context())
        )
    return listing


def linked(code: bytes, entry: str) -> Linked:
    """Link an object file; it may call functions of this process and SciPy's special functions."""
    llvm = binding()
    with LOCK:
        library = llvm.JITLibraryBuilder().add_object_img(code).export_symbol(entry).add_current_process()
        for name in sorted(set(re.findall(SPECIAL.encode() + rb"(\w+)", code))):
            library.import_symbol(SPECIAL + name.decode(), special(name.decode()))
        held = library.link(_linker(), f"scanviz {next(_NUMBERS)}")
    return Linked(held[entry], held)


@cache
def _linker() -> Any:
    return binding().create_lljit_compiler(use_jit_link=True)


def _machine(name: str, features: str) -> Any:
    """Return LLVM's target machine for a processor."""
    target = binding().Target.from_default_triple()
    return target.create_target_machine(cpu=name, features=features, opt=2, reloc="pic", codemodel="small")


SPECIAL = "scanviz.special."  # what the names of SciPy's begin with


@cache
def special(name: str) -> int:
    """Return the address of one of SciPy's special functions."""
    capsules, get_name, get_pointer = _capsules()
    for key in (name, f"__pyx_fuse_0{name}", f"__pyx_fuse_1{name}"):
        if key in capsules:
            signature = get_name(capsules[key])
            if signature.startswith((b"double (double", b"npy_double (npy_double")):
                found: int = get_pointer(capsules[key], signature)
                return found
    raise LookupError(name)


@cache
def _capsules() -> tuple[dict[str, Any], Any, Any]:
    from scipy.special import cython_special

    pointer, get_name = ctypes.pythonapi.PyCapsule_GetPointer, ctypes.pythonapi.PyCapsule_GetName
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    get_name.restype, get_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    return dict(cython_special.__pyx_capi__), get_name, pointer
