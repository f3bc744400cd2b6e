"""Programs as bytes: a zip of JSON and raw arrays, read without running anything that stands in it.

The file has the computation of a Program, its names and the user's lines with their texts: reading a Program opens no other
file.  Keys of loops, ids of nodes, and the graph that a loop was lowered from belong to one process and are not written.  So a
Program that was read runs and prints, and has no graph to show.

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
from types import GenericAlias
from typing import Any, ClassVar, NamedTuple, get_origin

import msgspec
import numpy as np

from scanviz.engine.errors import InternalError, MisfitError, ScanvizError
from scanviz.engine.graph.declaration import WORDS, Op, declared, declared_already
from scanviz.engine.graph.nodes import Array
from scanviz.engine.graph.provenance import Provenance, SourceLine
from scanviz.engine.graph.types import DTYPES, RANDOM_STATE, AnyType, RandomStateType, TensorType, Type
from scanviz.engine.program.instructions import Program
from scanviz.engine.program.lifetimes import with_frees_inside
from scanviz.engine.scan.loop import SCAN
from scanviz.engine.strict import Strict

VERSION = 2
CONTENT = "program.json"
_OF_A_PROCESS = frozenset(("key", "node_id", "frees"))
_Line = tuple[str, int, str]


class _LineOfFile(NamedTuple):
    file: str
    line: int
    function: str
    text: str | None = None


class _ArrayOfFile(Strict, frozen=True):
    dtype: str
    shape: tuple[int, ...]


class _Content(Strict, frozen=True):
    version: int
    arrays: tuple[_ArrayOfFile, ...]
    program: Any


def to_bytes(program: Program, place: Callable[[str], str] = str) -> bytes:
    """Return a program as the content of a file; ``place`` names the files of the user's lines in it.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> from scanviz.engine.program.lower import lower
    >>> x = T.vector("x")
    >>> from_bytes(to_bytes(lower([x], [T.exp(x)], "f"))).instructions[0].op.name
    'exp'
    """
    data, arrays = to_data(program, _OF_A_PROCESS, place)
    held = tuple(_ArrayOfFile(str(array.dtype), array.shape) for array in arrays)
    content = msgspec.to_builtins(_Content(VERSION, held, data))
    text = json.dumps(content, separators=(",", ":"))
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
            data = json.loads(_entry(archive, CONTENT), parse_int=_whole)
            read: _Content = _Hooks([]).read(data, _Content, CONTENT)
            if read.version != VERSION:
                raise MisfitError(
                    "the program was written by another version", expected=VERSION, found=read.version
                )
            arrays = [_array(archive, k, entry) for k, entry in enumerate(read.arrays)]
    except (zipfile.BadZipFile, ValueError, KeyError, EOFError, NotImplementedError, RecursionError) as error:
        if isinstance(error, ScanvizError):
            raise
        raise MisfitError("this is no program that scanviz wrote", found=str(error)[:100]) from error
    return from_data(read.program, arrays)


def to_data(
    program: Program, without: frozenset[str], place: Callable[[str], str] = str
) -> tuple[Any, list[Array]]:
    """Return a program as JSON data, and its constants, leaving out fields of some names."""
    hooks = _Hooks([], without, place)
    return _listed(msgspec.to_builtins(program, enc_hook=hooks.written, str_keys=True), without), hooks.arrays


def from_data(data: Any, arrays: list[Array]) -> Program:
    """Return the program that JSON data and arrays describe.

    Raises
    ------
    MisfitError
        Naming the place in the data, or what does not go together.
    """
    from scanviz.engine.program.verify import verify_program, verify_types

    try:
        program = with_frees_inside(_Hooks(arrays).read(data, Program, "program"))
        verify_types(program)
        verify_program(program)
    except InternalError as error:
        raise MisfitError(f"the program is inconsistent: {error.what}", found=error.found) from error
    except RecursionError as error:
        raise MisfitError("the program is nested too deep") from error
    return program


def little_endian(array: Array) -> bytes:
    """Return the elements of an array in C order, the same bytes on every machine."""
    return array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()


def _entry(archive: zipfile.ZipFile, name: str) -> bytes:
    info = archive.getinfo(name)
    if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 1:
        raise MisfitError(f"{name} in the program is compressed or encrypted")
    return archive.read(info)


def _array(archive: zipfile.ZipFile, k: int, entry: _ArrayOfFile) -> Array:
    raw = _entry(archive, f"arrays/{k}")
    if entry.dtype not in DTYPES or len(entry.shape) > 32 or min(entry.shape, default=0) < 0:
        raise MisfitError(f"array {k} of the program has the wrong form", found=f"{entry.dtype}{entry.shape}")
    dtype = np.dtype(entry.dtype)
    if prod(entry.shape) * dtype.itemsize != len(raw):
        raise MisfitError(f"array {k} of the program is cut off or too long", found=f"{len(raw)} bytes")
    found = np.frombuffer(raw, dtype.newbyteorder("<")).astype(dtype).reshape(entry.shape)
    found.flags.writeable = False
    return found


def _class_of_parameters(name: str) -> Any:
    """Return the named tuple of operations' parameters of this name, or None if no declaring module has it.

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


class _Hooks:
    """Conversion of a Program's values that msgspec does not know.

    Parameters
    ----------
    arrays : list
        Constants: data hold their numbers.
    without : frozenset of str
        Names of fields that are left out.
    place : callable
        ``place(file)`` gives the written name of the file of a user's line.
    """

    def __init__(
        self, arrays: list[Array], without: frozenset[str] = frozenset(), place: Callable[[str], str] = str
    ) -> None:
        self.arrays, self.without, self.place = arrays, without, place
        self.lines: dict[_Line, SourceLine] = {}  # a line has its text where it comes first

    def written(self, value: Any) -> Any:
        """Return the data for a value of a class that msgspec does not know."""
        match value:
            case Op():
                return self._written_op(value)
            case TensorType():
                return value.dtype, value.shape
            case RandomStateType():
                return None
            case Provenance():
                return value.source, value.scans, value.rule
            case SourceLine():
                return self._written_line(value)
            case np.ndarray():
                self.arrays.append(value)
                return len(self.arrays) - 1
            case np.generic():
                return value.item()
        raise MisfitError(f"a Program in a file holds no {type(value).__name__}")

    def _written_op(self, op: Op) -> Any:
        if op.declaration is SCAN or op.parameters is None:  # a loop's instruction has its step
            return op.name, None, None
        kind = type(op.parameters)
        if _class_of_parameters(kind.__name__) is not kind:
            raise InternalError(
                f"the parameters of {op.name} are no named tuple of the file that declares it"
            )
        fields = zip(kind._fields, op.parameters, strict=True)
        return op.name, kind.__name__, [value for name, value in fields if name not in self.without]

    def _written_line(self, line: SourceLine) -> tuple[str | int, ...]:
        where = self.place(line.file), line.line, line.function
        text, known = line.text(), self.lines.get(where)
        if known is not None and known.recorded == text:
            return where
        self.lines[where] = SourceLine(*where, recorded=text)
        return *where, text

    def read(self, data: Any, kind: Any, place: str) -> Any:
        """Return the value of a class that data describe, or raise a MisfitError."""
        try:
            return self._converted(data, kind)
        except (msgspec.ValidationError, UnicodeEncodeError) as error:
            raise MisfitError.at(place, error) from None

    def _converted(self, data: Any, kind: Any) -> Any:
        return msgspec.convert(data, kind, dec_hook=self._read, str_keys=True)

    def _read(self, kind: Any, data: Any) -> Any:
        """Return the value of a class that msgspec does not know; a ValueError gets its place from msgspec."""
        try:
            return self._readers[get_origin(kind) or kind](self, data)
        except msgspec.ValidationError as error:
            raise ValueError(str(error)) from None

    def _read_op(self, data: Any) -> Op:
        name, kind, _ = self._converted(data, tuple[str, str | None, Any])
        try:
            declaration = declared(name)
        except ScanvizError:
            raise ValueError(f"Expected an operation of this version of scanviz, got {name[:60]!r}") from None
        if kind is None:
            return Op(declaration)
        known = _class_of_parameters(kind)
        if known is None:
            raise ValueError(f"Expected a class of parameters, got {kind[:60]!r}")
        return Op(declaration, self._converted(data, GenericAlias(tuple, (str, str, known)))[2])

    def _read_type(self, data: Any) -> Type:
        found = self._converted(data, tuple[str, tuple[int | None, ...]] | None)
        if found is None:
            return RANDOM_STATE
        dtype, sizes = found
        if dtype not in DTYPES or any(size is not None and size < 0 for size in sizes):
            raise ValueError("Expected a dtype and sizes")
        return TensorType(dtype, sizes)

    def _read_provenance(self, data: Any) -> Provenance:
        source, scans, rule = self._converted(data, tuple[SourceLine | None, tuple[str, ...], str | None])
        return Provenance(source, scans, (), rule)

    def _read_line(self, data: Any) -> SourceLine:
        file, line, function, text = self._converted(data, _LineOfFile)
        where = file, line, function
        if text is not None or where not in self.lines:
            self.lines[where] = SourceLine(*where, text or "")
        return self.lines[where]

    def _read_array(self, data: Any) -> Array:
        number: int = self._converted(data, int)
        if not 0 <= number < len(self.arrays):
            raise ValueError(f"Expected a number below {len(self.arrays)}")
        return self.arrays[number]

    _readers: ClassVar[dict[Any, Callable[[_Hooks, Any], Any]]] = {
        Op: _read_op,
        AnyType: _read_type,
        Provenance: _read_provenance,
        SourceLine: _read_line,
        np.ndarray: _read_array,
    }


def _listed(data: Any, without: frozenset[str]) -> Any:
    """Return data with lists for tuples, as JSON has them, and without fields of some names."""
    if isinstance(data, dict):
        return {name: _listed(value, without) for name, value in data.items() if name not in without}
    return [_listed(value, without) for value in data] if isinstance(data, tuple | list) else data


def _whole(text: str) -> int:
    """Return an integer of JSON, which has at most 64 bits."""
    found = int(text)
    if not -(2**63) <= found < 2**63:
        raise MisfitError("the program has a number of more than 64 bits", found=text[:60])
    return found


_FOR_PEOPLE = ("provenance", "profile", *WORDS)


def structural_hash(program: Program) -> str:
    """Return 64 hexadecimal digits that identify a program.

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
