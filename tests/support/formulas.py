"""Random expressions of the scalar language, and what they mean in plain Python: integers without a width, cut by hand."""

import math
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

import numpy as np

from scanviz.engine.scalar.expression import (
    Expression,
    Repetition,
    argument,
    carried,
    cast,
    constant,
    equal,
    like,
    loop,
    primitive,
    select,
    table,
    when,
)

WHOLE = ("int8", "uint8", "int32", "uint32", "int64", "uint64")
LIMIT = 7


class Grower:
    """Grows random expressions of integers, truth values and float64 over arguments of these dtypes."""

    def __init__(self, rng: Random, dtypes: Sequence[str]) -> None:
        self.rng = rng
        self.known: list[tuple[Expression, str]] = [(argument(k), dtype) for k, dtype in enumerate(dtypes)]
        self.loops = 0

    def of(self, dtype: str) -> Expression:
        """Return an expression of a dtype that there is, or a number."""
        fitting = [expression for expression, kind in self.known if kind == dtype]
        if fitting and self.rng.random() < 0.8:
            return self.rng.choice(fitting)
        return _number(self.rng, dtype)

    def _beside(self, dtype: str) -> Expression:
        """Return an operand for beside one that has this dtype: perhaps a number, or one of two, that has none of its own."""
        if dtype == "bool" or self.rng.random() < 0.7:
            return self.of(dtype)
        first, second = (_number(self.rng, dtype, weak=True) for _ in range(2))
        return select(self.of("bool"), first, second) if self.rng.random() < 0.5 else first

    def grow(self, steps: int) -> tuple[Expression, str]:
        """Add operations, and return the last with its dtype."""
        for _ in range(steps):
            dtype = self.rng.choice([kind for _, kind in self.known])
            self.known.append(self._grown(dtype))
        return self.known[-1]

    def _grown(self, dtype: str) -> tuple[Expression, str]:
        rng, a, b = self.rng, self.of(dtype), self._beside(dtype)
        how = rng.choice(("arithmetic", "arithmetic", "compare", "select", "when", "cast", "loop", "table"))
        if how == "compare":
            name = rng.choice(("equal",) if dtype == "bool" else ("equal", "less", "less_equal"))
            return primitive(name, a, b), "bool"
        if how in ("select", "when"):
            return select(self.of("bool"), a, b) if how == "select" else when(
                self.of("bool"), a, self.of(dtype)
            ), dtype
        if how == "cast" and dtype != "float64":
            other = rng.choice((*WHOLE, "float64", "bool"))
            return cast(a, other), other
        if how == "table" and dtype in WHOLE:
            return table(primitive("bit_and", a, 3), (2.0, -1.0, 0.5, 7.0), "float64"), "float64"
        if how == "loop":
            return self._loop(dtype), dtype
        return self._arithmetic(dtype, a, b), dtype

    def _arithmetic(self, dtype: str, a: Expression, b: Expression) -> Expression:
        if dtype == "bool":
            return primitive(self.rng.choice(("bit_and", "bit_or", "bit_xor")), a, b)
        if dtype == "float64":
            return primitive(self.rng.choice(("add", "subtract", "multiply", "divide", "copysign")), a, b)
        names = [
            "add",
            "subtract",
            "multiply",
            "bit_and",
            "bit_or",
            "bit_xor",
            "shift_left",
            "shift_right",
            "quotient",
        ]
        name = self.rng.choice([*names, "remainder", *(["multiply_high"] if dtype[0] == "u" else [])])
        if name.startswith("shift"):
            b = primitive("bit_and", b, 7)
        if name in ("quotient", "remainder"):
            b = primitive("bit_or", primitive("bit_and", b, 7), 1)
        return primitive(name, a, b)

    def _loop(self, dtype: str) -> Expression:
        """Return a loop that counts, and within whose step an expression grows."""
        self.loops += 1
        name, count = f"value{self.loops}", f"count{self.loops}"
        start = self.of(dtype)
        inner = Grower(self.rng, ())
        inner.known = [*self.known, (carried(name), dtype), (carried(count), "uint8")]
        inner.loops = self.loops * 10
        inner.known.append((inner._arithmetic(dtype, carried(name), inner.of(dtype)), dtype))
        for _ in range(self.rng.choice((0, 1, 3))):
            inner.known.append(inner._grown(dtype))
        fitting = [expression for expression, kind in inner.known if kind == dtype]
        most = constant(self.rng.choice((0, 1, 3, 9)), "uint8")
        going = primitive("less", carried(count), most) & inner.of("bool")
        step = {name: fitting[-1], count: carried(count) + 1}
        return loop({name: start, count: constant(0, "uint8")}, going, step, LIMIT)[name]


def _number(rng: Random, dtype: str, weak: bool = False) -> Expression:
    """Return a number of a dtype, or a weak one."""
    if dtype == "float64":
        numbers: tuple[float, ...] = (0.0, -0.0, 1.0, 0.1, -2.5, math.inf)
    else:
        numbers = (0, 1) if dtype == "bool" else (0, 1, 2, 5, np.iinfo(dtype).min, np.iinfo(dtype).max)
    return constant(rng.choice(numbers), None if weak else dtype)


def plain_value(expression: Expression, arguments: Sequence[Any], dtypes: Sequence[str]) -> tuple[Any, str]:
    """Return the value of an expression of Python numbers, and its dtype, one operation after the other."""
    return _Plain(arguments, dtypes).value(expression, {})


class _Plain:
    def __init__(self, arguments: Sequence[Any], dtypes: Sequence[str]) -> None:
        self.arguments, self.dtypes = arguments, dtypes

    def value(
        self, expr: Expression, around: Mapping[str, tuple[Any, str]], want: str = ""
    ) -> tuple[Any, str]:
        match expr.op:
            case "argument":
                assert isinstance(expr.data, int)
                return self.arguments[expr.data], self.dtypes[expr.data]
            case "carried":
                return around[str(expr.data)]
            case "constant":
                assert isinstance(expr.data, tuple)
                return expr.data[0], expr.data[1] or want
            case "select" | "when":
                chosen, other = (
                    expr.inputs[1:] if self.value(expr.inputs[0], around)[0] else expr.inputs[:0:-1]
                )
                if chosen.weak and not other.weak:
                    want = self.value(other, around)[1]
                return self.value(chosen, around, want)
            case "cast":
                given, old = self.value(expr.inputs[0], around)
                return _converted(given, old, str(expr.data)), str(expr.data)
            case "table":
                assert isinstance(expr.data, tuple)
                return expr.data[0][self.value(expr.inputs[0], around)[0]], expr.data[1]
            case "item":
                assert isinstance(expr.data, int)
                return self._loop(expr.inputs[0], around)[expr.data]
            case op:
                strong = next((given for given in expr.inputs if not given.weak), expr.inputs[0])
                dtype = self.value(strong, around, want)[1]
                operands = [self.value(given, around, dtype)[0] for given in expr.inputs]
                made = _PRIMITIVES[op](*operands, dtype)
                return (made, "bool") if op in ("equal", "less", "less_equal") else (_cut(made, dtype), dtype)

    def _loop(self, expr: Expression, around: Mapping[str, tuple[Any, str]]) -> list[tuple[Any, str]]:
        parts, inputs = expr.data, expr.inputs
        assert isinstance(parts, Repetition)
        count = len(parts.names)
        now = {name: self.value(given, around) for name, given in zip(parts.names, inputs, strict=False)}
        for _ in range(parts.limit):
            if not self.value(inputs[count], {**around, **now})[0]:
                break
            steps = zip(parts.names, inputs[count + 1 :], strict=True)
            now = {name: self.value(given, {**around, **now}) for name, given in steps}
        return list(now.values())


def _cut(value: Any, dtype: str) -> Any:
    """Return a whole number as it is in so many bits."""
    if dtype in ("bool", "float64"):
        return value
    bits = int(dtype.lstrip("uint"))
    rest = value % 2**bits
    return rest - 2**bits if dtype[0] == "i" and rest >= 2 ** (bits - 1) else rest


def _converted(value: Any, old: str, dtype: str) -> Any:
    if dtype == "float64":
        return float(value)
    return bool(value) if dtype == "bool" else _cut(int(value), dtype)


def _divided(a: float, b: float) -> float:
    with np.errstate(all="ignore"):
        return float(np.float64(a) / np.float64(b))


def _product(a: Any, b: Any) -> Any:
    with np.errstate(all="ignore"):
        return float(np.float64(a) * np.float64(b)) if isinstance(a, float) else a * b


def _towards_0(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


_PRIMITIVES: dict[str, Callable[..., Any]] = {
    "add": lambda a, b, dtype: a + b,
    "subtract": lambda a, b, dtype: a - b,
    "multiply": lambda a, b, dtype: _product(a, b),
    "divide": lambda a, b, dtype: _divided(a, b),
    "copysign": lambda a, b, dtype: math.copysign(a, b),
    "multiply_high": lambda a, b, dtype: a * b >> int(dtype.lstrip("uint")),
    "quotient": lambda a, b, dtype: _towards_0(a, b),
    "remainder": lambda a, b, dtype: a - b * _towards_0(a, b),
    "bit_and": lambda a, b, dtype: a & b,
    "bit_or": lambda a, b, dtype: a | b,
    "bit_xor": lambda a, b, dtype: a ^ b,
    "shift_left": lambda a, b, dtype: a << b,
    "shift_right": lambda a, b, dtype: a >> b,
    "equal": lambda a, b, dtype: a == b,
    "less": lambda a, b, dtype: a < b,
    "less_equal": lambda a, b, dtype: a <= b,
}


def smooth_formula(rng: Random, steps: int) -> Expression:
    """Return a random smooth function of two numbers, bounded in itself and its slopes: for derivatives."""
    known = [argument(0), argument(1), argument(0) * 0.5]
    for _ in range(steps):
        a, b = rng.choice(known), rng.choice(known)
        bounded = primitive(rng.choice(("tanh", "sin", "cos", "arctan")), a)
        known.append(
            rng.choice(
                (
                    bounded,
                    a + b,
                    a - b * 0.5,
                    bounded * b,
                    primitive("exp", bounded),
                    bounded / (b * b + 1),
                    primitive("log1p", b * b),
                    -a,
                    primitive("sqrt", b * b + 2.0),
                    select(equal(a, like(1e9, a)), b, bounded),
                )
            )
        )
    return primitive("tanh", known[-1]) + known[-1] * 0.125
