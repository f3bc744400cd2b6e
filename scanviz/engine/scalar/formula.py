"""Formulas of elementwise operations: an expression for each kind of dtype."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from scanviz.engine.errors import ScanvizTypeError
from scanviz.engine.scalar.expression import Expression
from scanviz.engine.scalar.primitives import KINDS

if TYPE_CHECKING:
    from scanviz.engine.scalar.blocks import Block


class Formula(NamedTuple):
    """One element of an operation's result, as expressions over the elements 0, 1, … of its inputs.

    The dtype that the last input is computed in selects the expression.

    Attributes
    ----------
    floating, signed, unsigned, boolean : Expression or None
        For these kinds of dtypes; None where the operation takes none.
    half : Expression or None
        For float16, where that is not computed as the other floating-point dtypes are.
    mixed : tuple of Expression
        For int64 beside uint64, and the other way round, which NumPy compares without a cast.
    ulp : float
        Largest difference from the NumPy meaning, where primitives are NumPy's: in units of the last digit of the largest
        among operands and result.
    """

    floating: Expression | None = None
    signed: Expression | None = None
    unsigned: Expression | None = None
    boolean: Expression | None = None
    half: Expression | None = None
    mixed: tuple[Expression, Expression] | None = None
    ulp: float = 0

    def of(self, dtypes: Sequence[str]) -> Expression | None:
        """Return the expression for dtypes that inputs are computed in, or None."""
        kinds = [KINDS[dtype] for dtype in dtypes]
        if self.mixed is not None and kinds in (["signed", "unsigned"], ["unsigned", "signed"]):
            return self.mixed[kinds[0] == "unsigned"]
        if dtypes[-1] == "float16" and self.half is not None:
            return self.half
        found: Expression | None = getattr(self, kinds[-1])
        return found

    def block(self, dtypes: Sequence[str], result: str) -> Block:
        """Return the formula for inputs computed in these dtypes and a result dtype.

        Raises
        ------
        ScanvizTypeError
            If there is none for these dtypes.
        """
        found = self.of(dtypes)
        if found is None:
            raise ScanvizTypeError(f"no formula for {', '.join(dtypes)}")
        from scanviz.engine.scalar.blocks import typed  # when one is asked for: many runs ask for none

        return typed([found], dtypes, result)


def floats(floating: Expression, half: Expression | None = None, ulp: float = 0) -> Formula:
    """Return the formula of an operation on floating-point numbers alone."""
    return Formula(floating, half=half, ulp=ulp)


def whole(expression: Expression, boolean: Expression | None = None) -> Formula:
    """Return the formula of an operation on integers."""
    return Formula(None, expression, expression, boolean)


def numbers(expression: Expression, boolean: Expression | None = None, ulp: float = 0) -> Formula:
    """Return the formula of an operation that is the same on numbers of every kind."""
    return Formula(expression, expression, expression, boolean, ulp=ulp)
