"""Mode: which tier runs a function, and which rewrites it may use."""

from __future__ import annotations

from scanviz.engine.config import config
from scanviz.engine.errors import ScanvizTypeError


class Mode:
    """How a function is compiled.

    Parameters
    ----------
    backend : str
        Name of a tier: ``"auto"`` (the fastest one here that runs everything), ``"numpy"``, ``"reference"``,
        ``"cupy"`` or a plug-in's.

    Examples
    --------
    >>> Mode("reference")
    Mode('reference')
    """

    __slots__ = ("backend",)

    def __init__(self, backend: str = "auto") -> None:
        self.backend = backend

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mode) and self.backend == other.backend

    def __hash__(self) -> int:
        return hash(("Mode", self.backend))

    def __repr__(self) -> str:
        return f"Mode({self.backend!r})"


def as_mode(mode: Mode | str | None) -> Mode:
    """Return a Mode of a Mode, a tier's name or None for the process's default.

    Raises
    ------
    ScanvizTypeError
        If it is none of these.
    """
    if mode is None:
        return Mode(config.mode)
    if isinstance(mode, str):
        return Mode(mode)
    given: object = mode
    if not isinstance(given, Mode):
        raise ScanvizTypeError(
            "mode cannot be used", expected="Mode(…), the name of a tier or None", found=repr(given)
        )
    return mode
