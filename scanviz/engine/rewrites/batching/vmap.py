"""``vmap``: a function of variables, applied to all rows of its arguments at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError, ShapeError
from scanviz.engine.graph.nodes import Variable, describe, tensor_type
from scanviz.engine.ops.shape import dimension, dimshuffle, normal_axis
from scanviz.engine.ops.size_checks import specify_shape
from scanviz.engine.ops.support import as_integer, as_variable, constant, constant_integer
from scanviz.engine.rewrites.batching import loops as _loops  # noqa: F401  # they fill a table
from scanviz.engine.rewrites.batching import results as _results  # noqa: F401
from scanviz.engine.rewrites.batching.graphs import BatchedRows, RaggedError, batched_graph, looped, with_axis


def vmap(
    fn: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0, axis_size: Any = None
) -> Callable[..., Any]:
    """Return a function that applies ``fn`` to every row of its arguments, as operations over all rows at once.

    ``fn`` is called once, with variables of one dimension less.  Its graph is built anew over the whole arguments: an
    operation becomes one over all rows, a loop one loop whose states have all rows.  Operations without such a form (an
    ``ifelse`` whose condition differs from row to row, a few rare ones) run in a loop over the rows.  The whole function
    does, where rows have values of different shapes, as those of a loop that ends by a condition.  Result ``[i]`` is always
    ``fn`` of the arguments' rows ``i``; a draw gives the same numbers in each.

    Parameters
    ----------
    fn : callable
        Of variables, and of lists, tuples or dicts of them; returns a variable, or a list, tuple or dict of them.
    in_axes : int, None, or a list or tuple of these
        For all arguments, or for each, the axis that is gone in what ``fn`` is called with; None passes an argument as it is.
        Keyword arguments have axis 0.
    out_axes : int, None, or a list or tuple of these
        For all results, or for each, where the axis is put; None for a result that is the same for all rows.
    axis_size : int or integer scalar, optional
        Number of rows; by default that of the arguments.

    Returns
    -------
    callable
        Takes what ``fn`` takes, with an axis more, and returns what it returns, with an axis more.

    Raises
    ------
    ScanvizValueError
        When called, if no argument has an axis to apply ``fn`` over, or axes do not fit the arguments.
    ShapeError
        If the arguments have other numbers of rows than one another: when called, or when the function runs.
    ScanvizNotImplementedError
        If an operation has no meaning over rows, as a size that differs from row to row.

    Examples
    --------
    >>> import scanviz
    >>> from scanviz import tensor as T
    >>> rows, w = T.matrix("rows"), T.vector("w")
    >>> def last_state(x, w):
    ...     h, _ = scanviz.scan(lambda x_t, h: T.tanh(h + x_t), x * w, 0.0, name="rnn")
    ...     return h[-1]
    >>> f = scanviz.function([rows, w], vmap(last_state, in_axes=(0, None))(rows, w))
    >>> f([[0.0, 0.0], [1.0, 2.0]], [1.0, 1.0]).round(3)
    array([0.   , 0.992])
    """
    if not callable(fn):
        raise ScanvizTypeError.here("vmap takes a function", found=repr(fn), fix="vmap(fn)(x)")

    def mapped(*arguments: Any, **named: Any) -> Any:
        axes = [*_axes_of("in_axes", in_axes, len(arguments)), *[0] * len(named)]
        rows: dict[Variable, Variable] = {}
        values = [
            _each(argument, partial(_slice, axis=axis, rows=rows))
            for argument, axis in zip([*arguments, *named.values()], axes, strict=True)
        ]
        known, count = _checked_rows(rows, axis_size)
        results = fn(*values[: len(arguments)], **dict(zip(named, values[len(arguments) :], strict=True)))
        return _returned(results, out_axes, known, count, getattr(fn, "__name__", "a function"))

    return mapped


def _axes_of(what: str, axes: Any, count: int) -> list[int | None]:
    """Return an axis for each argument or result."""
    listed = list(axes) if isinstance(axes, list | tuple) else [axes] * count
    if len(listed) != count or not all(axis is None or type(axis) is int for axis in listed):
        raise ScanvizValueError.here(
            f"vmap: {what} cannot be used",
            expected=f"an int, None, or a list of {count} of these",
            found=repr(axes),
        )
    return listed


def _each(tree: Any, convert: Callable[[Any], Any]) -> Any:
    """Convert the items of lists, tuples and dicts."""
    if isinstance(tree, Mapping):
        return {key: _each(value, convert) for key, value in tree.items()}
    if type(tree) in (list, tuple):
        return type(tree)(_each(value, convert) for value in tree)
    return convert(tree)


def _slice(value: Any, axis: int | None, rows: dict[Variable, Variable]) -> Any:
    """Return what ``fn`` is called with in place of an argument, noting the argument with the axis in front."""
    if axis is None:
        return value
    variable = as_variable(value)
    kind = tensor_type(variable)
    if not kind.ndim:
        raise ScanvizValueError.here(
            f"vmap: `{describe(variable)}` has no axis to apply a function over",
            expected="at least one dimension",
            found=kind,
            fix="in_axes=None for what is the same for all rows",
        )
    moved = _axis_moved(variable, normal_axis(axis, kind.ndim, "vmap: in_axes"), 0)
    inner = Variable(kind.with_shape(tensor_type(moved).shape[1:]), variable.name)
    rows[inner] = moved
    return inner


def _axis_moved(variable: Variable, source: int, target: int) -> Variable:
    """Return a variable with one axis put elsewhere."""
    order = [axis for axis in range(tensor_type(variable).ndim) if axis != source]
    order.insert(target, source)
    return variable if order == sorted(order) else dimshuffle(variable, *order)


def _checked_rows(
    rows: Mapping[Variable, Variable], axis_size: Any
) -> tuple[dict[Variable, BatchedRows], Variable]:
    """Return what stands for what ``fn`` is called with, all of one number of rows, and that number."""
    if not rows and axis_size is None:
        raise ScanvizValueError.here(
            "vmap: no argument has an axis to apply the function over",
            fix="axis_size=n for as many equal results",
        )
    sizes = {tensor_type(row).shape[0] for row in rows.values()} - {None}
    if axis_size is not None:
        wanted = as_integer(axis_size, "vmap: axis_size")
        sizes |= {constant_integer(wanted)} - {None}
    if len(sizes) > 1:
        found = ", ".join(f"`{describe(row)}` {row.type}" for row in rows.values())
        raise ShapeError.here("vmap: the arguments have different numbers of rows", found=found)
    if sizes:
        count: Variable = constant(sizes.pop(), "int64")
    else:
        count = wanted if axis_size is not None else dimension(next(iter(rows.values())), 0)
    like = "axis_size"
    if axis_size is None:
        names = [
            _name_of(inner, row)
            for inner, row in rows.items()
            if not sizes or tensor_type(row).shape[0] is not None
        ]
        like = f"`{names[0]}`"
    return {
        inner: BatchedRows(_of_count(variable, count, _name_of(inner, variable), like), True)
        for inner, variable in rows.items()
    }, count


def _name_of(inner: Variable, rows: Variable) -> str:
    """Return the user's name of an argument."""
    return inner.name or describe(rows)


def _of_count(rows: Variable, count: Variable, name: str, like: str) -> Variable:
    """Return rows, checked to be so many when the function runs, where that is not known."""
    owner, known = count.owner, constant_integer(count)
    if owner is not None and owner.inputs[0] is rows:
        return rows
    if known is not None and known == tensor_type(rows).shape[0]:
        return rows
    own = [dimension(rows, axis) for axis in range(1, tensor_type(rows).ndim)]
    return specify_shape(rows, [count, *own], "vmap", name, like)


def _returned(
    results: Any, out_axes: Any, known: Mapping[Variable, BatchedRows], count: Variable, name: str
) -> Any:
    """Return results over all rows, packed as they came."""
    many = type(results) in (list, tuple)
    axes = _axes_of("out_axes", out_axes, len(results) if many else 1)
    found: list[tuple[Variable, int | None]] = []
    for part, axis in zip(results if many else [results], axes, strict=True):
        _each(part, partial(_note, axis=axis, found=found))
    wanted = [variable for variable, _ in found]
    try:
        rows = batched_graph(wanted, known, count)
    except RaggedError:
        rows = looped(wanted, known, count, name)
    placed = iter([_placed(row, *of, count) for row, of in zip(rows, found, strict=True)])
    return _each(results, lambda _: next(placed))


def _note(value: Any, axis: int | None, found: list[tuple[Variable, int | None]]) -> None:
    variable = as_variable(value)
    tensor_type(variable)
    found.append((variable, axis))


def _placed(rows: BatchedRows, result: Variable, axis: int | None, count: Variable) -> Variable:
    """Return a result with its batch axis moved to the requested place."""
    if axis is None:
        if rows.batched:
            raise ScanvizValueError.here(
                f"vmap: `{describe(result)}` differs from row to row",
                expected="a result that is the same for all rows, for out_axes=None",
                fix="out_axes=0",
            )
        return rows.variable
    ndim = tensor_type(result).ndim + 1
    return _axis_moved(with_axis(rows, count), 0, normal_axis(axis, ndim, "vmap: out_axes"))
