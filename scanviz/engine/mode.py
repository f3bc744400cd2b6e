"""Mode: which tier runs a function, and which rewrites it may use."""

from __future__ import annotations

from scanviz.engine.config import config
from scanviz.engine.errors import ScanvizTypeError
from scanviz.engine.rewrites.selection import Selection, as_selection


class Mode:
    """Compilation settings of a function.

    Parameters
    ----------
    backend : str
        Name of a tier: ``"auto"`` (NumPy, and machine code for the loops in which compiling pays; CuPy for calls with its arrays),
        ``"numpy"``, ``"native"``, ``"reference"``, ``"cupy"`` or a plug-in's.
    rewrites : str or list of str, optional
        ``"all"``, ``"none"``, or names and tags of rules, such as ``"all,-PushOutDot1"``; by default ``config.rewrites``.
        Where that is ``"auto"``, too, the reference tier uses none, because it is there to judge the others, and every other
        tier all.  Rules know what runs a loop, and leave in the step what costs less there.

    Raises
    ------
    ScanvizValueError
        If there is no rule or tag of a name.
    ScanvizTypeError
        For an unknown argument, such as Theano's ``linker``; the message names the replacement.

    Examples
    --------
    >>> Mode("reference")
    Mode('reference')
    >>> str(Mode("reference").rewrites)
    'none'
    >>> Mode("reference", rewrites="all")
    Mode('reference', rewrites='all')
    >>> Mode("numpy").excluding("ScanSaveMem")
    Mode('numpy', rewrites='all,-ScanSaveMem')
    """

    __slots__ = ("backend", "rewrites")

    def __init__(
        self, backend: str = "auto", rewrites: str | list[str] | Selection | None = None, **others: object
    ) -> None:
        if others:
            raise _no_argument(backend, rewrites, others)
        self.backend = backend
        asked = config.rewrites if rewrites is None else rewrites
        self.rewrites = _usual_rewrites(backend) if asked == "auto" else as_selection(asked)

    def including(self, *names: str) -> Mode:
        """Return the mode with rules, or all rules of a tag, put in.

        Raises
        ------
        ScanvizValueError
            If there is no such rule or tag.
        """
        return Mode(self.backend, self.rewrites.including(*names))

    def excluding(self, *names: str) -> Mode:
        """Return the mode with rules, or all rules of a tag, taken out.

        Raises
        ------
        ScanvizValueError
            If there is no such rule or tag.
        """
        return Mode(self.backend, self.rewrites.excluding(*names))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mode) and (self.backend, self.rewrites) == (other.backend, other.rewrites)

    def __hash__(self) -> int:
        return hash(("Mode", self.backend, self.rewrites))

    def __repr__(self) -> str:
        shown = "" if self.rewrites == _usual_rewrites(self.backend) else f", rewrites={str(self.rewrites)!r}"
        return f"Mode({self.backend!r}{shown})"


# Linkers and optimizers of Theano and PyTensor, and what does the same here; what is not among them is left to the default.
_TIERS = {"py": "numpy", "c": "native", "c|py": "native", "numba": "native", "jax": "native"}
_RULES = {"fast_run": "all", "fast_compile": "none", "none": "none", "o4": "all", "o3": "all"}


def _no_argument(backend: str, rewrites: object, others: dict[str, object]) -> ScanvizTypeError:
    """Return the error of unknown arguments of Mode, with the equivalent call."""
    tier, rules = backend, rewrites
    if "linker" in others:
        tier = _TIERS.get(str(others["linker"]).lower(), "auto")
    if "optimizer" in others:
        rules = _RULES.get(str(others["optimizer"]).lower(), "all")
    asked = ", ".join([repr(tier)] + ([f"rewrites={rules!r}"] if rules is not None else []))
    return ScanvizTypeError.here(
        f"Mode has no {' and no '.join(f'`{name}`' for name in others)}",
        expected="Mode(backend, rewrites): a tier, and names of rules",
        found=", ".join(f"{name}={value!r}" for name, value in others.items()),
        fix=f"scanviz.Mode({asked})",
    )


def _usual_rewrites(backend: str) -> Selection:
    """Return a tier's default rules; the oracle uses none, to stay independent of the rules it judges."""
    return Selection("none") if backend == "reference" else Selection("all")


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
        raise ScanvizTypeError.here(
            "mode cannot be used", expected="Mode(…), the name of a tier or None", found=repr(given)
        )
    return mode
