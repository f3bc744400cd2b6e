"""remove_constants_and_unused_inputs_scan: what a loop carries along without need.

- a non-sequence that is a constant is written into the step; so is a sequence whose rows are all the same, if it is long enough;
- two sequences, or two non-sequences, that are the same variable around the loop become one;
- what the step does not read is not given to it;
- states and results that nobody reads, in the loop or after it, are not computed.

A sequence that is not read still says how long it must be: it stays where that is not known to be long enough.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from scanviz.engine.graph.nodes import Apply, Constant, Variable, tensor_type
from scanviz.engine.graph.traversal import leaves
from scanviz.engine.ops.shape import ALLOC
from scanviz.engine.rewrites.formatting import named
from scanviz.engine.rewrites.level import Level
from scanviz.engine.rewrites.loops.loop_facts import results_left, results_without
from scanviz.engine.rewrites.rule import Match, Refusal, rule
from scanviz.engine.scan.dependence import needed_variables
from scanviz.engine.scan.loop import SCAN, Scan, ScanView, nodes_of
from scanviz.engine.scan.rebuild import rebuilt_loop
from scanviz.engine.scan.variables import (
    LoopVariable,
    NonSequence,
    inner_inputs,
)
from scanviz.engine.scan.variables import Sequence as LoopSequence


@rule(
    name="remove_constants_and_unused_inputs_scan",
    phase=("loops", "merge"),
    on=(SCAN,),
    single=True,
    tags=("scan", "clean_loops"),
)
def remove_unused(node: Apply, level: Level) -> Match | Refusal:
    """Take out of a loop constants, doubles, and what nobody reads."""
    view = ScanView(node)
    edit = _Edit(view, level)
    edit.drop_unread_results()
    edit.write_in_constants()
    edit.join_doubles()
    edit.drop_unread_inputs()
    if not edit.said:
        return edit.refusal or Refusal(
            f"`{view.op.scan_name}` reads all it is given, and all it gives is read"
        )
    if not results_left(view.op, edit.gone):
        return Refusal(f"nobody reads a result of `{view.op.scan_name}`: it is not run at all")
    added = dict(edit.added)
    _, mapping = rebuilt_loop(
        view, dict.fromkeys(edit.gone), added=list(added), outer=added, values=edit.values
    )
    return Match(mapping, f"`{view.op.scan_name}`: {'; '.join(edit.said)}")


class _Edit:
    """What is to be taken out of one loop."""

    def __init__(self, view: ScanView, level: Level) -> None:
        self.view, self.op, self.level = view, view.op, level
        self.gone: dict[LoopVariable, None] = {}
        self.added: list[tuple[LoopVariable, Variable]] = []
        self.values: dict[Variable, Variable] = {}
        self.said: list[str] = []
        self.refusal: Refusal | None = None

    def drop_unread_results(self) -> None:
        """Take out states, carries and step outputs that nothing needs."""
        needed = needed_variables(self.view, self.level.is_read)
        self._drop(results_left(self.op, needed), "not read by anything")

    def write_in_constants(self) -> None:
        """Write constants into the step."""
        fixed: list[str] = []
        for non_sequence in self.op.of_type(NonSequence):
            outer = self.view.outer_input(non_sequence)
            if isinstance(outer, Constant):
                self.gone[non_sequence] = None
                self.values[non_sequence.variable] = outer
                fixed.append(non_sequence.name)
        for sequence in self.op.of_type(LoopSequence):
            self._same_row(sequence, fixed)
        if fixed:
            self.said.append(f"{named(fixed)} written into the step")

    def _same_row(self, sequence: LoopSequence, fixed: list[str]) -> None:
        """Write a sequence whose rows are all the same into the step."""
        from scanviz.engine.scan.unroll import surely_long_enough  # of loops with sequences alone

        outer = self.view.outer(sequence)
        made = outer.owner
        if isinstance(outer, Constant):
            if not len(outer.value) or not _equal_rows(outer):
                return
        elif made is None or made.op.declaration is not ALLOC:
            return
        elif tensor_type(made.inputs[0]).ndim or tensor_type(sequence.slice).ndim:
            return  # a row would have to be filled in each step
        if not surely_long_enough(outer, self.view.n_steps):
            return
        value: Variable
        if isinstance(outer, Constant):
            kind = tensor_type(outer).with_shape(outer.value.shape[1:])
            value = Constant(kind, outer.value[0], sequence.name)
        else:
            assert made is not None
            value = made.inputs[0]
        if not isinstance(value, Constant):
            inner = Variable(value.type, sequence.name)
            self.added.append((NonSequence(sequence.name, inner), value))
            value = inner
        self.values[sequence.slice] = value
        self.gone[sequence] = None
        fixed.append(sequence.name)

    def join_doubles(self) -> None:
        """Make one of several sequences, or non-sequences, that are the same variable around the loop."""
        first: dict[tuple[type, Variable], LoopVariable] = {}
        joined: list[str] = []
        for variable in self._inputs():
            outer = self.view.outer_input(variable)
            if variable in self.gone or outer is None:
                continue
            known = first.setdefault((type(variable), outer), variable)
            if known is not variable:
                (mine,), (kept,) = inner_inputs(variable), inner_inputs(known)
                self.gone[variable] = None
                self.values[mine] = kept
                joined.append(variable.name)
        if joined:
            self.said.append(f"{named(joined)} given twice")

    def _inputs(self) -> list[LoopSequence | NonSequence]:
        return [*self.op.of_type(LoopSequence), *self.op.of_type(NonSequence)]

    def drop_unread_inputs(self) -> None:
        """Take out sequences and non-sequences that the step does not read."""
        read = set(leaves(results_without(self.op, self.gone))) if self.gone else self.op.once(_read_leaves)
        targets = {self.values[variable] for variable in read if variable in self.values}
        dropped: list[LoopVariable] = []
        for variable in self._inputs():
            (inner,) = inner_inputs(variable)
            if variable in self.gone or inner in read or inner in targets:
                continue
            if isinstance(variable, LoopSequence):
                from scanviz.engine.scan.unroll import surely_long_enough  # mostly rows are read

                if not surely_long_enough(self.view.outer(variable), self.view.n_steps):
                    self.refusal = Refusal(
                        f"`{variable.name}` is not read, but the loop checks that it has enough rows", 2
                    )
                    continue
            dropped.append(variable)
        self._drop(dropped, "not read in the step")

    def _drop(self, dropped: Collection[LoopVariable], why: str) -> None:
        if dropped:
            self.gone.update(dict.fromkeys(dropped))
            verb = "is" if len(dropped) == 1 else "are"
            self.said.append(f"{named(variable.name for variable in dropped)} {verb} {why}")


def _read_leaves(op: Scan) -> frozenset[Variable]:
    """Return the leaves that a loop's step reads."""
    read = {variable for node in op.once(nodes_of) for variable in node.inputs}
    return frozenset([variable for variable in read.union(op.inner_outputs) if variable.owner is None])


def _equal_rows(constant: Constant) -> bool:
    rows = constant.value
    return rows.size <= 4096 and all(rows[0].tobytes() == np.asarray(row).tobytes() for row in rows[1:])
