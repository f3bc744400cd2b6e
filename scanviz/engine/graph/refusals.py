"""Errors for Python protocols that a symbolic variable cannot answer, with what to write instead.

A variable has no value while a graph is built, so it is neither true nor false, has no length known to Python and is no number.
Each function below returns the error for one such question, with the user's line and the line to write instead.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from scanviz.engine.errors import ScanvizAttributeError, ScanvizTypeError
from scanviz.engine.graph.provenance import SourceLine, user_line
from scanviz.engine.other_names import of_variable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_VALUE = "function([…], {0})(…) or {0}.eval({{…}}) for its value"
_CALLED = re.compile(r"\b(?:math|cmath|np|numpy)\.(\w+)\(")
_IN_PLACE = "T.set_subtensor({0}, …), or T.inc_subtensor({0}, …) to add: each gives a new variable"
_LIST_METHODS = ("append", "extend", "insert", "pop", "remove")


def source_text(where: SourceLine | None) -> str | None:
    """Return the text of the user's line, for an error that shows it."""
    return (where.text() or None) if where is not None else None


def _error(what: str, fix: str) -> ScanvizTypeError:
    return ScanvizTypeError.here(what, fix=fix, shown=True)


def no_truth(x: Any) -> ScanvizTypeError:
    """Return the error of ``if x:``, ``x and y``, ``not x`` and ``0 < x < 1``."""
    name = _short(x) if x.name else "condition"
    return _error(
        f"{_called(x)} has no value while the graph is built, so Python cannot ask whether it is true",
        f"T.switch({name}, a, b) or ifelse({name}, a, b) instead of `if`\n"
        "T.maximum(a, b), T.minimum(a, b) instead of `max(a, b)`, `min(a, b)`\n"
        "a & b, a | b, ~a instead of `a and b`, `a or b`, `not a`\n"
        "(0 < x) & (x < 1) instead of `0 < x < 1`\n"
        "T.eq(a, b) instead of `a == b`; `a is b` to ask whether two variables are one\n"
        f"`{name} is not None` to ask whether there is a variable",
    )


def no_tensor(x: Any) -> ScanvizTypeError:
    """Return the error of computing with a random state."""
    written = _short(x) if x.name else "state"
    of_loop = x.owner is not None and x.owner.op.name == "scan"
    alone = (
        f"{written} instead of {written}[-1]: a loop gives the last random state alone\n" if of_loop else ""
    )
    return ScanvizTypeError.here(
        f"{_called(x) if x.name else 'this'} is a {x.type}, not an array of numbers",
        fix=f"{alone}{written}, values = T.random.normal({written}) to draw numbers from it",
    )


def no_array(value: object) -> ScanvizTypeError:
    """Return the error of an object where an array of numbers is expected."""
    fix = None
    if isinstance(value, list | tuple):
        fix = "T.stack([…]) if it holds symbolic variables"
    elif callable(value):
        fix = "what the function gives: call it"
    elif type(value).__module__.startswith("numpy.random"):  # a Generator, or a RandomState
        fix = "T.random.RandomStreams(seed), or T.random.random_state(seed) for a state that you hand on yourself"
    return ScanvizTypeError.here(f"{value!r} is not an array of numbers", found=type(value).__name__, fix=fix)


def no_length(x: Any) -> ScanvizTypeError:
    """Return the error of ``len(x)``."""
    return _error(
        f"the length of {_called(x)} is not known while the graph is built", f"{_short(x)}.shape[0]"
    )


def no_number(x: Any, ours: Callable[[str], str | None]) -> ScanvizTypeError:
    """Return the error of ``float(x)``, ``int(x)`` and the functions of ``math``; ``ours`` are scanviz's names for these."""
    name = _short(x)
    called = _CALLED.search(source_text(user_line()) or "")
    here = ours(called[1]) if called is not None else None
    fixes = []
    if called is not None and here is not None:
        fixes.append(f"T.{here}(…) instead of {called[0]}…)")
    else:
        fixes.append(f"T.cast({name}, 'int64') or T.cast({name}, 'float64') for another dtype")
        fixes.append("T.exp, T.tanh, … instead of the functions of `math`")
    return _error(
        f"{_called(x)} has no value while the graph is built, so it is no Python number",
        "\n".join([*fixes, _VALUE.format(name)]),
    )


def no_count(x: Any) -> ScanvizTypeError:
    """Return the error of ``range(x)`` and ``some_list[x]``."""
    name = _short(x)
    return _error(
        f"{_called(x)} has no value while the graph is built, so Python cannot count with it",
        f"scan(fn, n_steps={name}) instead of `for k in range({name})`\n"
        f"T.arange({name}) for a vector of numbers\n"
        f"T.stack(some_list)[{name}] instead of `some_list[{name}]`\n" + _VALUE.format(name),
    )


def no_members(x: Any, sought: object) -> ScanvizTypeError:
    """Return the error of ``sought in x``."""
    shown = _short(sought) if isinstance(sought, type(x)) else repr(sought)
    return _error(
        f"{_called(x)} has no value while the graph is built, so Python cannot look for {shown} in it",
        f"T.any(T.eq({_short(x)}, {shown}))",
    )


def no_format(x: Any, specification: str) -> ScanvizTypeError:
    """Return the error of ``f"{x:.2f}"``."""
    return _error(
        f"{_called(x)} has no value while the graph is built, so it cannot be formatted with {specification!r}",
        _VALUE.format(_short(x)),
    )


def no_assignment(x: Any, key: object, value: object) -> ScanvizTypeError:
    """Return the error of ``x[key] = value``."""
    name, place, new = _short(x), shown_index(key), _short(value)
    new = "…" if new == "x" != getattr(value, "name", "x") else new
    return _error(
        f"{_called(x)} cannot be changed: a variable stands for one value",
        f"{name} = T.set_subtensor({name}[{place}], {new})\n"
        f"{name} = T.inc_subtensor({name}[{place}], …) instead of `{name}[{place}] += …`"
        + (f"\nfunction(…, updates={{{name}: …}}) to keep it in {name}" if hasattr(x, "set_value") else ""),
    )


def no_deletion(x: Any, key: object) -> ScanvizTypeError:
    """Return the error of ``del x[key]``."""
    return _error(
        f"{_called(x)} cannot be changed: a variable stands for one value",
        f"{_short(x)}[kept], with the indices of what stays, or T.concatenate([…, …]) of what is around [{shown_index(key)}]",
    )


def no_attribute(
    x: Any, name: str, known: Iterable[str], call: Callable[[str, str], str | None]
) -> ScanvizAttributeError:
    """Return the error of ``x.name`` where variables have no such attribute; ``call`` calls the function of that name, if any."""
    from difflib import get_close_matches

    plain = name.rstrip("_")  # PyTorch's names of what changes an array
    fix = of_variable(name, _short(x)) or of_variable(plain, _short(x))
    if name in ("set", "inc", "at"):
        indexed = x.owner is not None and x.owner.op.name == "index"
        fix = _IN_PLACE.format(f"{x}" if indexed else f"{_short(x)}[i]")
    elif name in _LIST_METHODS:
        fix = "T.concatenate([a, b]) or T.stack([a, b]): a variable is an array, not a list"
    elif fix is None:
        close = get_close_matches(name, sorted(set(known)), 3, 0.7)
        fix = call(plain, _short(x)) or " or ".join(f"{_short(x)}.{text}" for text in close) or None
    error = ScanvizAttributeError.here(f"{_called(x)} has no attribute `{name}`", fix=fix, shown=True)
    error.name, error.obj = name, x
    return error


def not_settable(x: Any, name: str) -> ScanvizAttributeError:
    """Return the error of ``x.name = value``."""
    return ScanvizAttributeError.here(
        f"variables are immutable: only `name` can be set, not `{name}`",
        fix="a variable, dict or object of your own to keep it in",
        shown=True,
    )


def shown_index(key: object) -> str:
    """Return an index as the user would write it."""
    if isinstance(key, tuple):
        return ", ".join(shown_index(part) for part in key)
    if isinstance(key, slice):
        ends = ["" if bound is None else _short(bound) for bound in (key.start, key.stop)]
        return ":".join([*ends, *([] if key.step is None else [_short(key.step)])])
    return "..." if key is Ellipsis else _short(key)


def _called(x: Any) -> str:
    return f"`{x}`"


def _short(x: Any) -> str:
    """Return a value as code: its name or number."""
    name = getattr(x, "name", None)
    if isinstance(name, str) and name.isidentifier():
        return name
    owner = getattr(x, "owner", None)
    if owner is not None and owner.op.facts.size == "is" and (owner.inputs[0].name or "").isidentifier():
        return f"{x}"  # x.shape[0]
    return repr(x) if isinstance(x, int | float | str) or x is None else "x"
