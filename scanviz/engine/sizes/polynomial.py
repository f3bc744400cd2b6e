"""Symbolic sizes: sums of products of unknown sizes, and the unknowns that they are made of.

A length of rows is affine in unknown sizes, but the number of elements of an array is a product of them, and a cost is a sum of
such products.  So the one type for sizes is a polynomial; most are affine.  Its terms are its normal
form: two polynomials are equal for all values of their unknowns exactly if their terms are.

A size is an int or a :class:`Polynomial` of :class:`Unknown` sizes of variables and of :class:`Call`, what is computed of sizes
but is no polynomial.  Two sizes without calls are equal at all shapes only if their polynomials are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from numbers import Rational
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from scanviz.engine.sizes.in_turn import in_turn

if TYPE_CHECKING:
    from fractions import Fraction  # which brings decimal numbers with it, slowly


Number: TypeAlias = "int | Fraction"
Monomial = tuple[Any, ...]  # of unknowns, in any order


class Polynomial:
    """A sum of products of unknown sizes, each with a number in front; frozen.

    An unknown is a name, or anything else that is hashable (:mod:`scanviz.engine.sizes.polynomial`).

    Attributes
    ----------
    terms : mapping
        Product of unknowns → the number in front of it, never 0.
    built : Variable or None
        A variable that computes it, once there is one; equality leaves it out.

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
        """Return the printed polynomial cut to a length: whole terms, and a sign for those left out.

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


MOST_UNKNOWNS = 16  # in one call that are listed
DEEPEST = 12  # calls in calls that are compared; below, one is equal to itself alone


class Unknown(NamedTuple):
    """The size of a variable along an axis; without an axis, the value of an integer scalar."""

    source: Any  # a Variable, or what stands for several that are equal
    axis: int | None = None

    @property
    def not_negative(self) -> bool:
        """True if the polynomial is surely at least 0, for all inputs."""
        return self.axis is not None

    @property
    def computed(self) -> bool:
        """True if the polynomial contains a variable that a graph computes."""
        return getattr(self.source, "owner", None) is not None

    def __str__(self) -> str:
        return str(self.source) if self.axis is None else f"{self.source}.shape[{self.axis}]"


class Call:
    """The result of an operation on sizes such as ``maximum``: one unknown of a polynomial.

    Attributes
    ----------
    name : str
        The name of the operation's declaration.
    args : tuple
        Ints and polynomials.
    not_negative : bool
        Whether it is 0 or more whatever the inputs are.
    computed : bool
        Whether it is made of something about a variable that a graph computes.
    made_of : tuple of Unknown or None
        The unknown sizes in it and in calls in it, in order; None of more than :data:`MOST_UNKNOWNS`.
    """

    __slots__ = ("_depth", "_hash", "_key", "args", "computed", "made_of", "name", "not_negative")
    _depth: int  # of calls in calls

    def __init__(self, name: str, args: tuple[Any, ...]) -> None:
        self.name, self.args = name, args
        self.not_negative = name in _SIGNS and _SIGNS[name](map(surely_not_negative, args))
        inside = [unknown for arg in args if isinstance(arg, Polynomial) for unknown in arg.unknowns]
        self._depth, self.computed = 1, False
        for unknown in inside:
            if isinstance(unknown, Call) and unknown._depth >= self._depth:
                self._depth = 1 + unknown._depth
            self.computed = self.computed or unknown.computed
        self.made_of = _made_of(inside)
        in_any_order = name in _SIGNS and name != "floor_divide"
        self._key = (name, frozenset(args) if in_any_order else args)
        self._hash = hash(self._key)

    def __eq__(self, other: object) -> bool:
        if self is other or not isinstance(other, Call):
            return self is other
        return self._hash == other._hash and self._depth <= DEEPEST and self._key == other._key

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.args))})"


def _made_of(unknowns: Iterable[Unknown | Call]) -> tuple[Unknown, ...] | None:
    """Return unknowns and those inside of calls; None if there are many."""
    found: dict[Unknown, None] = {}
    for unknown in unknowns:
        inside = unknown.made_of if isinstance(unknown, Call) else (unknown,)
        if inside is None:
            return None
        found.update(dict.fromkeys(inside))
    return tuple(found) if len(found) <= MOST_UNKNOWNS else None


def unknowns_in(size: Polynomial) -> tuple[Unknown, ...] | None:
    """Return the unknown sizes that a size is made of, those in calls too; None if there are many."""
    return _made_of(size.unknowns)


_SIGNS: dict[str, Callable[[Any], bool]] = {"maximum": any} | dict.fromkeys(
    ("add", "broadcast_size", "floor_divide", "minimum", "multiply"), all
)


def surely_not_negative(size: Any) -> bool:
    """Return whether a size, or a number made of sizes, is 0 or more whatever the inputs are."""
    if not isinstance(size, Polynomial):
        return isinstance(size, int) and size >= 0
    for product, factor in size.terms.items():
        if factor < 0:
            return False
        for unknown in product:
            if not unknown.not_negative:
                return False
    return True


def surely_at_most(first: Any, second: Any, depth: int = 4) -> bool:
    """Return whether a size is the other one or less whatever the inputs are.

    Examples
    --------
    >>> n, m = Polynomial.of(Unknown("n", 0)), Polynomial.of(Unknown("m", 0))
    >>> least = Polynomial.of(Call("minimum", (n, m)))
    >>> surely_at_most(n, n + 1), surely_at_most(least, m), surely_at_most(n, least)
    (True, True, False)
    """
    if surely_not_negative(second - first):
        return True
    if depth == 0:
        return False
    low, high = call_of(first), call_of(second)
    if low is not None and low.name in _EXTREMES:
        every = _EXTREMES[low.name][0]
        if every(surely_at_most(arg, second, depth - 1) for arg in low.args):
            return True
    if high is not None and high.name in _EXTREMES:
        every = _EXTREMES[high.name][1]
        return every(surely_at_most(first, arg, depth - 1) for arg in high.args)
    return False


# Of how many arguments it must hold that they are at most so much, and at least so much, that it holds of the extreme.
_EXTREMES: dict[str, tuple[Callable[[Iterable[bool]], bool], Callable[[Iterable[bool]], bool]]] = {
    "maximum": (all, any),
    "minimum": (any, all),
}


def call_of(size: Any) -> Call | None:
    """Return the call that a size is, None if it is an int or anything else but one call."""
    if not isinstance(size, Polynomial) or len(size.terms) != 1:
        return None
    ((product, factor),) = size.terms.items()
    return product[0] if factor == 1 and len(product) == 1 and isinstance(product[0], Call) else None


def arguments_of(size: Any, name: str) -> Sequence[Any]:
    """Return the arguments of a size that is a call of ``name``, such as ``"maximum"``; else the size itself."""
    call = call_of(size)
    return call.args if call is not None and call.name == name else (size,)


def mapped(size: Polynomial, value: Callable[[Any], Any], known: dict[Polynomial, Any]) -> Any:
    """Return a size with other sizes in place of its unknowns, those that calls in it are made of before the calls.

    Parameters
    ----------
    size : Polynomial
        The size.
    value : callable
        Gives what stands in the place of an unknown or a call, whose arguments are in ``known`` then; None makes the size None.
    known : dict
        Sizes → what they become; kept between sizes that are asked for with the same ``value``.

    Examples
    --------
    >>> n = Polynomial.of(Unknown("n", 0))
    >>> mapped(n * 2 + 1, lambda unknown: 5, {})
    11
    """
    for part in inside_out(size, known.__contains__):
        values = {unknown: value(unknown) for unknown in part.unknowns}
        known[part] = None if None in values.values() else part.replaced(values.__getitem__).simplest
    return known[size]


def inside_out(size: Polynomial, done: Callable[[Polynomial], bool]) -> Iterator[Polynomial]:
    """Iterate over the sizes that calls in a size are made of, then the size: those that are not done when their turn comes."""

    def arguments(size: Polynomial) -> list[Polynomial]:
        calls = [unknown for product in size.terms for unknown in product if isinstance(unknown, Call)]
        return [arg for call in calls for arg in call.args if isinstance(arg, Polynomial)]

    return in_turn(size, arguments, done)
