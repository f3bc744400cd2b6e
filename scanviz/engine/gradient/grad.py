"""``grad``: the derivative of one number with respect to anything it is computed from."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from scanviz.engine.config import config
from scanviz.engine.errors import (
    DisconnectedInputError,
    ScanvizTypeError,
    ScanvizValueError,
    UndefinedGradientError,
)
from scanviz.engine.gradient.explain import describes_way, why_disconnected
from scanviz.engine.gradient.reverse import is_differentiable, pull_back, reached_from
from scanviz.engine.gradient.sizes import full_like, sizes, zeros_like
from scanviz.engine.gradient.table import Derivative, Undefined
from scanviz.engine.graph.nodes import Constant, Variable, describe, tensor_type
from scanviz.engine.graph.provenance import user_line
from scanviz.engine.graph.types import TensorType, fits
from scanviz.engine.ops.shape import alloc
from scanviz.engine.ops.support import as_variable, constant
from scanviz.engine.ops.symbolic_shape import as_size

Disconnection = Literal["raise", "warn", "ignore"]


class Disconnected:
    """What ``return_disconnected="disconnected"`` gives for a variable without a derivative; false, with the reason.

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
    consider_constant: Sequence[Variable] | Variable | None = None,
    known_grads: Mapping[Variable, Any] | Sequence[tuple[Variable, Any]] | None = None,
    disconnected_inputs: Disconnection = "raise",
    return_disconnected: Literal["zero", "none", "disconnected"] = "zero",
    null_gradients: Literal["raise", "return"] = "raise",
) -> Any:
    """Return the gradient of a number with respect to variables it is computed from.

    Parameters
    ----------
    cost : Variable or None
        A floating scalar; None where ``known_grads`` says all.
    wrt : Variable, list, tuple or dict of Variable
        Inputs, shared variables or anything on the way.
    consider_constant : variable or list, optional
        Taken as constants: nothing is differentiated through them.
    known_grads : mapping or list of pairs, optional
        Variable → its gradient, known from elsewhere, of the same shape.
    disconnected_inputs : {"raise", "warn", "ignore"}
        What to do about a variable without a connection to the cost.  Integers and booleans never have one.
    return_disconnected : {"zero", "none", "disconnected"}
        What is then given: zeros, None, or a :class:`Disconnected` that says why.
    null_gradients : {"raise", "return"}
        What to do about a derivative that does not exist: an error, or an ``Undefined`` in its place.

    Returns
    -------
    Variable, list, tuple or dict
        Like ``wrt``; each of the shape and dtype of its variable.

    Raises
    ------
    ScanvizTypeError
        If the cost is no floating scalar, or ``wrt`` holds what has no derivative at all, such as a constant.
    DisconnectedInputError
        If the cost is not connected to a variable; the message says where the way breaks.
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
    listed, pack = structure(wrt, "wrt")
    constants = _listed(consider_constant)
    _check_choice("disconnected_inputs", disconnected_inputs, ("raise", "warn", "ignore"))
    _check_choice("return_disconnected", return_disconnected, ("zero", "none", "disconnected"))
    _check_choice("null_gradients", null_gradients, ("raise", "return"))
    seeds = _seeds(cost, known_grads)
    found = pull_back(seeds, listed, constants)
    reached = reached_from(listed, list(seeds), constants)
    results: list[Any] = []
    for variable, derivative in zip(listed, found, strict=True):
        if isinstance(derivative, Undefined):
            if null_gradients == "raise":
                raise undefined_gradient(variable, list(seeds), derivative)
            results.append(derivative)
        elif derivative is not None:
            results.append(_named(derivative, cost, variable))
        elif _is_connected(variable, list(seeds), reached):
            results.append(_named(zeros_like(variable), cost, variable))
        else:
            why = why_disconnected(variable, list(seeds), constants)
            report_disconnected(variable, why, disconnected_inputs, "what is differentiated")
            results.append(_instead(variable, why, return_disconnected))
    return pack(results)


def _is_connected(variable: Variable, costs: Sequence[Variable], reached: set[Variable]) -> bool:
    """Return whether a derivative is zero because it is, not because there is no way for it."""
    if not is_differentiable(variable):
        return False
    own = reached_from([variable], costs)
    return any(each in own and each in reached for each in costs)


def _instead(variable: Variable, why: str, wanted: str) -> Any:
    if wanted == "none":
        return None
    return Disconnected(why) if wanted == "disconnected" else zero_gradient(variable)


def zero_gradient(variable: Variable) -> Variable:
    """Return a gradient of zeros: of the variable's dtype, ``config.floatX`` for whole numbers."""
    if is_differentiable(variable):
        return zeros_like(variable)
    shape = [as_size(each) for each in sizes(variable)]
    zero = constant(0, config.floatX)
    return alloc(zero, shape) if shape else zero


def structure(wanted: Any, what: str) -> tuple[list[Variable], Any]:
    """Return variables given one by one, in a list, tuple or dict, as a list, and what packs results alike."""
    if isinstance(wanted, Mapping):
        keys = list(wanted)
        return _variables(list(wanted.values()), what), lambda results: dict(zip(keys, results, strict=True))
    if isinstance(wanted, list | tuple):
        kind = type(wanted) if type(wanted) in (list, tuple) else list
        return _variables(list(wanted), what), kind
    return _variables([wanted], what), lambda results: results[0]


def _variables(listed: list[Any], what: str) -> list[Variable]:
    for each in listed:
        if isinstance(each, Constant):
            raise ScanvizTypeError(
                f"{what}: `{describe(each)}` is a constant, which nothing can be differentiated with respect to",
                where=user_line(),
                fix="a symbolic input or a shared variable",
            )
        if not isinstance(each, Variable) or not isinstance(each.type, TensorType):
            shown = describe(each) if isinstance(each, Variable) else repr(each)
            raise ScanvizTypeError(
                f"{what}: `{shown}` is no symbolic array",
                where=user_line(),
                expected="variables",
                found=type(each).__name__,
            )
    return listed


def _listed(given: Sequence[Variable] | Variable | None) -> list[Variable]:
    if given is None:
        return []
    return [given] if isinstance(given, Variable) else list(given)


def _check_choice(name: str, found: object, allowed: Sequence[str]) -> None:
    if found not in allowed:
        raise ScanvizValueError(
            f"{name} cannot be used",
            where=user_line(),
            expected=" or ".join(map(repr, allowed)),
            found=repr(found),
        )


def _seeds(cost: Any, known_grads: Any) -> dict[Variable, Variable]:
    """Return what the sweep starts from: 1 for the cost, and the gradients that are known."""
    seeds: dict[Variable, Variable] = {}
    if cost is not None:
        number = _checked_cost(cost)
        seeds[number] = full_like(number, 1)
    pairs = (
        []
        if known_grads is None
        else list(known_grads.items() if isinstance(known_grads, Mapping) else known_grads)
    )
    for variable, value in pairs:
        given = as_variable(value)
        if not isinstance(variable, Variable) or not fits(given.type, variable.type):
            shown = describe(variable) if isinstance(variable, Variable) else repr(variable)
            raise ScanvizTypeError(
                f"known_grads: the gradient of `{shown}` is not like it",
                where=user_line(),
                expected=getattr(variable, "type", "a variable"),
                found=given.type,
            )
        seeds[variable] = seeds[variable] + given if variable in seeds else given
    if not seeds:
        raise ScanvizValueError("there is nothing to differentiate", where=user_line(), fix="grad(cost, wrt)")
    return seeds


def _checked_cost(cost: Any) -> Variable:
    if not isinstance(cost, Variable) or not isinstance(cost.type, TensorType):
        raise ScanvizTypeError("the cost must be a symbolic number", where=user_line(), found=repr(cost))
    kind = tensor_type(cost)
    if kind.ndim:
        raise ScanvizTypeError(
            f"the cost `{describe(cost)}` is not one number",
            where=user_line(),
            expected="a scalar",
            found=kind,
            fix="grad(cost.sum(), …) or grad(cost.mean(), …); jacobian(…) for each element's; Lop(…) with weights",
        )
    if not is_differentiable(cost):
        raise ScanvizTypeError(
            f"the cost `{describe(cost)}` is {kind.dtype}, which has no derivative",
            where=user_line(),
            expected="a floating scalar",
            found=kind,
        )
    return cost


def report_disconnected(variable: Variable, why: str, action: str, what: str) -> None:
    """Raise or warn that a variable has no connection, or do nothing, as asked."""
    message = f"`{describe(variable)}` is not connected to {what}: {why}"
    if action == "raise":
        raise DisconnectedInputError(
            message, where=user_line(), fix='disconnected_inputs="ignore" for zeros, or leave it out of wrt'
        )
    if action == "warn":
        warnings.warn(f"{user_line()}: {message}", stacklevel=4)


def undefined_gradient(
    variable: Variable, costs: Sequence[Variable], found: Undefined
) -> UndefinedGradientError:
    """Return the error of a derivative that does not exist, with the way on which it does not."""
    return UndefinedGradientError(
        f"there is no derivative with respect to `{describe(variable)}`: {found.why}",
        where=found.where or user_line(),
        found=f"on the way {describes_way(variable, costs)}",
        fix='scanviz.disconnected_grad(…) around it, or null_gradients="return"',
    )


def _named(derivative: Derivative, cost: Variable | None, variable: Variable) -> Derivative:
    """Give a gradient without a name the name that is written in mathematics."""
    fresh = isinstance(derivative, Variable) and derivative.name is None and derivative.owner is not None
    if fresh and isinstance(derivative, Variable) and cost is not None and variable.name:
        derivative.name = f"d({cost.name or 'cost'})/d({variable.name})"
    return derivative


__all__ = ["Disconnected", "grad", "report_disconnected", "structure", "zero_gradient"]
