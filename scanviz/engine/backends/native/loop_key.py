"""The key of a loop's code: a digest of all that the code depends on, known before any of it is written.

Everything that a Program says is part of it, but names, the user's lines and numbers that belong to one process: code has
these in comments alone.  So are the shapes, the kind of code, the processor, the versions of what makes code, and scanviz's own
files as they stand, so that a changed emitter never finds what it wrote before, and one that was changed after it was imported
keeps nothing under the key of what it is now.  A wrong key would be a wrong result: what is not known here has none, and its
code is found by its text.
"""

from __future__ import annotations

import os
import struct
import sys
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from scanviz import starting
from scanviz.engine.backends.native.digest import sha256
from scanviz.engine.backends.native.processor import described
from scanviz.engine.config import config
from scanviz.engine.enumerated import Enum
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
from scanviz.engine.slotted import DESCRIBED, fields_of

_NAME = frozenset({"name"})
_OF_A_PROCESS = frozenset({"node_id", "provenance"})
UNTOLD: Mapping[type, frozenset[str]] = {  # fields that no code depends on
    Register: _NAME, Program: _NAME, SequenceSlot: _NAME, NonSequenceSlot: _NAME, StateSlot: _NAME, StepOutputSlot: _NAME,
    CarrySlot: _NAME, Instruction: _OF_A_PROCESS,
    BranchInstruction: _OF_A_PROCESS | {"op"},  # whose graph is that of its programs
    LoopInstruction: _OF_A_PROCESS | {"op", "name", "key"},
}  # fmt: skip
_PLAIN: frozenset[type] = frozenset({int, str, bool, type(None)})  # of which `repr` tells all
_Tell = Callable[[Any, list[str]], None]  # adds what tells a value from all others
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
_ALONE = ("backends/estimate.py",)  # and single files: by it a long loop inside is called out


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
    return sha256("\n".join([made_here, *told]).encode()).hex()


def _tell(value: Any, told: list[str]) -> None:
    """Add what tells a value from all others."""
    kind: Any = type(value)  # also a key of a cache
    _teller_of(kind)(value, told)


@cache
def _teller_of(kind: Any) -> _Tell:  # a class
    """Return what tells values of a class from all others."""
    if kind in _TELLERS:
        return _TELLERS[kind]
    if hasattr(kind, DESCRIBED):
        return _teller_of_fields(kind, fields_of(kind))
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return _teller_of_fields(kind, kind._fields)
    if issubclass(kind, (np.ndarray, np.generic)):
        return _tell_array
    if issubclass(kind, Enum):
        return lambda value, told: told.append(f"{kind.__qualname__}.{value.name}")
    if issubclass(kind, Mapping):
        return _tell_mapping
    raise _UnknownError(kind)


def _teller_of_fields(kind: Any, fields: Sequence[str]) -> _Tell:
    """Return what tells values of a class of ours by their fields that count."""
    if not kind.__module__.startswith("scanviz.engine."):
        raise _UnknownError(kind)
    names = [name for name in fields if name not in UNTOLD.get(kind, ())]
    head = f"{kind.__module__}.{kind.__qualname__} {' '.join(names)}"

    def tell(value: Any, told: list[str]) -> None:
        told.append(head)
        for name in names:
            _tell(getattr(value, name), told)

    return tell


def _tell_plain(value: Any, told: list[str]) -> None:
    told.append(repr(value))


def _tell_items(value: Any, told: list[str]) -> None:
    if _PLAIN.issuperset(map(type, value)):
        told.append(repr(value))
        return
    told.append(f"{type(value).__name__} {len(value)}")
    for item in value:
        _tell(item, told)


def _tell_set(value: Any, told: list[str]) -> None:
    told.append("in any order")
    _tell_items(sorted(value), told)


def _tell_op(op: Op, told: list[str]) -> None:
    declaration = op.declaration
    if not _is_ours(declaration):
        raise _UnknownError(declaration)
    told.append(declaration.name)
    _tell(op.parameters, told)


def _tell_array(value: Any, told: list[str]) -> None:
    array = np.ascontiguousarray(value)
    if array.dtype.hasobject:
        raise _UnknownError(array.dtype)
    told.append(f"{array.dtype.str} {value.shape} {sha256(array.data).hex()}")


def _tell_mapping(value: Any, told: list[str]) -> None:
    told.append(f"mapping {len(value)}")
    for key in sorted(value):
        _tell(key, told)
        _tell(value[key], told)


_TELLERS: Mapping[type, _Tell] = {
    **dict.fromkeys(_PLAIN, _tell_plain),
    tuple: _tell_items,
    list: _tell_items,
    frozenset: _tell_set,
    float: lambda value, told: told.append(f"float {struct.pack('<d', value).hex()}"),
    TensorType: lambda value, told: told.append(f"{value.dtype} {value.shape}"),
    RandomStateType: lambda value, told: told.append("random state"),
    Op: _tell_op,
}


@cache
def _is_ours(declaration: Declaration) -> bool:
    """Return whether an operation is declared in a file of scanviz's own: its formula is no user's."""
    # where most are; a user's is in a module of the user's
    likely = f"scanviz.engine.ops.{declaration.family}", declaration.infer.__module__
    names = (name for name in (*likely, *sys.modules) if name.startswith(_DECLARING))
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
    top = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
    names, sizes, changed, latest = [os.path.join(top, file) for file in _ALONE], array("q"), array("q"), 0
    try:
        names += _files_in([os.path.join(top, folder) for folder in _WRITING])
        for path in names:
            about = os.stat(path)
            sizes.append(about.st_size)
            changed.append(about.st_mtime_ns)
            latest = max(latest, about.st_ctime_ns)
    except OSError:
        return None
    if max(latest, *changed) >= starting.BEGUN_NS:
        return None
    told = os.fsencode("\0".join(names)), sizes.tobytes(), changed.tobytes()
    return sha256(b"\0\0".join(told)).hex()


def _files_in(folders: list[str]) -> Iterator[str]:
    """Iterate over Python's files in some folders, and in those inside."""
    for folder in folders:  # which grows meanwhile
        for name in sorted(os.listdir(folder)):
            path = f"{folder}/{name}"
            if name.endswith(".py"):
                yield path
            elif "." not in name and name != "__pycache__" and os.path.isdir(path):
                folders.append(path)


__all__ = ["UNTOLD", "key_of_loop"]
