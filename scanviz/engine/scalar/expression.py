"""Expressions of the scalar language as they are written: trees of operations on arguments and constants, without dtypes.

``x * x + 1`` over the argument ``x`` is data, no Python function.  :func:`~scanviz.engine.scalar.blocks.typed` gives it dtypes;
a number that is written in it takes the dtype of its neighbour.  Operators build arithmetic and comparisons; ``equal`` is a
function because ``==`` compares expressions.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

from scanviz.engine.errors import InternalError
from scanviz.engine.scalar.primitives import PRIMITIVES

_NOTHING: frozenset[str] = frozenset()


class Expression:
    """An operation on expressions; compared by identity, and never changed.

    Attributes
    ----------
    op : str
        A primitive's name, or ``"argument"``, ``"constant"``, ``"limit"``, ``"like"``, ``"cast"``, ``"bits"``, ``"from_bits"``,
        ``"select"``, ``"when"``, ``"table"``, ``"carried"``, ``"loop"``, ``"call"``, ``"item"``.
    inputs : tuple of Expression
        Its operands.
    data : hashable
        Its other data: a number, a dtype, a name, the parts of a loop.
    free : frozenset of str
        Names of carried values of loops around it that it depends on.
    weak : bool
        Whether it is a number that takes the dtype of what stands beside it.
    """

    __slots__ = ("data", "free", "inputs", "op", "weak")
    free: frozenset[str]

    def __init__(
        self, op: str, inputs: Sequence[Expression] = (), data: Hashable = None, weak: bool = False
    ) -> None:
        self.op, self.inputs, self.data, self.weak = op, tuple(inputs), data, weak
        free = frozenset({str(data)}) if op == "carried" else _NOTHING
        for given in inputs:
            if given.free:
                free |= given.free
        self.free = free - frozenset(data.names) if isinstance(data, Repetition) else free

    def __add__(self, other: Operand) -> Expression:
        return primitive("add", self, other)

    def __radd__(self, other: float) -> Expression:
        return primitive("add", other, self)

    def __sub__(self, other: Operand) -> Expression:
        return primitive("subtract", self, other)

    def __rsub__(self, other: float) -> Expression:
        return primitive("subtract", other, self)

    def __mul__(self, other: Operand) -> Expression:
        return primitive("multiply", self, other)

    def __rmul__(self, other: float) -> Expression:
        return primitive("multiply", other, self)

    def __truediv__(self, other: Operand) -> Expression:
        return primitive("divide", self, other)

    def __rtruediv__(self, other: float) -> Expression:
        return primitive("divide", other, self)

    def __and__(self, other: Operand) -> Expression:
        return primitive("bit_and", self, other)

    def __or__(self, other: Operand) -> Expression:
        return primitive("bit_or", self, other)

    def __xor__(self, other: Operand) -> Expression:
        return primitive("bit_xor", self, other)

    def __lshift__(self, other: Operand) -> Expression:
        return primitive("shift_left", self, other)

    def __rshift__(self, other: Operand) -> Expression:
        return primitive("shift_right", self, other)

    def __invert__(self) -> Expression:
        return primitive("bit_not", self)

    def __neg__(self) -> Expression:
        return primitive("negate", self)

    def __lt__(self, other: Operand) -> Expression:
        return primitive("less", self, other)

    def __le__(self, other: Operand) -> Expression:
        return primitive("less_equal", self, other)

    def __gt__(self, other: Operand) -> Expression:
        return primitive("less", other, self)

    def __ge__(self, other: Operand) -> Expression:
        return primitive("less_equal", other, self)

    def __bool__(self) -> bool:
        raise InternalError("an expression of the scalar language has no truth value", fix="select(…)")

    def __repr__(self) -> str:
        parts = [*map(repr, self.inputs), *([] if self.data is None else [repr(self.data)])]
        return f"{self.op}({', '.join(parts)})" if parts else self.op


Operand = Expression | float


class Repetition(NamedTuple):
    """Names of a loop's carried values, and its most steps; inputs are initial values, the condition, new values."""

    names: tuple[str, ...]
    limit: int

    def __repr__(self) -> str:
        return f"{', '.join(self.names)}; {self.limit}"


class ScalarFunction:
    """A named expression of several results, which a backend may know a quicker way to compute to the same bits.

    Attributes
    ----------
    name : str
        Its name.
    arguments : tuple of str
        The dtypes of its arguments.
    results : tuple of Expression
        Its results, over the arguments alone.
    """

    __slots__ = ("arguments", "name", "results")

    def __init__(self, name: str, arguments: tuple[str, ...], results: tuple[Expression, ...]) -> None:
        self.name, self.arguments, self.results = name, arguments, results

    def __call__(self, *operands: Expression) -> tuple[Expression, ...]:
        """Return the results for operands."""
        called = Expression("call", operands, self)
        return tuple(Expression("item", (called,), k) for k in range(len(self.results)))

    def __repr__(self) -> str:
        return self.name


def expression(value: Operand) -> Expression:
    """Return an expression itself, or a Python number as a constant that takes the dtype of its neighbour."""
    return value if isinstance(value, Expression) else constant(value)


def primitive(name: str, *operands: Operand) -> Expression:
    """Return a primitive operation on expressions and numbers."""
    if len(operands) != PRIMITIVES[name].arity:
        raise InternalError(f"{name} takes {PRIMITIVES[name].arity} operands", found=len(operands))
    inputs = [expression(operand) for operand in operands]
    return Expression(name, inputs, weak=all(given.weak for given in inputs))


def argument(position: int) -> Expression:
    """Return an argument of the formula."""
    return Expression("argument", data=position)


def constant(value: float, dtype: str | None = None) -> Expression:
    """Return a number: of a dtype, or of the one that stands beside it."""
    return Expression("constant", data=(value, dtype), weak=dtype is None)


def lowest() -> Expression:
    """Return the least number of the dtype that stands beside it, minus infinity of floating-point numbers."""
    return Expression("limit", data="lowest", weak=True)


def width() -> Expression:
    """Return the number of bits of the dtype that stands beside it."""
    return Expression("limit", data="width", weak=True)


def like(value: float, other: Expression) -> Expression:
    """Return a number of the dtype of an expression."""
    return Expression("like", (other,), value)


def cast(value: Expression, dtype: str | Expression) -> Expression:
    """Return a number as another dtype, or as that of an expression: integers wrap, fractions are cut off, not 0 is true.

    A floating-point number that an integer dtype does not hold becomes what C compilers make of it (docs/reference/numpy_names.md).
    """
    if isinstance(dtype, Expression):
        return Expression("cast", (value, dtype))
    return Expression("cast", (value,), dtype)


def equal(first: Operand, second: Operand) -> Expression:
    """Return whether two numbers are equal."""
    return primitive("equal", first, second)


def bits(value: Expression) -> Expression:
    """Return the bits of a floating-point number as a signed integer of its width."""
    return Expression("bits", (value,))


def from_bits(value: Expression) -> Expression:
    """Return the floating-point number that has the bits of an integer."""
    return Expression("from_bits", (value,))


def select(condition: Expression, first: Operand, second: Operand) -> Expression:
    """Return the first where a condition is true, else the second; both are computed, neither may be undefined but for bits."""
    parts = (condition, expression(first), expression(second))
    return Expression("select", parts, weak=parts[1].weak and parts[2].weak)


def table(index: Expression, values: Sequence[float], dtype: str) -> Expression:
    """Return one of some constants, by an integer from 0 to their number less 1."""
    return Expression("table", (index,), (tuple(values), dtype))


def carried(name: str) -> Expression:
    """Return a loop's carried value by name, within its condition and its new values."""
    return Expression("carried", data=name)


def loop(
    start: Mapping[str, Expression], going: Expression, step: Mapping[str, Expression], limit: int
) -> dict[str, Expression]:
    """Return a loop's final carried values.

    Parameters
    ----------
    start : mapping
        Name → value before the first step.
    going : Expression
        Truth value over :func:`carried` names, looked at before each step: without it nothing changes any more.
    step : mapping
        The same names → values after a step, of the same dtypes.
    limit : int
        The most steps taken; after them the loop ends whatever ``going`` is.
    """
    names = tuple(start)
    if set(step) != set(names):
        raise InternalError("a loop gives what it carries", expected=names, found=tuple(step))
    inputs = (*start.values(), going, *(step[name] for name in names))
    made = Expression("loop", inputs, Repetition(names, limit))
    return {name: Expression("item", (made,), k) for k, name in enumerate(names)}


def when(condition: Expression, value: Expression, otherwise: Expression) -> Expression:
    """Return a value that is computed where a condition is true alone, and another one elsewhere."""
    return Expression("when", (condition, value, otherwise))


x, y, z = argument(0), argument(1), argument(2)
