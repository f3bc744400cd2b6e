"""Match functions, loops and operations of two runs, although the code was edited in between.

Functions are matched first, then the loops in each, then their operations.  Matching has three steps.  The first goes by the
same name, or the same expression on a line of the same text; the second by the same expression on any line; the third by order
in the graph.  The last step uses the alignment of S. Needleman and C. Wunsch (Journal of Molecular Biology 48, 1970).  So an
operation matches at its place although its inputs or line were edited, and a single operation in the place of another has
replaced it.  Remaining loops and functions match if most of their operations are the same.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence

from scanviz.profiler.compare.figures import Figure, Key, Kind
from scanviz.record.names import given_name

Pair = tuple[int, int]  # positions in the lists of A and B
_KINDS: tuple[Kind, ...] = ("function", "loop", "operation")
_ALIKE = 0.5  # share of common operations from which loops match
_MOST = 400  # operations to align on either side: the time grows with their product


def same_figures(a: Mapping[Key, Figure], b: Mapping[Key, Figure]) -> dict[Key, Key]:
    """Return the keys in A of the figures of B that A also has.

    Examples
    --------
    >>> from scanviz.profiler.compare.figures import figures
    >>> from scanviz.record.model import FunctionRecord, ProfileRecord, SourceRecord
    >>> a, b = (
    ...     figures(ProfileRecord(functions=(FunctionRecord(1, f"function at {file}:3", SourceRecord(file, 3, "f = …"), "numpy"),)))
    ...     for file in ("rnn.py", "faster.py")
    ... )
    >>> same_figures(a, b) == {next(iter(b)): next(iter(a))}
    True
    """
    inside_a, inside_b = _by_owner(a), _by_owner(b)
    found: dict[Key, Key] = {}
    waiting: list[tuple[Key, Key]] = [((), ())]
    while waiting:
        owner_a, owner_b = waiting.pop()
        for kind in _KINDS:
            old = inside_a.get((owner_a, kind), [])
            new = inside_b.get((owner_b, kind), [])
            if kind == "operation":
                pairs = aligned_operations(old, new)
            else:
                pairs = _aligned_parts(old, new, a, b)
            for i, j in pairs:
                found[new[j].key] = old[i].key
                if kind != "operation":
                    waiting.append((old[i].key, new[j].key))
    return found


def aligned_operations(old: Sequence[Figure], new: Sequence[Figure]) -> list[Pair]:
    """Return the positions of matching operations in two versions of a step."""
    pairs = _exactly(old, new, [], _expression_on_line)
    pairs = _exactly(old, new, pairs, lambda figure: (figure.name, figure.type))
    pairs = _in_order(old, new, pairs)
    return sorted([*pairs, *_replaced(old, new, pairs)])


def _by_owner(side: Mapping[Key, Figure]) -> dict[tuple[Key, Kind], list[Figure]]:
    found: dict[tuple[Key, Kind], list[Figure]] = {}
    for figure in side.values():
        found.setdefault((figure.owner, figure.kind), []).append(figure)
    return found


def _aligned_parts(
    old: Sequence[Figure], new: Sequence[Figure], a: Mapping[Key, Figure], b: Mapping[Key, Figure]
) -> list[Pair]:
    """Return the positions of matching functions or loops."""
    pairs = _exactly(old, new, [], lambda figure: figure.key[len(figure.owner) :])
    pairs = _exactly(old, new, pairs, _name_without_file)
    left, right = _left(old, new, pairs)
    contents = [_contents(old[i].key, a) for i in left], [_contents(new[j].key, b) for j in right]
    likeness = {
        (i, j): _likeness(one, other) + 0.01 * (_text(old[i]) == _text(new[j]))
        for i, one in zip(left, contents[0], strict=True)
        for j, other in zip(right, contents[1], strict=True)
    }
    for i, j in sorted(likeness, key=lambda pair: (-likeness[pair], abs(pair[0] - pair[1]), pair)):
        if likeness[i, j] >= _ALIKE and i in left and j in right:
            pairs.append((i, j))
            left.remove(i)
            right.remove(j)
    return sorted(pairs)


def _contents(key: Key, side: Mapping[Key, Figure]) -> Counter[str]:
    """Return the kinds of operations in a function or loop, inner loops included."""
    inside = (f for f in side.values() if f.kind == "operation" and f.owner[: len(key)] == key)
    return Counter(head(figure.name) for figure in inside)


def _likeness(one: Counter[str], other: Counter[str]) -> float:
    """Return the share of common operations; 0 if either is empty."""
    return (one & other).total() / (one | other).total() if one and other else 0.0


def _exactly(
    old: Sequence[Figure],
    new: Sequence[Figure],
    pairs: Sequence[Pair],
    known_by: Callable[[Figure], Hashable],
) -> list[Pair]:
    """Add the pairs with equal keys, if both versions have the same number of them."""
    left, right = _left(old, new, pairs)
    places: dict[Hashable, tuple[list[int], list[int]]] = {}
    for side, (figures, free) in enumerate(((old, left), (new, right))):
        for place in free:
            places.setdefault(known_by(figures[place]), ([], []))[side].append(place)
    equal = (both for both in places.values() if len(both[0]) == len(both[1]))
    return [*pairs, *(pair for both in equal for pair in zip(*both, strict=True))]


def _expression_on_line(figure: Figure) -> Hashable:
    return figure.name, _text(figure), figure.source.file if figure.source else ""


def _name_without_file(figure: Figure) -> Hashable:
    """Return the name of a function or loop without the file of a default name."""
    name = figure.key[-1]
    return name.replace(figure.source.file, "") if figure.source is not None else name


def _text(figure: Figure) -> str:
    return figure.source.text if figure.source is not None else ""


def _left(old: Sequence[Figure], new: Sequence[Figure], pairs: Sequence[Pair]) -> tuple[list[int], list[int]]:
    """Return the positions without a partner."""
    taken = {i for i, _ in pairs}, {j for _, j in pairs}
    return [i for i in range(len(old)) if i not in taken[0]], [
        j for j in range(len(new)) if j not in taken[1]
    ]


def head(label: str) -> str:
    """Return the kind of a printed operation: its function, or its operator.

    Examples
    --------
    >>> head("tanh(dot + b)"), head("h[t-1] @ W"), head("index[-1](h)"), head("(h @ U) + (matmul(x[t], U))")
    ('tanh', '@', 'index', '+')
    """
    bare, longer = given_name(label), ""
    while bare != longer:  # parentheses hold the inputs
        longer, bare = bare, re.sub(r"\([^()]*\)", "\0", bare)
    found = re.fullmatch(r"([A-Za-z_]\w*)[^ \0]*\0", bare)
    if found:
        return found.group(1)
    signs = re.findall(r" (\S{1,3}) ", bare)
    return str(signs[0]) if signs else bare


def _in_order(old: Sequence[Figure], new: Sequence[Figure], pairs: Sequence[Pair]) -> list[Pair]:
    """Add the best alignment of the remaining operations."""
    left, right = _left(old, new, pairs)
    if not left or not right or max(len(left), len(right)) > _MOST:
        return list(pairs)
    worth = [[_similarity(old[i], new[j]) for j in right] for i in left]
    return [*pairs, *((left[i], right[j]) for i, j in _best(worth))]


def _similarity(one: Figure, other: Figure) -> float:
    """Return the similarity of two operations, from 1 to 2; 0 for different kinds."""
    if head(one.name) != head(other.name):
        return 0.0
    first, second = (f"{figure.name}\n{_text(figure)}\n{figure.type}" for figure in (one, other))
    return 1.0 + difflib.SequenceMatcher(None, first, second, autojunk=False).ratio()


def _best(worth: list[list[float]]) -> list[Pair]:
    """Return the ordered pairs of maximum total score, by dynamic programming."""
    rows, columns = len(worth), len(worth[0])
    total = [[0.0] * (columns + 1) for _ in range(rows + 1)]
    for i in range(rows - 1, -1, -1):
        for j in range(columns - 1, -1, -1):
            paired = total[i + 1][j + 1] + worth[i][j] if worth[i][j] else 0.0
            total[i][j] = max(paired, total[i + 1][j], total[i][j + 1])
    pairs, i, j = [], 0, 0
    while i < rows and j < columns:
        if worth[i][j] and total[i][j] == total[i + 1][j + 1] + worth[i][j]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif total[i][j] == total[i + 1][j]:
            i += 1
        else:
            j += 1
    return pairs


def _replaced(old: Sequence[Figure], new: Sequence[Figure], pairs: Sequence[Pair]) -> Iterator[Pair]:
    """Yield single operations in the place of a single other one with the same result type."""
    left, right = _left(old, new, pairs)
    before, after = dict(pairs), {j: i for i, j in pairs}
    for i in left:
        follows = before.get(i - 1, -1) if i else -1
        j = follows + 1
        alone = (i == 0 or i - 1 in before) and (i + 1 in before or i == len(old) - 1)
        ends = before.get(i + 1) == j + 1 if i + 1 < len(old) else j == len(new) - 1
        if alone and ends and j in right and j not in after and old[i].type == new[j].type:
            yield i, j
