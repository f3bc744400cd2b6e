"""The data model as documentation: a table of fields for each record, taken from the classes and their docstrings.

    python tools/profile_format.py

prints the tables, which are a page of the site.
"""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Iterator
from typing import Any, Literal, Union, get_args, get_origin

import numpy as np
from msgspec import Struct

from scanviz.record.measures import MEASURES
from scanviz.record.model import ProfileRecord
from scanviz.record.storage.codec import field_types

_BECOME = {"sum": "their sum", "max": "the largest", "last": "the last"}
_NAMES = {
    bytes: "string in base64; in the file, an entry of its own",
    int: "integer",
    float: "number",
    str: "string",
    bool: "true or false",
}


def record_classes(root: type = ProfileRecord) -> list[type]:
    """Return a record class and all that its fields use, each once, outer before inner."""
    found = [root]
    for kind in found:  # grows while it is gone through
        for hint in field_types(kind).values():
            found.extend(kind for kind in _records_in(hint) if kind not in found)
    return found


def _records_in(hint: Any) -> Iterator[type]:
    if isinstance(hint, type) and issubclass(hint, Struct):
        yield hint
    for arg in get_args(hint):
        yield from _records_in(arg)


def json_type(hint: Any) -> str:
    """Return how a field's value is written in JSON, in words.

    Examples
    --------
    >>> json_type(int | None), json_type(tuple[str, ...]), json_type(dict[str, int])
    ('integer or null', 'list of string', 'object of integer')
    """
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return f"{json_type(arguments[0])} or null"
    if origin is Literal:
        return "string"
    if origin is tuple:
        return f"list of {json_type(arguments[0])}"
    if origin is dict:
        return f"object of {json_type(arguments[1])}"
    if origin is np.ndarray:
        floats = get_args(arguments[1]) == (np.float64,)
        return f"list of {'numbers' if floats else 'four integers'} a row; in the file, an array"
    return _NAMES.get(hint, f"[{title(hint)}](#{title(hint).lower()})")


def title(kind: type) -> str:
    """Return a record class's name as a heading, without ``Record``."""
    return kind.__name__.removesuffix("Record")


def field_meanings(kind: type) -> dict[str, str]:
    """Return the description of each field in the docstring of a record class."""
    # cleaned up: until Python 3.12 docstrings have the indentation of their class
    lines = inspect.cleandoc(kind.__doc__ or "").split("Attributes\n", 1)[-1].split("\n")[1:]
    found: dict[str, str] = {}
    name = ""
    for line in lines:
        heading = re.fullmatch(r"(\w+) : .+", line)
        if heading:
            name = heading[1]
            found[name] = ""
        elif line.startswith(" " * 4) and name:
            found[name] = f"{found[name]} {line.strip()}".strip()
        elif line.strip():
            break  # the next section
    return found


def tables() -> str:
    """Return the documentation of all records as Markdown."""
    return "\n".join([*(_table(kind) for kind in record_classes()), _numbers()])


def _numbers() -> str:
    """Return a table of the numbers in ``measures`` of loops and operations."""
    head = ["### Declared numbers", "", "What may stand in `measures` of a loop or an operation.", ""]
    rows = ["| name | of | unit | several values become | meaning |", "| --- | --- | --- | --- | --- |"]
    rows += [
        f"| `{measure.name}` | {measure.of} | {measure.unit} | {_BECOME[measure.aggregate]} | {measure.about} |"
        for measure in MEASURES
        if not measure.field and not measure.per
    ]
    return "\n".join([*head, *rows, ""])


def _table(kind: type) -> str:
    meanings = field_meanings(kind)
    summary = (kind.__doc__ or "").split("\n", 1)[0]
    rows = [
        f"| `{name}` | {json_type(hint)} | {meanings[name].replace('|', chr(92) + '|')} |"
        for name, hint in field_types(kind).items()
    ]
    head = [f"### {title(kind)}", "", summary, "", "| field | type | meaning |", "| --- | --- | --- |"]
    return "\n".join([*head, *rows, ""])


if __name__ == "__main__":
    print(tables())
