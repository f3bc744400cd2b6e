"""How rules say what they did: counts of operations and lists of names, as parts of a sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

LISTED = 4  # names that a line tells


def counted(names: Iterable[str]) -> str:
    """Return names with how often they occur, the most frequent first.

    Examples
    --------
    >>> counted(["tanh", "dot", "tanh"])
    '2 tanh, 1 dot'
    """
    found = Counter(names).most_common()
    shown = [f"{count} {name}" for name, count in found[:LISTED]]
    rest = sum(count for _, count in found[LISTED:])
    return ", ".join([*shown, f"{rest} more"] if rest else shown)


def named(names: Iterable[str]) -> str:
    """Return names as they are quoted in a line, the first few of them.

    Examples
    --------
    >>> named(["W", "U"])
    '`W`, `U`'
    """
    listed = list(dict.fromkeys(names))
    shown = [f"`{text}`" for text in listed[:LISTED]]
    return ", ".join([*shown, f"{len(listed) - LISTED} more"] if len(listed) > LISTED else shown)


def listed(words: Iterable[str]) -> str:
    """Return words as a sentence lists them, the first few of them.

    Examples
    --------
    >>> listed(["a", "b", "c"]), listed(["a"]), listed("abcdefg")
    ('a, b and c', 'a', 'a, b, c, d and 3 more')
    """
    given = list(words)
    if len(given) > LISTED + 1:
        given = [*given[:LISTED], f"{len(given) - LISTED} more"]
    return given[0] if len(given) == 1 else f"{', '.join(given[:-1])} and {given[-1]}"
