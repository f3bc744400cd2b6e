"""The key of a loop's code: a digest of all that the code depends on, known before any of it is written.

Everything that a Program says is part of it, but names, the user's lines and numbers that belong to one process: code has
these in comments alone.  So are the shapes, the kind of code, the processor, the versions of what makes code, and scanviz's own
files as they stand, so that a changed emitter never finds what it wrote before, and one that was changed after it was imported
keeps nothing under the key of what it is now.  A wrong key would be a wrong result: what is not known here has none, and its
code is found by its text.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import struct
import sys
from collections.abc import Hashable, Mapping, Sequence
from enum import Enum
from functools import cache
from typing import Any

import numpy as np

from scanviz import starting
from scanviz.engine.backends.native.processor import described
from scanviz.engine.config import config
from scanviz.engine.graph.declaration import Declaration, Op
from scanviz.engine.graph.types import RandomStateType, TensorType
from scanviz.engine.program.instructions import (
    BranchInstruction,
    CarrySlot,
    Instruction,
    LoopInstruction,
    NonSequenceSlot,
    Program,
    Register,
    SequenceSlot,
    StateSlot,
    StepOutputSlot,
)

_NAME = frozenset({"name"})
_OF_A_PROCESS = frozenset({"node_id", "provenance"})
UNTOLD: Mapping[type, frozenset[str]] = {  # fields that no code depends on
    Register: _NAME, Program: _NAME, SequenceSlot: _NAME, NonSequenceSlot: _NAME, StateSlot: _NAME, StepOutputSlot: _NAME,
    CarrySlot: _NAME, Instruction: _OF_A_PROCESS,
    BranchInstruction: _OF_A_PROCESS | {"op"},  # whose graph is that of its programs
    LoopInstruction: _OF_A_PROCESS | {"op", "name", "key"},
}  # fmt: skip
_DECLARING = ("scanviz.engine.ops.", "scanviz.engine.scan.")
_WRITING = (
    "backends/native",
    "graph",
    "ops",
    "program",
    "rewrites",
    "runtime",
    "scalar",
    "scan",
)  # the engine's folders that code comes from


class _UnknownError(Exception):
    """Something that this file does not know how to tell from others."""


def key_of_loop(loop: LoopInstruction, *how: Any) -> str | None:
    """Return the key of the code of a loop, 64 hexadecimal digits; None where it has none.

    Parameters
    ----------
    how : tuple
        What else the code depends on: shapes, and which kind of code it is.
    """
    made_here = _made_here()
    if made_here is None:
        return None
    told: list[str] = []
    try:
        _tell((loop, how, config.floatX, os.environ.get("SCANVIZ_NATIVE_TARGET", "")), told)
    except (_UnknownError, RecursionError, TypeError):  # or what has no order
        return None
    return hashlib.sha256("\n".join([made_here, *told]).encode()).hexdigest()


def _tell(value: Any, told: list[str]) -> None:
    """Add what tells a value from all others."""
    kind: Any = type(value)  # also a key of a cache
    if kind is int or kind is str or kind is bool or value is None:
        told.append(repr(value))
    elif kind is tuple or kind is list or kind is frozenset:
        told.append(f"{kind.__name__} {len(value)}")
        for item in sorted(value) if kind is frozenset else value:
            _tell(item, told)
    elif kind is float:
        told.append(f"float {struct.pack('<d', value).hex()}")
    elif kind is TensorType:
        told.append(f"{value.dtype} {value.shape}")
    elif kind is RandomStateType:
        told.append("random state")
    elif kind is Op:
        _tell_op(value, told)
    elif isinstance(value, (np.ndarray, np.generic)):
        array = np.ascontiguousarray(value)
        if array.dtype.hasobject:
            raise _UnknownError(kind)
        told.append(f"{array.dtype.str} {value.shape} {hashlib.sha256(array.data).hexdigest()}")
    elif isinstance(value, Mapping):
        told.append(f"mapping {len(value)}")
        for key in sorted(value):
            _tell(key, told)
            _tell(value[key], told)
    elif isinstance(value, Enum):
        told.append(f"{kind.__qualname__}.{value.name}")
    else:
        names, fields = _reader_of(kind)
        told.append(names)
        for field in fields:
            _tell(getattr(value, field), told)


def _tell_op(op: Op, told: list[str]) -> None:
    declaration = op.declaration
    if not _is_ours(declaration):
        raise _UnknownError(declaration)
    told.append(declaration.name)
    _tell(op.parameters, told)


@cache
def _reader_of(kind: Hashable) -> tuple[str, Sequence[str]]:
    """Return what tells a class from others, and which fields of a value of it count."""
    assert isinstance(kind, type)
    if not kind.__module__.startswith("scanviz.engine."):
        raise _UnknownError(kind)
    if dataclasses.is_dataclass(kind):
        every = [field.name for field in dataclasses.fields(kind)]
    elif issubclass(kind, tuple) and hasattr(kind, "_fields"):
        every = list(kind._fields)
    else:
        raise _UnknownError(kind)
    names = [name for name in every if name not in UNTOLD.get(kind, ())]
    told = f"{kind.__module__}.{kind.__qualname__} {' '.join(names)}"
    return told, names


@cache
def _is_ours(declaration: Declaration) -> bool:
    """Return whether an operation is declared in a file of scanviz's own: its formula is no user's."""
    # where most are; a user's is in a module of the user's
    first = f"scanviz.engine.ops.{declaration.family}", declaration.infer.__module__
    names = [name for name in (*first, *sys.modules) if name.startswith(_DECLARING)]
    modules = filter(None, map(sys.modules.get, names))
    return any(value is declaration for module in modules for value in vars(module).values())


@cache
def _made_here() -> str | None:
    """Return what all code depends on that is made on this machine by what is installed; None where it cannot be told."""
    import llvmlite  # says its version, without LLVM

    processor, files = described(), _files_of_the_engine()
    if processor is None or files is None:
        return None
    return repr((processor, llvmlite.__version__, np.__version__, sys.version, files))


def _files_of_the_engine() -> str | None:
    """Return a digest of the names, sizes and times of change of the files that code comes from.

    None where they are no files, or where one has changed since scanviz was imported: some of it may have been imported before.
    """
    top, found = os.path.dirname(os.path.dirname(os.path.dirname(__file__))), []
    try:
        folders = [os.path.join(top, folder) for folder in _WRITING]
        for folder in folders:  # which grows meanwhile
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.name.endswith(".py"):
                        about = entry.stat()
                        if max(about.st_mtime_ns, about.st_ctime_ns) >= starting.BEGUN_NS:
                            return None
                        found.append((entry.path, about.st_size, about.st_mtime_ns))
                    elif "." not in entry.name and entry.name != "__pycache__" and entry.is_dir():
                        folders.append(entry.path)
    except OSError:
        return None
    return hashlib.sha256(repr(sorted(found)).encode()).hexdigest() if found else None


__all__ = ["UNTOLD", "key_of_loop"]
