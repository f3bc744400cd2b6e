"""The base of all classes that files are read into: of records, and of Programs."""

from __future__ import annotations

from msgspec import Struct


class Strict(Struct, frozen=True, forbid_unknown_fields=True):
    """Base of the classes of a record or Program: frozen, and from a file read without anything that they do not declare."""
