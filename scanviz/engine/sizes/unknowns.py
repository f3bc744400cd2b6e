"""What sizes are made of that are not known when building: sizes of variables, and what is computed of sizes but no polynomial.

A size is an int or a :class:`~scanviz.engine.sizes.polynomial.Polynomial` whose unknowns are those of this file.  Two sizes are
equal at all shapes if their polynomials are, and where none of their unknowns is a :class:`Call`, only if they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from scanviz.engine.sizes.in_turn import in_turn
from scanviz.engine.sizes.polynomial import Polynomial

MOST_UNKNOWNS = 16  # in one call that are listed
DEEPEST = 12  # calls in calls that are compared; below, one is equal to itself alone


class Unknown(NamedTuple):
    """The size of a variable along an axis; without an axis, the value of an integer scalar."""

    source: Any  # a Variable, or what stands for several that are equal
    axis: int | None = None

    @property
    def not_negative(self) -> bool:
        """Whether it is 0 or more whatever the inputs are."""
        return self.axis is not None

    @property
    def computed(self) -> bool:
        """Whether it is about a variable that a graph computes."""
        return getattr(self.source, "owner", None) is not None

    def __str__(self) -> str:
        return str(self.source) if self.axis is None else f"{self.source}.shape[{self.axis}]"


class Call:
    """The result of an elementwise operation on sizes, such as ``maximum``: for sums of such a thing it is one unknown.

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
    """Return what unknowns are made of: themselves, and those in calls; None where there are many."""
    found: dict[Unknown, None] = {}
    for unknown in unknowns:
        inside = unknown.made_of if isinstance(unknown, Call) else (unknown,)
        if inside is None:
            return None
        found.update(dict.fromkeys(inside))
    return tuple(found) if len(found) <= MOST_UNKNOWNS else None


def unknowns_in(size: Polynomial) -> tuple[Unknown, ...] | None:
    """Return the unknown sizes that a size is made of, those in calls too; None where there are many."""
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
    """Return what a size is the ``name`` of, such as ``"maximum"``: itself, if it is no such thing."""
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
