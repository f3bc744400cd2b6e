"""What sizes are made of that are not known when building: sizes of variables, and what is computed of sizes but no polynomial.

A size is an int or a :class:`~scanviz.engine.graph.polynomial.Polynomial` whose unknowns are those of this file.  Two sizes are
equal at all shapes if their polynomials are, and where none of their unknowns is a :class:`Call`, only if they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from scanviz.engine.graph.in_turn import in_turn
from scanviz.engine.graph.polynomial import Polynomial
from scanviz.engine.named_tuple import NamedTuple

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
    """

    __slots__ = ("_depth", "_hash", "_key", "args", "computed", "name", "not_negative")
    _depth: int  # of calls in calls

    def __init__(self, name: str, args: tuple[Any, ...]) -> None:
        self.name, self.args = name, args
        self.not_negative = name in _SIGNS and _SIGNS[name](map(surely_not_negative, args))
        inside = [unknown for arg in args if isinstance(arg, Polynomial) for unknown in arg.unknowns]
        self._depth = 1 + max((call._depth for call in inside if isinstance(call, Call)), default=0)
        self.computed = any(unknown.computed for unknown in inside)
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


_SIGNS: dict[str, Callable[[Any], bool]] = {"maximum": any} | dict.fromkeys(
    ("add", "broadcast_size", "floor_divide", "minimum", "multiply"), all
)


def surely_not_negative(size: Any) -> bool:
    """Return whether a size, or a number made of sizes, is 0 or more whatever the inputs are."""
    if not isinstance(size, Polynomial):
        return isinstance(size, int) and size >= 0
    return all(
        factor > 0 and all(unknown.not_negative for unknown in product)
        for product, factor in size.terms.items()
    )


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


def inside_out(size: Polynomial, done: Callable[[Polynomial], bool]) -> Iterator[Polynomial]:
    """Iterate over the sizes that calls in a size are made of, then the size: those that are not done when their turn comes."""

    def arguments(size: Polynomial) -> list[Polynomial]:
        calls = [unknown for product in size.terms for unknown in product if isinstance(unknown, Call)]
        return [arg for call in calls for arg in call.args if isinstance(arg, Polynomial)]

    return in_turn(size, arguments, done)
