"""Typed expressions: blocks of lines, each an operation on numbered values of known dtypes; printers print these.

A block is what :func:`typed` makes of expressions and the dtypes of their arguments.  Equal operations on equal operands are
one line: there are no effects, so each is computed once.  Operands come before their readers, and operations of a loop's step
that read nothing that the loop carries come before the loop.  Blocks are plain data: they compare, hash and print equal in
every process.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from scanviz.engine.errors import InternalError, ScanvizTypeError
from scanviz.engine.graph.types import BOOLEAN
from scanviz.engine.scalar.expression import Expression, Repetition, ScalarFunction
from scanviz.engine.scalar.primitives import KINDS, PRIMITIVES
from scanviz.engine.sizes.in_turn import ends


class Statement(NamedTuple):
    """One operation of a block.

    Attributes
    ----------
    op : str
        As of :class:`~scanviz.engine.scalar.expression.Expression`, without ``argument``, ``carried``, ``limit`` and ``item``.
    inputs, outputs : tuple of int
        Numbers of values.
    data : hashable
        A constant's number, a table's numbers, a loop's limit, a function's name.
    blocks : tuple of Block
        A loop's condition and step, a function's body, what is computed where a condition is true.
    """

    op: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    data: Hashable = None
    blocks: tuple[Block, ...] = ()


class Block(NamedTuple):
    """Lines over arguments: a typed formula, the condition or the step of a loop.

    Attributes
    ----------
    arguments : int
        Number of given values; they have the first numbers.
    dtypes : tuple of str
        The dtype of each value.
    lines : tuple of Statement
        The computations, in order.
    results : tuple of int
        The values that are wanted.
    """

    arguments: int
    dtypes: tuple[str, ...]
    lines: tuple[Statement, ...]
    results: tuple[int, ...]


def typed(results: Sequence[Expression], arguments: Sequence[str], want: str | None = None) -> Block:
    """Return expressions as a block, for arguments of these dtypes.

    Parameters
    ----------
    results : sequence of Expression
        The expressions to compute.
    arguments : sequence of str
        The dtypes of arguments 0, 1, ….
    want : str, optional
        The dtype of a result that is nothing but a number.

    Raises
    ------
    ScanvizTypeError
        If an operation does not take the dtypes that it gets, or a number has nothing to take its dtype from.

    Examples
    --------
    >>> from scanviz.engine.scalar.expression import x
    >>> typed([x * x + 1], ["int8"]).dtypes
    ('int8', 'int8', 'int8', 'int8')
    """
    builder = _Builder(list(arguments))
    return builder.block([builder.value(result, want) for result in results])


class _Builder:
    """A block as it grows."""

    def __init__(self, dtypes: list[str]) -> None:
        self.count, self.dtypes = len(dtypes), dtypes
        self.lines: list[Statement] = []
        self.known: dict[Expression, int] = {}  # strong expressions
        self.names: dict[str, int] = {}  # values that a loop carries
        self.scope: frozenset[str] = frozenset()  # names of all loops around
        self._equal: dict[tuple[Any, ...], tuple[int, ...]] = {}

    def block(self, results: Sequence[int]) -> Block:
        """Return the block built so far."""
        return Block(self.count, tuple(self.dtypes), tuple(self.lines), tuple(results))

    def line(
        self,
        op: str,
        inputs: Sequence[int],
        dtypes: Sequence[str],
        data: Hashable = None,
        blocks: tuple[Block, ...] = (),
    ) -> tuple[int, ...]:
        """Return the values of an operation: those of an equal one that is there, else of a new line."""
        key = (op, tuple(inputs), tuple(dtypes), data, blocks)
        found = self._equal.get(key)
        if found is None:
            first = len(self.dtypes)
            found = self._equal[key] = tuple(range(first, first + len(dtypes)))
            self.dtypes += dtypes
            self.lines.append(Statement(op, tuple(inputs), found, data, blocks))
        return found

    def constant(self, value: float, dtype: str) -> int:
        """Return a number of a dtype; NaN is one NaN, and zeros keep their sign."""
        whole = KINDS[dtype] in ("signed", "unsigned")
        if whole and not (float(value).is_integer() and np.iinfo(dtype).min <= value <= np.iinfo(dtype).max):
            raise ScanvizTypeError(f"{value} is no number of {dtype}")
        with np.errstate(over="ignore"):
            number = np.dtype(dtype).type(value)
        return self.line("constant", (), (dtype,), number.tobytes())[0]

    def value(self, expr: Expression, want: str | None = None) -> int:
        """Return the number of an expression's value; ``want`` is the dtype of weak constants."""
        if expr.weak:
            if want is None:
                raise ScanvizTypeError(f"the number {expr} has nothing to take its dtype from")
            return self._weak(expr, want)
        found = self.known.get(expr)
        if found is None:
            found = self.known[expr] = self._strong(expr)
        return found

    def _weak(self, expr: Expression, dtype: str) -> int:
        if expr.op == "constant":
            assert isinstance(expr.data, tuple)
            return self.constant(expr.data[0], dtype)
        if expr.op == "limit":
            return self.constant(_limit(str(expr.data), dtype), dtype)
        if expr.op == "select":
            return self._select(expr, dtype)
        inputs = [self.value(given, dtype) for given in expr.inputs]
        return self.line(expr.op, inputs, (dtype,))[0]

    def _strong(self, expr: Expression) -> int:
        match expr.op:
            case "argument":
                assert isinstance(expr.data, int)
                if expr.data >= self.count:
                    raise InternalError(f"there is no argument {expr.data}", expected=f"{self.count} of them")
                return expr.data
            case "carried":
                return self.names[str(expr.data)]
            case "constant":
                assert isinstance(expr.data, tuple)
                return self.constant(*expr.data)
            case "like":
                assert isinstance(expr.data, int | float)
                return self.constant(expr.data, self.dtypes[self.value(expr.inputs[0])])
            case "select":
                return self._select(expr, None)
            case "when":
                return self._when(expr)
            case "cast":
                return self._cast(expr)
            case "bits" | "from_bits":
                return self._bits(expr)
            case "table":
                return self._table(expr)
            case "item":
                assert isinstance(expr.data, int)
                return self._several(expr.inputs[0])[expr.data]
            case _:
                return self._primitive(expr)

    def _operands(self, inputs: Sequence[Expression], want: str | None, what: str) -> tuple[list[int], str]:
        """Return operands in their one dtype, which those without a dtype of their own take."""
        strong = next((given for given in inputs if not given.weak), None)
        dtype = want if strong is None else self.dtypes[self.value(strong)]
        found = [self.value(given, dtype) for given in inputs]
        dtypes = [self.dtypes[number] for number in found]
        if len(set(dtypes)) > 1:
            raise ScanvizTypeError(f"{what} of {' and '.join(dtypes)}", expected="operands of one dtype")
        return found, dtypes[0]

    def _primitive(self, expr: Expression) -> int:
        primitive = PRIMITIVES[expr.op]
        inputs, dtype = self._operands(expr.inputs, None, expr.op)
        if KINDS[dtype][0] not in primitive.kinds:
            raise ScanvizTypeError(f"{expr.op} of {dtype}", expected=f"kinds {primitive.kinds}")
        return self.line(expr.op, inputs, (BOOLEAN if primitive.tests else dtype,))[0]

    def _select(self, expr: Expression, want: str | None) -> int:
        condition = self.value(expr.inputs[0])
        if self.dtypes[condition] != BOOLEAN:
            raise ScanvizTypeError(f"select by {self.dtypes[condition]}", expected="a truth value")
        (first, second), dtype = self._operands(expr.inputs[1:], want, "select")
        return first if first == second else self.line("select", (condition, first, second), (dtype,))[0]

    def _when(self, expr: Expression) -> int:
        """Return the value of a line with a block: what it takes from here is what is computed here already."""
        condition, otherwise = self.value(expr.inputs[0]), self.value(expr.inputs[2])
        outside = self._at_hand(expr.inputs[1])
        captured = list(dict.fromkeys(self.value(given) for given in outside))
        inner = _Builder([self.dtypes[number] for number in captured])
        inner.scope = self.scope
        inner.known = {given: captured.index(self.value(given)) for given in outside}
        body = inner.block([inner.value(expr.inputs[1])])
        dtypes = [body.dtypes[body.results[0]], self.dtypes[otherwise]]
        if dtypes[0] != dtypes[1] or self.dtypes[condition] != BOOLEAN:
            raise ScanvizTypeError(f"when of {' and '.join(dtypes)}", expected="a truth value, and one dtype")
        return self.line("when", (condition, otherwise, *captured), dtypes[:1], None, (body,))[0]

    def _at_hand(self, wanted: Expression) -> list[Expression]:
        """Return the parts of an expression that have values here: arguments, carried and computed values."""

        def is_given(expr: Expression) -> bool:
            given = expr.op == "argument" or (expr.op == "carried" and expr.free <= self.scope)
            return given or (expr in self.known and expr.op != "constant")

        return ends([wanted], attrgetter("inputs"), is_given)

    def _cast(self, expr: Expression) -> int:
        given, *others = (self.value(one) for one in expr.inputs)
        dtype = self.dtypes[others[0]] if others else str(expr.data)
        return given if self.dtypes[given] == dtype else self.line("cast", (given,), (dtype,))[0]

    def _bits(self, expr: Expression) -> int:
        given = self.value(expr.inputs[0])
        old = self.dtypes[given]
        kind, width = KINDS[old], old.lstrip("uinfloat")
        if (kind == "floating") != (expr.op == "bits") or kind == "boolean" or int(width) < 16:
            raise ScanvizTypeError(f"{expr.op} of {old}")
        return self.line("bitcast", (given,), (f"{'int' if expr.op == 'bits' else 'float'}{width}",))[0]

    def _table(self, expr: Expression) -> int:
        assert isinstance(expr.data, tuple)
        (values, dtype), index = expr.data, self.value(expr.inputs[0])
        if KINDS[self.dtypes[index]] not in ("signed", "unsigned"):
            raise ScanvizTypeError(f"a table is indexed by {self.dtypes[index]}", expected="an integer")
        return self.line("table", (index,), (dtype,), np.array(values, dtype).tobytes())[0]

    def _several(self, expr: Expression) -> tuple[int, ...]:
        """Return the values of an expression with several: a loop, or a function."""
        if isinstance(expr.data, ScalarFunction):
            return self._call(expr, expr.data)
        assert isinstance(expr.data, Repetition)
        return self._loop(expr, expr.data)

    def _call(self, expr: Expression, function: ScalarFunction) -> tuple[int, ...]:
        inputs = [self.value(given) for given in expr.inputs]
        dtypes = tuple(self.dtypes[number] for number in inputs)
        if dtypes != function.arguments:
            raise ScanvizTypeError(f"{function.name} of {dtypes}", expected=function.arguments)
        body = typed(function.results, dtypes)
        given = [body.dtypes[number] for number in body.results]
        return self.line("call", inputs, given, function.name, (body,))

    def _loop(self, expr: Expression, parts: Repetition) -> tuple[int, ...]:
        count = len(parts.names)
        start = [self.value(given) for given in expr.inputs[:count]]
        going, steps = expr.inputs[count], expr.inputs[count + 1 :]
        outside = _outside([going, *steps], frozenset(parts.names), self.scope)
        captured = list(dict.fromkeys(self.value(given) for given in outside))
        dtypes = [self.dtypes[number] for number in (*start, *captured)]
        blocks = []
        for wanted in ([going], steps):
            inner = _Builder(list(dtypes))
            inner.names = dict(zip(parts.names, range(count), strict=True))
            inner.scope = self.scope | inner.names.keys()
            inner.known = {given: count + captured.index(self.value(given)) for given in outside}
            blocks.append(inner.block([inner.value(one) for one in wanted]))
        results = [blocks[1].dtypes[number] for number in blocks[1].results]
        if results != dtypes[:count] or blocks[0].dtypes[blocks[0].results[0]] != BOOLEAN:
            raise ScanvizTypeError(
                f"a loop's step gives {results}", expected=f"what it starts from, {dtypes[:count]}"
            )
        return self.line("loop", (*start, *captured), dtypes[:count], parts.limit, tuple(blocks))


def _outside(results: Sequence[Expression], names: frozenset[str], scope: frozenset[str]) -> list[Expression]:
    """Return the loop-invariant inputs of a loop's expressions: the largest parts that depend on no carried value.

    ``scope`` has the names that are carried around it; others are those of loops within it.
    """

    def is_outside(expr: Expression) -> bool:
        number = expr.weak or expr.op == "constant"
        return not number and not expr.free & names and expr.free <= scope

    return ends(results, attrgetter("inputs"), is_outside)


def _limit(which: str, dtype: str) -> float:
    if which == "width":
        return np.dtype(dtype).itemsize * 8
    return -np.inf if KINDS[dtype] == "floating" else int(np.iinfo(dtype).min)


def text_of(block: Block, name: str = "formula") -> str:
    """Return a block as text.

    Examples
    --------
    >>> from scanviz.engine.scalar.blocks import typed
    >>> from scanviz.engine.scalar.expression import select, x
    >>> print(text_of(typed([select(x < 0, -x, x)], ["float32"])))
    formula(%0: float32)
        %2: bool = less %0, 0.0
        %3: float32 = negate %0
        %4: float32 = select %2, %3, %0
        give %4
    """
    given = ", ".join(f"%{k}: {block.dtypes[k]}" for k in range(block.arguments))
    return "\n".join([f"{name}({given})", *_lines(block, "    ")])


def _lines(block: Block, indent: str) -> Iterator[str]:
    constants = {
        line.outputs[0]: _number(line, block.dtypes[line.outputs[0]])
        for line in block.lines
        if line.op == "constant"
    }

    def named(number: int) -> str:
        return constants.get(number, f"%{number}")

    for line in block.lines:
        if line.op == "constant":
            continue
        made = ", ".join(f"%{number}: {block.dtypes[number]}" for number in line.outputs)
        given = ", ".join(map(named, line.inputs))
        yield f"{indent}{made} = {_what(line, block)} {given}".rstrip()
        titles = {"loop": ("while", "step"), "when": ("do",)}.get(line.op, ())
        for title, inner in zip(titles, line.blocks, strict=False):
            arguments = ", ".join(f"%{k}: {inner.dtypes[k]}" for k in range(inner.arguments))
            yield f"{indent}  {title}({arguments})"
            yield from _lines(inner, indent + "    ")
    yield f"{indent}give {', '.join(map(named, block.results))}"


def _what(line: Statement, block: Block) -> str:
    if line.op == "table":
        assert isinstance(line.data, bytes)
        values = np.frombuffer(line.data, block.dtypes[line.outputs[0]])
        return f"table[{', '.join(map(str, values))}] at"
    if line.op == "loop":
        return f"loop, {line.data} steps at most, of"
    return str(line.data) if line.op == "call" else line.op


def _number(line: Statement, dtype: str) -> str:
    assert isinstance(line.data, bytes)
    return str(np.frombuffer(line.data, dtype)[0])
