"""Internals of the engine that only tests read: generated code, waiting memory, rows of tables, declarations."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from scanviz.engine.backends.source.runners import all_made
from scanviz.engine.graph import declaration
from scanviz.engine.graph.meaning_table import MeaningTable
from scanviz.engine.program.plan.location import Place, packed
from scanviz.engine.runtime import buffer_pool


def loop_sources(executable: Any) -> list[str]:
    """Return the generated source of each loop run so far, nested loops too."""
    return [made.written("plain").text for made in all_made(executable.flat.runners).values()]


def waiting_bytes() -> int:
    """Return the bytes of memory that the buffer pool keeps for later arrays."""
    return sum(memory.nbytes for memory in list(buffer_pool._waiting))


def missing_rows(table: MeaningTable[Any]) -> list[str]:
    """Return the names of declared operations without a row in a table."""
    return [declared.name for declared in declaration.declarations() if declared not in table]


def is_contiguous(place: Place, itemsize: int) -> bool:
    """Return whether the elements of a register are known to be in C order without gaps."""
    return place.shape is not None and place.strides == packed(place.shape, itemsize)


@contextmanager
def temporary_declarations() -> Iterator[None]:
    """Remove operations declared in the block at its end."""
    declaration._declare_others()  # modules first imported in the block keep their declarations
    before = dict(declaration._REGISTRY)
    try:
        yield
    finally:
        declaration._REGISTRY.clear()
        declaration._REGISTRY.update(before)
