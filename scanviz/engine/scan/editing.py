"""Editing a loop that stands in a graph: loop variables taken out, put in, or computed otherwise.

Each edit gives a new loop, checked as any other; the one before stays.  Errors are in the user's names: what still reads a loop
variable that is to go, which variable the step would have from nowhere, which types do not fit.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError
from scanviz.engine.graph.nodes import Variable, describe, tensor_type
from scanviz.engine.graph.traversal import depending_on, free_leaves
from scanviz.engine.graph.types import TensorType, Type, fits
from scanviz.engine.scan.inference import outer_type
from scanviz.engine.scan.loop import ScanView
from scanviz.engine.scan.rebuild import rebuilt_loop
from scanviz.engine.scan.variables import (
    LoopVariable,
    State,
    has_outer_output,
    inner_inputs,
    inner_outputs,
)

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
    """Return a loop without some of its loop variables, and with ``dependents`` without those that depend on them."""
    taken = dict.fromkeys(gone)
    inner = [read for variable in gone for read in inner_inputs(variable)]
    while reading := _readers(view, taken, inner):
        if not dependents:
            names = " and ".join(f"`{variable.name}`" for variable in reading)
            raise ScanvizValueError.here(
                f"{' and '.join(f'`{variable.name}`' for variable in gone)} cannot be taken out of `{view.op.scan_name}`",
                expected="loop variables that nothing else in the step reads",
                found=f"{names} computed from it",
                fix="remove(…, dependents=True) to take these out too",
            )
        taken.update(dict.fromkeys(reading))
        inner += [read for variable in reading for read in inner_inputs(variable)]
    if view.op.until is not None and view.op.until.condition in depending_on(inner, view.op.inner_outputs):
        raise ScanvizValueError.here(
            f"the stop condition of `{view.op.scan_name}` depends on what is to be taken out",
            fix="replace it first: replace({args.cond[0]: …})",
        )
    if not any(has_outer_output(variable) for variable in view.op.variables if variable not in taken):
        raise ScanvizValueError.here(
            f"nothing would be left that `{view.op.scan_name}` gives", expected="a result"
        )
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
    """Return a loop that computes with other variables: of its step, or around it."""
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
    """Raise where values of the step read a variable that no loop variable gives."""
    strays = free_leaves(list(values), [*view.op.inner_inputs, *fresh])
    if strays:
        raise ScanvizValueError.here(
            f"the step of `{view.op.scan_name}` would read `{describe(strays[0])}`, which nothing gives it",
            expected="variables of the step and constants",
            fix="add_non_sequence(outer, inner), or add_sequence, first",
        )


def _misfit(view: ScanView, name: str, found: Variable, wanted: Type) -> ScanvizTypeError:
    return ScanvizTypeError.here(
        f"`{describe(found)}` does not fit `{name}` of loop `{view.op.scan_name}`",
        expected=wanted,
        found=found.type,
    )
