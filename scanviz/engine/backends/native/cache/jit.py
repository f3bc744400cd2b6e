"""Compile LLVM IR for this processor, or load its machine code from the cache.

No optimisation pass runs: the IR is optimised as it is written, and the passes of the code generator suffice.
"""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from scanviz.engine.backends.native.cache import entries, llvm
from scanviz.engine.errors import OutOfMemoryError, ScanvizValueError

if TYPE_CHECKING:
    from scanviz.engine.backends.native.emit.ir import Code

ENTRY, ARGUMENTS = "scanviz_loop", "i64 %first, i64 %last, ptr %addresses, ptr %numbers"
CODE_VERSION = "1"  # of the way from IR to object files: entries on disk of other versions are not read
ROOM, ROOM_A_CHARACTER = 16_000_000, 200  # about the bytes that LLVM takes in any case, and per byte of text
_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)


class Processor(NamedTuple):
    """The target processor.

    Attributes
    ----------
    name, features : str
        LLVM's names.
    vector_bytes : int
        The bytes of the widest registers.
    """

    name: str
    features: str
    vector_bytes: int


# levels of the x86 instruction set
LEVELS = {"baseline": Processor("x86-64", "", 16), "avx2": Processor("x86-64-v3", "", 32)}


def target() -> Processor:
    """Return the target processor: this one, or the x86 level in ``SCANVIZ_NATIVE_TARGET`` (baseline or avx2).

    Raises
    ------
    ScanvizValueError
        If there is no such level, or this processor lacks it: LLVM or the processor would end the process.
    """
    return _target(os.environ.get("SCANVIZ_NATIVE_TARGET", ""))  # as in the keys of cached code


@cache
def _target(wanted: str) -> Processor:
    host = llvm.binding()
    found = dict(host.get_host_cpu_features())
    width = 64 if found.get("avx512f") else 32 if found.get("avx2") else 16
    if "x86" in host.get_default_triple() and wanted:
        level = LEVELS.get(wanted)
        if level is None or level.vector_bytes > width:
            raise ScanvizValueError(
                "SCANVIZ_NATIVE_TARGET names no level of x86 that this processor has",
                expected=" or ".join(LEVELS),
                found=repr(wanted),
            )
        return level
    features = ",".join(f"{'+' if has else '-'}{name}" for name, has in sorted(found.items()))
    return Processor(host.get_host_cpu_name(), features, width)


class Machine(NamedTuple):
    """Compiled code.

    Attributes
    ----------
    function : callable
        ``function(first, last, addresses, numbers)``.
    held : object
        Keeps the code's memory alive.
    was_kept : bool
        Whether it comes from the cache on disk.
    """

    function: Callable[..., int]
    held: Any
    was_kept: bool


def assembly_of(text: str) -> str:
    """Return the assembly of a module."""
    where = _target_for(text)
    return llvm.assembly(text, where.name, where.features)


def module_text(code: Code) -> str:
    """Return the IR of a module with one function."""
    attributes = 'attributes #0 = { nounwind "prefer-vector-width"="512" "min-legal-vector-width"="512" }'
    return "\n".join(
        [
            *code.tables,
            *code.declared.values(),
            f"define i64 @{ENTRY}({ARGUMENTS}) #0 {{",
            "entry:",
            *code.lines,
            "}",
            attributes,
            "",
        ]
    )


def compiled(text: str) -> Machine:
    """Return machine code of a module, from the cache if it is there."""
    key = _key(text)
    code = entries.load(key)
    was_kept = code is not None
    if code is None:
        code = object_of(text)
        entries.store(key, code)
    found = llvm.linked(code, ENTRY)
    return Machine(_FUNCTION(found.address), found.held, was_kept)


def object_of(text: str) -> bytes:
    """Compile a module to an object file."""
    where = _target_for(text)
    return llvm.object_file(text, where.name, where.features)


def _key(text: str) -> str:
    """Return the cache key of a module; its comments, which name the user's files, do not count."""
    lines = "\n".join(line for line in text.split("\n") if not line.startswith("  ;"))
    return entries.key_of(lines, target().name, target().features, *llvm.versions(), CODE_VERSION)


def _target_for(text: str) -> Processor:
    """Return the target after checking that there is memory: LLVM ends the process without memory."""
    room = ROOM + ROOM_A_CHARACTER * len(text)
    try:
        mmap.mmap(-1, room).close()
    except OSError as error:
        raise OutOfMemoryError(
            "there is no memory for compiling a loop", expected=f"some {room // 10**6} MB", fix='mode="numpy"'
        ) from error
    return target()
