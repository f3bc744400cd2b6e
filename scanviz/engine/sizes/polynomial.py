"""Sums of products of unknown sizes: what a size, or a cost, is as long as some sizes are unknown.

A length of rows is affine in unknown sizes, but the number of elements of an array is a product of them, and a cost is a sum of
such products.  So the one type for sizes is a polynomial, of which an affine size is the usual case.  Its normal form is the
terms themselves: two polynomials are equal for all values of their unknowns exactly if their terms are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping
from numbers import Rational
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from fractions import Fraction  # which brings decimal numbers with it, slowly

Number: TypeAlias = "int | Fraction"
Monomial = tuple[Any, ...]  # of unknowns, in any order


class Polynomial:
    """A sum of products of unknown sizes, each with a number in front; frozen.

    An unknown is a name, or anything else that is hashable (:mod:`scanviz.engine.sizes.unknowns`).

    Attributes
    ----------
    terms : mapping
        Product of unknowns → the number in front of it, never 0.
    built : Variable or None
        A variable that computes it, once there is one; no part of what it is.

    Examples
    --------
    >>> n = Polynomial.of("n")
    >>> str(n * n * 2 + n + 1), (n * 3).at({"n": 4})
    ('2·n² + n + 1', 12.0)
    """

    __slots__ = ("_hash", "built", "terms")

    def __init__(self, terms: Mapping[Monomial, Number], built: Any = None) -> None:
        self.terms = dict(terms) if all(terms.values()) else {key: n for key, n in terms.items() if n}
        self.built = built  # a variable: the layer above knows how
        self._hash: int | None = None

    @staticmethod
    def of(value: Number | Hashable, built: Any = None) -> Polynomial:
        """Return a number, or an unknown size."""
        if type(value) is int or isinstance(value, Rational):  # the second asks at length
            return Polynomial({(): value}, built)
        return Polynomial({(value,): 1}, built)

    def __add__(self, other: Polynomial | Number) -> Polynomial:
        return self._plus(other, 1)

    def __sub__(self, other: Polynomial | Number) -> Polynomial:
        return self._plus(other, -1)

    def __rsub__(self, other: Number) -> Polynomial:
        return Polynomial.of(other)._plus(self, -1)

    def __mul__(self, other: Polynomial | Number) -> Polynomial:
        if not isinstance(other, Polynomial):
            return (
                self if other == 1 else Polynomial({key: value * other for key, value in self.terms.items()})
            )
        found: dict[Monomial, Number] = {}
        for one, a in self.terms.items():
            for two, b in other.terms.items():
                key = _product(one, two)
                found[key] = found.get(key, 0) + a * b
        return Polynomial(found)

    __radd__, __rmul__ = __add__, __mul__

    def _plus(self, other: Polynomial | Number, times: int) -> Polynomial:
        found = dict(self.terms)
        if isinstance(other, Polynomial):
            for key, value in other.terms.items():
                found[key] = found.get(key, 0) + times * value
        elif other == 0:
            return self
        else:
            found[()] = found.get((), 0) + times * other
        return Polynomial(found)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Polynomial) and self.terms == other.terms)

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self.terms.items()))
        return self._hash

    def at(self, sizes: Mapping[Any, int]) -> float:
        """Return the value for given sizes; KeyError for one that is not given."""
        return float(self.replaced(sizes.__getitem__).terms.get((), 0))

    def replaced(self, value: Callable[[Any], Polynomial | int]) -> Polynomial:
        """Return the polynomial with a number or a polynomial in place of each unknown."""
        total = Polynomial({})
        for key, factor in self.terms.items():
            term = Polynomial.of(factor)
            for unknown in key:
                term = term * value(unknown)
            total = total + term
        return total

    @property
    def unknowns(self) -> list[Any]:
        """The sizes it depends on, as they occur."""
        if len(self.terms) == 1:  # a size, mostly
            (key,) = self.terms
            if len(key) <= 1:
                return list(key)
        return list(dict.fromkeys([unknown for key in self.terms for unknown in key]))

    @property
    def simplest(self) -> Any:
        """The number that it is, or itself."""
        return self if any(self.terms) else self.terms.get((), 0)

    @property
    def number(self) -> float | None:
        """The value, where no size is unknown."""
        return None if any(self.terms) else float(self.terms.get((), 0))

    @property
    def names(self) -> tuple[str, ...]:
        """The named sizes it depends on, sorted."""
        return tuple(sorted(self.unknowns))

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
        for term in self._signed_terms(longest // 4 + 2):  # a term has at least so many characters
            if len(kept) + len(rest) + len(term) > longest:
                return kept + more if kept else (rest or term)[: longest - 1] + "…"
            if not rest and len(kept) + len(term) + len(more) <= longest:
                kept += term
            else:
                rest += term  # there is room for it only if nothing comes after it
        return kept + rest or "0"

    def _signed_terms(self, most: int | None = None) -> Iterator[str]:
        """Iterate over the terms as they are printed one after the other, each with its sign; no more than so many."""
        ordered = sorted(self.terms.items(), key=lambda term: (-len(term[0]), [*map(str, term[0])]))
        for k, (key, value) in enumerate(ordered[:most]):
            sign = ("-" if value < 0 else "") if k == 0 else " - " if value < 0 else " + "
            yield sign + _term(key, -value if value < 0 else value)

    def __repr__(self) -> str:
        return f"Polynomial({self})"


class _Product(Monomial):
    """A product of unknowns that have no order of their own: as they were multiplied, equal to those multiplied otherwise."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Product) and (tuple.__eq__(self, other) or Counter(self) == Counter(other))

    def __hash__(self) -> int:
        return hash(frozenset(self))


def _product(one: Monomial, two: Monomial) -> Monomial:
    if not one or not two:
        return one or two
    named = type(one[0]) is str
    return tuple(sorted((*one, *two))) if named else _Product((*one, *two))


def _term(key: Monomial, value: Number) -> str:
    """Return a product of a positive number and sizes."""
    number = str(value) if value.denominator == 1 else f"{float(value):.4g}"
    names = [f"{name}{_POWERS.get(key.count(name), f'^{key.count(name)}')}" for name in dict.fromkeys(key)]
    if not names:
        return number
    return "·".join(names if value == 1 else [number, *names])


_POWERS = {1: "", 2: "²", 3: "³"}
