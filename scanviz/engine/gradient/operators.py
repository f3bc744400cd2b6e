"""A Jacobian times a vector, without the Jacobian: from the left ``Lop`` and ``vjp``, from the right ``Rop`` and ``jvp``.

``vjp`` and ``jvp`` give the value too.  They take a graph, as ``Lop`` and ``Rop`` do, or a function of variables.  A function
is differentiated with respect to its arguments alone: it is called with new variables, which the given ones replace later.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from scanviz.engine.building import building
from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError, ShapeError
from scanviz.engine.gradient.explain import is_connected, why_disconnected, why_unreached
from scanviz.engine.gradient.grad import (
    Disconnection,
    Instead,
    check_choices,
    instead,
    report_disconnected,
    structure,
    taken_apart,
    undefined_gradient,
    variables_of,
    zero_gradient,
)
from scanviz.engine.gradient.sweeps.forward import push_forward
from scanviz.engine.gradient.sweeps.reverse import pull_back
from scanviz.engine.gradient.table import Undefined, zeros_like
from scanviz.engine.graph.nodes import Variable, describe, is_floating, tensor_type
from scanviz.engine.graph.replace import replace
from scanviz.engine.graph.types import fits
from scanviz.engine.ops.elementwise import cast
from scanviz.engine.ops.support import as_variable


def Lop(  # the field's name
    f: Any,
    wrt: Any,
    eval_points: Any,
    consider_constant: Collection[Variable] | Variable | None = None,
    disconnected_inputs: Disconnection = "raise",
) -> Any:
    """Return vectors times the Jacobian of ``f`` with respect to ``wrt``: vᵀ J, by reverse mode.

    Parameters
    ----------
    f : Variable, list, tuple or dict of Variable
        Floating, of any shape.
    wrt : Variable, list, tuple or dict of Variable
        Variables to differentiate with respect to.
    eval_points : array_like, None, list or dict
        v: one for each of ``f``, of its shape; None for zeros.  By key where ``f`` is a dict.
    consider_constant : variable or list, optional
        Taken as constants.
    disconnected_inputs : {"raise", "warn", "ignore"}
        Treatment of a variable that ``f`` is not connected to; its result is zeros.

    Returns
    -------
    Variable, list, tuple or dict
        Like ``wrt``.

    Raises
    ------
    ScanvizTypeError, ScanvizValueError
        If the vectors do not fit.

    Examples
    --------
    >>> import scanviz
    >>> from scanviz import tensor as T
    >>> x = T.vector("x")
    >>> scanviz.Lop(x**2, x, [1.0, 10.0]).eval({x: [3.0, 4.0]})
    array([ 6., 80.])
    """
    with building("gradient"):
        outputs, _ = structure(f, "Lop", constants=True)
        listed, pack = structure(wrt, "wrt")
        check_choices(disconnected_inputs=disconnected_inputs)
        seeds = _seeds(outputs, eval_points, f, "Lop")
        constants = variables_of(consider_constant)
        results: list[Any] = []
        for variable, derivative in zip(listed, pull_back(seeds, listed, constants), strict=True):
            if isinstance(derivative, Undefined):
                raise undefined_gradient(variable, outputs, derivative)
            if derivative is None and not is_connected(variable, outputs, constants):
                why = why_disconnected(variable, outputs, constants)
                report_disconnected(variable, why, disconnected_inputs, "what Lop is taken of")
            results.append(zero_gradient(variable) if derivative is None else derivative)
        return pack(results)


def Rop(  # the field's name
    f: Any,
    wrt: Any,
    eval_points: Any,
    disconnected_outputs: Disconnection = "raise",
    return_disconnected: Instead = "zero",
    use_double_reverse: bool = False,
) -> Any:
    """Return the Jacobian of ``f`` with respect to ``wrt`` times vectors: J v, by forward mode.

    Parameters
    ----------
    f : Variable, list, tuple or dict of Variable
        Floating, of any shape.
    wrt : Variable, list, tuple or dict of Variable
        Variables to differentiate with respect to.
    eval_points : array_like, None, list or dict
        v: one for each of ``wrt``, of its shape; None for zeros.  By key where ``wrt`` is a dict.
    disconnected_outputs : {"raise", "warn", "ignore"}
        Treatment of one of ``f`` that is not connected to any of ``wrt``.
    return_disconnected : {"zero", "none", "disconnected"}
        The result then: zeros, None, or a ``Disconnected`` with the reason.
    use_double_reverse : bool
        Compute it by reverse mode twice instead, for operations that have no forward rule.

    Returns
    -------
    Variable, list, tuple or dict
        Like ``f``.

    Raises
    ------
    ScanvizTypeError, ScanvizValueError
        If the vectors do not fit.

    Examples
    --------
    >>> import scanviz
    >>> from scanviz import tensor as T
    >>> x = T.vector("x")
    >>> scanviz.Rop(x.sum() * x, x, [1.0, 0.0]).eval({x: [3.0, 4.0]})
    array([10.,  4.])
    """
    with building("gradient"):
        outputs, pack = structure(f, "Rop", constants=True)
        listed, _ = structure(wrt, "wrt")
        check_choices(disconnected_outputs=disconnected_outputs, return_disconnected=return_disconnected)
        seeds = _seeds(listed, eval_points, wrt, "Rop")
        by = _by_double_reverse if use_double_reverse else push_forward
        results: list[Any] = []
        for output, tangent in zip(outputs, by(seeds, outputs), strict=True):
            if isinstance(tangent, Undefined):
                raise undefined_gradient(_without(seeds, output), [output], tangent)
            if tangent is None and not any(is_connected(variable, [output]) for variable in listed):
                why = why_unreached(listed, output)
                names = (
                    " or ".join(f"`{describe(variable)}`" for variable in listed) or "anything: wrt is empty"
                )
                report_disconnected(output, why, disconnected_outputs, names, "disconnected_outputs")
                results.append(instead(output, why, return_disconnected))
            else:
                results.append(zeros_like(output) if tangent is None else tangent)
        return pack(results)


def _without(seeds: Mapping[Variable, Variable], output: Variable) -> Variable:
    """Return the variable with respect to which an output has no derivative."""
    for variable, value in seeds.items():
        if isinstance(push_forward({variable: value}, [output])[0], Undefined):
            return variable
    return next(iter(seeds))


def _by_double_reverse(
    seeds: Mapping[Variable, Variable], outputs: Sequence[Variable]
) -> list[Variable | Undefined | None]:
    """Return J v as the derivative of vᵀ(Jᵀ u) with respect to u, which it does not depend on.

    Source: the trick is folklore; written down by J. Townsend, "A new trick for calculating Jacobian vector products" (2017).
    """
    found: list[Variable | Undefined | None] = []
    wrt = list(seeds)
    for output in outputs:
        dummy = zeros_like(output) * 1.0  # a node of its own, to differentiate with respect to
        pulled = pull_back({output: dummy}, wrt)
        inner = {
            variable: seeds[x]
            for variable, x in zip(pulled, wrt, strict=True)
            if isinstance(variable, Variable)
        }
        bad = [derivative for derivative in pulled if isinstance(derivative, Undefined)]
        found.append(bad[0] if bad else pull_back(inner, [dummy])[0] if inner else None)
    return found


def _seeds(variables: Sequence[Variable], points: Any, given: Any, what: str) -> dict[Variable, Variable]:
    """Return variables with their vectors, checked for equal types; vectors of a repeated variable are added."""
    seeds: dict[Variable, Variable] = {}
    for variable, value in zip(variables, _listed(variables, points, given, what), strict=True):
        if value is None:
            continue
        vector = _checked(variable, value, what)
        if is_floating(variable):
            seeds[variable] = seeds[variable] + vector if variable in seeds else vector
    return seeds


def _listed(variables: Sequence[Variable], points: Any, given: Any, what: str) -> list[Any]:
    """Return one vector a variable: by key where both are dicts, in order otherwise."""
    if isinstance(given, Mapping) and isinstance(points, Mapping):
        if set(points) != set(given):
            raise ScanvizValueError.here(
                f"{what} needs one vector per variable, under its key",
                expected=", ".join(map(repr, given)),
                found=", ".join(map(repr, points)),
            )
        return [points[key] for key in given]
    many = isinstance(given, list | tuple | Mapping)
    listed = list(points) if many and isinstance(points, list | tuple | np.ndarray) else [points]
    if len(listed) != len(variables):
        raise ScanvizValueError.here(
            f"{what} needs one vector per variable", expected=len(variables), found=len(listed)
        )
    return listed


def _checked(variable: Variable, value: Any, what: str) -> Variable:
    """Return a vector in the dtype of its variable, after a check that its shape can be the same."""
    kind = tensor_type(variable)
    vector = as_variable(value)
    if tensor_type(vector).ndim != kind.ndim:
        raise ScanvizTypeError.here(
            f"{what}: the vector for `{describe(variable)}` has the wrong number of dimensions",
            expected=kind,
            found=vector.type,
        )
    vector = cast(vector, kind.dtype)
    if not fits(vector.type, kind):
        raise ShapeError.here(
            f"{what}: the vector for `{describe(variable)}` has the wrong shape",
            expected=kind,
            found=vector.type,
        )
    return vector


def jvp(f: Any, wrt: Any, tangents: Any, disconnected_outputs: Disconnection = "raise") -> tuple[Any, Any]:
    """Return the value of ``f`` and its Jacobian times vectors, J v: by forward mode.

    Parameters
    ----------
    f : Variable, list, tuple or dict of Variable, or callable
        Floating, of any shape; or a function that returns such, called with ``wrt``: ``f(x)``, ``f(*xs)`` or ``f(**xs)``.
    wrt : Variable, list, tuple or dict of Variable
        Variables to differentiate with respect to; of a function its arguments, which may be arrays.
    tangents : array_like, None, list or dict
        v: one for each of ``wrt``, of its shape; None for zeros.
    disconnected_outputs : {"raise", "warn", "ignore"}
        Treatment of a result that is not connected to any of ``wrt``; its tangent is zeros.

    Returns
    -------
    values : Variable, list, tuple or dict
        ``f``, or what it returned.
    tangents : Variable, list, tuple or dict
        J v, like ``values``.

    Raises
    ------
    ScanvizTypeError, ScanvizValueError, ShapeError
        If tangents do not fit.
    DisconnectedInputError
        If a result is not connected to any of ``wrt``.

    Examples
    --------
    >>> import scanviz
    >>> from scanviz import tensor as T
    >>> x, v = T.vector("x"), T.vector("v")
    >>> value, tangent = jvp(lambda x: x.sum() * x, x, v)
    >>> [array.tolist() for array in scanviz.function([x, v], [value, tangent])([3.0, 4.0], [1.0, 0.0])]
    [[21.0, 28.0], [10.0, 4.0]]
    """
    with building("gradient"):
        check_choices(disconnected_outputs=disconnected_outputs)
        called = _called(f, wrt, "jvp")
        slopes = Rop(called.values, called.wrt, tangents, disconnected_outputs=disconnected_outputs)
        return called.given(called.values), called.given(slopes)


def vjp(f: Any, wrt: Any, disconnected_inputs: Disconnection = "raise") -> tuple[Any, Callable[[Any], Any]]:
    """Return the value of ``f``, and the function that gives vectors times its Jacobian, vᵀ J: by reverse mode.

    Parameters
    ----------
    f : Variable, list, tuple or dict of Variable, or callable
        Floating, of any shape; or a function that returns such, called with ``wrt``: ``f(x)``, ``f(*xs)`` or ``f(**xs)``.
    wrt : Variable, list, tuple or dict of Variable
        Variables to differentiate with respect to; of a function its arguments, which may be arrays.
    disconnected_inputs : {"raise", "warn", "ignore"}
        Treatment of one of ``wrt`` that no result is connected to; its derivative is zeros.

    Returns
    -------
    values : Variable, list, tuple or dict
        ``f``, or what it returned.
    pullback : callable
        Of cotangents, like ``values`` (None for zeros); returns derivatives like ``wrt``.

    Raises
    ------
    ScanvizTypeError, ScanvizValueError, ShapeError
        If cotangents do not fit: when ``pullback`` is called.
    DisconnectedInputError
        If no result is connected to one of ``wrt``.

    Examples
    --------
    >>> import scanviz
    >>> from scanviz import tensor as T
    >>> x = T.vector("x")
    >>> value, pullback = vjp(lambda x: x**2, x)
    >>> pullback([1.0, 10.0]).eval({x: [3.0, 4.0]})
    array([ 6., 80.])
    """
    check_choices(disconnected_inputs=disconnected_inputs)
    with building("gradient"):
        called = _called(f, wrt, "vjp")

    def pullback(cotangents: Any) -> Any:
        """Return vectors times the Jacobian, in the structure of ``wrt``."""
        with building("gradient"):
            slopes = Lop(called.values, called.wrt, cotangents, disconnected_inputs=disconnected_inputs)
            return called.given(slopes)

    return called.given(called.values), pullback


class _Called(NamedTuple):
    """A graph, the variables to differentiate it with respect to, and their values at the end."""

    values: Any
    wrt: Any
    mapping: Mapping[Variable, Variable]

    def given(self, results: Any) -> Any:
        """Replace a function's own arguments in results by the given values."""
        if not self.mapping:
            return results
        variables, pack = structure(results, "what a function returned", constants=True)
        return pack(replace(variables, self.mapping))


def _called(f: Any, wrt: Any, what: str) -> _Called:
    """Return a graph as it is, or that of a function called with variables of its own."""
    if not callable(f):
        return _Called(f, wrt, {})
    listed, pack = taken_apart(wrt)
    given = [as_variable(value) for value in listed]
    own = [Variable(tensor_type(variable), variable.name) for variable in given]
    arguments = pack(own)
    values = f(**arguments) if isinstance(wrt, Mapping) else f(*own)
    if values is None:
        raise ScanvizTypeError.here(
            f"{what}: the function returned nothing", expected="variables", found=None
        )
    return _Called(values, arguments, dict(zip(own, given, strict=True)))
