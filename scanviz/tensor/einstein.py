"""Sums of products over named axes, as NumPy's ``einsum``: two operands at a time, by ``dot``, ``matmul`` and ``multiply``.

Which two come next is NumPy's own choice for the sizes that are known (``numpy.einsum_path``).  Derivatives, loops and other
tiers know the parts, so they know the whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError, ShapeError
from scanviz.engine.graph.nodes import Variable, describe, tensor_type
from scanviz.engine.graph.types import BOOLEAN, canonical_dtype
from scanviz.engine.ops import elementwise as e
from scanviz.engine.ops import reduce as r
from scanviz.engine.ops.creation import diagonal
from scanviz.engine.ops.linalg import dot, matmul, tensordot
from scanviz.engine.ops.shape import dimension, dimshuffle, reshape
from scanviz.engine.ops.sizes import product_of
from scanviz.engine.ops.support import as_variable

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
        The dtype of the computation; by default the common dtype, in which small integers may wrap around, as in NumPy.
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


Labels = tuple[int, ...]
Written = list[Any]  # labels, and Ellipsis where one stands


class Term(NamedTuple):
    """An operand, or a product of operands, and the label of each of its axes."""

    value: Variable
    labels: Labels


class Request(NamedTuple):
    """The operands and the labels of the result."""

    terms: list[Term]
    output: Labels


def requested(operands: Sequence[Any]) -> Request:
    """Return the operands and labels of a call, written with letters or with lists of numbers.

    Raises
    ------
    ScanvizTypeError, ScanvizValueError, ShapeError
        Naming the operand and the letter that do not fit.
    """
    if len(operands) < 2:
        raise ScanvizTypeError.here("einsum: there are no operands", fix='T.einsum("ij,jk->ik", a, b)')
    if isinstance(operands[0], str):
        written, output = _letters(operands[0])
        values = list(operands[1:])
    else:
        values, written, output = _sublists(operands)
    if len(values) != len(written):
        raise ScanvizValueError.here(
            "einsum: the subscripts name a different number of operands",
            expected=f"{len(written)} operands",
            found=len(values),
        )
    terms = []
    for k, (value, labels) in enumerate(zip(values, written, strict=True)):
        variable = as_variable(value)
        terms.append(Term(variable, _expanded(labels, variable, k)))
    _check_sizes(terms)
    return Request(terms, _output(output, terms))


def _letters(subscripts: str) -> tuple[list[Written], Written | None]:
    left, arrow, right = subscripts.replace(" ", "").partition("->")
    parts = left.split(",")
    return [_labels(part, subscripts) for part in parts], _labels(right, subscripts) if arrow else None


def _labels(part: str, subscripts: str) -> Written:
    before, dots, after = part.partition("...")
    found: Written = [*before, Ellipsis, *after] if dots else [*before]
    for label in found:
        if label is not Ellipsis and not (label.isascii() and label.isalpha()):
            raise ScanvizValueError.here(
                f"einsum: {label!r} in {subscripts!r} names no axis",
                expected="a letter for each axis, ',' between operands, '...' once in each, '->' before the result",
            )
    return [ellipsis_type if ellipsis_type is Ellipsis else ord(ellipsis_type) for ellipsis_type in found]


def _sublists(operands: Sequence[Any]) -> tuple[list[Any], list[Written], Written | None]:
    pairs, rest = list(operands), None
    if len(pairs) % 2:
        rest = _sublist(pairs.pop())
    return pairs[::2], [_sublist(pair) for pair in pairs[1::2]], rest


def _sublist(given: Any) -> Written:
    if not isinstance(given, list | tuple) or any(
        number is not Ellipsis and (not isinstance(number, int) or isinstance(number, bool) or number < 0)
        for number in given
    ):
        raise ScanvizTypeError.here(
            "einsum: the axes of an operand are not named",
            expected="subscripts first, or after each operand a list of numbers from 0",
            found=repr(given),
            fix='T.einsum("ij,jk->ik", a, b)\nT.einsum(a, [0, 1], b, [1, 2], [0, 2])',
        )
    return list(given)


def name_of(label: int) -> str:
    """Return a label's name in messages."""
    if label < 0:
        return f"axis {label} of '...'"
    return f"letter '{chr(label)}'" if chr(label).isalpha() and label > 52 else f"label {label}"


def _text(labels: Written) -> str:
    return "".join(
        "..." if label is Ellipsis else chr(label) if label > 52 else f" {label}" for label in labels
    )


def _expanded(labels: Written, variable: Variable, position: int) -> Labels:
    rank, named = tensor_type(variable).ndim, len([label for label in labels if label is not Ellipsis])
    if rank < named or (rank > named and Ellipsis not in labels):
        raise ScanvizValueError.here(
            f"einsum: operand {position}, `{describe(variable)}`, has {rank} dimensions, but '{_text(labels)}' names {named}",
            expected=f"{named} dimensions" + (" or more" if Ellipsis in labels else ""),
            found=variable.type,
        )
    found: list[int] = []
    for label in labels:
        found += range(named - rank, 0) if label is Ellipsis else [label]
    return tuple(found)


def _check_sizes(terms: Sequence[Term]) -> None:
    """Raise where a label has two sizes that are known; one of 1 is stretched between operands, but not within one."""
    first: dict[int, tuple[int, int]] = {}
    for k, (value, labels) in enumerate(terms):
        own: dict[int, int] = {}
        for label, size in zip(labels, tensor_type(value).shape, strict=True):
            if size is None:
                continue
            if own.setdefault(label, size) != size:
                raise ShapeError.here(
                    f"einsum: {name_of(label)} names axes of two sizes of operand {k}, `{describe(value)}`",
                    expected="equal sizes",
                    found=f"{own[label]} and {size}",
                )
            if size == 1:
                continue
            before, where = first.setdefault(label, (size, k))
            if before != size:
                raise ShapeError.here(
                    f"einsum: {name_of(label)} is {before} long in operand {where}, `{describe(terms[where].value)}`, "
                    f"and {size} in operand {k}, `{describe(value)}`",
                    expected="one size, or 1",
                    found=f"{before} and {size}",
                )


def _output(written: Written | None, terms: Sequence[Term]) -> Labels:
    counts = Counter(label for term in terms for label in term.labels)
    stretched = sorted(label for label in counts if label < 0)
    if written is None:
        return (*stretched, *sorted(label for label in counts if label >= 0 and counts[label] == 1))
    found: list[int] = []
    for part in written:
        found += stretched if part is Ellipsis else [part]
    if stretched and Ellipsis not in written:
        raise ScanvizValueError.here(
            f"einsum: the result '{_text(written)}' has no place for the axes of '...'",
            fix=f"'...{_text(written)}'",
        )
    for label, count in Counter(found).items():
        if label not in counts or count > 1:
            why = (
                f"stands {count} times in the result" if label in counts else "of the result is in no operand"
            )
            raise ScanvizValueError.here(f"einsum: {name_of(label)} {why}", found=_text(written))
    return tuple(found)
