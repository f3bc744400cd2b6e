"""Write formulas of the scalar language for any number of lanes.

Vectors and the remaining scalars are written by the same rows, so both give the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scanviz.engine.backends.native.emit import NotWrittenError
from scanviz.engine.backends.native.emit.ir import Code, Value, constant, type_of
from scanviz.engine.backends.native.kernels.elementary import FUNCTIONS, elementary
from scanviz.engine.graph.types import BOOLEAN
from scanviz.engine.scalar.blocks import Block, Statement
from scanviz.engine.scalar.primitives import KINDS

_ARITHMETIC = {
    "add": {"f": "fadd", "s": "add", "u": "add"},
    "subtract": {"f": "fsub", "s": "sub", "u": "sub"},
    "multiply": {"f": "fmul", "s": "mul", "u": "mul"},
    "divide": {"f": "fdiv"},
    "quotient": {"s": "sdiv", "u": "udiv"},
    "remainder": {"s": "srem", "u": "urem"},
    "bit_and": {"b": "and", "s": "and", "u": "and"},
    "bit_or": {"b": "or", "s": "or", "u": "or"},
    "bit_xor": {"b": "xor", "s": "xor", "u": "xor"},
    "shift_left": {"s": "shl", "u": "shl"},
    "shift_right": {"s": "ashr", "u": "lshr"},
}
_TESTS = {
    "equal": {"f": "fcmp oeq", "b": "icmp eq", "s": "icmp eq", "u": "icmp eq"},
    "less": {"f": "fcmp olt", "b": "icmp ult", "s": "icmp slt", "u": "icmp ult"},
    "less_equal": {"f": "fcmp ole", "s": "icmp sle", "u": "icmp ule"},
}
_INTRINSICS = {
    "absolute": "fabs", "copysign": "copysign", "floor": "floor", "ceil": "ceil", "truncate": "trunc",
    "round_even": "roundeven", "sqrt": "sqrt",
}  # fmt: skip
_NO_LANES = frozenset({"loop", "when", "table"})  # formulas written for scalars only


def takes_lanes(block: Block) -> bool:
    """Return whether a formula can be vectorised."""
    return all(
        line.op not in _NO_LANES and not _is_draw(line) and all(takes_lanes(inner) for inner in line.blocks)
        for line in block.lines
    )


def _is_draw(line: Statement) -> bool:
    """Return whether a line draws random words, which have native code of their own."""
    if line.op != "call":
        return False
    from scanviz.engine.ops.formulas.words import BLOCK_AT  # few formulas call other formulas

    return bool(line.data == BLOCK_AT.name)


def write(code: Code, block: Block, arguments: Sequence[Value]) -> list[Value]:
    """Write a formula, and return its results."""
    values: dict[int, Value] = dict(enumerate(arguments))
    lanes = arguments[0].lanes if arguments else 1
    for line in block.lines:
        for number, value in zip(line.outputs, _line(code, block, line, values, lanes), strict=True):
            values[number] = value
    return [values[number] for number in block.results]


def _line(code: Code, block: Block, line: Statement, values: dict[int, Value], lanes: int) -> list[Value]:
    dtype = block.dtypes[line.outputs[0]]
    given = [values[number] for number in line.inputs]
    match line.op:
        case "constant":
            assert isinstance(line.data, bytes)
            return [constant(np.frombuffer(line.data, dtype)[0], dtype, lanes)]
        case "select":
            return [code.select(*given)]
        case "cast":
            return [cast(code, given[0], dtype)]
        case "bitcast":
            return [code.op(f"bitcast {given[0].typed} to {type_of(dtype, lanes)}", dtype, lanes)]
        case "table":
            assert isinstance(line.data, bytes)
            index = code.times(cast(code, given[0], "int64"), np.dtype(dtype).itemsize)
            return [code.load(code.at(code.table(line.data), index), dtype)]
        case "call":
            if _is_draw(line):
                from scanviz.engine.backends.native.kernels.philox import block_at
                from scanviz.engine.ops.formulas.words import STATE

                return block_at(code, given[: len(STATE)], *given[len(STATE) :])
            return write(code, line.blocks[0], given)
        case "when":
            return [_when(code, line, given)]
        case "loop":
            return _loop(code, line, given)
    return [primitive(code, line.op, given)]


def primitive(code: Code, name: str, given: Sequence[Value]) -> Value:
    """Write a primitive, and return its result."""
    first, lanes = given[0], given[0].lanes
    kind = KINDS[first.dtype][0]
    operands = f"{first.typed}, {given[1].text}" if len(given) > 1 else first.typed
    if name == "remainder" and kind == "f":
        return elementary(code, name, list(given))
    if name in _ARITHMETIC:
        if name.startswith("shift"):  # freeze: a shift by the width or more is otherwise undefined
            width = 8 * np.dtype(first.dtype).itemsize
            mask = constant(width - 1, first.dtype, lanes).text
            operands = f"{first.typed}, {code.op(f'and {given[1].typed}, {mask}', first.dtype, lanes).text}"
        return code.op(f"{_ARITHMETIC[name][kind]} {operands}", first.dtype, lanes)
    if name in _TESTS:
        return code.op(f"{_TESTS[name][kind]} {operands}", BOOLEAN, lanes)
    if name in _INTRINSICS:
        return code.intrinsic(_INTRINSICS[name], *given)
    if name == "negate":
        text = f"fneg {first.typed}" if kind == "f" else f"sub {first.type} zeroinitializer, {first.text}"
        if kind != "f" and lanes == 1:
            text = f"sub {first.type} 0, {first.text}"
        return code.op(text, first.dtype, lanes)
    if name == "bit_not":
        ones = constant(True if kind == "b" else -1, first.dtype, lanes).text
        return code.op(f"xor {first.typed}, {ones}", first.dtype, lanes)
    if name == "multiply_high":
        return _multiply_high(code, given[0], given[1])
    if name not in FUNCTIONS:
        raise NotWrittenError(f"`{name}` has no native code")
    return elementary(code, name, list(given))


def _multiply_high(code: Code, first: Value, second: Value) -> Value:
    bits, lanes = 8 * np.dtype(first.dtype).itemsize, first.lanes
    wide = f"i{2 * bits}" if lanes == 1 else f"<{lanes} x i{2 * bits}>"
    names = []
    for value in (first, second):
        names.append(code.name())
        code.line(f"{names[-1]} = zext {value.typed} to {wide}")
    product, high = code.name(), code.name()
    shift = str(bits) if lanes == 1 else f"splat (i{2 * bits} {bits})"
    code.line(f"{product} = mul {wide} {names[0]}, {names[1]}")
    code.line(f"{high} = lshr {wide} {product}, {shift}")
    return code.op(f"trunc {wide} {high} to {first.type}", first.dtype, lanes)


def cast(code: Code, value: Value, dtype: str) -> Value:
    """Return numbers as another dtype, as the scalar language has it."""
    if value.dtype == dtype:
        return value
    if "float16" in (value.dtype, dtype):
        raise NotWrittenError("float16 arithmetic has no native code")
    old, new, lanes = KINDS[value.dtype][0], KINDS[dtype][0], value.lanes
    target = type_of(dtype, lanes)
    if new == "b":
        zero = constant(0, value.dtype, lanes).text
        test = "fcmp une" if old == "f" else "icmp ne"
        return code.op(f"{test} {value.typed}, {zero}", dtype, lanes)
    sizes = [np.dtype(kind).itemsize if kind != BOOLEAN else 0 for kind in (value.dtype, dtype)]
    if new == "f":
        how = {
            "f": "fpext" if sizes[1] > sizes[0] else "fptrunc",
            "s": "sitofp",
            "u": "uitofp",
            "b": "uitofp",
        }[old]
        return code.op(f"{how} {value.typed} to {target}", dtype, lanes)
    if old == "f":
        return _whole(code, value, dtype)
    if sizes[0] == sizes[1]:
        return Value(value.text, dtype, lanes)
    how = "trunc" if sizes[1] < sizes[0] else "sext" if old == "s" else "zext"
    return code.op(f"{how} {value.typed} to {target}", dtype, lanes)


def _whole(code: Code, value: Value, dtype: str) -> Value:
    """Cast floats to integers as C compilers and NumPy do, by way of int32 or int64.

    A number out of range and NaN become what the processor makes of them: the least integer on x86.
    """
    lanes = value.lanes
    if dtype == "uint64":
        half = constant(2.0**63, value.dtype, lanes)
        upper = code.op(f"fcmp oge {value.typed}, {half.text}", BOOLEAN, lanes)
        lower = code.op(f"fsub {value.typed}, {half.text}", value.dtype, lanes)
        low = cast(code, code.select(upper, lower, value), "int64")
        top = code.select(upper, constant(-(2**63), "int64", lanes), constant(0, "int64", lanes))
        return Value(code.op(f"xor {low.typed}, {top.text}", "int64", lanes).text, dtype, lanes)
    wide = "int64" if dtype in ("int64", "uint32") else "int32"
    made = code.op(f"fptosi {value.typed} to {type_of(wide, lanes)}", wide, lanes)
    return cast(code, code.op(f"freeze {made.typed}", wide, lanes), dtype)


def _when(code: Code, line: Statement, given: Sequence[Value]) -> Value:
    """Write a value that is computed only if the condition holds."""
    condition, otherwise, *captured = given
    then, after, before = code.label(), code.label(), code.block
    with code.storing_nothing():
        code.branch(condition, then, after)
        code.begin(then)
        found = write(code, line.blocks[0], captured)[0]
        end = code.block
        code.jump(after)
        code.begin(after)
    return code.either(found, end, otherwise, before)


def _loop(code: Code, line: Statement, given: Sequence[Value]) -> list[Value]:
    """Write a bounded loop of the scalar language and return its final carried values."""
    going, step = line.blocks
    limit = line.data
    assert isinstance(limit, int)
    count = len(line.outputs)
    carried, captured = list(given[:count]), list(given[count:])
    before, head, body, after = code.block, code.label(), code.label(), code.label()
    code.jump(head)
    code.begin(head)
    counter = Value(code.name(), "int64")
    names = [Value(code.name(), value.dtype) for value in carried]
    place = len(code.lines)
    within = code.op(f"icmp slt i64 {counter.text}, {limit}", BOOLEAN)
    wanted = write(code, going, [*names, *captured][: going.arguments])[0]
    code.branch(code.both(within, wanted), body, after)
    code.begin(body)
    found = write(code, step, [*names, *captured][: step.arguments])
    further = code.add(counter, 1)
    start = constant(0, "int64")
    code.phis(place, before, [(counter, start, further), *zip(names, carried, found, strict=True)])
    code.jump(head)
    code.begin(after)
    return names
