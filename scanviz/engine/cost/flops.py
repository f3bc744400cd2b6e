"""Floating-point operations by the textbook, for the field ``flops`` of declarations.

Golub and Van Loan, "Matrix Computations", 4th ed., section 1.2 and tables 3.2, 4.2: 2 m n k for a product, n³/3 for a Cholesky
and 2 n³/3 for an LU factorisation.  An elementary function counts as :data:`FUNCTION` operations an element.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scanviz.engine.graph.declaration import Op

if TYPE_CHECKING:
    from fractions import Fraction

    from scanviz.engine.graph.facts import Flops, Sizes

FUNCTION = 10  # operations that exp, tanh and the like count as


def one(op: Op, sizes: Sizes) -> Any:
    """Return one operation for each element of the result."""
    return sizes.made()


def elementary(op: Op, sizes: Sizes) -> Any:
    """Return those of an elementary function for each element of the result."""
    return sizes.made() * FUNCTION


def an_element(count: int) -> Flops:
    """Return the rule of so many operations for each element of the result."""
    return lambda op, sizes: sizes.made() * count


def of_input(op: Op, sizes: Sizes) -> Any:
    """Return one operation for each element of the first input."""
    return sizes.given(0)


def product(op: Op, sizes: Sizes) -> Any:
    """Return a multiplication and an addition for each element that is summed, of a product over last axes."""
    return sizes.made() * 2 * sizes.size(0, -1)


def tensor_product(op: Op, sizes: Sizes) -> Any:
    """Return those of a product over several axes."""
    total = sizes.made() * 2
    for axis in op.parameters.first:
        total = total * sizes.size(0, axis)
    return total


def cube(share: Fraction) -> Flops:
    """Return the rule of a share of n³ for each n × n matrix of the first input."""
    return lambda op, sizes: sizes.given(0) * sizes.size(0, -1) * share


def substitutions(count: int) -> Flops:
    """Return the rule of triangular systems of size n: so many, n² operations for each right side."""
    return lambda op, sizes: sizes.made() * sizes.size(0, -1) * count


def solving(op: Op, sizes: Sizes) -> Any:
    """Return those of a factorisation and two triangular systems."""
    from fractions import Fraction  # which brings decimal numbers with it, slowly

    share = Fraction(1, 3) if op.parameters.assume == "pos" else Fraction(2, 3)
    return substitutions(2)(op, sizes) + cube(share)(op, sizes)
