"""The documents' accessors of a Scan by kind of loop variable, such as ``inner_nitsot_outs`` and ``mitmot_out_taps``.

``reference/004_scan_internals_aesara.txt`` promises them on the op under the name ``ScanPropertiesMixin``.  Each takes a
list in the documents' order (:mod:`scanviz.engine.scan.layout`) and returns the part of one kind; without an argument
the inner ones use the loop's own variables, and the outer ones take the loop's Apply.  All are derived from the loop variables.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar, cast

from scanviz.engine.graph.nodes import Apply, Variable
from scanviz.engine.scan.variables import kind_of, taps_of

if TYPE_CHECKING:
    from scanviz.engine.scan.layout import Layout, Spans, VarMapping
    from scanviz.engine.scan.loop import Scan

Item = TypeVar("Item")
LAYOUT: list[
    type[Layout]
] = []  # the class, which looks at loops and so stands above this file; filled by its own


def _parts(spans: Spans, kind: str, items: Sequence[Item]) -> Iterator[list[Item]]:
    for variable, span in spans.items():
        if kind_of(variable) == kind:
            yield [items[k] for k in span]


def _flat(groups: Iterator[list[Item]]) -> list[Item]:
    return [each for group in groups for each in group]


class ScanPropertiesMixin:
    """Accessors of a Scan's flat lists by kind; "shared" stands for the carries, as in the documents."""

    __slots__ = ()

    def layout(self, node: Apply | None = None) -> Layout:
        """Return the flat orders of this loop, with the outer variables of its Apply where one is given."""
        return LAYOUT[-1](node if node is not None else cast("Scan", self))

    def _inner_in(self, kind: str, items: Sequence[Variable] | None) -> list[list[Variable]]:
        layout = self.layout()
        return list(_parts(layout.inner_input_spans, kind, layout.inner_inputs if items is None else items))

    def _inner_out(self, kind: str, items: Sequence[Variable] | None) -> list[list[Variable]]:
        layout = self.layout()
        return list(_parts(layout.inner_output_spans, kind, layout.inner_outputs if items is None else items))

    def _outer_in(self, kind: str, items: Sequence[Variable] | Apply) -> list[Variable]:
        layout = self.layout(items if isinstance(items, Apply) else None)
        listed = layout.outer_inputs if isinstance(items, Apply) else items
        return _flat(_parts(layout.outer_input_spans, kind, listed))

    def _outer_out(self, kind: str, items: Sequence[Variable] | Apply) -> list[Variable]:
        layout = self.layout(items if isinstance(items, Apply) else None)
        listed = layout.outer_outputs if isinstance(items, Apply) else items
        return _flat(_parts(layout.outer_output_spans, kind, listed))

    def inner_seqs(self, inner_inputs: Sequence[Variable] | None = None) -> list[Variable]:
        """Return the step's slices of sequences."""
        return _flat(iter(self._inner_in("sequence", inner_inputs)))

    def inner_mitmot(self, inner_inputs: Sequence[Variable] | None = None) -> list[Variable]:
        """Return the rows that mitmots read, flat."""
        return _flat(iter(self._inner_in("mitmot", inner_inputs)))

    def inner_mitmot_grouped(self, inner_inputs: Sequence[Variable] | None = None) -> list[list[Variable]]:
        """Return the rows that mitmots read, one list a mitmot."""
        return self._inner_in("mitmot", inner_inputs)

    def inner_mitsot(self, inner_inputs: Sequence[Variable] | None = None) -> list[Variable]:
        """Return the rows that mitsots read, flat."""
        return _flat(iter(self._inner_in("mitsot", inner_inputs)))

    def inner_mitsot_grouped(self, inner_inputs: Sequence[Variable] | None = None) -> list[list[Variable]]:
        """Return the rows that mitsots read, one list a mitsot."""
        return self._inner_in("mitsot", inner_inputs)

    def oldest_inner_mitsot(self, inner_inputs: Sequence[Variable] | None = None) -> list[Variable]:
        """Return of each mitsot the row that lies furthest back."""
        groups = self._inner_in("mitsot", inner_inputs)
        return [group[taps.index(min(taps))] for group, taps in zip(groups, self.mitsot_taps(), strict=True)]

    def inner_sitsot(self, inner_inputs: Sequence[Variable] | None = None) -> list[Variable]:
        """Return the rows that sitsots read."""
        return _flat(iter(self._inner_in("sitsot", inner_inputs)))

    def inner_shared(self, inner_inputs: Sequence[Variable] | None = None) -> list[Variable]:
        """Return what carries read."""
        return _flat(iter(self._inner_in("carry", inner_inputs)))

    def inner_non_seqs(self, inner_inputs: Sequence[Variable] | None = None) -> list[Variable]:
        """Return the step's non-sequences."""
        return _flat(iter(self._inner_in("non_sequence", inner_inputs)))

    def inner_mitmot_outs(self, inner_outputs: Sequence[Variable] | None = None) -> list[Variable]:
        """Return the rows that mitmots write, flat."""
        return _flat(iter(self._inner_out("mitmot", inner_outputs)))

    def inner_mitmot_outs_grouped(
        self, inner_outputs: Sequence[Variable] | None = None
    ) -> list[list[Variable]]:
        """Return the rows that mitmots write, one list a mitmot."""
        return self._inner_out("mitmot", inner_outputs)

    def inner_mitsot_outs(self, inner_outputs: Sequence[Variable] | None = None) -> list[Variable]:
        """Return the rows that mitsots write."""
        return _flat(iter(self._inner_out("mitsot", inner_outputs)))

    def inner_sitsot_outs(self, inner_outputs: Sequence[Variable] | None = None) -> list[Variable]:
        """Return the rows that sitsots write."""
        return _flat(iter(self._inner_out("sitsot", inner_outputs)))

    def inner_nitsot_outs(self, inner_outputs: Sequence[Variable] | None = None) -> list[Variable]:
        """Return the rows of nitsots."""
        return _flat(iter(self._inner_out("nitsot", inner_outputs)))

    def inner_shared_outs(self, inner_outputs: Sequence[Variable] | None = None) -> list[Variable]:
        """Return what carries write."""
        return _flat(iter(self._inner_out("carry", inner_outputs)))

    def outer_seqs(self, outer_inputs: Sequence[Variable] | Apply) -> list[Variable]:
        """Return the sequences."""
        return self._outer_in("sequence", outer_inputs)

    def outer_mitmot(self, outer_inputs: Sequence[Variable] | Apply) -> list[Variable]:
        """Return the mitmots' buffers."""
        return self._outer_in("mitmot", outer_inputs)

    def outer_mitsot(self, outer_inputs: Sequence[Variable] | Apply) -> list[Variable]:
        """Return the mitsots' initial rows."""
        return self._outer_in("mitsot", outer_inputs)

    def outer_sitsot(self, outer_inputs: Sequence[Variable] | Apply) -> list[Variable]:
        """Return the sitsots' initial rows."""
        return self._outer_in("sitsot", outer_inputs)

    def outer_shared(self, outer_inputs: Sequence[Variable] | Apply) -> list[Variable]:
        """Return the carries' first values."""
        return self._outer_in("carry", outer_inputs)

    def outer_nitsot(self, outer_inputs: Sequence[Variable] | Apply) -> list[Variable]:
        """Return the nitsots' lengths."""
        return self._outer_in("nitsot", outer_inputs)

    def outer_non_seqs(self, outer_inputs: Sequence[Variable] | Apply) -> list[Variable]:
        """Return the non-sequences."""
        return self._outer_in("non_sequence", outer_inputs)

    def outer_mitmot_outs(self, outer_outputs: Sequence[Variable] | Apply) -> list[Variable]:
        """Return the mitmots' results."""
        return self._outer_out("mitmot", outer_outputs)

    def outer_mitsot_outs(self, outer_outputs: Sequence[Variable] | Apply) -> list[Variable]:
        """Return the mitsots' results."""
        return self._outer_out("mitsot", outer_outputs)

    def outer_sitsot_outs(self, outer_outputs: Sequence[Variable] | Apply) -> list[Variable]:
        """Return the sitsots' results."""
        return self._outer_out("sitsot", outer_outputs)

    def outer_nitsot_outs(self, outer_outputs: Sequence[Variable] | Apply) -> list[Variable]:
        """Return the nitsots' results."""
        return self._outer_out("nitsot", outer_outputs)

    def outer_shared_outs(self, outer_outputs: Sequence[Variable] | Apply) -> list[Variable]:
        """Return the carries' last values."""
        return self._outer_out("carry", outer_outputs)

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
