"""Tables of one meaning of many operations: a pullback, a batched form, code for a backend.

Rows are keyed by declaration and stand in the file of the operation's family, in the layer that has the meaning.  The file is
imported at the first request for an operation of its family.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Generic, TypeVar

from scanviz.engine.errors import ScanvizNotImplementedError
from scanviz.engine.graph.declaration import Declaration

Row = TypeVar("Row")


class MeaningTable(Generic[Row]):
    """One meaning of many ops: rows keyed by declaration.

    Parameters
    ----------
    meaning : str
        The meaning that a row gives, such as ``"pullback"``.
    places : str
        Names of the modules with rows, ``{family}`` standing for a family.  The module of a family is imported when one of its ops
        is first asked for, and has rows of that family alone.
    """

    __slots__ = ("_imported", "_kinds", "_rows", "meaning", "places")

    def __init__(self, meaning: str, *places: str) -> None:
        self.meaning, self.places = meaning, places
        self._imported: set[str] = set()  # families whose files are
        self._rows: dict[str, Row] = {}
        self._kinds: dict[type[Declaration], Row] = {}

    def row(self, *keys: Declaration | str) -> Callable[[Row], Row]:
        """Decorate the row of one op, or of several that share it; by its name one whose file need not be imported for that."""

        def keep(value: Row) -> Row:
            for key in keys:
                self._rows[key if isinstance(key, str) else key.name] = value
            return value

        return keep

    def kind(self, kind: type[Declaration]) -> Callable[[Row], Row]:
        """Register the default row for all ops of a kind, later ones included."""

        def keep(value: Row) -> Row:
            self._kinds[kind] = value
            return value

        return keep

    def __getitem__(self, key: Declaration) -> Row:
        found = self.get(key)
        if found is None:
            where = self.places[0].format(family=key.family)
            raise ScanvizNotImplementedError(
                f"the op {key.name!r} has no {self.meaning}", fix=f"add a row to {where}"
            )
        return found

    def get(self, key: Declaration) -> Row | None:
        """Return the row of an op, or None."""
        if key.family not in self._imported:
            for place in self.places:
                _import_where_it_is(
                    "scanviz." + place.removesuffix(".py").replace("/", ".").format(family=key.family)
                )
            self._imported.add(key.family)
        found = self._rows.get(key.name)
        return found if found is not None else self._kinds.get(type(key))

    def __contains__(self, key: object) -> bool:
        return isinstance(key, Declaration) and self.get(key) is not None


def _import_where_it_is(module: str) -> None:
    """Import a module, if there is one of this name."""
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise  # a module that this one imports
