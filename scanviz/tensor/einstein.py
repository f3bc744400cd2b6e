"""Sums of products over named axes, as NumPy's ``einsum``: two operands at a time, by ``dot``, ``matmul`` and ``multiply``.

Which two come next is NumPy's own choice for the sizes that are known (``numpy.einsum_path``).  Derivatives, loops and other
tiers know the parts, so they know the whole.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from scanviz.engine.errors import ScanvizValueError
from scanviz.engine.graph.nodes import Variable, tensor_type
from scanviz.engine.graph.types import BOOLEAN, canonical_dtype
from scanviz.engine.ops import elementwise as e
from scanviz.engine.ops import reduce as r
from scanviz.engine.ops.creation import diagonal
from scanviz.engine.ops.linalg import dot, matmul, tensordot
from scanviz.engine.ops.shape import dimension, dimshuffle, reshape
from scanviz.engine.ops.sizes import product_of
from scanviz.tensor.einstein_terms import Labels, Term, requested

__all__ = ["einsum"]

_UNKNOWN = (
    16  # the size that an axis is taken to have, where it is not known, when the order of products is chosen
)
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def einsum(*operands: Any, dtype: object = None, optimize: Any = False) -> Variable:
    """Sum of products over named axes.

    Parameters
    ----------
    *operands
        Subscripts and as many arrays: ``einsum("ij,jk->ik", a, b)``; or each array with a list of numbers for its axes, and
        at last, if wanted, a list for the result.  A letter that is not in the result is summed over; without ``->`` the
        result has the letters that stand once, in the order of the alphabet.  ``...`` stands for axes that broadcast.
    dtype : dtype, optional
        What is computed in; by default the common dtype, in which small integers may wrap around, as in NumPy.
    optimize : bool, "greedy", "optimal" or path
        In which order more than two operands are multiplied; by default NumPy's greedy order.  It changes rounding only.

    Returns
    -------
    Variable
        One axis for each letter of the result.

    Raises
    ------
    ScanvizValueError
        If subscripts do not fit the operands: it names the operand and the letter.
    ShapeError
        If a letter has two sizes: at once where they are known, else at run time.  A size of 1 is stretched where it is known.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> a, b = T.matrix("a"), T.matrix("b")
    >>> T.einsum("ij,kj->ik", a, b).eval({a: [[1.0, 2.0]], b: [[3.0, 4.0], [5.0, 6.0]]})
    array([[11., 17.]])
    """
    terms, output = requested(operands)
    common = np.result_type(*(tensor_type(term.value).dtype for term in terms)).name
    wanted = common if dtype is None else canonical_dtype(dtype)
    cast = [Term(e.cast(term.value, wanted), term.labels) for term in terms]
    path = _path(cast, output, optimize)
    left = _without_ones([_diagonal(term) for term in cast])
    for places in path:
        chosen = [left[k] for k in places]
        left = [term for k, term in enumerate(left) if k not in places]
        found = chosen[0]
        for k, other in enumerate(chosen[1:], start=2):
            later = {label for term in (*left, *chosen[k:]) for label in term.labels}
            found = _product(found, other, later | set(output))
        left.append(found)
    value, labels = _summed(left[0], output)
    return value if labels == output else _ordered(Term(value, labels), output)


def _path(terms: Sequence[Term], output: Labels, optimize: Any) -> list[tuple[int, ...]]:
    """Return which operands are multiplied next, by their places among those that are left, until one is."""
    if len(terms) < 3:
        return [tuple(range(len(terms)))] if len(terms) == 2 else []
    letters: dict[int, str] = {}
    for label in (label for term in terms for label in term.labels):
        if label not in letters:
            letters[label] = _LETTERS[len(letters) % len(_LETTERS)]
    written = [
        "".join(letters[label] for label in labels) for labels in (*(term.labels for term in terms), output)
    ]
    sizes = _sizes(terms)
    shapes = [[sizes[label] for label in term.labels] for term in terms]
    how = "greedy" if isinstance(optimize, bool) else optimize
    try:
        found = np.einsum_path(
            ",".join(written[:-1]) + "->" + written[-1],
            *(np.broadcast_to(np.zeros(()), shape) for shape in shapes),
            optimize=how,
        )[0]
    except (TypeError, ValueError, KeyError, IndexError) as error:
        raise ScanvizValueError.here(
            f"einsum: optimize cannot be used ({error})",
            expected="True, False, 'greedy', 'optimal' or a path of numpy.einsum_path",
            found=repr(optimize),
        ) from None
    return [tuple(sorted(pair)) for pair in found[1:]]


def _sizes(terms: Sequence[Term]) -> dict[int, int]:
    """Return the size of each label, a guess where it is not known."""
    found: dict[int, int] = {}
    for value, labels in terms:
        for label, size in zip(labels, tensor_type(value).shape, strict=True):
            guess = _UNKNOWN if size is None else size
            found[label] = guess if found.get(label, 1) == 1 else found[label]
    return found


def _diagonal(term: Term) -> Term:
    """Return a term in which each label stands once: of one that stands twice, the diagonal."""
    value, labels = term
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            rest = [k for k in range(len(labels)) if k not in (first, second)]
            value = diagonal(dimshuffle(value, [*rest, first, second]))
            labels = (*(labels[k] for k in rest), label)
    return Term(value, labels)


def _without_ones(terms: Sequence[Term]) -> list[Term]:
    """Return terms without axes that are known to have size 1 where another one may be longer."""
    longer = {
        label
        for value, labels in terms
        for label, size in zip(labels, tensor_type(value).shape, strict=True)
        if size != 1
    }
    found = []
    for value, labels in terms:
        kept = [
            k
            for k, (label, size) in enumerate(zip(labels, tensor_type(value).shape, strict=True))
            if size != 1 or label not in longer
        ]
        found.append(Term(dimshuffle(value, kept), tuple(labels[k] for k in kept)))
    return found


def _summed(term: Term, kept: Collection[int]) -> Term:
    """Return a term summed over the labels that are not kept; of truth values, whether any is true."""
    value, labels = term
    axes = [k for k, label in enumerate(labels) if label not in kept]
    if not axes:
        return term
    dtype = tensor_type(value).dtype
    total = r.any(value, axes) if dtype == BOOLEAN else r.sum(value, axes, dtype=dtype)
    return Term(total, tuple(label for label in labels if label in kept))


def _ordered(term: Term, labels: Sequence[int]) -> Variable:
    """Return a term's value with axes in another order, new ones of size 1 for labels that it does not have."""
    return dimshuffle(
        term.value, [term.labels.index(label) if label in term.labels else "x" for label in labels]
    )


def _product(first: Term, second: Term, needed: Collection[int]) -> Term:
    """Return the product of two terms, summed over the labels that are not needed."""
    first = _summed(first, {*needed, *second.labels})
    second = _summed(second, {*needed, *first.labels})
    shared = [label for label in first.labels if label in second.labels]
    batch = [label for label in shared if label in needed]
    summed = [label for label in shared if label not in needed]
    rows = [label for label in first.labels if label not in shared]
    columns = [label for label in second.labels if label not in shared]
    labels = (*batch, *rows, *columns)
    if not summed:
        return Term(e.multiply(_ordered(first, labels), _ordered(second, labels)), labels)
    if not batch:
        return Term(_contracted(first, second, summed), labels)
    product = matmul(_grouped(first, batch, rows, summed), _grouped(second, batch, summed, columns))
    if len(rows) == len(columns) == 1:
        return Term(product, labels)
    sizes = [dimension(product, k) for k in range(len(batch))]
    sizes += [dimension(first.value, first.labels.index(row)) for row in rows]
    sizes += [dimension(second.value, second.labels.index(column)) for column in columns]
    return Term(reshape(product, sizes, ndim=len(sizes)), labels)


def _contracted(first: Term, second: Term, summed: Sequence[int]) -> Variable:
    """Return a product without a batch: as that of vectors and matrices where it is one, which rules and tiers know best."""
    if len(summed) == 1 and max(len(first.labels), len(second.labels)) < 3:
        (label,) = summed
        a = first.value if first.labels[-1] == label else dimshuffle(first.value, 1, 0)
        b = second.value if second.labels[0] == label else dimshuffle(second.value, 1, 0)
        return dot(a, b)
    axes = [[term.labels.index(label) for label in summed] for term in (first, second)]
    return tensordot(first.value, second.value, axes)


def _grouped(term: Term, batch: Sequence[int], rows: Sequence[int], columns: Sequence[int]) -> Variable:
    """Return a term as a stack of matrices: the axes of a group are made one."""
    value = _ordered(term, [*batch, *rows, *columns])
    if len(rows) == len(columns) == 1:
        return value
    count = len(batch)
    sizes = [dimension(value, k) for k in range(count + len(rows) + len(columns))]
    groups = [sizes[count : count + len(rows)], sizes[count + len(rows) :]]
    return reshape(value, [*sizes[:count], *map(product_of, groups)], ndim=count + 2)
