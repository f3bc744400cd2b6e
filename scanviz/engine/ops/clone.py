"""``clone`` and ``equal_computations``: a graph over other variables, and whether two graphs compute the same.

Both are for users: they check what they are given and name it in errors.  The work is done by :mod:`~scanviz.engine.graph.replace`
and :mod:`~scanviz.engine.graph.equality`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError
from scanviz.engine.graph.equality import structurally_equal
from scanviz.engine.graph.nodes import Variable, describe, rebuild
from scanviz.engine.graph.provenance import current_scans
from scanviz.engine.graph.replace import born_again
from scanviz.engine.graph.replace import replace as replaced
from scanviz.engine.graph.traversal import variables
from scanviz.engine.graph.types import TensorType, fits
from scanviz.engine.ops.support import as_value, pairs


def clone(outputs: Any, replace: Any = None) -> Any:
    """Return a graph with some of its variables replaced by others; the graph before stays as it was.

    What depends on nothing that is replaced is shared with the graph before: nodes never change.  Nodes made anew keep their
    names, their lines and their node ids, so that pictures and differences of the two show what changed and nothing else.  In the
    step of a loop they get node ids of their own: they belong to the step, whose variables they may read.

    Parameters
    ----------
    outputs : Variable, list, tuple or dict of Variable
        The graph.
    replace : dict, or list of pairs
        Variable → what stands in its place: a variable, a number or an array that fits its type.  Any variable may be
        replaced, an input or a result.  Replacements are made at once: none is looked for in another.

    Returns
    -------
    Variable, list, tuple or dict
        Like ``outputs``.

    Raises
    ------
    ScanvizTypeError
        If a replacement does not fit the type of what it replaces.
    ScanvizValueError
        If the graph does not read a variable that is to be replaced.

    Examples
    --------
    >>> import scanviz
    >>> from scanviz import tensor as T
    >>> x, y = T.vector("x"), T.vector("y")
    >>> h, _ = scanviz.scan(lambda x_t, h: h + x_t, x, 0.0, name="sums")
    >>> scanviz.clone(h[-1], {x: y * 2}).eval({y: [1.0, 2.0]})
    array(6.)
    """
    mapping = {old: _fitting(old, new) for old, new in _pairs(replace)}
    keys, listed = _listed(outputs)
    known = set(variables(listed))
    for old in mapping:
        if old not in known:
            raise ScanvizValueError.here(
                f"clone: the graph does not read `{describe(old)}`, which is to be replaced",
                expected="a variable of the graph; those of a loop's step are in its own graph",
                found=", ".join(
                    f"`{variable.name}`" for variable in known if variable.name and variable.owner is None
                )
                or None,
            )
    results = replaced(listed, mapping, rebuild_node=born_again if current_scans() else rebuild)
    if keys is not None:
        return dict(zip(keys, results, strict=True))
    return type(outputs)(results) if type(outputs) in (list, tuple) else results[0]


def _pairs(given: Any) -> list[tuple[Variable, Any]]:
    found = pairs(given, "clone: replace")
    for old, _ in found:
        if not isinstance(old, Variable):
            raise ScanvizTypeError.here(
                "clone: `replace` maps variables to their replacements",
                expected="a dict of variables, or a list of pairs",
                found=repr(old),
            )
    return found


def _fitting(old: Variable, new: Any) -> Variable:
    """Return a replacement as a variable, after a check that it fits."""
    wanted = old.type
    numbers = not isinstance(new, Variable) and isinstance(wanted, TensorType)
    variable = as_value(new, wanted.dtype if isinstance(wanted, TensorType) and numbers else None)
    if not fits(variable.type, wanted):
        raise ScanvizTypeError.here(
            f"clone: `{describe(variable)}` cannot replace `{describe(old)}`",
            expected=wanted,
            found=variable.type,
            fix=f"T.cast({describe(variable)}, {wanted.dtype!r})"
            if isinstance(wanted, TensorType)
            and isinstance(variable.type, TensorType)
            and wanted.ndim == variable.type.ndim
            else None,
        )
    return variable


def _listed(outputs: Any) -> tuple[list[Any] | None, list[Variable]]:
    """Return the keys of a dict of variables, and variables given one by one, in a list, tuple or dict, as a list."""
    keys = list(outputs) if isinstance(outputs, Mapping) else None
    if keys is not None:
        listed = list(outputs.values())
    else:
        listed = list(outputs) if isinstance(outputs, list | tuple) else [outputs]
    for variable in listed:
        if not isinstance(variable, Variable):
            raise ScanvizTypeError.here(
                "a graph is given by its results",
                expected="a variable, or a list, tuple or dict of variables",
                found=repr(variable),
            )
    return keys, listed


def equal_computations(xs: Any, ys: Any, in_xs: Any = None, in_ys: Any = None) -> bool:
    """Return whether two graphs compute the same, operation by operation, whatever they are called and wherever they were built.

    Equal are operations with equal parameters over equal inputs, steps of loops included; inputs that are the same variable
    or stand for one another; and constants of the same dtype, shape and bits.  Two graphs that give the same values in
    different ways are not equal.

    Parameters
    ----------
    xs, ys : Variable, or list of Variable
        The two graphs.
    in_xs, in_ys : Variable or list of Variable, optional
        Inputs of the first graph, and those of the second that they stand for, in the same order.

    Raises
    ------
    ScanvizValueError
        If there are more inputs of one than of the other.
    ScanvizTypeError
        If something given is no variable.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> x, y = T.vector("x"), T.vector("y")
    >>> equal_computations(T.exp(x) + 1, T.exp(y) + 1), equal_computations(T.exp(x) + 1, T.exp(y) + 1, x, y)
    (False, True)
    """
    first, second = _listed(xs)[1], _listed(ys)[1]
    mine, theirs = (_listed([] if given is None else given)[1] for given in (in_xs, in_ys))
    if len(mine) != len(theirs):
        raise ScanvizValueError.here(
            "equal_computations: the two graphs need the same number of inputs",
            expected=f"as many of both: {len(mine)} of in_xs",
            found=f"{len(theirs)} of in_ys",
        )
    if any(a.type != b.type for a, b in zip(mine, theirs, strict=True)):
        return False
    pairs = dict(zip(mine, theirs, strict=True))
    return len(first) == len(second) and structurally_equal(first, second, pairs)
