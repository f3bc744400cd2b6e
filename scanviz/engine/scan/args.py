"""ScanArgs: a Scan's variables sorted by kind, inner and outer, under the documents' field names."""

from __future__ import annotations

from dataclasses import dataclass

from scanviz.engine.errors import ScanvizTypeError
from scanviz.engine.graph.nodes import Apply, Variable
from scanviz.engine.graph.provenance import user_line
from scanviz.engine.scan.layout import Layout
from scanviz.engine.scan.loop import Scan
from scanviz.engine.scan.properties import ScanPropertiesMixin


@dataclass(frozen=True, slots=True)
class ScanArgs:
    """All variables of one loop by kind (``reference/001_scan_internals.txt``, "scan_args").

    Lists of mitmots and mitsots hold one list a loop variable; taps are tuples in the same order.  "shared" are the
    carries; ``outer_in_nit_sot`` are lengths.

    Examples
    --------
    >>> import scanviz
    >>> from scanviz import tensor as T
    >>> x = T.vector("x")
    >>> sums, _ = scanviz.scan(lambda x_t, total: total + x_t, sequences=x, outputs_info=0.0)
    >>> [v.name for v in ScanArgs.from_node(sums.owner).inner_in_sit_sot]
    ['total[t-1]']
    """

    n_steps: Variable
    outer_in_seqs: list[Variable]
    outer_in_mit_mot: list[Variable]
    outer_in_mit_sot: list[Variable]
    outer_in_sit_sot: list[Variable]
    outer_in_shared: list[Variable]
    outer_in_nit_sot: list[Variable]
    outer_in_non_seqs: list[Variable]
    inner_in_seqs: list[Variable]
    inner_in_mit_mot: list[list[Variable]]
    inner_in_mit_sot: list[list[Variable]]
    inner_in_sit_sot: list[Variable]
    inner_in_shared: list[Variable]
    inner_in_non_seqs: list[Variable]
    inner_out_mit_mot: list[list[Variable]]
    inner_out_mit_sot: list[Variable]
    inner_out_sit_sot: list[Variable]
    inner_out_nit_sot: list[Variable]
    inner_out_shared: list[Variable]
    cond: list[Variable]
    outer_out_mit_mot: list[Variable]
    outer_out_mit_sot: list[Variable]
    outer_out_sit_sot: list[Variable]
    outer_out_nit_sot: list[Variable]
    outer_out_shared: list[Variable]
    mit_mot_in_slices: list[tuple[int, ...]]
    mit_mot_out_slices: list[tuple[int, ...]]
    mit_sot_in_slices: list[tuple[int, ...]]
    var_mappings: dict[str, dict[int, int] | dict[int, list[int]]]

    @classmethod
    def from_node(cls, node: Apply) -> ScanArgs:
        """Return the variables of a loop's Apply, sorted.

        Raises
        ------
        ScanvizTypeError
            If ``node`` is not the node of a loop.
        """
        given: object = node  # annotations do not stop a user
        if not isinstance(given, Apply) or not isinstance(given.op, Scan):
            raise ScanvizTypeError(
                "ScanArgs describe a loop, and this is none",
                where=user_line(),
                expected="the node of a loop: `result.owner` of a result of scan",
                found=f"`{given.op}`" if isinstance(given, Apply) else repr(given),
                fix="ScanArgs.from_node(result.owner), before anything is done to the result",
            )
        layout = Layout(node)
        scan = layout.scan
        assert isinstance(scan, ScanPropertiesMixin)
        return cls(
            n_steps=layout.outer_inputs[0],
            outer_in_seqs=scan.outer_seqs(node),
            outer_in_mit_mot=scan.outer_mitmot(node),
            outer_in_mit_sot=scan.outer_mitsot(node),
            outer_in_sit_sot=scan.outer_sitsot(node),
            outer_in_shared=scan.outer_shared(node),
            outer_in_nit_sot=scan.outer_nitsot(node),
            outer_in_non_seqs=scan.outer_non_seqs(node),
            inner_in_seqs=scan.inner_seqs(),
            inner_in_mit_mot=scan.inner_mitmot_grouped(),
            inner_in_mit_sot=scan.inner_mitsot_grouped(),
            inner_in_sit_sot=scan.inner_sitsot(),
            inner_in_shared=scan.inner_shared(),
            inner_in_non_seqs=scan.inner_non_seqs(),
            inner_out_mit_mot=scan.inner_mitmot_outs_grouped(),
            inner_out_mit_sot=scan.inner_mitsot_outs(),
            inner_out_sit_sot=scan.inner_sitsot_outs(),
            inner_out_nit_sot=scan.inner_nitsot_outs(),
            inner_out_shared=scan.inner_shared_outs(),
            cond=[scan.until.condition] if scan.until is not None else [],
            outer_out_mit_mot=scan.outer_mitmot_outs(node),
            outer_out_mit_sot=scan.outer_mitsot_outs(node),
            outer_out_sit_sot=scan.outer_sitsot_outs(node),
            outer_out_nit_sot=scan.outer_nitsot_outs(node),
            outer_out_shared=scan.outer_shared_outs(node),
            mit_mot_in_slices=scan.mitmot_taps(),
            mit_mot_out_slices=scan.mitmot_out_taps(),
            mit_sot_in_slices=scan.mitsot_taps(),
            var_mappings=layout.var_mappings,
        )

    @property
    def as_while(self) -> bool:
        """Whether the loop has a stop condition."""
        return bool(self.cond)

    @property
    def inner_inputs(self) -> list[Variable]:
        """The flat list of inner inputs, rebuilt."""
        taps = [each for group in (*self.inner_in_mit_mot, *self.inner_in_mit_sot) for each in group]
        return [
            *self.inner_in_seqs,
            *taps,
            *self.inner_in_sit_sot,
            *self.inner_in_shared,
            *self.inner_in_non_seqs,
        ]

    @property
    def outer_inputs(self) -> list[Variable]:
        """The flat list of outer inputs, rebuilt."""
        states = [*self.outer_in_mit_mot, *self.outer_in_mit_sot, *self.outer_in_sit_sot]
        rest = [*self.outer_in_shared, *self.outer_in_nit_sot, *self.outer_in_non_seqs]
        return [self.n_steps, *self.outer_in_seqs, *states, *rest]

    @property
    def inner_outputs(self) -> list[Variable]:
        """The flat list of inner outputs, rebuilt."""
        taps = [each for group in self.inner_out_mit_mot for each in group]
        rest = [*self.inner_out_sit_sot, *self.inner_out_nit_sot, *self.inner_out_shared, *self.cond]
        return [*taps, *self.inner_out_mit_sot, *rest]

    @property
    def outer_outputs(self) -> list[Variable]:
        """The flat list of outer outputs, rebuilt."""
        states = [*self.outer_out_mit_mot, *self.outer_out_mit_sot, *self.outer_out_sit_sot]
        return [*states, *self.outer_out_nit_sot, *self.outer_out_shared]

    def field_of(self, variable: Variable) -> str | None:
        """Return the field that holds a variable, such as ``inner_in_mit_sot-0-1``; None if none does."""
        for name in self.__slots__:
            entries = getattr(self, name)
            if not isinstance(entries, list):
                continue
            for k, each in enumerate(entries):
                if each is variable:
                    return f"{name}-{k}"
                if isinstance(each, list) and any(one is variable for one in each):
                    return f"{name}-{k}-{[one is variable for one in each].index(True)}"
        return "n_steps" if self.n_steps is variable else None
