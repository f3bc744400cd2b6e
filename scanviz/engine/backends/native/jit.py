"""Machine code from LLVM's text, for the processor that this runs on; from the cache on disk where it is there.

No optimisation pass runs: what is written is written well, and the code generator's own passes are enough.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from scanviz.engine.backends.native import cache as kept
from scanviz.engine.backends.native import llvm as by
from scanviz.engine.backends.native.llvm import LOCK, compiling, is_loaded, llvm, llvm_package
from scanviz.engine.backends.native.object_file import ForeignError, loaded
from scanviz.engine.backends.native.processor import widest_registers
from scanviz.engine.backends.native.special import SPECIAL, address_of, special
from scanviz.engine.errors import OutOfMemoryError, ScanvizValueError
from scanviz.engine.named_tuple import NamedTuple

if TYPE_CHECKING:
    from scanviz.engine.backends.native.ir import Code

ENTRY = "scanviz_loop"
CODE_VERSION = (
    "1"  # of how text becomes an object file: another one leaves older entries of the cache on disk unread
)
ROOM, ROOM_A_CHARACTER = 16_000_000, 200  # bytes that LLVM may take, about: of its own, and for a text
_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)


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


class InstructionSet(NamedTuple):
    """A level of x86 that code can be made for.

    Attributes
    ----------
    name : str
        As LLVM calls it.
    vector_bytes : int
        Of its widest registers.
    needs : str, optional
        The feature that a processor of the level has.
    """

    name: str
    vector_bytes: int
    needs: str | None


LEVELS = {"baseline": InstructionSet("x86-64", 16, None), "avx2": InstructionSet("x86-64-v3", 32, "avx2")}


def target() -> Processor:
    """Return the processor that this runs on; ``SCANVIZ_NATIVE_TARGET`` names another level of x86: baseline or avx2.

    Raises
    ------
    ScanvizValueError
        If that names none of them, or one that this processor has not: LLVM or the processor would end the process.
    """
    return _target(os.environ.get("SCANVIZ_NATIVE_TARGET", ""))  # as keys of code have it, whenever it is set


@cache
def _target(wanted: str) -> Processor:
    host = by.host()
    if "x86" in host.triple and wanted:
        level = LEVELS.get(wanted)
        if level is None or not (level.needs is None or host.features.get(level.needs)):
            raise ScanvizValueError(
                "SCANVIZ_NATIVE_TARGET names no level of x86 that this processor has",
                expected=" or ".join(LEVELS),
                found=repr(wanted),
            )
        return Processor(level.name, "", level.vector_bytes)
    width = 64 if host.features.get("avx512f") else 32 if host.features.get("avx2") else 16
    features = ",".join(f"{'+' if has else '-'}{name}" for name, has in sorted(host.features.items()))
    return Processor(host.name, features, width)


def vector_bytes() -> int:
    """Return about how wide the widest registers are: as the system says while LLVM, which decides, is still being loaded."""
    if not os.environ.get("SCANVIZ_NATIVE_TARGET") and not is_loaded():
        told = widest_registers()
        if told is not None:
            return told
    return target().vector_bytes


class Machine(NamedTuple):
    """Compiled code.

    Attributes
    ----------
    function : callable
        ``function(first, last, addresses, numbers)``.
    held : object
        Keeps its memory.
    was_kept : bool
        Whether the cache on disk had it.
    """

    function: Callable[..., int]
    held: Any
    was_kept: bool


def assembly_of(text: str) -> str:
    """Return the code of a module's text as the processor's instructions."""
    with compiling():
        return _emitted(text, is_object=False).decode()


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
    """Return machine code of a module's text, which is compiled where the cache on disk does not have it."""
    key = _key(text)
    code = kept.load(key)
    if code is not None:
        return machine_of(code, True)
    code = object_of(text)
    kept.store(key, code)
    return machine_of(code, False)


def object_of(text: str) -> bytes:
    """Return a module's text as an object file."""
    with compiling():
        return _emitted(text, is_object=True)


def machine_of(code: bytes, was_kept: bool) -> Machine:
    """Return an object file as something that can be called: without LLVM where that can be."""
    try:
        address, held = loaded(code, ENTRY, address_of)
    except ForeignError:
        address, held = _loaded_by_llvm(code)
    return Machine(_FUNCTION(address), held, was_kept)


def _key(text: str) -> str:
    """Return what the cache on disk calls the code of a text; comments, which have names of the user's files, are no part of it."""
    lines = "\n".join(line for line in text.split("\n") if not line.startswith("  ;"))
    return kept.key_of(lines, target().name, target().features, *_versions())


@cache
def _versions() -> tuple[str, ...]:
    import llvmlite  # tells its version itself: looking into what is installed takes as long as compiling

    return llvmlite.__version__, ".".join(map(str, llvm().version)), CODE_VERSION


def _emitted(text: str, *, is_object: bool) -> bytes:
    """Return what LLVM makes of a text.  Where LLVM gets no memory it ends the process: whether there is enough is tried before."""
    room, where = ROOM + ROOM_A_CHARACTER * len(text), target()
    try:
        mmap.mmap(-1, room).close()
    except OSError as error:
        raise OutOfMemoryError(
            "there is no memory for compiling a loop", expected=f"some {room // 10**6} MB", fix='mode="numpy"'
        ) from error
    return llvm().emitted(text, where.name, where.features, is_object=is_object)


def _loaded_by_llvm(code: bytes) -> tuple[int, Any]:
    """Return the address of an object file's function, and what holds its memory."""
    with LOCK:
        package, where = llvm_package(), target()  # which has much more than compiling needs
        binding = package.binding
        for name in set(re.findall(SPECIAL.encode() + rb"(\w+)", code)):
            binding.add_symbol(SPECIAL + name.decode(), special(name.decode()))
        machine = package.machine(where.name, where.features)
        engine = binding.create_mcjit_compiler(binding.parse_assembly(""), machine)
        engine.add_object_file(binding.ObjectFileRef.from_data(code))
        engine.finalize_object()
        return engine.get_function_address(ENTRY), engine


__all__ = [
    "ENTRY",
    "Machine",
    "Processor",
    "assembly_of",
    "compiled",
    "machine_of",
    "module_text",
    "object_of",
    "target",
    "vector_bytes",
]
