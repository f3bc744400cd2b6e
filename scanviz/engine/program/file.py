"""Programs as bytes: a zip of JSON and raw arrays, read without running anything that stands in it.

What a Program computes is written, and what is told of it: names and the user's lines with their texts, for who reads a Program
reads no file that it names.  What belongs to one process is not:
keys of loops, ids of nodes, and the graph that a loop was lowered from, so that a Program that was read runs and prints,
and has no graph to be shown.

The structural hash leaves more out: it is equal for Programs that compute the same in the same way, in every process.  Operations,
types, constants, slots and wishes about memory and tiers count; names of registers and loops and lines of the user do not.
"""

from __future__ import annotations

import hashlib
import io
import json
import sys
import zipfile
from collections.abc import Callable
from functools import cache
from math import prod
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from scanviz.engine.codec import LIMIT, Codec, Form, Misfit, MisfitError
from scanviz.engine.errors import InternalError, ScanvizError
from scanviz.engine.graph.declaration import WORDS, Op, declared, declared_already
from scanviz.engine.graph.nodes import Array
from scanviz.engine.graph.provenance import Provenance, SourceLine
from scanviz.engine.graph.types import DTYPES, RANDOM_STATE, RandomStateType, TensorType, Type
from scanviz.engine.program.instructions import (
    KINDS,
    NO_NODE,
    AnyInstruction,
    Program,
    instruction_kind,
    next_loop_key,
)
from scanviz.engine.program.lifetimes import with_frees_inside
from scanviz.engine.scan.loop import SCAN

VERSION = 1
CONTENT = "program.json"
_ABSENT: dict[str, Callable[[], Any]] = {
    "key": next_loop_key,
    "node_id": lambda: NO_NODE,
    "frees": tuple,
    "fuse": lambda: True,  # programs of before say nothing of it
    "backwards": lambda: False,  # nor of that
    "over": lambda: None,
    "provenance": lambda: Provenance(None),
}
_OF_A_PROCESS = frozenset(("key", "node_id", "frees"))
_TYPE = tuple[str, tuple[int | None, ...]] | None  # None for a random state
_Line = tuple[str, int, str]
_PROVENANCE = tuple[SourceLine | None, tuple[str, ...], str | None]


class _ArrayOfFile(NamedTuple):
    dtype: str
    shape: tuple[int, ...]


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
    held = [_ArrayOfFile(str(array.dtype), array.shape)._asdict() for array in arrays]
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
            listed = Codec({}).read(data["arrays"], tuple[_ArrayOfFile, ...], "arrays of the program")
            arrays = [_array(archive, k, entry) for k, entry in enumerate(listed)]
    except (zipfile.BadZipFile, ValueError, KeyError, EOFError, NotImplementedError, RecursionError) as error:
        if isinstance(error, ScanvizError):
            raise
        raise MisfitError("this is no program that scanviz wrote", found=str(error)[:100]) from error
    return from_data(data["program"], arrays)


def to_data(
    program: Program, without: frozenset[str], place: Callable[[str], str] = str
) -> tuple[Any, list[Array]]:
    """Return a program as JSON data, and its constants, leaving out fields of some names."""
    forms = _Forms([], without, place)
    return forms.codec.write(program, Program), forms.arrays


def from_data(data: Any, arrays: list[Array]) -> Program:
    """Return the program that JSON data and arrays describe.

    Raises
    ------
    MisfitError
        Naming the place in the data, or what does not go together.
    """
    from scanviz.engine.program.verify import verify_program
    from scanviz.engine.program.verify_types import verify_types

    try:
        program = with_frees_inside(_Forms(arrays).codec.read(data, Program, "program"))
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


def _array(archive: zipfile.ZipFile, k: int, told: _ArrayOfFile) -> Array:
    raw = _entry(archive, f"arrays/{k}")
    if told.dtype not in DTYPES or len(told.shape) > 32 or min(told.shape, default=0) < 0:
        raise MisfitError(f"array {k} of the program has the wrong form", found=f"{told.dtype}{told.shape}")
    dtype = np.dtype(told.dtype)
    if prod(told.shape) * dtype.itemsize != len(raw):
        raise MisfitError(f"array {k} of the program is cut off or too long", found=f"{len(raw)} bytes")
    found = np.frombuffer(raw, dtype.newbyteorder("<")).astype(dtype).reshape(told.shape)
    found.flags.writeable = False
    return found


def _class_of_parameters(name: str) -> Any:
    """Return the named tuple of operations' parameters of this name, None if there is none in the modules that declare them.

    An operation that is written or read is declared: nothing is imported here, where a script may have ended.
    """
    return _parameter_classes(sum(1 for _ in declared_already())).get(name)


@cache
def _parameter_classes(_declared: int) -> dict[str, Any]:
    modules = {
        getattr(of, "__module__", "")
        for declaration in declared_already()
        for of in (declaration.infer, declaration.perform)
    }
    found: dict[str, Any] = {}
    for module in sorted(module for module in modules if module in sys.modules):
        for name, kind in vars(sys.modules[module]).items():
            if isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields"):
                found[name] = kind
    return found


class _Forms:
    """How values of a Program are written and read that have no form of their own: its codec.

    Parameters
    ----------
    arrays : list
        Constants: data hold their numbers.
    without : frozenset of str
        Names of fields that are left out.
    place : callable
        How the file of a user's line is named.
    """

    def __init__(
        self, arrays: list[Array], without: frozenset[str] = frozenset(), place: Callable[[str], str] = str
    ) -> None:
        self.arrays, self.place = arrays, place
        self.lines: dict[_Line, SourceLine] = {}  # a line has its text where it comes first
        forms = {
            float: Form(_written_float, _read_float),
            Op: Form(self._write_op, self._read_op),
            Type: self._via(_TYPE, _type_data, _type),
            SourceLine: Form(self._write_line, self._read_line),
            Provenance: self._via(_PROVENANCE, attrgetter("source", "scans", "rule"), _provenance),
            Array: self._via(int, self._number_of, self._array),
            AnyInstruction: Form(self._write_instruction, self._read_instruction),
        }
        self.codec = Codec(forms, without, _ABSENT)

    def _via(self, hint: Any, there: Callable[[Any], Any], back: Callable[[Any], Any]) -> Form:
        """Return the form of values that are written as values of another type."""

        def write(value: Any) -> Any:
            return self.codec.write(there(value), hint)

        def read(data: Any) -> Any:
            return back(self.codec.form(hint).read(data))

        return Form(write, read)

    def _write_op(self, op: Op) -> Any:
        if op.declaration is SCAN or op.parameters is None:  # a loop's instruction says what its step is
            return [op.name, None, None]
        kind = type(op.parameters)
        if _class_of_parameters(kind.__name__) is not kind:
            raise InternalError(
                f"the parameters of {op.name} are no named tuple of the file that declares it"
            )
        return [op.name, kind.__name__, self.codec.write(op.parameters, kind)]

    def _read_op(self, data: Any) -> Op:
        name, kind, parameters = self.codec.form(tuple[str, str | None, Any]).read(data)
        try:
            declaration = declared(name)
        except ScanvizError:
            raise Misfit("an operation of this version of scanviz", name) from None
        if kind is None:
            return Op(declaration)
        known = _class_of_parameters(kind)
        if known is None:
            raise Misfit("a class of parameters", kind)
        return Op(declaration, self.codec.form(known).read(parameters))

    def _write_line(self, line: SourceLine) -> list[str | int]:
        where = self.place(line.file), line.line, line.function
        text, known = line.text(), self.lines.get(where)
        if known is not None and known.recorded == text:
            return [*where]
        self.lines[where] = SourceLine(*where, recorded=text)
        return [*where, text]

    def _read_line(self, data: Any) -> SourceLine:
        if not isinstance(data, list):
            raise Misfit("a line", data)
        where: _Line = self.codec.form(_Line).read(data[:3])
        texts = self.codec.form(tuple[str, ...]).read(data[3:4])
        if texts or where not in self.lines:
            self.lines[where] = SourceLine(*where, texts[0] if texts else "")
        return self.lines[where]

    def _number_of(self, array: Array) -> int:
        self.arrays.append(array)
        return len(self.arrays) - 1

    def _array(self, number: int) -> Array:
        if not 0 <= number < len(self.arrays):
            raise Misfit(f"a number below {len(self.arrays)}", number)
        return self.arrays[number]

    def _write_instruction(self, instruction: AnyInstruction) -> Any:
        return {"kind": instruction_kind(instruction), **self.codec.write(instruction, type(instruction))}

    def _read_instruction(self, data: Any) -> AnyInstruction:
        if not isinstance(data, dict) or data.get("kind") not in list(KINDS):
            raise Misfit("an instruction", data)
        rest = {name: value for name, value in data.items() if name != "kind"}
        found: AnyInstruction = self.codec.form(KINDS[data["kind"]]).read(rest)
        return found


def _written_float(value: Any) -> str | int:
    return value.hex() if isinstance(value, float) else int(value)


def _read_float(data: Any) -> float:
    if type(data) is int and -LIMIT <= data < LIMIT:
        return data
    try:
        return float.fromhex(data)
    except (TypeError, ValueError, OverflowError):
        raise Misfit("a number as float.hex() writes it", data) from None


def _type_data(kind: Type) -> tuple[str, tuple[int | None, ...]] | None:
    return None if isinstance(kind, RandomStateType) else (kind.dtype, kind.shape)


def _type(data: tuple[str, tuple[int | None, ...]] | None) -> Type:
    if data is None:
        return RANDOM_STATE
    dtype, sizes = data
    if dtype not in DTYPES or any(size is not None and size < 0 for size in sizes):
        raise Misfit("a dtype and sizes", data)
    return TensorType(dtype, sizes)


def _provenance(data: tuple[Any, ...]) -> Provenance:
    source, scans, rule = data
    return Provenance(source, scans, (), rule)


_FOR_PEOPLE = ("provenance", "profile", *WORDS)


def structural_hash(program: Program) -> str:
    """Return 64 hexadecimal digits that tell a program from all others.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> from scanviz.engine.program.lower import lower
    >>> x, y = T.vector("x"), T.vector("y")
    >>> one, other = (structural_hash(lower([v], [T.exp(v)], n)) for v, n in ((x, "f"), (y, "g")))
    >>> one == other, one == structural_hash(lower([x], [T.tanh(x)], "f"))
    (True, False)
    """
    data, arrays = to_data(program, _OF_A_PROCESS.union(_FOR_PEOPLE))
    found = hashlib.sha256(json.dumps(data, sort_keys=True, separators=(",", ":")).encode())
    for array in arrays:
        found.update(f"{array.dtype}{array.shape}".encode())
        found.update(little_endian(array))
    return found.hexdigest()
