"""NumPy source from formulas: an expression of scalars, or ufuncs that write into one array in turn.

Operators on NumPy scalars of one dtype give the same as ufuncs, several times faster.  A formula that is a chain, in which each
line reads the line before it, needs no array but its result.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from scanviz.engine.graph.facts import Facts
from scanviz.engine.scalar.array_source import NAMES

if TYPE_CHECKING:
    from scanviz.engine.backends.source.emitter import Emitter
    from scanviz.engine.ops.elementwise_declaration import ElementwiseDeclaration
    from scanviz.engine.scalar.blocks import Block, Statement

MOST_LINES = 4  # the most lines of a formula that become one expression
_WRITTEN = {
    "add": "{} + {}",
    "subtract": "{} - {}",
    "multiply": "{} * {}",
    "divide": "{} / {}",
    "negate": "-{}",
    "bit_and": "{} & {}",
    "bit_or": "{} | {}",
    "bit_xor": "{} ^ {}",
    "bit_not": "~{}",
    "equal": "{} == {}",
    "less": "{} < {}",
    "less_equal": "{} <= {}",
    "select": "{1} if {0} else {2}",
}


@lru_cache(maxsize=1024)
def exact_block(declaration: ElementwiseDeclaration, dtypes: tuple[str, ...]) -> Block | None:
    """Return the formula of an operation, None unless it gives the same bits without a cast."""
    facts = declaration.facts
    assert isinstance(facts, Facts)  # elementwise operations have no parameters
    if facts.raises or facts.either_zero or declaration.formula.ulp > 0:
        return None
    computed, block = declaration.block(*dtypes)
    return block if computed == dtypes else None


def of_numbers(
    emitter: Emitter, declaration: ElementwiseDeclaration, dtypes: tuple[str, ...], inputs: Sequence[str]
) -> str | None:
    """Return an operation on scalars as one short expression, None if there is none."""
    block = exact_block(declaration, dtypes)
    if block is None or sum(line.op != "constant" for line in block.lines) > MOST_LINES:
        return None
    used = Counter(number for line in block.lines for number in line.inputs)
    texts = dict(enumerate(inputs))
    for line in block.lines:
        (number,) = line.outputs
        if line.op == "constant":
            texts[number] = _number(emitter, line, block.dtypes[number])
            continue
        given = [texts.get(number) for number in line.inputs]
        text = _expression(emitter, line, [text for text in given if text is not None])
        if text is None or None in given or used[number] > 1:
            return None
        texts[number] = text if number == block.results[0] else f"({text})"
    return texts[block.results[0]] if block.results[0] >= block.arguments else None


def _expression(emitter: Emitter, line: Statement, given: Sequence[str]) -> str | None:
    pattern = _WRITTEN.get(line.op)
    if pattern is not None:
        return pattern.format(*given)
    ufunc = _ufunc(line)
    return None if ufunc is None else f"{emitter.bind(ufunc, ufunc.__name__)}({', '.join(given)})"


def _ufunc(line: Statement) -> np.ufunc | None:
    found = getattr(np, NAMES.get(line.op, line.op), None)
    return found if isinstance(found, np.ufunc) else None


def _value(line: Statement, dtype: str) -> Any:
    """Return the constant of a line."""
    assert isinstance(line.data, bytes)
    return np.frombuffer(line.data, dtype)[0]


def _number(emitter: Emitter, line: Statement, dtype: str) -> str:
    value = _value(line, dtype)
    return emitter.bind(value, f"c_{value}".replace("-", "m").replace(".", "p"))


def written_in_turn(
    emitter: Emitter,
    declaration: ElementwiseDeclaration,
    dtypes: tuple[str, ...],
    inputs: Sequence[str],
    out: str,
) -> str | None:
    """Return a formula as ufuncs that write into ``out`` in turn, None unless it is a chain."""
    block = exact_block(declaration, dtypes)
    if block is None:
        return None
    texts, before = dict(enumerate(inputs)), -1
    lines: list[str] = []
    for line in block.lines:
        (number,) = line.outputs
        if line.op == "constant":
            dtype = block.dtypes[number]
            texts[number] = emitter.bind_number(_value(line, dtype).item(), dtype)
            continue
        ufunc = _ufunc(line)
        late = lines and (before not in line.inputs or any(k < block.arguments for k in line.inputs))
        if ufunc is None or late or block.dtypes[number] != dtypes[-1]:
            return None
        given = ", ".join(out if number == before else texts[number] for number in line.inputs)
        lines.append(f"{emitter.bind(ufunc, ufunc.__name__)}({given}, {out})")
        before = number
    return "\n".join(lines) if len(lines) > 1 and before == block.results[0] else None
