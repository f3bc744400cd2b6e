"""Programs as bytes: a zip of JSON and raw arrays, read without running anything that stands in it.

What a Program computes is written, and what is told of it: names and the user's lines.  What belongs to one process is not:
keys of loops, ids of nodes, and the graph that a loop was lowered from, so that a Program that was read runs and prints,
and has no graph to be shown.
"""

from __future__ import annotations

import io
import json
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace as with_fields
from functools import cache
from typing import Any

import numpy as np

from scanviz.engine.errors import InternalError, ScanvizError
from scanviz.engine.graph.declaration import Op, declarations, declared
from scanviz.engine.graph.nodes import Array
from scanviz.engine.graph.provenance import Provenance, SourceLine, intern_line
from scanviz.engine.graph.types import DTYPES, RANDOM_STATE, RandomStateType, TensorType, Type
from scanviz.engine.program.codec import SPECIAL, MisfitError, Reader, Special, Writer
from scanviz.engine.program.instructions import (
    NO_NODE,
    AnyInstruction,
    BranchInstruction,
    Instruction,
    LoopInstruction,
    Program,
    next_loop_key,
)
from scanviz.engine.program.lifetimes import with_frees
from scanviz.engine.program.verify import verify_program
from scanviz.engine.program.verify_types import verify_types
from scanviz.engine.scan.loop import SCAN

VERSION = 1
CONTENT = "program.json"
_ABSENT: dict[str, Callable[[], Any]] = {
    "key": next_loop_key,
    "node_id": lambda: NO_NODE,
    "frees": tuple,
    "fuse": lambda: True,  # programs of before say nothing of it
    "provenance": lambda: Provenance(None),
}
_KINDS: dict[str, Any] = {"operation": Instruction, "loop": LoopInstruction, "branch": BranchInstruction}
_KIND_OF = {kind: name for name, kind in _KINDS.items()}
_OF_A_PROCESS = frozenset(("key", "node_id", "frees"))


def to_bytes(program: Program, place: Callable[[str], str] = str) -> bytes:
    """Return a program as the content of a file; ``place`` says how the files of the user's lines are named in it.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> from scanviz.engine.program.lower import lower
    >>> x = T.vector("x")
    >>> from_bytes(to_bytes(lower([x], [T.exp(x)], "f"))).instructions[0].op.name
    'exp'
    """
    data, arrays = to_data(program, _OF_A_PROCESS, place)
    held = [{"dtype": str(array.dtype), "shape": list(array.shape)} for array in arrays]
    text = json.dumps({"version": VERSION, "arrays": held, "program": data}, separators=(",", ":"))
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr(zipfile.ZipInfo(CONTENT), text)
        for k, array in enumerate(arrays):
            archive.writestr(zipfile.ZipInfo(f"arrays/{k}"), little_endian(array))
    return stream.getvalue()


def from_bytes(content: bytes) -> Program:
    """Return the program that :func:`to_bytes` wrote.

    Raises
    ------
    MisfitError
        If it is anything but the content of such a file.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            data = json.loads(_entry(archive, CONTENT))
            if not isinstance(data, dict) or set(data) != {"version", "arrays", "program"}:
                raise MisfitError(f"{CONTENT} is no program", expected="version, arrays and program")
            if data["version"] != VERSION:
                raise MisfitError(
                    "the program was written by another version",
                    expected=VERSION,
                    found=repr(data["version"])[:60],
                )
            reader = Reader([], _ABSENT)
            arrays = [
                _array(archive, k, each, reader) for k, each in enumerate(reader.listed(data["arrays"]))
            ]
    except (zipfile.BadZipFile, ValueError, KeyError, EOFError, NotImplementedError, RecursionError) as error:
        if isinstance(error, ScanvizError):
            raise
        raise MisfitError("this is no program that scanviz wrote", found=str(error)[:100]) from error
    return from_data(data["program"], arrays)


def to_data(
    program: Program, without: frozenset[str], place: Callable[[str], str] = str
) -> tuple[Any, list[Array]]:
    """Return a program as JSON data, and its constants, leaving out fields of some names."""
    writer = Writer(without, place=place)
    return writer.write(program, Program), writer.arrays


def from_data(data: Any, arrays: list[Array]) -> Program:
    """Return the program that JSON data and arrays describe.

    Raises
    ------
    MisfitError
        Naming the place in the data, or what does not go together.
    """
    try:
        program: Program = Reader(arrays, _ABSENT).read(data, Program)
        verify_types(program)
        verify_program(program)
    except InternalError as error:
        raise MisfitError(f"the program does not hold together: {error.what}", found=error.found) from error
    except RecursionError as error:
        raise MisfitError("the program is nested too deep") from error
    return program


def little_endian(array: Array) -> bytes:
    """Return the elements of an array in C order, the same bytes on every machine."""
    return array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()


def _entry(archive: zipfile.ZipFile, name: str) -> bytes:
    info = archive.getinfo(name)
    if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 1:
        raise MisfitError(f"{name} in the program is not stored as it is")
    return archive.read(info)


def _array(archive: zipfile.ZipFile, k: int, told: Any, reader: Reader) -> Array:
    if not isinstance(told, dict) or set(told) != {"dtype", "shape"} or str(told["dtype"]) not in DTYPES:
        raise reader.misfit("the dtype and shape of an array", told)
    shape = [reader.read(each, int) for each in reader.listed(told["shape"])]
    dtype, raw = np.dtype(str(told["dtype"])), _entry(archive, f"arrays/{k}")
    count = 1
    for size in shape:
        count *= size
    if any(size < 0 for size in shape) or count * dtype.itemsize != len(raw) or len(shape) > 32:
        raise MisfitError(f"array {k} of the program is cut off or too long", found=f"{len(raw)} bytes")
    found = np.frombuffer(raw, dtype.newbyteorder("<")).astype(dtype).reshape(shape)
    found.flags.writeable = False
    return found


@cache
def _parameter_classes() -> dict[str, Any]:
    """Return the named tuples of operations' parameters by name: those of the modules that declare operations."""
    modules = {
        getattr(of, "__module__", "")
        for declaration in declarations()
        for of in (declaration.infer, declaration.perform)
    }
    found: dict[str, Any] = {}
    for module in sorted(module for module in modules if module in sys.modules):
        for name, kind in vars(sys.modules[module]).items():
            if isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields"):
                found[name] = kind
    return found


def _write_op(op: Op, writer: Writer) -> Any:
    if op.declaration is SCAN or op.parameters is None:  # a loop's instruction says what its step is
        return [op.name, None, None]
    kind = type(op.parameters)
    if _parameter_classes().get(kind.__name__) is not kind:
        raise InternalError(f"the parameters of {op.name} are no named tuple of the file that declares it")
    return [op.name, kind.__name__, writer.write(op.parameters, kind)]


def _read_op(data: Any, reader: Reader) -> Op:
    name, kind, parameters = reader.listed(data, 3)
    try:
        declaration = declared(reader.read(name, str))
    except ScanvizError:
        raise reader.misfit("an operation of this version of scanviz", name) from None
    if kind is None:
        return Op(declaration)
    known = _parameter_classes().get(reader.read(kind, str))
    if known is None:
        raise reader.misfit("a class of parameters", kind)
    return Op(declaration, reader.read(parameters, known))


def _write_type(kind: Type, writer: Writer) -> Any:
    return None if isinstance(kind, RandomStateType) else [kind.dtype, list(kind.shape)]


def _read_type(data: Any, reader: Reader) -> Type:
    if data is None:
        return RANDOM_STATE
    dtype, shape = reader.listed(data, 2)
    sizes = tuple(reader.read(each, int | None) for each in reader.listed(shape))
    if (
        not isinstance(dtype, str)
        or dtype not in DTYPES
        or any(size is not None and size < 0 for size in sizes)
    ):
        raise reader.misfit("a dtype and sizes", data)
    return TensorType(dtype, sizes)


def _write_line(line: SourceLine, writer: Writer) -> Any:
    return [writer.place(line.file), line.line, line.function]


def _read_line(data: Any, reader: Reader) -> SourceLine:
    file, line, function = reader.listed(data, 3)
    return intern_line(reader.read(file, str), reader.read(line, int), reader.read(function, str))


def _write_provenance(provenance: Provenance, writer: Writer) -> Any:
    return [
        writer.write(provenance.source, SourceLine | None),
        list(provenance.scans),
        provenance.rule,
    ]


def _read_provenance(data: Any, reader: Reader) -> Provenance:
    source, scans, rule = reader.listed(data, 3)
    names = reader.read(scans, tuple[str, ...])
    return Provenance(reader.read(source, SourceLine | None), names, (), reader.read(rule, str | None))


def _write_array(array: Array, writer: Writer) -> Any:
    writer.arrays.append(array)
    return len(writer.arrays) - 1


def _read_array(data: Any, reader: Reader) -> Array:
    number = reader.read(data, int)
    if not 0 <= number < len(reader.arrays):
        raise reader.misfit(f"a number below {len(reader.arrays)}", data)
    found: Array = reader.arrays[number]
    return found


def _write_instruction(instruction: AnyInstruction, writer: Writer) -> Any:
    kind = type(instruction)
    return {"kind": _KIND_OF[kind], **writer.fields(instruction, kind)}


def _read_instruction(data: Any, reader: Reader) -> AnyInstruction:
    if not isinstance(data, dict) or str(data.get("kind")) not in _KINDS:
        raise reader.misfit("an instruction", data)
    rest = {name: each for name, each in data.items() if name != "kind"}
    found: AnyInstruction = reader.fields(rest, _KINDS[str(data["kind"])])
    return found


def _read_program(data: Any, reader: Reader) -> Program:
    """Return a program with the registers that each instruction is the last to read found anew."""
    found: Program = reader.fields(data, Program)
    instructions = with_frees(found.instructions, found.outputs, found.inputs)
    return with_fields(found, instructions=tuple(instructions))


def _write_program(program: Program, writer: Writer) -> Any:
    return writer.fields(program, Program)


SPECIAL.update(
    {
        Op: Special(_write_op, _read_op),
        Type: Special(_write_type, _read_type),
        SourceLine: Special(_write_line, _read_line),
        Provenance: Special(_write_provenance, _read_provenance),
        Array: Special(_write_array, _read_array),
        AnyInstruction: Special(_write_instruction, _read_instruction),
        Program: Special(_write_program, _read_program),
    }
)

__all__ = ["from_bytes", "from_data", "little_endian", "to_bytes", "to_data"]
