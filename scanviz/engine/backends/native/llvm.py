"""What compiling needs of LLVM: which processor this is, and a module's text as an object file or as assembly.

``llvmlite`` brings LLVM as a library of C functions.  Importing ``llvmlite.binding`` loads that library, and some forty modules of
Python beside it, for building code and for passes: three quarters of the time, and nothing of it is needed here.  So the library is
opened and its functions are called as that package calls them, in contexts of our own.  Where the package is in use already, as
Numba does, or where its version is none of those whose functions are known to be these, the package itself is asked.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
import threading
from contextlib import suppress
from functools import cache
from typing import Any, Protocol

from scanviz.engine.backends.native import cache as kept
from scanviz.engine.errors import BackendError
from scanviz.engine.locks import lock
from scanviz.engine.named_tuple import NamedTuple
from scanviz.engine.runtime.beside import MAKING, hold_at_forks, threads_allowed

# Held by who compiles, but by the thread that does so beside a call, which holds MAKING; by who makes LLVM's engines, one at a
# time; and by who loads LLVM, which is begun once.  Who wants several takes MAKING first, and then these in this order.
LOCK, LOADING = lock(), lock()
if hasattr(os, "register_at_fork"):  # a process forked meanwhile would find locks of LLVM's own held for ever
    for _lock in LOADING, LOCK:  # what is registered last is done first before a fork, and last after it
        os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)
    hold_at_forks()

KNOWN = range(45, 51)  # versions 0.45 to 0.50 of llvmlite declare the same functions
BINDING = "llvmlite.binding"
OPENING = "scanviz: LLVM"
_LONG = {"ParseAssembly", "TargetMachineEmitToMemory"}  # functions that take milliseconds
REINSTALL = "pip install --force-reinstall llvmlite"


class Host(NamedTuple):
    """The processor that this runs on, as LLVM calls it.

    Attributes
    ----------
    name : str
        The kind of processor.
    features : dict of str to bool
        What it can do, and what not.
    triple : str
        Processor, maker and system.
    """

    name: str
    features: dict[str, bool]
    triple: str


class Llvm(Protocol):
    """LLVM, by whichever way it is called.

    Attributes
    ----------
    version : tuple of int
        Its own, not that of llvmlite.
    """

    version: tuple[int, ...]

    def host(self) -> Host:
        """Return the processor that this runs on."""
        ...

    def emitted(self, text: str, name: str, features: str, *, is_object: bool) -> bytes:
        """Return a module's text as an object file, or as assembly, for a processor; RuntimeError where it is no module's text."""
        ...


def llvm() -> Llvm:
    """Return LLVM, loaded when it is first asked for: that takes some ten milliseconds."""
    with LOADING:
        return llvm_package() if BINDING in sys.modules else _by_library() or llvm_package()


@cache
def host() -> Host:
    """Return the processor that this runs on."""
    return llvm().host()


def open_beside() -> None:
    """Load LLVM in another thread, where a processor is free for it, while this thread makes what is to be compiled."""
    if not is_loaded() and threads_allowed() > 1 and not _is_being_loaded():
        with suppress(RuntimeError):  # there is no thread to be had
            threading.Thread(target=_opened, name=OPENING).start()


def open_early() -> None:
    """Load LLVM so where something will be compiled: nothing is kept on disk.  What compiles is imported meanwhile."""
    if kept.is_empty():
        open_beside()


def _is_being_loaded() -> bool:
    """Return whether another thread loads LLVM: to start one more that waits for that one takes up to some milliseconds."""
    if not LOADING.acquire(blocking=False):
        return True
    LOADING.release()
    return False


def _opened() -> None:
    with suppress(Exception):  # who asks for it meets the same, and tells
        host()


def compiling() -> Any:
    """Return the lock to hold while something is compiled: one thread compiles beside another, each in a context of its own."""
    return MAKING if MAKING._is_owned() else LOCK


def is_loaded() -> bool:
    """Return whether LLVM is there, or another package has loaded its own."""
    return BINDING in sys.modules or _by_library.cache_info().currsize > 0


@cache
def _by_library() -> Llvm | None:
    """Return LLVM by its library; None where that cannot be opened or may be another one."""
    import llvmlite  # says its version, without LLVM

    said = re.match(r"0\.(\d+)\.", llvmlite.__version__)
    if said is None or int(said[1]) not in KNOWN:
        return None
    path = os.path.join(os.path.dirname(llvmlite.__file__), "binding", "libllvmlite.so")
    try:
        _open_while_others_run(path)
        return LlvmLibrary(ctypes.CDLL(path), ctypes.PyDLL(path))
    except (OSError, AttributeError):  # it lies elsewhere, or is another one in spite of its version
        return None


def _open_while_others_run(path: str) -> None:
    """Have the system open a library: ``ctypes.CDLL``, which finds it open then, has Python's other threads wait for that."""
    if os.name == "posix":
        system = ctypes.CDLL(None).dlopen
        system.argtypes, system.restype = (ctypes.c_char_p, ctypes.c_int), ctypes.c_void_p
        system(os.fsencode(path), os.RTLD_NOW)


@cache
def llvm_package() -> LlvmPackage:
    """Return LLVM by ``llvmlite.binding``, which is imported; BackendError where it cannot be."""
    try:
        return LlvmPackage()
    except (ImportError, OSError) as error:  # half an installation, or no memory for the library
        raise BackendError(
            f"llvmlite is installed, but LLVM cannot be loaded ({error})", fix=REINSTALL
        ) from error


class LlvmLibrary:
    """LLVM by the functions of llvmlite's library.

    Parameters
    ----------
    library : ctypes.CDLL
        The library.
    quick : ctypes.PyDLL
        The same, for what returns at once: another thread of Python does not run meanwhile, and need not be waited for then.
    """

    def __init__(self, library: Any, quick: Any) -> None:  # ctypes makes its functions as they are asked for
        text, handle, told = ctypes.c_char_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_char_p)
        number, size = ctypes.c_int, ctypes.c_size_t
        declared = {
            "GetVersionInfo": (ctypes.c_uint,),
            "InitializeNativeTarget": (None,),
            "InitializeNativeAsmPrinter": (None,),
            "InitializeNativeAsmParser": (None,),
            "GetHostCPUName": (None, told),
            "GetHostCPUFeatures": (number, told),
            "GetDefaultTargetTriple": (None, told),
            "DisposeString": (None, text),
            "ContextCreate": (handle,),
            "ContextDispose": (None, handle),
            "ParseAssembly": (handle, handle, text, told),
            "DisposeModule": (None, handle),
            "GetTargetFromTriple": (handle, text, told),
            "CreateTargetMachine": (
                handle, handle, text, text, text, number, text, text, number, number, text,
            ),
            "DisposeTargetMachine": (None, handle),
            "TargetMachineEmitToMemory": (handle, handle, handle, number, told),
            "GetBufferStart": (handle, handle),
            "GetBufferSize": (size, handle),
            "DisposeMemoryBuffer": (None, handle),
        }  # fmt: skip
        self._functions = {}
        for name, (result, *arguments) in declared.items():
            function = getattr(library if name in _LONG else quick, f"LLVMPY_{name}")
            function.restype, function.argtypes = result, arguments
            self._functions[name] = function
        version = self._call("GetVersionInfo")
        self.version: tuple[int, ...] = tuple(version.to_bytes(4, "big").lstrip(b"\0"))
        for part in ("Target", "AsmPrinter", "AsmParser"):  # the last for marks in listings
            self._call(f"InitializeNative{part}")

    def _call(self, name: str, *arguments: Any) -> Any:
        return self._functions[name](*arguments)

    def _told(self, name: str, *arguments: Any) -> tuple[Any, str]:
        """Return what a function returns, and the text that it leaves at its last argument."""
        text = ctypes.c_char_p()
        found = self._call(name, *arguments, ctypes.byref(text))
        if text.value is None:
            return found, ""
        told = text.value.decode("utf-8", "replace")
        self._call("DisposeString", text)
        return found, told

    def host(self) -> Host:
        """Return the processor that this runs on."""
        _, listed = self._told("GetHostCPUFeatures")
        features = {feature[1:]: feature[0] == "+" for feature in listed.split(",") if feature}
        return Host(self._told("GetHostCPUName")[1], features, self._told("GetDefaultTargetTriple")[1])

    def emitted(self, text: str, name: str, features: str, *, is_object: bool) -> bytes:
        """Return a module's text as an object file, or as assembly."""
        context = self._call("ContextCreate")  # no two threads may use one at once
        try:
            return self._emitted_in(context, text, name, features, is_object)
        finally:
            self._call("ContextDispose", context)

    def _emitted_in(self, context: Any, text: str, name: str, features: str, is_object: bool) -> bytes:
        module, why = self._told("ParseAssembly", context, text.encode())
        if not module:
            raise RuntimeError(f"LLVM cannot read the code: {why}")
        machine = None
        try:
            machine = self._machine(name, features)
            memory, why = self._told("TargetMachineEmitToMemory", machine, module, int(is_object))
            if not memory:
                raise RuntimeError(f"LLVM cannot compile the code: {why}")
            try:
                start, size = self._call("GetBufferStart", memory), self._call("GetBufferSize", memory)
                return ctypes.string_at(start, size)
            finally:
                self._call("DisposeMemoryBuffer", memory)
        finally:
            if machine is not None:
                self._call("DisposeTargetMachine", machine)
            self._call("DisposeModule", module)

    def _machine(self, name: str, features: str) -> Any:
        """Return what makes code for a processor."""
        triple = self._told("GetDefaultTargetTriple")[1].encode()
        target, why = self._told("GetTargetFromTriple", triple)
        machine = target and self._call(
            "CreateTargetMachine",
            target, triple, name.encode(), features.encode(), 2, b"pic", b"small", 0, 0, b"",
        )  # fmt: skip
        if not machine:
            raise RuntimeError(f"LLVM makes no code for {name}: {why}")
        return machine


class LlvmPackage:
    """LLVM by ``llvmlite.binding``.

    Attributes
    ----------
    binding : module
        That package.
    """

    def __init__(self) -> None:
        import llvmlite.binding as binding

        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
        binding.initialize_native_asmparser()  # for marks in listings
        self.binding: Any = binding
        self._lock = lock()  # all that it reads is in one context
        self.version: tuple[int, ...] = tuple(binding.llvm_version_info)

    def host(self) -> Host:
        """Return the processor that this runs on."""
        binding = self.binding
        features = dict(binding.get_host_cpu_features())
        return Host(binding.get_host_cpu_name(), features, binding.get_default_triple())

    def emitted(self, text: str, name: str, features: str, *, is_object: bool) -> bytes:
        """Return a module's text as an object file, or as assembly."""
        with self._lock:
            machine, module = self.machine(name, features), self.binding.parse_assembly(text)
            if is_object:
                code: bytes = machine.emit_object(module)
                return code
            listing: str = machine.emit_assembly(module)
            return listing.encode()

    def machine(self, name: str, features: str) -> Any:
        """Return what makes code for a processor."""
        target = self.binding.Target.from_default_triple()
        return target.create_target_machine(
            cpu=name, features=features, opt=2, reloc="pic", codemodel="small"
        )


__all__ = [
    "LOCK",
    "REINSTALL",
    "Host",
    "Llvm",
    "LlvmLibrary",
    "LlvmPackage",
    "compiling",
    "host",
    "is_loaded",
    "llvm",
    "llvm_package",
    "open_beside",
    "open_early",
]
