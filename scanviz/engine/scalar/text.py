"""Blocks as text: a line an operation, one value a name, for learners, tests and files."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from scanviz.engine.scalar.blocks import Block, Statement


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
