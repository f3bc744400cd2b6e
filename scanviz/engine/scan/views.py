"""``map``, ``reduce``, ``foldl``, ``foldr`` and ``filter``: scans with simpler signatures.

Each is a call of ``scan``, so pictures, profiles and gradients know loops alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError
from scanviz.engine.graph.nodes import Variable, describe, tensor_type
from scanviz.engine.graph.types import RANDOM_STATE
from scanviz.engine.ops.index import getitem
from scanviz.engine.ops.support import as_variable
from scanviz.engine.scan.arguments import as_list
from scanviz.engine.scan.build import scan
from scanviz.engine.scan.updates import ScanResult


def map(  # Haskell's and Theano's name
    fn: Callable[..., Any],
    sequences: Any,
    non_sequences: Any = None,
    truncate_gradient: int = -1,
    go_backwards: bool = False,
    mode: str | None = None,
    name: str | None = None,
    return_updates: bool = True,
) -> Any:
    """Apply ``fn`` to each row of sequences, with nothing fed back.

    Parameters are those of :func:`scan`; so is what is returned.

    Examples
    --------
    >>> import scanviz
    >>> from scanviz import tensor as T
    >>> x = T.vector("x")
    >>> squares, _ = scanviz.map(lambda x_t: x_t**2, x)
    >>> squares.eval({x: [1.0, 2.0, 3.0]})
    array([1., 4., 9.])
    """
    return scan(
        fn,
        sequences=sequences,
        outputs_info=[],
        non_sequences=non_sequences,
        truncate_gradient=truncate_gradient,
        go_backwards=go_backwards,
        mode=mode,
        name=name,
        return_updates=return_updates,
    )


def reduce(
    fn: Callable[..., Any],
    sequences: Any,
    outputs_info: Any,
    non_sequences: Any = None,
    go_backwards: bool = False,
    mode: str | None = None,
    name: str | None = None,
    return_updates: bool = True,
) -> Any:
    """Run over sequences and return the last value of each output.

    Parameters are those of :func:`scan`.  ``fn`` takes the sequences' rows first, then the values so far.

    Returns
    -------
    Variable or list of Variable, and Updates
        The value of each output after the last step.  Of no rows there is none: a call is then an error.

    Examples
    --------
    >>> import scanviz
    >>> from scanviz import tensor as T
    >>> x = T.vector("x")
    >>> total, _ = scanviz.reduce(lambda x_t, so_far: so_far + x_t, x, 0.0)
    >>> total.eval({x: [1.0, 2.0, 3.0]})
    array(6.)
    """
    if not as_list(outputs_info):
        raise ScanvizValueError.here("a reduction needs a value to start from", fix="outputs_info=0.0")
    rows, updates = scan(
        fn,
        sequences=sequences,
        outputs_info=outputs_info,
        non_sequences=non_sequences,
        go_backwards=go_backwards,
        mode=mode,
        name=name,
        return_list=True,
    )
    last = [row if row.type == RANDOM_STATE else getitem(row, -1) for row in rows]
    outputs = last[0] if len(last) == 1 else last
    if return_updates:
        return ScanResult(outputs, updates)
    if updates:
        raise ScanvizValueError.here("this reduction has updates, which return_updates=False would lose")
    return outputs


def foldl(
    fn: Callable[..., Any],
    sequences: Any,
    outputs_info: Any,
    non_sequences: Any = None,
    mode: str | None = None,
    name: str | None = None,
    return_updates: bool = True,
) -> Any:
    """Reduce from the first row to the last; see :func:`reduce`."""
    return reduce(fn, sequences, outputs_info, non_sequences, False, mode, name, return_updates)


def foldr(
    fn: Callable[..., Any],
    sequences: Any,
    outputs_info: Any,
    non_sequences: Any = None,
    mode: str | None = None,
    name: str | None = None,
    return_updates: bool = True,
) -> Any:
    """Reduce from the last row to the first; see :func:`reduce`."""
    return reduce(fn, sequences, outputs_info, non_sequences, True, mode, name, return_updates)


def filter(  # Haskell's name
    fn: Callable[..., Any],
    sequences: Any,
    non_sequences: Any = None,
    go_backwards: bool = False,
    mode: str | None = None,
    name: str | None = None,
    return_updates: bool = True,
) -> Any:
    """Keep the rows of sequences for which ``fn`` is true.

    Parameters
    ----------
    fn : callable
        Returns one scalar condition for all sequences, or a list with one for each.
    sequences, non_sequences, go_backwards, mode, name, return_updates
        As for :func:`scan`; sequences are plain, without taps.

    Returns
    -------
    Variable or list of Variable, and Updates
        The rows kept, in the order of running.

    Raises
    ------
    ScanvizTypeError
        If a condition is not a scalar boolean.
    ScanvizValueError
        If there is neither one condition nor one a sequence.

    Examples
    --------
    >>> import scanviz
    >>> from scanviz import tensor as T
    >>> x = T.vector("x")
    >>> positive, _ = scanviz.filter(lambda x_t: x_t > 0, x)
    >>> positive.eval({x: [1.0, -2.0, 3.0]})
    array([1., 3.])
    """
    given = as_list(sequences)
    masks, updates = scan(
        fn,
        sequences=given,
        outputs_info=[],
        non_sequences=non_sequences,
        go_backwards=go_backwards,
        mode=mode,
        name=name,
        return_list=True,
    )
    masks = masks or []
    if len(masks) not in (1, len(given)):
        raise ScanvizValueError.here(
            "filter needs one condition, or one for each sequence",
            expected=f"1 or {len(given)}",
            found=len(masks),
        )
    for mask in masks:
        _check_mask(mask)
    rows = [_plain(sequence, go_backwards) for sequence in given]
    kept = [getitem(row, masks[k if len(masks) > 1 else 0]) for k, row in enumerate(rows)]
    outputs = kept[0] if len(kept) == 1 else kept
    return ScanResult(outputs, updates) if return_updates else outputs


def _check_mask(mask: Variable) -> None:
    kind = tensor_type(mask)
    if kind.dtype != "bool" or kind.ndim != 1:
        raise ScanvizTypeError.here(
            "filter's condition must be true or false for each row",
            expected="a boolean scalar from fn",
            found=f"{kind.dtype} with {kind.ndim - 1} dimensions",
            fix="T.all(…), or a comparison such as x > 0",
        )


def _plain(sequence: Any, go_backwards: bool) -> Variable:
    if isinstance(sequence, dict):
        raise ScanvizTypeError.here(
            f"filter takes plain sequences, not {describe_keys(sequence)}", fix="sequences=x"
        )
    variable = as_variable(sequence)
    return getitem(variable, slice(None, None, -1)) if go_backwards else variable


def describe_keys(given: dict[str, Any]) -> str:
    """Return how to call a dict in a message."""
    inner = given.get("input")
    named = f" of `{describe(inner)}`" if isinstance(inner, Variable) else ""
    return f"a dict{named} with taps"
