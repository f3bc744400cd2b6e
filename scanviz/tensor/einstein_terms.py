"""What a call of ``einsum`` says: for each operand and for the result the labels of their axes, checked against the operands.

A label is a number: a letter's code, the number of a sublist, or, below 0, an axis of an ellipsis counted from the last.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError, ShapeError
from scanviz.engine.graph.nodes import Variable, describe, tensor_type
from scanviz.engine.ops.support import as_variable

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
    """Return what a call asks for, written with letters or with lists of numbers.

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
            "einsum: there is not one operand for each part of the subscripts",
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
    """Return what a label is called in messages."""
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


__all__ = ["Labels", "Request", "Term", "name_of", "requested"]
