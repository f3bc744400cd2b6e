"""Theano's accessors of a Scan by kind of loop variable, such as ``inner_nitsot_outs`` and ``mitmot_out_taps``.

``reference/004_scan_internals_aesara.txt`` promises them on the op under the name ``ScanPropertiesMixin``.  Each takes a list
in the documents' order (:mod:`scanviz.engine.scan.layout`) and returns the part of one kind.  Without an argument the inner
ones use the loop's own variables; the outer ones take the loop's Apply.  All are derived from the loop variables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, cast

from scanviz.engine.graph.nodes import Apply, Variable
from scanviz.engine.scan.variables import kind_of, taps_of

if TYPE_CHECKING:
    from scanviz.engine.scan.layout import Layout, Spans, VarMapping
    from scanviz.engine.scan.loop import Scan

# gives a loop's flat orders: these look at loops and so stand above this file; filled from there
LAYOUT: list[Callable[[Scan | Apply], Layout]] = []


def _accessor(
    listed: Literal["inner_input", "inner_output", "outer_input", "outer_output"],
    kind: str,
    doc: str,
    *,
    grouped: bool = False,
) -> Callable[..., list[Any]]:
    """Make an accessor for the variables of one kind, flat or grouped by loop variable."""

    def accessor(self: ScanPropertiesMixin, given: Sequence[Variable] | Apply | None = None, /) -> list[Any]:
        layout = self.layout(given if isinstance(given, Apply) else None)
        items = getattr(layout, f"{listed}s") if given is None or isinstance(given, Apply) else given
        spans: Spans = getattr(layout, f"{listed}_spans")
        groups = [[items[k] for k in span] for variable, span in spans.items() if kind_of(variable) == kind]
        return groups if grouped else [index for group in groups for index in group]

    accessor.__doc__ = doc
    return accessor


class ScanPropertiesMixin:
    """Accessors of a Scan's flat lists by kind; "shared" stands for the carries, as in the documents."""

    __slots__ = ()

    def layout(self, node: Apply | None = None) -> Layout:
        """Return the flat orders of this loop, with the outer variables of its Apply where one is given."""
        return LAYOUT[-1](node if node is not None else cast("Scan", self))

    inner_seqs = _accessor("inner_input", "sequence", "Return the step's slices of sequences.")
    inner_mitmot = _accessor("inner_input", "mitmot", "Return the rows that mitmots read, flat.")
    inner_mitmot_grouped = _accessor(
        "inner_input", "mitmot", "Return the rows that mitmots read, one list a mitmot.", grouped=True
    )
    inner_mitsot = _accessor("inner_input", "mitsot", "Return the rows that mitsots read, flat.")
    inner_mitsot_grouped = _accessor(
        "inner_input", "mitsot", "Return the rows that mitsots read, one list a mitsot.", grouped=True
    )
    inner_sitsot = _accessor("inner_input", "sitsot", "Return the rows that sitsots read.")
    inner_shared = _accessor("inner_input", "carry", "Return what carries read.")
    inner_non_seqs = _accessor("inner_input", "non_sequence", "Return the step's non-sequences.")
    inner_mitmot_outs = _accessor("inner_output", "mitmot", "Return the rows that mitmots write, flat.")
    inner_mitmot_outs_grouped = _accessor(
        "inner_output", "mitmot", "Return the rows that mitmots write, one list a mitmot.", grouped=True
    )
    inner_mitsot_outs = _accessor("inner_output", "mitsot", "Return the rows that mitsots write.")
    inner_sitsot_outs = _accessor("inner_output", "sitsot", "Return the rows that sitsots write.")
    inner_nitsot_outs = _accessor("inner_output", "nitsot", "Return the rows of nitsots.")
    inner_shared_outs = _accessor("inner_output", "carry", "Return what carries write.")
    outer_seqs = _accessor("outer_input", "sequence", "Return the sequences.")
    outer_mitmot = _accessor("outer_input", "mitmot", "Return the mitmots' buffers.")
    outer_mitsot = _accessor("outer_input", "mitsot", "Return the mitsots' initial rows.")
    outer_sitsot = _accessor("outer_input", "sitsot", "Return the sitsots' initial rows.")
    outer_shared = _accessor("outer_input", "carry", "Return the carries' first values.")
    outer_nitsot = _accessor("outer_input", "nitsot", "Return the nitsots' lengths.")
    outer_non_seqs = _accessor("outer_input", "non_sequence", "Return the non-sequences.")
    outer_mitmot_outs = _accessor("outer_output", "mitmot", "Return the mitmots' results.")
    outer_mitsot_outs = _accessor("outer_output", "mitsot", "Return the mitsots' results.")
    outer_sitsot_outs = _accessor("outer_output", "sitsot", "Return the sitsots' results.")
    outer_nitsot_outs = _accessor("outer_output", "nitsot", "Return the nitsots' results.")
    outer_shared_outs = _accessor("outer_output", "carry", "Return the carries' last values.")

    def oldest_inner_mitsot(self, inner_inputs: Sequence[Variable] | None = None) -> list[Variable]:
        """Return of each mitsot the row that lies furthest back."""
        groups = self.inner_mitsot_grouped(inner_inputs)
        return [group[taps.index(min(taps))] for group, taps in zip(groups, self.mitsot_taps(), strict=True)]

    def mitmot_taps(self) -> list[tuple[int, ...]]:
        """Return the taps that each mitmot reads."""
        return self._taps("mitmot", 0)

    def mitmot_out_taps(self) -> list[tuple[int, ...]]:
        """Return the taps that each mitmot writes."""
        return self._taps("mitmot", 1)

    def mitsot_taps(self) -> list[tuple[int, ...]]:
        """Return the taps that each mitsot reads."""
        return self._taps("mitsot", 0)

    def _taps(self, kind: str, which: int) -> list[tuple[int, ...]]:
        return [taps_of(span)[which] for span in self.layout().inner_input_spans if kind_of(span) == kind]

    @property
    def var_mappings(self) -> dict[str, VarMapping]:
        """The twelve maps between outer and inner, inputs and outputs."""
        return self.layout().var_mappings

    def connection_pattern(self, node: Apply | None = None) -> list[list[bool]]:
        """Return ``[outer input][outer output]``: whether one depends on the other over any number of steps."""
        return self.layout(node).connection_pattern()

    def inner_connection_pattern(self) -> list[list[bool]]:
        """Return ``[inner input][inner output]``: whether one depends on the other within a step."""
        return self.layout().inner_connection_pattern()
