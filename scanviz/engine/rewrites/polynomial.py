"""Sums of products of named sizes: what a cost is as long as the sizes are unknown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from heapq import nsmallest

Number = int | Fraction


class Polynomial:
    """A sum of products of named sizes, each with a number in front.

    Examples
    --------
    >>> n = Polynomial.of("n")
    >>> str(n * n * 2 + n + 1), (n * 3).at({"n": 4})
    ('2·n² + n + 1', 12.0)
    """

    __slots__ = ("terms",)

    def __init__(self, terms: Mapping[tuple[str, ...], Number]) -> None:
        self.terms = {key: value for key, value in terms.items() if value}

    @staticmethod
    def of(value: int | Fraction | str) -> Polynomial:
        """Return a number, or a named size."""
        if isinstance(value, str):
            return Polynomial({(value,): 1})
        return Polynomial({(): value})

    def __add__(self, other: Polynomial | int) -> Polynomial:
        found = dict(self.terms)
        for key, value in _as_polynomial(other).terms.items():
            found[key] = found.get(key, 0) + value
        return Polynomial(found)

    def __sub__(self, other: Polynomial | int) -> Polynomial:
        return self + _as_polynomial(other) * -1

    def __mul__(self, other: Polynomial | int | Fraction) -> Polynomial:
        found: dict[tuple[str, ...], Number] = {}
        for one, a in self.terms.items():
            for two, b in _as_polynomial(other).terms.items():
                key = tuple(sorted((*one, *two)))
                found[key] = found.get(key, 0) + a * b
        return Polynomial(found)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Polynomial) and self.terms == other.terms

    def __hash__(self) -> int:
        return hash(frozenset(self.terms.items()))

    def at(self, sizes: Mapping[str, int]) -> float:
        """Return the value for given sizes; KeyError for one that is not given."""
        total: Number = 0
        for key, value in self.terms.items():
            for name in key:
                value *= sizes[name]
            total += value
        return float(total)

    @property
    def number(self) -> float | None:
        """The value, where no size is unknown."""
        return float(self.terms.get((), 0)) if set(self.terms) <= {()} else None

    @property
    def names(self) -> tuple[str, ...]:
        """The sizes it depends on, sorted."""
        return tuple(sorted({name for key in self.terms for name in key}))

    def __str__(self) -> str:
        return "".join(self._signed_terms()) or "0"

    def text(self, longest: int) -> str:
        """Return what is printed, in no more characters: whole terms, and a sign for those that are left out.

        Examples
        --------
        >>> n, m = Polynomial.of("n"), Polynomial.of("m")
        >>> (n * m - n + m).text(20), (n * m - n + m).text(8)
        ('m·n + m - n', 'm·n + …')
        """
        kept, more, rest = "", " + …", ""
        for each in self._signed_terms(longest // 4 + 2):  # a term has at least so many characters
            if len(kept) + len(rest) + len(each) > longest:
                return kept + more if kept else each[: longest - 1] + "…"
            if not rest and len(kept) + len(each) + len(more) <= longest:
                kept += each
            else:
                rest += each  # there is room for it only if nothing comes after it
        return kept + rest or "0"

    def _signed_terms(self, most: int | None = None) -> Iterator[str]:
        """Iterate over the terms as they are printed one after the other, each with its sign; no more than so many."""
        count = len(self.terms) if most is None else most
        ordered = nsmallest(count, self.terms.items(), key=lambda each: (-len(each[0]), each[0]))
        for k, (key, value) in enumerate(ordered):
            sign = ("-" if value < 0 else "") if k == 0 else " - " if value < 0 else " + "
            yield sign + _term(key, -value if value < 0 else value)

    def __repr__(self) -> str:
        return f"Polynomial({self})"


def _as_polynomial(value: Polynomial | int | Fraction) -> Polynomial:
    return value if isinstance(value, Polynomial) else Polynomial.of(value)


def _term(key: tuple[str, ...], value: Number) -> str:
    """Return a product of a positive number and sizes."""
    number = str(value) if Fraction(value).denominator == 1 else f"{float(value):.4g}"
    names = [name + (_POWERS.get(key.count(name), f"^{key.count(name)}")) for name in dict.fromkeys(key)]
    if not names:
        return number
    return "·".join(names if value == 1 else [number, *names])


_POWERS = {1: "", 2: "²", 3: "³"}
