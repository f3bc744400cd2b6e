"""Whether two sizes are equal for sure, before there are values.

Both are written as sums of terms with whole factors; equal sums are equal sizes.  Terms that are no sums themselves are
compared as graphs.  "No" means only that it could not be shown.
"""

from __future__ import annotations

from collections.abc import Hashable

from scanviz.engine.graph.equality import Numbers, structurally_equal
from scanviz.engine.graph.nodes import Variable
from scanviz.engine.ops import elementwise as e
from scanviz.engine.ops.shape import DIMENSION
from scanviz.engine.ops.support import constant_integer

LARGEST = 12  # terms of a sum; beyond it nothing is shown


def surely_equal(first: object, second: object) -> bool:
    """Return whether two sizes (ints or int64 scalar variables) are equal whatever the inputs are.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> n = T.lscalar("n")
    >>> surely_equal(n + 1 - 1, n), surely_equal(n, n + 1)
    (True, False)
    """
    if first is second:
        return True
    if isinstance(first, int) and isinstance(second, int):
        return first == second
    terms: list[tuple[Variable, int]] = []
    rest = _collect(first, 1, terms) + _collect(second, -1, terms)
    return rest == 0 and len(terms) <= LARGEST and all(factor == 0 for _, factor in _merged(terms))


def size_key(size: Variable, numbers: Numbers) -> Hashable:
    """Return what sizes that are surely equal share: among many, those of one key are equal.

    ``numbers`` is kept between sizes that are compared.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> n, numbers = T.lscalar("n"), Numbers()
    >>> size_key(n + 1 - 1, numbers) == size_key(n, numbers) != size_key(n + 1, numbers)
    True
    """
    terms: list[tuple[Variable, int]] = []
    rest = _collect(size, 1, terms)
    if len(terms) > LARGEST // 2:  # two such sizes are compared by surely_equal up to that many terms
        return size
    factors: dict[int, int] = {}
    for each, factor in terms:
        number = numbers.of(each)
        factors[number] = factors.get(number, 0) + factor
    return rest, frozenset((number, factor) for number, factor in factors.items() if factor)


def surely_not_negative(size: object) -> bool:
    """Return whether a number made of sizes is 0 or more whatever the inputs are.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> n = T.vector("x").shape[0]
    >>> surely_not_negative(n + 1 - 1), surely_not_negative(n - 1)
    (True, False)
    """
    terms: list[tuple[Variable, int]] = []
    rest = _collect(size, 1, terms)
    if rest < 0 or len(terms) > LARGEST:
        return False
    return all(
        factor == 0 or (factor > 0 and each.owner is not None and each.owner.op.declaration is DIMENSION)
        for each, factor in _merged(terms)
    )


def _collect(size: object, factor: int, terms: list[tuple[Variable, int]]) -> int:
    """Add the terms of a size to a list and return its constant part."""
    total = 0
    stack = [(size, factor)]
    while stack and len(terms) <= LARGEST:
        each, times = stack.pop()
        known = (
            each if isinstance(each, int) else constant_integer(each) if isinstance(each, Variable) else None
        )
        if known is not None:
            total += times * known
            continue
        assert isinstance(each, Variable)
        node = each.owner
        declaration = node.op.declaration if node is not None else None
        if node is not None and declaration is e.add:
            stack += [(node.inputs[0], times), (node.inputs[1], times)]
        elif node is not None and declaration is e.subtract:
            stack += [(node.inputs[0], times), (node.inputs[1], -times)]
        else:
            terms.append((each, times))
    return total


def _merged(terms: list[tuple[Variable, int]]) -> list[tuple[Variable, int]]:
    found: list[tuple[Variable, int]] = []
    for each, factor in terms:
        for k, (known, total) in enumerate(found):
            if known is each or structurally_equal([known], [each]):
                found[k] = (known, total + factor)
                break
        else:
            found.append((each, factor))
    return found


__all__ = ["size_key", "surely_equal", "surely_not_negative"]
