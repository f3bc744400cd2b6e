"""``jvp`` and ``vjp``: a value together with its derivative along a direction, or with the function that pulls cotangents back.

They take a graph, as :func:`scanviz.grad`, ``Lop`` and ``Rop`` do, or a function of variables.  A function is differentiated with
respect to its arguments alone: it is called with variables of its own, which are replaced by what was given afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from scanviz.engine.building import building
from scanviz.engine.errors import ScanvizTypeError
from scanviz.engine.gradient.grad import Disconnection, check_choices, structure, taken_apart
from scanviz.engine.gradient.operators import Lop, Rop
from scanviz.engine.graph.nodes import Variable, tensor_type
from scanviz.engine.graph.replace import replace
from scanviz.engine.ops.support import as_variable


def jvp(f: Any, wrt: Any, tangents: Any, disconnected_outputs: Disconnection = "raise") -> tuple[Any, Any]:
    """Return the value of ``f`` and its Jacobian times vectors, J v: by forward mode.

    Parameters
    ----------
    f : Variable, list, tuple or dict of Variable, or callable
        Floating, of any shape; or a function that returns such, called with ``wrt``: ``f(x)``, ``f(*xs)`` or ``f(**xs)``.
    wrt : Variable, list, tuple or dict of Variable
        What to differentiate with respect to; of a function its arguments, which may be arrays.
    tangents : array_like, None, list or dict
        v: one for each of ``wrt``, of its shape; None for zeros.
    disconnected_outputs : {"raise", "warn", "ignore"}
        What to do about a result that is not connected to any of ``wrt``; its tangent is zeros.

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
        What to differentiate with respect to; of a function its arguments, which may be arrays.
    disconnected_inputs : {"raise", "warn", "ignore"}
        What to do about one of ``wrt`` that no result is connected to; its derivative is zeros.

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
        """Return vectors times the Jacobian, like what it was taken with respect to."""
        with building("gradient"):
            slopes = Lop(called.values, called.wrt, cotangents, disconnected_inputs=disconnected_inputs)
            return called.given(slopes)

    return called.given(called.values), pullback


class _Called(NamedTuple):
    """A graph, what to differentiate it with respect to, and what stands for that in the end."""

    values: Any
    wrt: Any
    mapping: Mapping[Variable, Variable]

    def given(self, results: Any) -> Any:
        """Return results with what was given in place of a function's own arguments."""
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
