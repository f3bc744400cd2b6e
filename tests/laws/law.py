"""A law: something that must hold of whatever can be drawn, and the table of all laws.

A law is a function over drawn arguments that raises when it does not hold.  It is declared once, beside its strategies, and
run from two places: a small sample of each in the tests, and as much as time allows by ``python -m tests.laws``.
"""

import functools
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import hypothesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Flaky, UnsatisfiedAssumption
from hypothesis.strategies import SearchStrategy

import tests.support.same_draws  # noqa: F401

SHRINKING = 30.0  # seconds for making what breaks a law smaller; some examples take seconds
_UNINTERESTING = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much)


class _Enough(BaseException):
    """Ends making an example smaller: no ``Exception``, which would be taken for one that the law's check raised."""


@dataclass(slots=True)
class _Search:
    """A search for what breaks a law: examples tried, when to end making them smaller, and the last that broke it."""

    check: Callable[..., None]
    on_break: Callable[[], None] | None
    tried: int = 0
    until: float = math.inf
    broken: tuple[Exception, dict[str, Any]] | None = None

    def attempt(self, drawn: dict[str, Any]) -> None:
        """Try one example."""
        if time.monotonic() > self.until:
            raise _Enough
        self.tried += 1
        try:
            self.check(**drawn)
        except UnsatisfiedAssumption:  # outside the scope of the law
            raise
        except Exception as error:
            if self.broken is None:
                self.until = time.monotonic() + SHRINKING
                if self.on_break is not None:
                    self.on_break()
            self.broken = error, drawn
            raise


@dataclass(frozen=True, slots=True)
class Law:
    """A law and how much of it a test run samples.

    Attributes
    ----------
    name : str
        The function's, a sentence with underscores.
    family : str
        The file that it stands in: ``"loops"``, ``"gradients"``, …
    statement : str
        What must hold: first line of the function's docstring.
    check : callable
        Raises where the law does not hold of its arguments.
    strategies : dict
        Argument of ``check`` → strategy.
    sample : int
        How many examples the tests try.
    """

    name: str
    family: str
    statement: str
    check: Callable[..., None]
    strategies: dict[str, SearchStrategy[Any]]
    sample: int

    def run(
        self,
        examples: int | None = None,
        seed: int = 0,
        shrink: bool = True,
        on_break: Callable[[], None] | None = None,
    ) -> int:
        """Try examples, the same for the same seed, and return how many were tried.

        Parameters
        ----------
        examples : int, optional
            How many; by default the sample of the tests.
        seed : int
            Another one draws others.
        shrink : bool
            Whether an example that breaks the law is minimized before it is reported.
        on_break : callable, optional
            Called, while the exception is handled, for the first example that breaks the law: making it small may take long.

        Raises
        ------
        Exception
            What ``check`` raised for the smallest example that was found in :data:`SHRINKING` seconds, with a note that holds the
            example.
        """
        search = _Search(self.check, on_break)

        @functools.wraps(self.check)
        def counted(**drawn: Any) -> None:
            search.attempt(drawn)

        phases = [Phase.generate, Phase.shrink] if shrink else [Phase.generate]
        wanted = settings(
            max_examples=self.sample if examples is None else examples,
            phases=phases,
            deadline=None,
            database=None,
            print_blob=False,
            suppress_health_check=_UNINTERESTING,
        )
        try:
            hypothesis.seed(seed)(wanted(given(**self.strategies)(counted)))()
        except (_Enough, Flaky):  # Hypothesis may report our end of its search as a flaky example
            if search.broken is None:
                raise
            error, drawn = search.broken
            error.add_note(f"Falsifying example, not the smallest: {self.name}({drawn!r})")
            raise error from None
        return search.tried


_LAWS: dict[str, Law] = {}


def law(
    sample: int = 10, **strategies: SearchStrategy[Any]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Declare a law: a function over strategies, with ``sample`` examples in the tests.

    Raises
    ------
    ValueError
        If there is a law of that name.
    """

    def declare(check: Callable[..., None]) -> Callable[..., None]:
        name = check.__name__
        if name in _LAWS:
            raise ValueError(f"there are two laws of the name {name}")
        statement = (check.__doc__ or name.replace("_", " ")).strip().splitlines()[0]
        _LAWS[name] = Law(name, check.__module__.rpartition(".")[2], statement, check, strategies, sample)
        return check

    return declare


def all_laws(names: Sequence[str] = ()) -> list[Law]:
    """Return the laws whose name or family is among ``names``; all of them where none are given.

    Raises
    ------
    ValueError
        If a name is neither a law's nor a family's.
    """
    known = {*_LAWS, *(known.family for known in _LAWS.values())}
    for name in names:
        if name not in known:
            raise ValueError(
                f"there is no law or family of laws {name!r}; there are {', '.join(sorted(known))}"
            )
    return [known for known in _LAWS.values() if not names or known.name in names or known.family in names]
