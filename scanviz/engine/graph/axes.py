"""The axes of inputs that an operation's result keeps, for the field ``axes`` of declarations.

For an axis of a result, ``{0: 1, 2: 0}`` means: element i depends on element i along axis 1 of input 0, on element i along axis
0 of input 2, and on any elements of all other inputs.  An axis of an input that no axis of a result goes along is mixed.  Sizes
that are not known, None, are taken for equal where they meet.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.facts import Along, Axes, Shape

Shapes = Sequence[Shape]


def _alike(one: int | None, other: int | None) -> bool:
    """Return whether axes of these sizes go along: not where one is broadcast, or summed to size 1."""
    return one == other or (None in (one, other) and 1 not in (one, other))


def broadcast(given: Shapes, made: Shape) -> list[Along]:
    """Return the axes kept by shapes that broadcast to another, aligned at the last axis."""
    found: list[Along] = []
    for axis, size in enumerate(made):
        places = [axis - len(made) + len(shape) for shape in given]
        pairs = zip(places, given, strict=True)
        found.append({k: at for k, (at, shape) in enumerate(pairs) if at >= 0 and _alike(shape[at], size)})
    return found


def elementwise(op: Op, given: Shapes, made: Shapes) -> Sequence[Sequence[Along]]:
    """Return those of inputs that are broadcast together, and of one that is summed to a shape with axes of size 1."""
    return (broadcast(given, made[0]),)


def _others(count: int, gone: Collection[int], stay: bool) -> list[Along]:
    return [{} if axis in gone else {0: axis} for axis in range(count) if stay or axis not in gone]


def but(named: str, stays: str = "") -> Axes:
    """Return the rule of all axes of the first input but those that a parameter names: ints, one int, or None for all.

    Parameters
    ----------
    named : str
        The parameter.
    stays : str
        The parameter that keeps them, with size 1; by default they stay as they are, mixed.
    """

    def rule(op: Op, given: Shapes, made: Shapes) -> Sequence[Sequence[Along]]:
        axes, count = getattr(op.parameters, named), len(given[0])
        if axes is None and not stays:  # the flattened array
            return ([{}],)
        gone = range(count) if axes is None else axes if isinstance(axes, tuple) else (axes,)
        return (_others(count, gone, bool(getattr(op.parameters, stays)) if stays else True),)

    return rule


def joined(op: Op, given: Shapes, made: Shapes) -> Sequence[Sequence[Along]]:
    """Return all axes of all inputs but the one along which they are joined."""
    place = op.parameters.axis
    return (
        [{} if axis == place else dict.fromkeys(range(len(given)), axis) for axis in range(len(made[0]))],
    )


def reordered(op: Op, given: Shapes, made: Shapes) -> Sequence[Sequence[Along]]:
    """Return axes in another order."""
    return ([{} if axis is None else {0: axis} for axis in op.parameters.order],)


def same_ends(old: Shape, new: Shape) -> tuple[int, int]:
    """Return how many first sizes of two shapes are equal, and how many last ones of the others.

    Examples
    --------
    >>> same_ends((2, 3, 4, 5), (2, 12, 5))
    (1, 1)
    """
    most = min(len(old), len(new))
    first = next((k for k in range(most) if old[k] != new[k]), most)
    return first, next((k for k in range(most - first) if old[-1 - k] != new[-1 - k]), most - first)


def reshaped(op: Op, given: Shapes, made: Shapes) -> Sequence[Sequence[Along]]:
    """Return the first axes up to where sizes differ, and the last ones from where they are equal again."""
    old, new = given[0], made[0]
    first, last = same_ends(old, new)
    found: list[Along] = [{} for _ in new]
    for axis in range(first):
        found[axis] = {0: axis}
    for k in range(1, last + 1):
        found[-k] = {0: len(old) - k}
    return (found,)


def product(op: Op, given: Shapes, made: Shapes) -> Sequence[Sequence[Along]]:
    """Return those of ``np.dot``: all but the last of the first, and the second last, or only one, of the second."""
    first, second = map(len, given)
    right = [axis for axis in range(second) if axis != second - 2] if second > 1 else []
    return ([*({0: axis} for axis in range(first - 1)), *({1: axis} for axis in right)],)


def stacked_product(op: Op, given: Shapes, made: Shapes) -> Sequence[Sequence[Along]]:
    """Return those of ``np.matmul``: stacks are broadcast, then the rows of the first and the columns of the second."""
    first, second = map(len, given)
    rows: list[Along] = [{0: first - 2}] if first > 1 else []
    columns: list[Along] = [{1: second - 1}] if second > 1 else []
    stack = made[0][: len(made[0]) - len(rows) - len(columns)]
    return ([*broadcast([shape[:-2] for shape in given], stack), *rows, *columns],)


def product_of_pairs(op: Op, given: Shapes, made: Shapes) -> Sequence[Sequence[Along]]:
    """Return those of ``np.dot`` of pairs along the first axis."""
    first, second = map(len, given)
    right = [axis for axis in range(1, second) if axis != second - 2] if second > 2 else []
    return ([{0: 0, 1: 0}, *({0: axis} for axis in range(1, first - 1)), *({1: axis} for axis in right)],)


def tensor_product(op: Op, given: Shapes, made: Shapes) -> Sequence[Sequence[Along]]:
    """Return the axes that are not summed, of the first and then of the second."""
    summed = op.parameters.first, op.parameters.second
    return ([{k: axis} for k in (0, 1) for axis in range(len(given[k])) if axis not in summed[k]],)


def stacked(op: Op, given: Shapes, made: Shapes) -> Sequence[Sequence[Along]]:
    """Return the axes kept by operations on stacks of matrices in the first input: those of the stack."""
    count = len(given[0]) - 2
    return [[{0: axis} if axis < count else {} for axis in range(len(shape))] for shape in made]


def solved(op: Op, given: Shapes, made: Shapes) -> Sequence[Sequence[Along]]:
    """Return the axes kept by solving systems: stacks of matrices and right sides, and the columns of right sides."""
    matrices, sides = given[0], given[-1]
    if len(sides) < 2:
        return ([*({0: axis} for axis in range(len(matrices) - 2)), {}],)
    stack = broadcast([matrices[:-2], sides[:-2]], made[0][:-2])
    last = len(given) - 1
    return ([*({0 if k == 0 else last: axis for k, axis in mapping.items()} for mapping in stack), {},
             {last: len(sides) - 1}],)  # fmt: skip


def sought(op: Op, given: Shapes, made: Shapes) -> Sequence[Sequence[Along]]:
    """Return the axes kept by a search in the first input: all axes of the second."""
    return ([{1: axis} for axis in range(len(given[1]))],)


def nowhere(op: Op, given: Shapes, made: Shapes) -> Sequence[Sequence[Along]]:
    """Return no axes: every element of the result depends on all elements."""
    return [[{} for _ in shape] for shape in made]


def rows_below(op: Op, given: Shapes, made: Shapes) -> Sequence[Sequence[Along]]:
    """Return the axes kept within rows of stacked inputs: all but the first, the axis of the rows."""
    rows = max(map(len, given)) - 1  # axes of a row
    stacks = len(made[0]) - rows
    within = broadcast([shape[len(shape) - rows :] if len(shape) >= rows else () for shape in given], made[0])
    found = [{k: axis + len(given[k]) - rows for k, axis in mapping.items()} for mapping in within]
    return ([{} if axis < stacks else along for axis, along in enumerate(found)],)
