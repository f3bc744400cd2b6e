"""Distinct names of a record's functions and loops, and look-up by name.

Functions of one name have numbers in a record (``train#1``, ``train#2``), and so have loops of one name in one function.  Loops
of one name in two functions have the function before them: ``train/rnn`` and ``test/rnn``.  A request for a loop may leave out
the parts of its name that are not needed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from scanviz.record.model import FunctionRecord, LoopRecord, ProfileRecord
from scanviz.record.plain_text import sanitize

MOST = 8  # names that an error lists
_NUMBER = re.compile(r"#\d+$")


def given_name(name: str) -> str:
    """Return the user's name, without the number that makes it distinct.

    Examples
    --------
    >>> given_name("rnn#2"), given_name("rnn")
    ('rnn', 'rnn')
    """
    return _NUMBER.sub("", name)


def is_meant(name: str, asked: str | None) -> bool:
    """Return whether a name, with or without its number, is the requested one; None requests every name.

    Examples
    --------
    >>> is_meant("train#2", "train"), is_meant("train", "train#1"), is_meant("train", None)
    (True, False, True)
    """
    return asked is None or asked in (name, given_name(name))


def numbered(names: Sequence[str]) -> list[str]:
    """Return distinct names: equal ones get numbers.

    Examples
    --------
    >>> numbered(["f", "g", "f", "f#1"])
    ['f#2', 'g', 'f#3', 'f#1']
    """
    count = Counter(names)
    taken = {name for name, several in count.items() if several == 1}
    latest: Counter[str] = Counter()
    found: list[str] = []
    for name in names:
        label = name
        while count[name] > 1 and (label == name or label in taken):
            latest[name] += 1
            label = f"{name}#{latest[name]}"
        taken.add(label)
        found.append(label)
    return found


class TakenNames:
    """Distinct names, claimed one by one: a number follows a name that is taken.

    Examples
    --------
    >>> names = TakenNames()
    >>> [names.claim(name) for name in ("h", "h", "h~2", "h")]
    ['h', 'h~2', 'h~2~2', 'h~3']
    """

    __slots__ = ("_latest", "_taken")

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._latest: dict[str, int] = {}

    def claim(self, wanted: str) -> str:
        """Return the wanted name, or its next free numbered form."""
        found, count = wanted, self._latest.get(wanted, 1)
        while found in self._taken:
            count += 1
            found = f"{wanted}~{count}"
        self._latest[wanted] = count
        self._taken.add(found)
        return found


def function_titles(record: ProfileRecord) -> dict[int, str]:
    """Return a distinct name of each function, by its key."""
    names = numbered([function.name for function in record.functions])
    return {function.key: name for function, name in zip(record.functions, names, strict=True)}


def loop_titles(record: ProfileRecord) -> dict[int, str]:
    """Return a distinct title of each loop, by its key; the function's name is added where loops share a name."""
    functions = function_titles(record)
    having = Counter(name for name, _ in {(loop.name, loop.function) for loop in record.loops})
    titles = [
        loop.name if having[loop.name] == 1 else f"{functions.get(loop.function, '?')}/{loop.name}"
        for loop in record.loops
    ]
    return {loop.key: title for loop, title in zip(record.loops, numbered(titles), strict=True)}


def loops_called(record: ProfileRecord, asked: str) -> list[LoopRecord]:
    """Return the loops that a name may mean: the loop with exactly this name, else all with this given name.

    Examples
    --------
    >>> loops_called(ProfileRecord(), "rnn")
    []
    """
    titles, functions = loop_titles(record), function_titles(record)
    exact = [loop for loop in record.loops if titles[loop.key] == asked]
    if exact:
        return exact
    found = []
    for loop in record.loops:
        names = {loop.name, given_name(loop.name), given_name(titles[loop.key])}
        names |= {f"{functions.get(loop.function)}/{name}" for name in names}
        if asked in names:
            found.append(loop)
    return found


def functions_called(record: ProfileRecord, asked: str) -> list[FunctionRecord]:
    """Return the functions that a name may mean: the one with exactly this name, else all with this given name."""
    titles = function_titles(record)
    exact = [function for function in record.functions if titles[function.key] == asked]
    return exact or [function for function in record.functions if is_meant(function.name, asked)]


def not_one_loop(record: ProfileRecord, asked: str, among: Iterable[LoopRecord] | None = None) -> str:
    """Return why a name does not identify one loop, with the candidates; empty if it does."""
    found, titles = loops_called(record, asked), loop_titles(record)
    if among is not None:
        keys = {loop.key for loop in among}
        found = [loop for loop in found if loop.key in keys]
        titles = {key: title for key, title in titles.items() if key in keys}
    return _not_one("loop", asked, [titles[loop.key] for loop in found], list(titles.values()))


def not_one_function(record: ProfileRecord, asked: str) -> str:
    """Return why a name does not identify one function, with the candidates; empty if it does."""
    found, titles = functions_called(record, asked), function_titles(record)
    return _not_one("function", asked, [titles[function.key] for function in found], list(titles.values()))


def _not_one(noun: str, asked: str, found: Sequence[str], names: Sequence[str]) -> str:
    if len(found) == 1:
        return ""
    if found:
        return f"{len(found)} {noun}s are named {sanitize(asked)!r}: {listed(found)}"
    return (
        f"there is no {noun} named {sanitize(asked)!r}{did_you_mean(asked, names)}; {noun}s: {listed(names)}"
    )


def did_you_mean(asked: str, names: Sequence[str]) -> str:
    """Return ``; did you mean …?`` for a name that resembles a known one."""
    import difflib  # slow to import, and seldom needed

    close = difflib.get_close_matches(asked, names, 1)
    return f"; did you mean {sanitize(close[0])}?" if close else ""


def listed(names: Sequence[str]) -> str:
    """Return the first few names as a list in words."""
    more = f", … ({len(names)} in all)" if len(names) > MOST else ""
    return (", ".join(map(sanitize, names[:MOST])) or "none") + more
