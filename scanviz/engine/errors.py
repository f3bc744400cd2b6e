"""Errors a user can cause, and the one that asks for a report.

Each error is both a :class:`ScanvizError` and the built-in that fits, so that ``except ValueError`` in a user's
code goes on working.  The message is written for the person who made the mistake: where it happened, what was
wrong in their own names, what was expected, what was found and what to write instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from typing import Protocol

    class Line(Protocol):
        """A line of source."""

        def text(self) -> str:
            """Return the source text, empty if unknown."""
            ...


USER_LINE: list[Callable[[], Line | None]] = []  # the user's line that runs: filled by who reads the stack


def some(count: int, noun: str) -> str:
    """Return a number with its noun, in the plural where it must be.

    Examples
    --------
    >>> some(1, "step"), some(3, "step")
    ('1 step', '3 steps')
    """
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


class ScanvizError(Exception):
    """Base of every error that scanviz raises on purpose.

    Parameters
    ----------
    what : str
        The mistake, in the user's own names; the first line of the message.
    where : object, optional
        The place of the mistake: an object whose ``str`` is ``file:line``, such as a
        :class:`~scanviz.engine.graph.provenance.SourceLine`.
    step : int, optional
        Step of the loop at which it happened, counted from 0.
    expected, found : object, optional
        The needed value, and the value found instead.
    fix : str, optional
        The code to write instead.
    text : str, optional
        The source line at ``where``.

    Examples
    --------
    >>> print(ScanvizError("`x` is empty", where="rnn.py:3", expected="at least 1 row", found="0 rows"))
    rnn.py:3: `x` is empty
      expected: at least 1 row
      found:    0 rows
    """

    def __init__(
        self,
        what: str,
        *,
        where: object = None,
        step: int | None = None,
        expected: object = None,
        found: object = None,
        fix: str | None = None,
        text: str | None = None,
    ) -> None:
        self.what, self.where, self.step, self.text = what, where, step, text
        self.expected, self.found, self.fix = expected, found, fix
        self.translated = False  # whether a backend has put it in the user's words
        super().__init__(what)

    @classmethod
    def here(
        cls,
        what: str,
        *,
        expected: object = None,
        found: object = None,
        fix: str | None = None,
        shown: bool = False,
    ) -> Self:
        """Return the error of the line of the user's code that runs, ``shown`` with its text: a graph is built wrongly there."""
        where = USER_LINE[-1]()
        text = where.text() or None if shown and where is not None else None
        return cls(what, where=where, expected=expected, found=found, fix=fix, text=text)

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where is not None else ""
        when = f", at step {self.step}" if self.step is not None else ""
        lines = [f"{place}{self.what}{when}"]
        if self.text:
            lines.append(f"    {self.text}")
        if self.expected is not None:
            lines.append(f"  expected: {self.expected}")
        if self.found is not None:
            lines.append(f"  found:    {self.found}")
        if self.fix:
            lines.extend(
                f"  {'write:   ' if k == 0 else '         '} {line}"
                for k, line in enumerate(self.fix.split("\n"))
            )
        return "\n".join(lines)

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), dict(vars(self), where=self.where and str(self.where))))


def _rebuild(kind: type[ScanvizError], state: dict[str, object]) -> ScanvizError:
    error = kind(str(state["what"]))
    error.__dict__.update(state)
    return error


class ScanvizTypeError(ScanvizError, TypeError):
    """A value of the wrong type, dtype or number of dimensions."""


class ScanvizValueError(ScanvizError, ValueError):
    """A value that cannot be used, of the right type."""


class MisfitError(ScanvizValueError):
    """Data of the wrong form: the place, the expected form and the value found."""

    @classmethod
    def at(cls, place: str, refused: Exception) -> MisfitError:
        """Return the error for data of ``place`` that msgspec refused."""
        what, *paths = str(refused).split(" - at `$")  # the innermost first
        path = "".join(reversed(paths)).replace("`", "")
        newer = "unknown field" in what  # a later scanviz of the same schema may write it
        return cls(
            f"{place}{path} is not what it should be: {what[:1].lower()}{what[1:]}",
            fix="pip install --upgrade scanviz" if newer else None,
        )


class ShapeError(ScanvizError, ValueError):
    """Shapes that do not go together, when building or at run time."""


class ScanvizIndexError(ScanvizError, IndexError):
    """An index or tap out of bounds."""


class ScanvizAttributeError(ScanvizError, AttributeError):
    """An attribute or method that a variable does not have, or that cannot be set."""


class OutOfMemoryError(ScanvizError, MemoryError):
    """An allocation needs more memory than there is."""


class MissingInputError(ScanvizError, ValueError):
    """A variable is needed that no input gives."""


class UnusedInputError(ScanvizError, ValueError):
    """An input is given that no output needs."""


class ScanvizNotImplementedError(ScanvizError, NotImplementedError):
    """A feature that scanviz does not support (yet)."""


class DisconnectedInputError(ScanvizError, ValueError):
    """A derivative with respect to something that has none: it is not connected."""


class UndefinedGradientError(ScanvizError, ValueError):
    """A derivative through an operation that has none."""


class NumericalError(ScanvizError, ArithmeticError):
    """A numerical method could not go on, such as a singular matrix."""


class AssertFailedError(ScanvizError, AssertionError):
    """A condition that the user's own ``Assert`` checks does not hold."""


class BackendError(ScanvizError, RuntimeError):
    """A backend that is missing, broken or cannot run this program here."""


class PluginError(ScanvizError, ImportError):
    """An operation or a rewrite that another distribution adds cannot be loaded; the distribution is named."""


class InternalError(ScanvizError, RuntimeError):
    """A broken invariant of scanviz itself; please report it with the script that shows it."""

    def __str__(self) -> str:
        return (
            super().__str__()
            + "\n  this is a mistake inside scanviz: please report it with the script that shows it"
        )
