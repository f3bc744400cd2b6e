"""ScanArgs: a Scan's variables sorted by kind, inner and outer, under the documents' field names.

It is a view for people who know these names from Theano; the fields are read from the loop variables.  Each edit of it gives a new
loop, checked as any other; the one before stays.  Errors are in the user's names: what still reads a loop variable that is to go,
which variable the step would have from nowhere, which types do not fit.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError
from scanviz.engine.graph.nodes import Apply, Variable, describe, tensor_type
from scanviz.engine.graph.traversal import depending_on, free_leaves
from scanviz.engine.graph.types import TensorType, Type, fits
from scanviz.engine.ops.support import as_value
from scanviz.engine.scan.inference import outer_type
from scanviz.engine.scan.layout import Layout
from scanviz.engine.scan.loop import Scan, ScanView
from scanviz.engine.scan.properties import ScanPropertiesMixin
from scanviz.engine.scan.rebuild import rebuilt_loop
from scanviz.engine.scan.variables import (
    LoopVariable,
    NonSequence,
    State,
    StepOutput,
    has_outer_output,
    inner_inputs,
    inner_outputs,
)
from scanviz.engine.scan.variables import Sequence as LoopSequence


class ScanArgs(Struct, frozen=True):
    """All variables of one loop by kind (``reference/001_scan_internals.txt``, "scan_args"), and edits of the loop.

    Lists of mitmots and mitsots hold one list a loop variable; taps are tuples in the same order.  "shared" are the
    carries; ``outer_in_nit_sot`` are lengths.  ``node`` is the loop.

    An edit gives the ScanArgs of a new loop; nothing changes in the one before.  ``results`` names its results that stand for
    those of the loop that was edited first: ``scanviz.clone(outputs, args.results)`` puts the new loop into a graph.

    Examples
    --------
    >>> import scanviz
    >>> from scanviz import tensor as T
    >>> x = T.vector("x")
    >>> sums, _ = scanviz.scan(lambda x_t, total: total + x_t, sequences=x, outputs_info=0.0)
    >>> [v.name for v in ScanArgs.from_node(sums.owner).inner_in_sit_sot]
    ['total[t-1]']

    A loop that gives the squares of its running sums too:

    >>> args = ScanArgs.from_node(sums.owner)
    >>> args = args.add_output(args.inner_out_sit_sot[0] ** 2, "squares")
    >>> args.outer_out_nit_sot[0].eval({x: [1.0, 2.0]})
    array([1., 9.])
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
    node: Apply
    results: dict[Variable, Variable]

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
            raise ScanvizTypeError.here(
                "ScanArgs describe a loop, and this is none",
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
            node=node,
            results={output: output for output in node.outputs},
        )

    def remove(self, *variables: Variable, dependents: bool = False) -> ScanArgs:
        """Return the loop without loop variables, which are named by any variable of theirs, of the step or around it.

        A result of the loop that was edited first names one too.  With ``dependents`` those whose values are computed from
        them go too; else that they exist is an error.
        """
        view = ScanView(self.node)
        gone = [loop_variable_of(view, self.results.get(variable, variable)) for variable in variables]
        return self._edited(removed(view, gone, dependents))

    def replace(self, mapping: Mapping[Variable, Any]) -> ScanArgs:
        """Return the loop with variables replaced: outer inputs and ``n_steps``, or variables that its step computes with."""
        pairs = {old: as_value(new) for old, new in mapping.items()}
        return self._edited(replaced(ScanView(self.node), pairs))

    def add_sequence(self, outer: Any, inner: Variable, tap: int = 0) -> ScanArgs:
        """Return the loop with a sequence more, whose row ``inner`` is at each step; of ``outer`` row t is that of step t."""
        variable = LoopSequence(_named(inner), inner, tap)
        return self._edited(added(ScanView(self.node), variable, as_value(outer)))

    def add_non_sequence(self, outer: Any, inner: Variable) -> ScanArgs:
        """Return the loop with a non-sequence more, which is ``inner`` in the step."""
        variable = NonSequence(_named(inner), inner)
        return self._edited(added(ScanView(self.node), variable, as_value(outer)))

    def add_state(self, initial: Any, reads: Variable | Mapping[int, Variable], value: Variable) -> ScanArgs:
        """Return the loop with a state more.

        Parameters
        ----------
        initial : array_like
            Its first row, or as many as the deepest tap needs, oldest first.
        reads : Variable, or dict of int to Variable
            The rows that the step reads: the row before, or by tap, as ``{-2: a, -1: b}``.
        value : Variable
            The row that the step gives.
        """
        taps = {-1: reads} if isinstance(reads, Variable) else dict(reads)
        name = _named(value if value.name else next(iter(taps.values())))
        variable = State(name, taps, {0: value})
        return self._edited(added(ScanView(self.node), variable, as_value(initial)))

    def add_output(self, value: Variable, name: str | None = None) -> ScanArgs:
        """Return the loop with a result more, one row a step, that is not fed back."""
        variable = StepOutput(name or _named(value), value)
        return self._edited(added(ScanView(self.node), variable, None))

    def _edited(self, edited: Edited) -> ScanArgs:
        """Return the ScanArgs of an edited loop, with the results that replace the original ones."""
        view, mapping = edited
        results = {old: mapping[now] for old, now in self.results.items() if now in mapping}
        return replace(ScanArgs.from_node(view.node), results=results)

    @property
    def as_while(self) -> bool:
        """True if the loop has a stop condition."""
        return bool(self.cond)

    @property
    def inner_inputs(self) -> list[Variable]:
        """The flat list of inner inputs."""
        return Layout(self.node).inner_inputs

    @property
    def outer_inputs(self) -> list[Variable]:
        """The flat list of outer inputs."""
        return Layout(self.node).outer_inputs

    @property
    def inner_outputs(self) -> list[Variable]:
        """The flat list of inner outputs."""
        return Layout(self.node).inner_outputs

    @property
    def outer_outputs(self) -> list[Variable]:
        """The flat list of outer outputs."""
        return Layout(self.node).outer_outputs

    def field_of(self, variable: Variable) -> str | None:
        """Return the field that holds a variable, such as ``inner_in_mit_sot-0-1``; None if none does."""
        for name in self.__struct_fields__:
            entries = getattr(self, name)
            if not isinstance(entries, list):
                continue
            for k, entry in enumerate(entries):
                if entry is variable:
                    return f"{name}-{k}"
                if isinstance(entry, list) and any(one is variable for one in entry):
                    return f"{name}-{k}-{[one is variable for one in entry].index(True)}"
        return "n_steps" if self.n_steps is variable else None


def _named(variable: Variable) -> str:
    return variable.name or describe(variable)


Edited = tuple[ScanView, dict[Variable, Variable]]


def loop_variable_of(view: ScanView, variable: Variable) -> LoopVariable:
    """Return the loop variable that a variable around the loop, or of its step, belongs to."""
    for role in view.op.variables:
        mine = (*inner_inputs(role), *inner_outputs(role), view.outer_input(role), view.outer_output(role))
        if any(one is variable for one in mine):
            return role
    raise ScanvizValueError.here(
        f"`{describe(variable)}` belongs to no loop variable of `{view.op.scan_name}`",
        expected="an input or output of the loop or of its step",
    )


def removed(view: ScanView, gone: Collection[LoopVariable], dependents: bool) -> Edited:
    """Remove loop variables from a loop; with ``dependents``, their dependents too."""
    taken = dict.fromkeys(gone)
    inner = [read for variable in gone for read in inner_inputs(variable)]
    while reading := _readers(view, taken, inner):
        if not dependents:
            names = " and ".join(f"`{variable.name}`" for variable in reading)
            raise ScanvizValueError.here(
                f"{' and '.join(f'`{variable.name}`' for variable in gone)} cannot be removed from `{view.op.scan_name}`",
                expected="loop variables that nothing else in the step reads",
                found=f"{names} computed from it",
                fix="remove(…, dependents=True) to take these out too",
            )
        taken.update(dict.fromkeys(reading))
        inner += [read for variable in reading for read in inner_inputs(variable)]
    if view.op.until is not None and view.op.until.condition in depending_on(inner, view.op.inner_outputs):
        raise ScanvizValueError.here(
            f"the stop condition of `{view.op.scan_name}` depends on a variable to be removed",
            fix="replace it first: replace({args.cond[0]: …})",
        )
    if not any(has_outer_output(variable) for variable in view.op.variables if variable not in taken):
        raise ScanvizValueError.here(f"`{view.op.scan_name}` would have no result left", expected="a result")
    new, mapping = rebuilt_loop(view, dict.fromkeys(taken))
    return new, mapping


def _readers(
    view: ScanView, taken: Mapping[LoopVariable, None], inner: Sequence[Variable]
) -> list[LoopVariable]:
    """Return the loop variables that stay whose values are computed from some variables of the step."""
    reached = depending_on(inner, view.op.inner_outputs) if inner else set()
    return [
        variable
        for variable in view.op.variables
        if variable not in taken and any(one in reached for one in inner_outputs(variable))
    ]


def replaced(view: ScanView, mapping: Mapping[Variable, Variable]) -> Edited:
    """Replace variables of a loop: of its step, or around it."""
    outer: dict[LoopVariable, Variable] = {}
    values: dict[Variable, Variable] = {}
    n_steps = view.n_steps
    for old, new in mapping.items():
        readers = [variable for variable in view.op.variables if view.outer_input(variable) is old]
        if not fits(new.type, old.type):
            raise _misfit(view, describe(old), new, old.type)
        if old is view.n_steps:
            n_steps = new
        elif readers:
            outer.update(dict.fromkeys(readers, new))
        else:
            values[old] = new
    _check_known(view, values.values(), ())
    return rebuilt_loop(view, {}, outer=outer, values=values, n_steps=n_steps)


def added(view: ScanView, variable: LoopVariable, outer: Variable | None) -> Edited:
    """Return a loop with one loop variable more."""
    fresh = inner_inputs(variable)
    known = set(view.op.inner_inputs)
    for inner in fresh:
        if inner.owner is not None or inner in known:
            raise ScanvizValueError.here(
                f"`{describe(inner)}` cannot be a variable of the step",
                expected="a variable that nothing computes or gives yet",
            )
    if isinstance(variable, State):
        _check_rows(view, variable)
    if outer is not None and not fits(outer.type, wanted := outer_type(variable)):
        raise _misfit(view, variable.name, outer, wanted)
    _check_known(view, inner_outputs(variable), fresh)
    return rebuilt_loop(view, {}, added=[variable], outer={} if outer is None else {variable: outer})


def _check_rows(view: ScanView, state: State) -> None:
    """Raise where a row written is no row that the state reads."""
    (row, *_) = (tensor_type(read) for read in state.reads.values())
    for variable in (*state.reads.values(), *state.writes.values()):
        kind = variable.type
        if not isinstance(kind, TensorType) or (kind.dtype, kind.ndim) != (row.dtype, row.ndim):
            raise _misfit(view, state.name, variable, row)


def _check_known(view: ScanView, values: Collection[Variable], fresh: Collection[Variable]) -> None:
    """Raise if values of the step read an unbound variable."""
    unbound = free_leaves(list(values), [*view.op.inner_inputs, *fresh])
    if unbound:
        raise ScanvizValueError.here(
            f"the step of `{view.op.scan_name}` would read `{describe(unbound[0])}`, which no loop variable provides",
            expected="variables of the step and constants",
            fix="add_non_sequence(outer, inner), or add_sequence, first",
        )


def _misfit(view: ScanView, name: str, found: Variable, wanted: Type) -> ScanvizTypeError:
    return ScanvizTypeError.here(
        f"`{describe(found)}` does not fit `{name}` of loop `{view.op.scan_name}`",
        expected=wanted,
        found=found.type,
    )
