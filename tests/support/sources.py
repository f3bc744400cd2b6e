"""What tests read of Python sources: statements alone, which are a tenth of all nodes of a syntax tree."""

import ast
import functools
from collections.abc import Iterator
from pathlib import Path


def statements(tree: ast.AST) -> Iterator[ast.stmt]:
    """Iterate over the statements below a node, in whatever other statements they stand; a match has its cases, a try its handlers."""
    for part in ("body", "orelse", "finalbody", "handlers", "cases"):
        for below in getattr(tree, part, None) or ():
            if isinstance(below, ast.stmt):
                yield below
            yield from statements(below)


@functools.cache
def imported_names(path: Path) -> tuple[str, ...]:
    """Return the modules that a file imports by their full names, at its top or in a function."""
    names: list[str] = []
    for node in statements(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.append(node.module)
    return tuple(names)
