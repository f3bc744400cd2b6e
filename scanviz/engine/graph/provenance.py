"""Provenance of nodes: the user's line, enclosing loops, and the rule that built the node.

The line is found once, when the node is built, by walking out of scanviz's own frames.  Lines are interned by code
object and line number, so that a large graph holds few of them.

``with holding(…)`` sets the loop and the rule of all nodes built in its block, by a context variable: no function between has to
pass them on, and no other thread sees them.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import ContextVar, Token
from types import FrameType
from typing import Any, Generic, TypeVar

from scanviz.engine.errors import USER_LINE

Held = TypeVar("Held")


class holding(Generic[Held]):  # noqa: N801  # a context manager, written like a function
    """Let a context variable have a value in the block, and give it; outside of blocks most have another type, as None.

    Examples
    --------
    >>> depth = ContextVar("depth", default=0)
    >>> with holding(depth, depth.get() + 1) as inside:
    ...     depth.get(), inside
    (1, 1)
    >>> depth.get()
    0
    """

    __slots__ = ("_token", "_value", "_variable")

    def __init__(self, variable: ContextVar[Any], value: Held) -> None:
        self._variable, self._value = variable, value
        self._token: Token[Any] | None = None

    def __enter__(self) -> Held:
        self._token = self._variable.set(self._value)
        return self._value

    def __exit__(self, *ending: object) -> None:
        assert self._token is not None
        self._variable.reset(self._token)


Node = TypeVar("Node")
Level = TypeVar("Level")
T = TypeVar("T")
_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep
_scan_path: ContextVar[tuple[str, ...]] = ContextVar("scan_path", default=())
LARGEST = 1 << 24  # bytes of a source file
_own_files: dict[str, bool] = {}
_interned: dict[tuple[str, int, str], SourceLine] = {}


class SourceLine:
    """A line of the user's code.

    Attributes
    ----------
    file : str
        File name as Python knows it.
    line : int
        Line number from 1.
    function : str
        Name of the function that the line is in, ``<module>`` at top level.
    recorded : str or None
        The text of the line where it comes from a file of somebody; None for code of this process.
    """

    __slots__ = ("file", "function", "line", "recorded")

    def __init__(self, file: str, line: int, function: str, recorded: str | None = None) -> None:
        self.file, self.line, self.function, self.recorded = file, line, function, recorded

    def __str__(self) -> str:
        return f"{short_path(self.file)}:{self.line}"

    def __repr__(self) -> str:
        return f"SourceLine({self.file!r}, {self.line}, {self.function!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SourceLine) and (self.file, self.line, self.function) == (
            other.file,
            other.line,
            other.function,
        )

    def __hash__(self) -> int:
        return hash((self.file, self.line, self.function))

    def __reduce__(self) -> tuple[object, ...]:
        if self.recorded is not None:
            return (SourceLine, (self.file, self.line, self.function, self.recorded))
        return (intern_line, (self.file, self.line, self.function))

    def text(self) -> str:
        """Return the source text of the line, stripped; empty if it cannot be read.

        The one place that reads a source file: of code of this process, a regular file of at most ``LARGEST`` bytes.
        """
        if self.recorded is not None:
            return self.recorded
        import linecache

        if self.file not in linecache.cache and not _is_source(self.file):
            return ""
        return linecache.getline(self.file, self.line).strip()


def _is_source(file: str) -> bool:
    """Return whether a file is a regular file."""
    try:
        found = os.stat(file)
    except (OSError, ValueError):  # not there, or no name of a file
        return False
    return stat.S_ISREG(found.st_mode) and found.st_size <= LARGEST


def short_path(file: str) -> str:
    """Return a file name relative to the working folder if that is shorter and inside it."""
    try:
        relative = os.path.relpath(file)
    except (ValueError, OSError):
        return file
    return file if relative.startswith("..") else relative


def intern_line(file: str, line: int, function: str) -> SourceLine:
    """Return the one SourceLine for this place."""
    key = (file, line, function)
    found = _interned.get(key)
    if found is None:
        found = _interned.setdefault(key, SourceLine(file, line, function))
    return found


class Provenance:
    """The provenance of an Apply.

    Attributes
    ----------
    source : SourceLine or None
        The user's line that built it.
    scans : tuple[str, ...]
        Names of the loops around it when it was built, outermost first.
    parents : tuple[int, ...]
        Node ids of the nodes that a gradient or a rewrite made it from.
    rule : str or None
        Name of the rewrite or gradient rule that made it; None if the user did.
    """

    __slots__ = ("parents", "rule", "scans", "source")

    def __init__(
        self,
        source: SourceLine | None,
        scans: tuple[str, ...] = (),
        parents: tuple[int, ...] = (),
        rule: str | None = None,
    ) -> None:
        self.source, self.scans, self.parents, self.rule = source, scans, parents, rule

    def __repr__(self) -> str:
        made = f", rule={self.rule!r}" if self.rule else ""
        return f"Provenance({self.source}, scans={self.scans}{made})"


_frames: ContextVar[dict[FrameType, int] | None] = ContextVar("frames_that_build", default=None)
_Asked = tuple[str, Provenance, int]  # a rule, and the provenance and id of the node it is asked at
_inherited: ContextVar[Provenance | _Asked | None] = ContextVar("inherited_provenance", default=None)


def is_own_file(file: str) -> bool:
    """Return whether a file belongs to scanviz itself, and is no user code."""
    known = _own_files.get(file)
    if known is None:
        known = _own_files[file] = file.startswith((_PACKAGE, "<scanviz"))
    return known


def user_line(frame: FrameType | None = None) -> SourceLine | None:
    """Return the innermost line of the user's code on the call stack."""
    frame = user_frame(frame or sys._getframe(1))
    return None if frame is None else _line_of(frame)


USER_LINE.append(user_line)


def user_frame(frame: FrameType | None) -> FrameType | None:
    """Return the innermost frame of the user's code on the call stack, from a frame on outwards."""
    while frame is not None and is_own_file(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def _line_of(frame: FrameType) -> SourceLine:
    code = frame.f_code
    return intern_line(code.co_filename, frame.f_lineno, code.co_name)


def current() -> Provenance:
    """Return the provenance of a node that is built now."""
    inherited = _inherited_provenance()
    if inherited is not None:
        return inherited
    frame, building = user_frame(sys._getframe(1)), _frames.get()
    if frame is not None and building is not None and frame not in building:
        building[frame] = _depth(frame)
    return Provenance(None if frame is None else _line_of(frame), _scan_path.get())


def _depth(frame: FrameType | None) -> int:
    depth = 0
    while frame is not None:
        frame, depth = frame.f_back, depth + 1
    return depth


def frames_around() -> dict[FrameType, int]:
    """Return the user's frame that calls scanviz, and its callers in the same file, with their depths."""
    frame = user_frame(sys._getframe(1))
    file, found = frame.f_code.co_filename if frame is not None else "", dict[FrameType, int]()
    while frame is not None and frame.f_code.co_filename == file:
        found[frame] = -len(found)
        frame = frame.f_back
    return found


def frames_that_build() -> AbstractContextManager[dict[FrameType, int]]:
    """Collect the frames of the user's functions that build nodes in the block, each with how deep in the stack it stands.

    A frame keeps its local variables as long as somebody holds it, also when its function has returned: clear the dict.
    """
    return holding(_frames, dict[FrameType, int]())


def current_scans() -> tuple[str, ...]:
    """Return the names of the loops whose step is being built, outermost first."""
    return _scan_path.get()


def building_scan(name: str) -> AbstractContextManager[tuple[str, ...]]:
    """Mark nodes built in the block as part of the loop ``name``."""
    return holding(_scan_path, (*_scan_path.get(), name))


def made_by(
    rule: str, source: Provenance, parents: tuple[int, ...] = ()
) -> AbstractContextManager[Provenance]:
    """Let nodes built in the block inherit ``source``, with the rule and the nodes they come from added."""
    return holding(_inherited, Provenance(source.source, source.scans, parents or source.parents, rule))


def asked_at(
    rule: str, source: Provenance, node_id: int, act: Callable[[Node, Level], T], node: Node, level: Level
) -> T:
    """Call a rule; nodes that it builds inherit provenance as from :func:`made_by`, created lazily."""
    token = _inherited.set((rule, source, node_id))
    try:
        return act(node, level)
    finally:
        _inherited.reset(token)


def _inherited_provenance() -> Provenance | None:
    """Return the provenance of nodes built now, created when the first of them asks."""
    inherited = _inherited.get()
    if not isinstance(inherited, tuple):
        return inherited
    rule, source, node_id = inherited
    made = Provenance(source.source, source.scans, (node_id,), rule)
    _inherited.set(made)  # until the rule has answered
    return made


def moved_from(source: Provenance, node_id: int) -> AbstractContextManager[Provenance]:
    """Let nodes built in the block stand for a node that the rule at work moves elsewhere: its line, its loops, its id."""
    inherited = _inherited_provenance()
    rule = inherited.rule if inherited is not None else None
    return holding(_inherited, Provenance(source.source, source.scans, (node_id,), rule))
