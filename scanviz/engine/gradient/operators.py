"""``Lop`` and ``Rop``: a Jacobian times a vector from the left and from the right, without the Jacobian."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError
from scanviz.engine.gradient.explain import why_disconnected
from scanviz.engine.gradient.forward import push_forward
from scanviz.engine.gradient.grad import (
    Disconnection,
    report_disconnected,
    structure,
    undefined_gradient,
    zero_gradient,
)
from scanviz.engine.gradient.reverse import is_differentiable, pull_back, reached_from
from scanviz.engine.gradient.sizes import zeros_like
from scanviz.engine.gradient.table import Undefined
from scanviz.engine.graph.nodes import Variable, describe, tensor_type
from scanviz.engine.graph.provenance import user_line
from scanviz.engine.ops.elementwise import cast
from scanviz.engine.ops.support import as_variable


def Lop(  # the field's name
    f: Any,
    wrt: Any,
    eval_points: Any,
    consider_constant: Sequence[Variable] | None = None,
    disconnected_inputs: Disconnection = "raise",
) -> Any:
    """Return vectors times the Jacobian of ``f`` with respect to ``wrt``: vᵀ J, by reverse mode.

    Parameters
    ----------
    f : Variable or list of Variable
        Floating, of any shape.
    wrt : Variable, list, tuple or dict of Variable
        What to differentiate with respect to.
    eval_points : array_like or list
        v: one for each of ``f``, of its shape.
    consider_constant : list of Variable, optional
        Taken as constants.
    disconnected_inputs : {"raise", "warn", "ignore"}
        What to do about a variable that ``f`` is not connected to; its result is zeros.

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
    outputs, _ = structure(f, "Lop")
    listed, pack = structure(wrt, "wrt")
    seeds: dict[Variable, Variable] = {}
    for output, value in _pairs(outputs, eval_points, f, "Lop"):
        if value is not None:
            seeds[output] = seeds[output] + value if output in seeds else value
    constants = list(consider_constant or ())
    results: list[Any] = []
    for variable, derivative in zip(listed, pull_back(seeds, listed, constants), strict=True):
        if isinstance(derivative, Undefined):
            raise undefined_gradient(variable, outputs, derivative)
        if derivative is None and not _connected(variable, outputs, constants):
            why = why_disconnected(variable, outputs, constants)
            report_disconnected(variable, why, disconnected_inputs, "what Lop is taken of")
        results.append(zero_gradient(variable) if derivative is None else derivative)
    return pack(results)


def Rop(  # the field's name
    f: Any,
    wrt: Any,
    eval_points: Any,
    disconnected_outputs: Disconnection = "raise",
    return_disconnected: str = "zero",
    use_double_reverse: bool = False,
) -> Any:
    """Return the Jacobian of ``f`` with respect to ``wrt`` times vectors: J v, by forward mode.

    Parameters
    ----------
    f : Variable, list, tuple or dict of Variable
        Floating, of any shape.
    wrt : Variable or list of Variable
        What to differentiate with respect to.
    eval_points : array_like, None or list
        v: one for each of ``wrt``, of its shape; None for zeros.
    disconnected_outputs : {"raise", "warn", "ignore"}
        What to do about one of ``f`` that is not connected to any of ``wrt``.
    return_disconnected : {"zero", "none"}
        What is then given.
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
    outputs, pack = structure(f, "Rop")
    listed, _ = structure(wrt, "wrt")
    seeds = {each: value for each, value in _pairs(listed, eval_points, wrt, "Rop") if value is not None}
    by = _by_double_reverse if use_double_reverse else push_forward
    results: list[Any] = []
    for output, tangent in zip(outputs, by(seeds, outputs), strict=True):
        if isinstance(tangent, Undefined):
            raise undefined_gradient(listed[0], [output], tangent)
        if tangent is None and not any(_connected(each, [output], ()) for each in listed):
            why = why_disconnected(listed[0], [output])
            report_disconnected(output, why, disconnected_outputs, f"`{describe(listed[0])}`")
            results.append(None if return_disconnected == "none" else zero_gradient(output))
        else:
            results.append(zeros_like(output) if tangent is None else tangent)
    return pack(results)


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
        inner = {each: seeds[x] for each, x in zip(pulled, wrt, strict=True) if isinstance(each, Variable)}
        bad = [each for each in pulled if isinstance(each, Undefined)]
        found.append(bad[0] if bad else pull_back(inner, [dummy])[0] if inner else None)
    return found


def _connected(variable: Variable, outputs: Sequence[Variable], constants: Sequence[Variable]) -> bool:
    reached = reached_from([variable], outputs, constants) if is_differentiable(variable) else set()
    return any(each in reached for each in outputs)


def _pairs(
    variables: Sequence[Variable], points: Any, given: Any, what: str
) -> list[tuple[Variable, Variable | None]]:
    """Return variables with their vectors, checked to be alike."""
    many = isinstance(given, list | tuple | Mapping)
    listed = list(points.values()) if isinstance(points, Mapping) else list(points) if many else [points]
    if len(listed) != len(variables):
        raise ScanvizValueError(
            f"{what} needs one vector a variable",
            where=user_line(),
            expected=len(variables),
            found=len(listed),
        )
    pairs: list[tuple[Variable, Variable | None]] = []
    for variable, value in zip(variables, listed, strict=True):
        if value is None:
            pairs.append((variable, None))
            continue
        vector, kind = as_variable(value), tensor_type(variable)
        if tensor_type(vector).ndim != kind.ndim:
            raise ScanvizTypeError(
                f"{what}: the vector for `{describe(variable)}` has another number of dimensions",
                where=user_line(),
                expected=kind,
                found=vector.type,
            )
        pairs.append((variable, cast(vector, kind.dtype) if is_differentiable(variable) else None))
    return pairs


__all__ = ["Lop", "Rop"]
