"""Return values of step functions: outputs, updates and a stop condition.

Theano's forms are all taken: outputs alone, outputs and updates in either order, ``until(…)`` at the end.  Anything else is an
error that shows the accepted forms and the value that does not fit.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError
from scanviz.engine.graph.nodes import Constant, Variable, describe
from scanviz.engine.graph.provenance import SourceLine
from scanviz.engine.graph.shared import SharedVariable
from scanviz.engine.graph.types import TensorType
from scanviz.engine.ops.support import as_variable, constant, pairs, python_bool
from scanviz.engine.scan.updates import check_key

ACCEPTED = """outputs                        one variable, or a list of variables
updates                        {shared: new value} or [(shared, new value), …], or an empty one: {}, [], ()
until(condition)
outputs, updates               in either order
outputs, until(condition)
outputs, updates, until(condition)"""


class until:  # noqa: N801  # Theano's name, used like a function
    """Marks the condition that ends a loop; the step at which it is true is the last one and is kept.

    Parameters
    ----------
    condition : Variable
        Scalar; the loop goes on while it is zero or False.

    Raises
    ------
    ScanvizTypeError
        If the condition is not a scalar.

    Examples
    --------
    >>> import scanviz
    >>> from scanviz import tensor as T
    >>> powers, _ = scanviz.scan(lambda p: (p * 2, scanviz.until(p * 2 > 45)), outputs_info=1.0, n_steps=1024)
    >>> scanviz.function([], powers)()
    array([ 2.,  4.,  8., 16., 32., 64.])
    """

    __slots__ = ("condition",)

    def __init__(self, condition: Any) -> None:
        variable = as_variable(condition)
        if not isinstance(variable.type, TensorType) or variable.type.ndim != 0:
            raise ScanvizTypeError.here(
                f"the condition `{describe(variable)}` of until must be one number",
                expected="a scalar",
                found=str(variable.type),
                fix="until(T.all(condition)) or until(T.any(condition))",
            )
        self.condition = variable


class StepReturn(NamedTuple):
    """A step's outputs, updates and stop condition."""

    outputs: list[Variable]
    updates: dict[SharedVariable, Variable]
    condition: Variable | None

    @property
    def graph(self) -> list[Variable]:
        """All that the step computes."""
        computed = [*self.outputs, *self.updates.values()]
        return computed if self.condition is None else [*computed, self.condition]


def parse_return(value: Any, where: SourceLine | None) -> StepReturn:
    """Split the return value of ``fn`` into outputs, updates and stop condition.

    Raises
    ------
    ScanvizValueError
        If it has none of the accepted forms, which the message shows.
    """
    if isinstance(value, until):
        return StepReturn([], {}, value.condition)
    condition = None
    if isinstance(value, list | tuple) and value and isinstance(value[-1], until):
        condition, value = value[-1].condition, value[:-1]
        if len(value) == 1 and isinstance(value[0], list | tuple | Mapping):
            value = value[0]
    outputs, updates = _split(value, where)
    return StepReturn([_output(output, value, where) for output in outputs], updates, condition)


def _split(value: Any, where: SourceLine | None) -> tuple[list[Any], dict[SharedVariable, Variable]]:
    if _are_updates(value):
        return [], _updates(value, where)
    if not isinstance(value, list | tuple):
        return [value], {}
    if len(value) == 2:
        first, second = value
        if _are_updates(second) or (_is_empty(second) and not _are_updates(first)):
            return _as_outputs(first), _updates(second, where)
        if _are_updates(first) or _is_empty(first):
            return _as_outputs(second), _updates(first, where)
    return list(value), {}


def _as_outputs(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) or _is_empty(value) else [value]


def _are_updates(value: Any) -> bool:
    if isinstance(value, Mapping):
        return True
    pairs = isinstance(value, list | tuple) and len(value) > 0
    return pairs and all(
        isinstance(pair, tuple | list) and len(pair) == 2 and isinstance(pair[0], SharedVariable)
        for pair in value
    )


def _is_empty(value: Any) -> bool:
    """Return whether a returned value is empty: neither outputs nor updates."""
    return isinstance(value, list | tuple | Mapping) and not value


def _updates(value: Any, where: SourceLine | None) -> dict[SharedVariable, Variable]:
    updates: dict[SharedVariable, Variable] = {}
    for key, new in pairs(value, "updates"):
        if isinstance(key, str):
            raise ScanvizValueError(
                f"the step returned a dict with the key {key!r}: a dict holds updates of shared variables",
                where=where,
                found=_shown(value),
                fix=f"return {', '.join(name for name in value if isinstance(name, str))}, in the order of outputs_info",
            )
        check_key(key, where)
        if key in updates:
            raise ScanvizValueError(f"`{describe(key)}` is updated twice in one step", where=where)
        updates[key] = as_variable(new)
    return updates


def _output(value: Any, whole: Any, where: SourceLine | None) -> Variable:
    if isinstance(value, Variable):
        return value
    if type(value) is bool:
        raise python_bool(value, where)
    if isinstance(value, np.ndarray | np.generic):
        return constant(value)
    if isinstance(value, int | float):
        number = constant(value)
        return Constant(number.type, number.value, weak=value)
    if isinstance(value, until):
        raise ScanvizValueError("until(condition) must be the last thing that the step returns", where=where)
    inside = "" if value is whole else f", in which {_shown(value)} is no symbolic variable"
    raise ScanvizValueError(
        f"the step returned {_shown(whole)}{inside}",
        where=where,
        found=_meant(value, whole),
        fix=f"{{{describe(value[0])}: new value}} for an update"
        if isinstance(value, list | tuple) and value and isinstance(value[0], SharedVariable)
        else "return one flat list, with an item of outputs_info for each variable in it\n"
        "or T.stack([…]) for one variable of several"
        if isinstance(value, list | tuple)
        else "return one of\n" + ACCEPTED,
    )


def _meant(value: Any, whole: Any) -> str | None:
    """Return the likely mistake behind a returned value that is no variable."""
    if value is None:
        return "None: a function without `return` gives it; leave out what is None beside other results, as in JAX"
    if isinstance(value, Iterator | AsyncIterator | Awaitable):
        return f"{type(value).__name__}: scan calls the step once and takes what it returns, without `yield` or `async`"
    if isinstance(value, list | tuple):
        return f"a {type(value).__name__} in a {type(whole).__name__}"
    if callable(value):
        return "a function: it was not called"
    return f"{type(value).__name__}"


def _shown(value: Any) -> str:
    text = getattr(value, "__name__", "a function") if callable(value) else _text(value)
    return text if len(text) <= 60 else text[:57] + "…"


def _text(value: Any) -> str:
    """Return a value as Python writes it, with variables by their names."""
    match value:
        case Variable():
            return describe(value)
        case list() | tuple():
            inside = ", ".join(map(_text, value)) + "," * (isinstance(value, tuple) and len(value) == 1)
            return f"[{inside}]" if isinstance(value, list) else f"({inside})"
        case dict():
            return f"{{{', '.join(f'{_text(key)}: {_text(item)}' for key, item in value.items())}}}"
        case _:
            return repr(value)
