"""``grad``: the derivative of one number with respect to anything it is computed from.

This module checks arguments and handles inputs that the cost does not depend on, or that have no derivative, with errors that
name them.  The derivative itself is :func:`scanviz.engine.gradient.sweeps.reverse.pull_back`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Literal

from scanviz.engine.building import building
from scanviz.engine.config import config
from scanviz.engine.errors import (
    DisconnectedInputError,
    ScanvizTypeError,
    ScanvizValueError,
    UndefinedGradientError,
)
from scanviz.engine.gradient.sweeps.accumulate import add_cotangents, gradient_name
from scanviz.engine.gradient.sweeps.reverse import pull_back
from scanviz.engine.gradient.table import Derivative, Derivatives, Undefined, full_like, zeros_like
from scanviz.engine.graph.local_names import name_by_locals
from scanviz.engine.graph.nodes import Constant, Variable, describe, is_floating, tensor_type
from scanviz.engine.graph.provenance import frames_around, user_line
from scanviz.engine.graph.traversal import depending_on
from scanviz.engine.graph.types import TensorType, fits
from scanviz.engine.ops.shape import alloc
from scanviz.engine.ops.sizes import as_size
from scanviz.engine.ops.support import as_variable, check_meant, constant, listed, pairs
from scanviz.engine.ops.symbolic_shape import shape_of

Disconnection = Literal["raise", "warn", "ignore"]
Instead = Literal["zero", "none", "disconnected"]


class Disconnected:
    """Result of ``return_disconnected="disconnected"`` for a variable without a derivative: false, with the reason.

    Attributes
    ----------
    why : str
        Why there is no derivative.
    """

    __slots__ = ("why",)

    def __init__(self, why: str) -> None:
        self.why = why

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return f"<disconnected: {self.why}>"


def grad(
    cost: Variable | None,
    wrt: Any,
    consider_constant: Collection[Variable] | Variable | None = None,
    known_grads: Mapping[Variable, Any] | Sequence[tuple[Variable, Any]] | None = None,
    disconnected_inputs: Disconnection = "raise",
    return_disconnected: Instead = "zero",
    null_gradients: Literal["raise", "return"] = "raise",
) -> Any:
    """Return the gradient of a number with respect to variables it is computed from.

    Parameters
    ----------
    cost : Variable or None
        A floating scalar; None where ``known_grads`` suffices.
    wrt : Variable, list, tuple or dict of Variable
        Inputs, shared variables or anything on the way.
    consider_constant : variable or list, optional
        Taken as constants: nothing is differentiated through them.
    known_grads : mapping or list of pairs, optional
        Variable → its gradient, known from elsewhere, of the same type.  It stands instead of what would be computed for
        the variable: of the cost, instead of 1.
    disconnected_inputs : {"raise", "warn", "ignore"}
        Treatment of a variable without a connection to the cost.  Integers and booleans never have one.
    return_disconnected : {"zero", "none", "disconnected"}
        The result then: zeros, None, or a :class:`Disconnected` with the reason.
    null_gradients : {"raise", "return"}
        Treatment of a derivative that does not exist: an error, or an ``Undefined`` in its place.

    Returns
    -------
    Variable, list, tuple or dict
        Like ``wrt``; each of the shape and dtype of its variable.

    Raises
    ------
    ScanvizTypeError
        If the cost is no floating scalar, or ``wrt`` holds what has no derivative at all, such as a constant.
    DisconnectedInputError
        If the cost is not connected to a variable; the message names the place where the way breaks.
    UndefinedGradientError
        If an operation on the way has no derivative; the message names it.

    Examples
    --------
    >>> import scanviz
    >>> from scanviz import tensor as T
    >>> x = T.vector("x")
    >>> gradient = scanviz.function([x], scanviz.grad((x**2).sum(), x))
    >>> gradient([1.0, 2.0])
    array([2., 4.])
    """
    with building("gradient"):
        listed, pack = structure(wrt, "wrt")
        constants = variables_of(consider_constant)
        check_choices(disconnected_inputs=disconnected_inputs, return_disconnected=return_disconnected)
        _check_choice("null_gradients", null_gradients, ("raise", "return"))
        seeds = _seeds(cost, known_grads)
        costs = list(seeds)
        name_by_locals(frames_around())
        found = _pulled(seeds, listed, constants)
        results: list[Any] = []
        for variable, derivative in zip(listed, found, strict=True):
            if isinstance(derivative, Undefined):
                if null_gradients == "raise":
                    raise undefined_gradient(variable, costs, derivative, ', or null_gradients="return"')
                results.append(derivative)
            elif derivative is not None:
                results.append(derivative)
            else:
                from scanviz.engine.gradient.explain import (  # of the seldom cases
                    is_connected,
                    why_disconnected,
                )

                if is_connected(variable, costs, constants):
                    results.append(zeros_like(variable))
                    continue
                why = why_disconnected(variable, costs, constants)
                report_disconnected(variable, why, disconnected_inputs, "what is differentiated")
                results.append(instead(variable, why, return_disconnected))
        _name(results, cost, listed, seeds.values())
        return pack(results)


def _pulled(
    seeds: Mapping[Variable, Variable], wrt: Sequence[Variable], constants: Sequence[Variable]
) -> list[Derivative]:
    """Return the cotangents of ``wrt``; a seeded output receives nothing from other outputs."""
    outputs = list(seeds)
    if len(outputs) == 1 or all(_alone(output, outputs) for output in outputs):
        return pull_back(seeds, wrt, constants)
    columns = [
        pull_back(
            {output: seeds[output]}, wrt, {*constants, *(other for other in outputs if other is not output)}
        )
        for output in outputs
    ]
    return [_total(column) for column in zip(*columns, strict=True)]


def _alone(variable: Variable, outputs: Sequence[Variable]) -> bool:
    """Return whether no other output is computed from one."""
    depending = depending_on([variable], outputs)
    return not any(output in depending for output in outputs if output is not variable)


def _total(terms: Derivatives) -> Derivative:
    for term in terms:
        if isinstance(term, Undefined):
            return term
    values = [term for term in terms if isinstance(term, Variable)]
    return add_cotangents(values) if values else None


def instead(variable: Variable, why: str, wanted: str) -> Any:
    """Return the result for a variable without a connection, chosen by ``return_disconnected``."""
    if wanted == "none":
        return None
    return Disconnected(why) if wanted == "disconnected" else zero_gradient(variable)


def zero_gradient(variable: Variable) -> Variable:
    """Return a gradient of zeros: of the variable's dtype, ``config.floatX`` for whole numbers."""
    if is_floating(variable):
        return zeros_like(variable)
    shape = [as_size(size) for size in shape_of(variable)]
    zero = constant(0, config.floatX)
    return alloc(zero, shape) if shape else zero


def structure(wanted: Any, what: str, constants: bool = False) -> tuple[list[Variable], Any]:
    """Flatten a variable, list, tuple or dict of variables; also return a function that packs results in the same structure.

    ``constants`` allows constants among them: what is differentiated may be one, what it is differentiated with respect
    to may not.
    """
    check_meant(wanted)
    listed, pack = taken_apart(wanted)
    for variable in listed:
        if isinstance(variable, Constant) and not constants:
            raise ScanvizTypeError.here(
                f"{what}: `{describe(variable)}` is a constant, so there is no derivative with respect to it",
                fix="a symbolic input or a shared variable",
            )
        if not isinstance(variable, Variable) or not isinstance(variable.type, TensorType):
            shown = describe(variable) if isinstance(variable, Variable) else repr(variable)
            raise ScanvizTypeError.here(
                f"{what}: `{shown}` is no symbolic array",
                expected="variables",
                found=type(variable).__name__,
                fix="the variable itself, not its name or its value" if what == "wrt" else None,
            )
    return listed, pack


def taken_apart(wanted: Any) -> tuple[list[Any], Callable[[list[Any]], Any]]:
    """Return the items of a dict, list, tuple or single value, and a function that packs results in the same structure."""
    if isinstance(wanted, Mapping):
        keys = list(wanted)
        return list(wanted.values()), lambda results: dict(zip(keys, results, strict=True))
    if isinstance(wanted, list | tuple):
        return list(wanted), type(wanted) if type(wanted) in (list, tuple) else list
    return [wanted], lambda results: results[0]


def variables_of(given: Collection[Variable] | Variable | None) -> list[Variable]:
    """Return one variable, a collection of them or None as a list."""
    if given is None:
        return []
    found = [given] if isinstance(given, Variable) else listed(given, "consider_constant")
    for variable in found:
        if not isinstance(variable, Variable):
            raise ScanvizTypeError.here(
                "consider_constant names symbolic variables", expected="variables", found=repr(variable)
            )
    return found


def check_choices(**choices: object) -> None:
    """Check the options for missing connections, by their names."""
    for name, found in choices.items():
        allowed = (
            ("zero", "none", "disconnected") if name == "return_disconnected" else ("raise", "warn", "ignore")
        )
        _check_choice(name, found, allowed)


def _check_choice(name: str, found: object, allowed: Sequence[str]) -> None:
    if found not in allowed:
        raise ScanvizValueError.here(
            f"{name} cannot be used", expected=" or ".join(map(repr, allowed)), found=repr(found)
        )


def _seeds(cost: Any, known_grads: Any) -> dict[Variable, Variable]:
    """Return the seeds of the sweep: the known gradients, and 1 for the cost unless its gradient is known."""
    known: dict[Variable, Variable] = {}
    for variable, value in pairs(known_grads, "known_grads"):
        given = as_variable(value)
        if not isinstance(variable, Variable) or not fits(given.type, variable.type):
            shown = describe(variable) if isinstance(variable, Variable) else repr(variable)
            raise ScanvizTypeError.here(
                f"known_grads: the gradient of `{shown}` has the wrong type",
                expected=getattr(variable, "type", "a variable"),
                found=given.type,
            )
        known[variable] = known[variable] + given if variable in known else given
    number = None if cost is None else _checked_cost(cost)
    seeds = known if number is None else {number: full_like(number, 1), **known}
    if not seeds:
        raise ScanvizValueError.here("there is nothing to differentiate", fix="grad(cost, wrt)")
    return seeds


def _checked_cost(cost: Any) -> Variable:
    check_meant(cost)
    if not isinstance(cost, Variable) or not isinstance(cost.type, TensorType):
        fix = (
            "grad(f(x), x): the derivative of what a function gives, not of the function"
            if callable(cost)
            else None
        )
        if isinstance(cost, list | tuple):
            fix = "one number, such as their sum: grad(a + b, …)"
        raise ScanvizTypeError.here("the cost must be a symbolic number", found=repr(cost), fix=fix)
    kind = tensor_type(cost)
    if kind.ndim:
        raise ScanvizTypeError.here(
            f"the cost `{describe(cost)}` is not one number",
            expected="a scalar",
            found=kind,
            fix="grad(cost.sum(), …) or grad(cost.mean(), …); jacobian(…) for each element's; Lop(…) with weights",
        )
    if not is_floating(cost):
        raise ScanvizTypeError.here(
            f"the cost `{describe(cost)}` is {kind.dtype}, which has no derivative",
            expected="a floating scalar",
            found=kind,
        )
    return cost


def report_disconnected(
    variable: Variable, why: str, action: str, what: str, option: str = "disconnected_inputs"
) -> None:
    """Raise, warn or do nothing about a variable without a connection, as the option of that name asks."""
    message, where = f"`{describe(variable)}` is not connected to {what}: {why}", user_line()
    if action == "raise":
        place = "f" if option == "disconnected_outputs" else "wrt"
        raise DisconnectedInputError(
            message, where=where, fix=f'{option}="ignore" for zeros, or leave it out of {place}'
        )
    if action == "warn":  # at the user's line, however deep the call
        file, line = ("<unknown>", 0) if where is None else (where.file, where.line)
        warnings.warn_explicit(message, UserWarning, file, line)


def undefined_gradient(
    variable: Variable, costs: Sequence[Variable], found: Undefined, remedy: str = ""
) -> UndefinedGradientError:
    """Return the error of a derivative that does not exist, with the path on which it fails."""
    from scanviz.engine.gradient.explain import describes_way

    return UndefinedGradientError(
        f"there is no derivative with respect to `{describe(variable)}`: {found.why}",
        where=found.where or user_line(),
        found=f"on the way {describes_way(variable, costs, found.through)}",
        fix=f"{found.instead or 'scanviz.disconnected_grad(…) around it'}{remedy}",
    )


def _name(
    results: Sequence[Any], cost: Variable | None, wrt: Sequence[Variable], given: Collection[Variable]
) -> None:
    """Name unnamed gradients as in mathematics.

    A variable that was given as a known gradient is the user's, and one that is the gradient of two variables has no one name.
    """
    if cost is None:
        return
    owned = set(given)
    named: dict[Variable, set[Variable]] = {}
    for variable, found in zip(wrt, results, strict=True):
        if isinstance(found, Variable) and found.owner is not None and found not in owned:
            named.setdefault(found, set()).add(variable)
    for found, variables in named.items():
        label = next(iter(variables)).name
        if len(variables) == 1 and label and found.name is None:
            found.name = gradient_name(label)
