"""Build a function: check arguments, collect updates, rewrite, lower and compile the graph.

:func:`specify_function` turns the user's arguments into a :class:`~scanviz.engine.function.spec.FunctionSpec`, which holds only
variables and options.  :class:`~scanviz.engine.function.callable.Function` does the rest, here and after unpickling.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from scanviz.engine.building import building
from scanviz.engine.errors import MissingInputError, ScanvizTypeError, ScanvizValueError, UnusedInputError
from scanviz.engine.function.arguments import In, Out
from scanviz.engine.function.callable import Function
from scanviz.engine.function.computed import cut_at_inputs, sizes_of_inputs
from scanviz.engine.function.forgotten import warn_of_forgotten_updates
from scanviz.engine.function.spec import FunctionSpec
from scanviz.engine.graph.local_names import name_by_locals
from scanviz.engine.graph.nodes import Apply, Constant, Variable, describe
from scanviz.engine.graph.provenance import frames_around, user_line
from scanviz.engine.graph.replace import replace
from scanviz.engine.graph.shared import SharedVariable
from scanviz.engine.graph.traversal import leaves, toposort
from scanviz.engine.graph.types import TensorType, fits
from scanviz.engine.mode import Mode, as_mode
from scanviz.engine.ops.elementwise import cast
from scanviz.engine.ops.shape import ConstantOf
from scanviz.engine.ops.support import as_value, as_variable, check_meant, listed, pairs
from scanviz.engine.scan.agreement import agree_update
from scanviz.engine.scan.dependence import needed_leaves
from scanviz.engine.scan.step import StepVariable, escaped_error
from scanviz.engine.scan.updates import Updates


def function(
    inputs: Any = (),
    outputs: Any = None,
    updates: Any = None,
    givens: Any = None,
    mode: Mode | str | None = None,
    name: str | None = None,
    on_unused_input: str = "raise",
    allow_input_downcast: bool | None = None,
    no_default_updates: bool | Sequence[SharedVariable] = False,
    profile: bool = False,
) -> Function:
    """Compile a graph into a callable function.

    Parameters
    ----------
    inputs : list of Variable or In
        The arguments of a call, in this order or by name.  An input that is computed from others takes the passed value: nothing
        above it is computed, and its sizes are its own.
    outputs : Variable, Out, list, tuple, dict or None
        The results of a call, in the same structure.
    updates : mapping or list of pairs, optional
        Shared variable → new value.  All are computed from the old values and change together when the call has
        succeeded.
    givens : mapping or list of pairs, optional
        Variable → its replacement.
    mode : Mode or str, optional
        Tier that runs the function; by default ``config.mode``.
    name : str, optional
        Name in profiles and messages.
    on_unused_input : {"raise", "warn", "ignore"}
        Reaction to an input that no output or update depends on.
    allow_input_downcast : bool, optional
        Whether passed values may lose precision; None allows it for Python numbers alone.
    no_default_updates : bool or list of SharedVariable
        True (or the listed variables) leaves out default updates, such as those of random states.
    profile : bool
        Whether to record every call; the record is ``f.profile``.

    Returns
    -------
    Function
        Call it with values.

    Raises
    ------
    ScanvizError
        If arguments do not fit, an input is missing or one is not used.

    Examples
    --------
    >>> import scanviz
    >>> from scanviz import tensor as T
    >>> x = T.vector("x")
    >>> double = scanviz.function([x], x * 2)
    >>> double([1.0, 2.0])
    array([2., 4.])
    """
    started = time.perf_counter_ns()
    with building("function"):
        name_by_locals(frames_around())
        spec = specify_function(
            inputs,
            outputs,
            updates,
            givens,
            mode,
            name,
            on_unused_input,
            allow_input_downcast,
            no_default_updates,
            profile,
        )
        graph = [*(output.variable for output in spec.outputs), *spec.updates.values()]
        replaced = [key for key, _ in pairs(givens, "givens")]
        warn_of_forgotten_updates(graph, {*spec.updates, *replaced}, no_default_updates)
        function = Function(spec, started)
    function.notify_compiled()
    return function


def specify_function(
    inputs: Any = (),
    outputs: Any = None,
    updates: Any = None,
    givens: Any = None,
    mode: Mode | str | None = None,
    name: str | None = None,
    on_unused_input: str = "raise",
    allow_input_downcast: bool | None = None,
    no_default_updates: bool | Sequence[SharedVariable] = False,
    profile: bool = False,
) -> FunctionSpec:
    """Return the specification of a function; parameters and errors are those of :func:`function`."""
    where = user_line()
    given_inputs = _inputs(inputs, allow_input_downcast)
    wanted, structure = _outputs(outputs)
    replacements = _givens(givens, allow_input_downcast)
    new_values = _updates(updates)
    graph = [out.variable for out in wanted]
    given_inputs, replacements, cuts = cut_at_inputs(given_inputs, replacements)
    new_values.update(
        _default_updates([*graph, *new_values.values()], replacements, new_values, no_default_updates)
    )
    graph = replace([*graph, *new_values.values()], replacements)
    graph = sizes_of_inputs(graph, given_inputs, {**replacements, **cuts})
    shared = _shared_and_missing(graph, [given.variable for given in given_inputs])
    _check_used(graph, given_inputs, replacements, on_unused_input)
    return FunctionSpec(
        name or ("function" if where is None else f"function at {where}"),
        given_inputs,
        [Out(v, w.borrow) for v, w in zip(graph, wanted, strict=False)],
        structure,
        shared,
        dict(zip(new_values, graph[len(wanted) :], strict=True)),
        as_mode(mode),
        where,
        profile,
    )


def _inputs(inputs: Any, allow_downcast: bool | None) -> list[In]:
    given = (
        [] if inputs is None else [inputs] if isinstance(inputs, Variable | In) else listed(inputs, "inputs")
    )
    found = [item if isinstance(item, In) else In(item) for item in given]
    seen: set[Variable] = set()
    for item in found:
        if item.variable in seen:
            raise ScanvizValueError.here(f"input {item.label} is given twice")
        if isinstance(item.variable, SharedVariable):
            raise ScanvizTypeError.here(
                f"input {item.label} is a shared variable, which has a value of its own",
                fix="leave it out of inputs",
            )
        if isinstance(item.variable, Constant):
            raise ScanvizTypeError.here(f"input {item.label} is a constant", fix="givens={…} to replace it")
        seen.add(item.variable)
        if item.allow_downcast is None:
            item.allow_downcast = allow_downcast
    return found


def _outputs(outputs: Any) -> tuple[list[Out], Any]:
    """Return the outputs as a list, and their structure: None, "single", a type (list, tuple) or a list of keys."""
    if outputs is None:
        return [], None
    check_meant(outputs)
    if isinstance(outputs, Mapping):
        return [_out(output) for output in outputs.values()], list(outputs)
    if isinstance(outputs, list | tuple):
        return [_out(output) for output in outputs], type(outputs) if type(outputs) in (list, tuple) else list
    return [_out(outputs)], "single"


def _out(value: Any) -> Out:
    if isinstance(value, Out):
        return value
    if value is None or isinstance(value, str):
        raise ScanvizTypeError.here("an output must be a symbolic variable", found=repr(value))
    return Out(as_variable(value))


def _givens(givens: Any, allow_downcast: bool | None) -> dict[Variable, Variable]:
    found: dict[Variable, Variable] = {}
    for old, value in pairs(givens, "givens"):
        if not isinstance(old, Variable):
            raise ScanvizTypeError.here("givens replace symbolic variables", found=repr(old))
        new = as_value(value)
        if (
            isinstance(old.type, TensorType)
            and isinstance(new.type, TensorType)
            and old.type.dtype != new.type.dtype
        ):
            weak = not isinstance(value, Variable)
            if allow_downcast or weak or fits(new.type.with_dtype(old.type.dtype), old.type):
                new = _cast_given(old, new, bool(allow_downcast) or weak)
        if not fits(new.type, old.type):
            raise ScanvizTypeError.here(
                f"`{describe(new)}` cannot stand for `{describe(old)}`", expected=old.type, found=new.type
            )
        found[old] = new
    return found


def _cast_given(old: Variable, new: Variable, may_lose: bool) -> Variable:
    import numpy as np

    assert isinstance(old.type, TensorType) and isinstance(new.type, TensorType)
    if may_lose or np.can_cast(new.type.dtype, old.type.dtype, "safe"):
        return cast(new, old.type.dtype)
    return new


def _updates(updates: Any) -> dict[SharedVariable, Variable]:
    found = Updates()
    for key, value in pairs(updates, "updates"):
        if isinstance(key, SharedVariable) and key in found:
            raise ScanvizValueError.here(f"`{describe(key)}` is updated twice")
        found[key] = as_variable(value)
    return {key: agree_update(key, value, user_line()) for key, value in found.items()}


def _default_updates(
    graph: Sequence[Variable],
    replacements: Mapping[Variable, Variable],
    updates: Mapping[SharedVariable, Variable],
    excluded: bool | Sequence[SharedVariable],
) -> dict[SharedVariable, Variable]:
    """Return default updates of all shared variables that the graph reads, including those that default updates read.

    A random state read only by an unused draw does not count as read: the draw is skipped.
    """
    if excluded is True:
        return {}
    taken = {*updates, *replacements, *(() if excluded is False else excluded)}
    found: dict[SharedVariable, Variable] = {}
    frontier = [*graph, *replacements.values()]
    while frontier:
        fresh = []
        for leaf in needed_leaves(frontier, replacements):
            if not isinstance(leaf, SharedVariable) or leaf in taken or leaf in found:
                continue
            if leaf.default_update is not None:
                found[leaf] = agree_update(leaf, leaf.default_update, user_line())
                fresh.append(found[leaf])
        frontier = fresh
    return found


def _shared_and_missing(graph: Sequence[Variable], inputs: Sequence[Variable]) -> list[SharedVariable]:
    known = set(inputs)
    shared: list[SharedVariable] = []
    for leaf in leaves(graph, inputs):
        if isinstance(leaf, SharedVariable):
            shared.append(leaf)
        elif leaf not in known and not isinstance(leaf, Constant):
            raise _missing(leaf, graph, inputs)
    return shared


def _missing(variable: Variable, graph: Sequence[Variable], inputs: Sequence[Variable]) -> MissingInputError:
    if isinstance(variable, StepVariable):
        return escaped_error(variable, graph)
    reader = next((node for node in toposort(graph) if variable in node.inputs), None)
    used = f", used in `{describe(reader.outputs[0])}`" if reader is not None else ""
    scans = reader.provenance.scans if reader is not None else ()
    inside = f" of loop `{scans[-1]}`" if scans else ""
    if variable.name and any(given.name == variable.name for given in inputs):
        return MissingInputError.here(
            f"`{variable.name}` is needed{used}{inside}, and the input of that name is another variable",
            fix=f"{variable.name} = T.…() once, the same in the graph and in the inputs",
        )
    return MissingInputError(
        f"`{describe(variable)}` is needed but is no input of the function{used}{inside}",
        where=reader.provenance.source if reader is not None else user_line(),
        expected="an input, a given or a shared variable",
        found=str(variable.type),
        fix=f"function([…, {variable.name or 'variable'}], …), or givens={{{variable.name or 'variable'}: value}}",
    )


def _named_by_constants(
    graph: Sequence[Variable], stop: Sequence[Variable], replacements: Mapping[Variable, Variable]
) -> set[Variable]:
    """Return the sources of constants in a graph and its steps: inputs whose values the graph does not need."""
    stops = {*stop, *replacements}
    found: set[Variable] = set()
    met: set[Apply] = set()
    waiting = list(graph)
    while waiting:
        fresh: list[Variable] = []
        for leaf in leaves(waiting, stops):
            if leaf in found:
                continue
            found.add(leaf)
            if isinstance(leaf, ConstantOf):
                fresh.append(leaf.source)
            elif leaf in replacements:
                fresh.append(replacements[leaf])
        for node in toposort(waiting, stops, met):
            fresh += [result for _, results in node.op.subgraphs() for result in results]
        waiting = fresh
    return found


def _check_used(
    graph: Sequence[Variable],
    inputs: Sequence[In],
    replacements: Mapping[Variable, Variable],
    on_unused: Any,  # checked here
) -> None:
    if not isinstance(on_unused, str) or on_unused not in ("raise", "warn", "ignore"):
        raise ScanvizValueError.here(
            "on_unused_input cannot be used", expected="'raise', 'warn' or 'ignore'", found=repr(on_unused)
        )
    if on_unused == "ignore":
        return
    stop = [given.variable for given in inputs]
    used = set(leaves(graph, stop))
    unused = [given for given in inputs if given.variable not in used]
    if unused:
        named = _named_by_constants(graph, stop, replacements)
        unused = [given for given in unused if given.variable not in named]
    if not unused:
        return
    names = ", ".join(given.label for given in unused)
    message = f"no output or update needs input {names}"
    if on_unused == "warn":
        warnings.warn(f"{user_line()}: {message}", stacklevel=5)
        return
    raise UnusedInputError.here(message, fix="leave it out, or function(…, on_unused_input='ignore')")
