"""Costs of operations: floating-point operations, bytes, and approximate times in NumPy and machine code.

Declarations give their operations by the rules of this file, in sizes that may be numbers or polynomials.  What a graph costs adds
:mod:`scanviz.engine.rewrites.cost` up, what a Program does for the shapes of a plan :mod:`scanviz.engine.program.work`.

Golub and Van Loan, "Matrix Computations", 4th ed., section 1.2 and tables 3.2, 4.2: 2 m n k for a product, n³/3 for a Cholesky
and 2 n³/3 for an LU factorisation.  An elementary function counts as :data:`FUNCTION` operations an element.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from scanviz.engine.graph.declaration import Op

if TYPE_CHECKING:
    from fractions import Fraction

    from scanviz.engine.graph.facts import Flops, Sizes

FUNCTION = 10  # operations that exp, tanh and the like count as


def one(op: Op, sizes: Sizes) -> Any:
    """Return one operation for each element of the result."""
    return sizes.made()


def elementary(op: Op, sizes: Sizes) -> Any:
    """Return the operations of an elementary function for each element of the result."""
    return sizes.made() * FUNCTION


def an_element(count: int) -> Flops:
    """Return the rule of a fixed number of operations per element of the result."""
    return lambda op, sizes: sizes.made() * count


def of_input(op: Op, sizes: Sizes) -> Any:
    """Return one operation for each element of the first input."""
    return sizes.given(0)


def product(op: Op, sizes: Sizes) -> Any:
    """Return a multiplication and an addition for each element that is summed, of a product over last axes."""
    return sizes.made() * 2 * sizes.size(0, -1)


def tensor_product(op: Op, sizes: Sizes) -> Any:
    """Return the operations of a product over several axes."""
    total = sizes.made() * 2
    for axis in op.parameters.first:
        total = total * sizes.size(0, axis)
    return total


def cube(share: Fraction) -> Flops:
    """Return the rule of a share of n³ for each n × n matrix of the first input."""
    return lambda op, sizes: sizes.given(0) * sizes.size(0, -1) * share


def substitutions(count: int) -> Flops:
    """Return the rule of ``count`` triangular systems of size n: n² operations for each right side."""
    return lambda op, sizes: sizes.made() * sizes.size(0, -1) * count


def solving(op: Op, sizes: Sizes) -> Any:
    """Return the operations of a factorisation and two triangular systems."""
    from fractions import Fraction  # which brings decimal numbers with it, slowly

    share = Fraction(1, 3) if op.parameters.assume == "pos" else Fraction(2, 3)
    return substitutions(2)(op, sizes) + cube(share)(op, sizes)


# ---- in numbers


class Work(Struct, frozen=True):
    """The work of one application of an instruction.

    Attributes
    ----------
    flops : int
        Floating-point operations.
    product_flops : int
        Those of them that are multiplications and additions of a product of matrices.
    bytes : int
        Bytes read and written.
    """

    flops: int
    product_flops: int
    bytes: int


class TierRates(Struct, frozen=True):
    """Times of a tier in nanoseconds, measured on one machine and rounded.

    Attributes
    ----------
    flop, product_flop, byte : float
        For an operation, for one of a product of matrices, and for a byte read or written.
    call, number : float
        For an operation beside that: on arrays, and on single numbers.
    step, row : float
        For a step, and for the next row of a sequence, a state or an output that has arrays for rows.
    unknown : float
        For an operation whose work is not known, and for a loop beside its steps.
    all_steps : bool
        Whether loops that may end early count with all their steps; else with none, for they are counted as they run.
    """

    flop: float
    product_flop: float
    byte: float
    call: float
    number: float
    step: float
    row: float
    unknown: float
    all_steps: bool

    def of(self, work: Work) -> float:
        """Return the time of the operations and the bytes of an instruction.

        Examples
        --------
        >>> NUMPY_RATES.of(Work(flops=1000, product_flops=0, bytes=10_000))
        200.0
        """
        others = work.flops - work.product_flops
        return others * self.flop + work.product_flops * self.product_flop + work.bytes * self.byte


NUMPY_RATES = TierRates(
    0.12, 0.05, 0.008, call=260.0, number=40.0, step=50.0, row=90.0, unknown=2_000.0, all_steps=False
)
MACHINE_RATES = TierRates(
    0.03, 0.02, 0.004, call=20.0, number=20.0, step=0.0, row=0.0, unknown=20.0, all_steps=True
)


def same_work(*found: list[Work | None]) -> list[Work | None]:
    """Return the work of instructions that is the same in all calls, or None if it differs or is unknown."""
    return [one[0] if all(other == one[0] for other in one) else None for one in zip(*found, strict=True)]


def weights_in(group: Sequence[int], work: Sequence[Work | None]) -> dict[int, int]:
    """Return how fused instructions share their time: by their operations per element.

    Examples
    --------
    >>> weights_in([0, 2, 3], [Work(64, 0, 512), None, Work(640, 0, 0), None])
    {0: 64, 2: 640, 3: 1}
    """
    return {index: 1 if (known := work[index]) is None else max(1, known.flops) for index in group}
