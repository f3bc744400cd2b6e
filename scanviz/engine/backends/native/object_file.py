"""An object file made ready to run: its sections copied into memory, and the addresses in them put right.

LLVM can do that too, but importing it takes some thirty milliseconds, and a process that finds its code on disk needs nothing
else of it.  Known is what LLVM's code generator leaves for a loop on x86-64: instructions and constants that find one another by
distances, and calls of functions far away.  Anything else is refused, and left to LLVM.

The format and the relocations are those of the *System V Application Binary Interface, AMD64 Architecture Processor Supplement*,
chapter 4.  Memory is written first and executable afterwards, never both, and it is this process's alone: what a child that
it forks does to its own is not seen here.
"""

from __future__ import annotations

import ctypes
import mmap
import struct
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

from scanviz.engine.named_tuple import NamedTuple

_ELF = b"\x7fELF\x02\x01\x01"  # 64 bits, little-endian
_RELOCATABLE, _X86_64 = 1, 62
_SYMBOLS, _RELOCATIONS, _NO_BITS, _UNWIND = 2, 4, 8, 0x70000001
_WRITTEN, _IN_MEMORY, _OF_A_THREAD = 1, 2, 0x400
_BY_ADDRESS, _BY_DISTANCE, _BY_CALL, _BY_LONG_DISTANCE = 1, 2, 4, 24
_BY_TABLE = (9, 41, 42)  # of addresses
_JUMP = b"\xff\x25\0\0\0\0"  # to the address that stands behind it
_STUB = 16  # bytes of a jump with its address


class ForeignError(Exception):
    """An object file has what is not known here."""


class _Section(NamedTuple):
    name: str
    kind: int
    flags: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int

    @property
    def is_needed(self) -> bool:
        """Whether code reads or runs it; tables for unwinding serve errors of C++, which no loop has."""
        return (
            bool(self.flags & _IN_MEMORY and self.size) and self.kind != _UNWIND and self.name != ".eh_frame"
        )


class _Symbol(NamedTuple):
    name: str
    section: int
    value: int


class ReadyCode(NamedTuple):
    """Code in memory.

    Attributes
    ----------
    address : int
        Where its function begins.
    held : object
        Keeps the memory.
    """

    address: int
    held: Any


def loaded(code: bytes, entry: str, address_of: Callable[[str], int]) -> ReadyCode:
    """Return an object file as code that can be run.

    Parameters
    ----------
    entry : str
        The function that is asked for.
    address_of : callable
        Gives the address of a function that it calls.

    Raises
    ------
    ForeignError
        If something of it is not known here, or no memory can be made to run.
    """
    try:
        return _loaded(code, entry, address_of)
    except (struct.error, StopIteration, ArithmeticError, ValueError, LookupError, OSError) as error:
        raise ForeignError(str(error)) from error


def _loaded(code: bytes, entry: str, address_of: Callable[[str], int]) -> ReadyCode:
    sections = _sections(code)
    symbols = _symbols(code, sections)
    starts, end = _layout(sections)
    far = sorted(
        {
            symbols[number].name
            for *_, number, _ in _relocations(code, sections)
            if not symbols[number].section
        }
    )
    stubs = {name: end + _STUB * k for k, name in enumerate(far)}
    # unasked, Python takes memory that is shared with children
    private = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    memory = mmap.mmap(-1, max(1, end + _STUB * len(stubs)), flags=private)
    anchor = ctypes.c_char.from_buffer(memory)
    base = ctypes.addressof(anchor)
    for number, start in starts.items():
        section = sections[number]
        memory[start : start + section.size] = code[section.offset : section.offset + section.size]
    for name, start in stubs.items():
        memory[start : start + _STUB] = (_JUMP + struct.pack("<Q", address_of(name))).ljust(_STUB, b"\0")
    for target, offset, kind, number, addend in _relocations(code, sections):
        symbol = symbols[number]
        place = starts[target] + offset
        if symbol.section:
            where = starts[symbol.section] + symbol.value
        elif kind in (_BY_CALL, *_BY_TABLE):
            where = stubs[symbol.name]
        else:
            raise ForeignError(f"{symbol.name} is far away")
        _put_right(memory, base, place, where, kind, addend, bool(symbol.section))
    function = next(symbol for symbol in symbols if symbol.name == entry and symbol.section in starts)
    if _protect()(base, len(memory), mmap.PROT_READ | mmap.PROT_EXEC):
        raise ForeignError("the system lets no memory be run")
    return ReadyCode(base + starts[function.section] + function.value, (memory, anchor))


def _put_right(
    memory: mmap.mmap, base: int, place: int, where: int, kind: int, addend: int, is_near: bool
) -> None:
    """Write an address, or the distance to one, where code has left room for it."""
    if kind in (_BY_DISTANCE, _BY_CALL):
        memory[place : place + 4] = struct.pack("<i", where + addend - place)
    elif kind in _BY_TABLE and not is_near:  # the address in the stub is the table's
        memory[place : place + 4] = struct.pack("<i", where + len(_JUMP) + addend - place)
    elif kind == _BY_LONG_DISTANCE:
        memory[place : place + 8] = struct.pack("<q", where + addend - place)
    elif kind == _BY_ADDRESS:
        memory[place : place + 8] = struct.pack("<Q", base + where + addend)
    else:
        raise ForeignError(f"relocation {kind}")


def _sections(code: bytes) -> list[_Section]:
    kind, machine = struct.unpack_from("<HH", code, 16)
    if not code.startswith(_ELF) or (kind, machine) != (_RELOCATABLE, _X86_64):
        raise ForeignError("no object file of x86-64")
    (table,) = struct.unpack_from("<Q", code, 40)
    size, count, names = struct.unpack_from("<HHH", code, 58)
    found = []
    heads = [struct.unpack_from("<IIQQQQIIQQ", code, table + size * k) for k in range(count)]
    for name, kind, flags, _, offset, length, link, info, alignment, _ in heads:
        section = _Section(
            _text_at(code, heads[names][4] + name), kind, flags, offset, length, link, info, max(1, alignment)
        )
        if section.is_needed and (flags & (_WRITTEN | _OF_A_THREAD) or kind == _NO_BITS):
            raise ForeignError(f"{section.name} is written to")
        if section.is_needed and offset + length > len(code):
            raise ForeignError("it is cut off")
        found.append(section)
    return found


def _text_at(code: bytes, place: int) -> str:
    return code[place : code.index(b"\0", place)].decode()


def _symbols(code: bytes, sections: Sequence[_Section]) -> list[_Symbol]:
    table = next(section for section in sections if section.kind == _SYMBOLS)
    names = sections[table.link].offset
    found = []
    for at in range(table.offset, table.offset + table.size, 24):
        name, _, _, section, value, _ = struct.unpack_from("<IBBHQQ", code, at)
        found.append(_Symbol(_text_at(code, names + name), section, value))
    return found


def _layout(sections: Sequence[_Section]) -> tuple[dict[int, int], int]:
    """Return where the sections that are needed begin, and where what comes after them does."""
    starts, end = {}, 0
    for number, section in enumerate(sections):
        if section.is_needed:
            if section.alignment > mmap.PAGESIZE:
                raise ForeignError("a section wants more than a page")
            starts[number] = end = -(-end // section.alignment) * section.alignment
            end += section.size
    return starts, -(-end // _STUB) * _STUB


def _relocations(code: bytes, sections: Sequence[_Section]) -> Iterator[tuple[int, int, int, int, int]]:
    """Iterate over what is to be put right: the section and where in it, how, to which symbol, and how far behind that."""
    for section in sections:
        if section.kind == _RELOCATIONS and sections[section.info].is_needed:
            for at in range(section.offset, section.offset + section.size, 24):
                offset, info, addend = struct.unpack_from("<QQq", code, at)
                yield section.info, offset, info & 0xFFFFFFFF, info >> 32, addend


@cache
def _protect() -> Any:
    function = ctypes.CDLL(None).mprotect
    function.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    return function


__all__ = ["ForeignError", "ReadyCode", "loaded"]
