"""What stands on an operation in a picture: short, as mathematics and indices are written, with small constants in their places."""

from __future__ import annotations

import re
from collections.abc import Sequence

_BETWEEN = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "power": "**"}
_DEFAULTS = re.compile(r", keepdims=False|keepdims=False, |\{keepdims=False\}")
_TRANSPOSED = "dimshuffle{order=(1, 0)}"
OPEN = "·"  # stands for what an arrow brings


def operation_label(op: str, written: Sequence[str | None], name: str = "") -> str:
    """Return what stands on an operation.

    Parameters
    ----------
    op : str
        The operation with its parameters.
    written : sequence of str or None
        Of each input the small constant that it is, or None for what an arrow brings.
    name : str
        What the user calls the result; empty for nothing.

    Examples
    --------
    >>> operation_label("subtract", ["1.0", None]), operation_label("tanh", [None], "x_t")
    ('1 - ·', 'x_t = tanh')
    >>> operation_label("index[::-1]", [None]), operation_label("index[4:]", [None], "u[4:]")
    ('[::-1]', 'u[4:]')
    >>> operation_label("assign[:, 192:]+=", [None, None], "∂gates"), operation_label("dimshuffle{order=(1, 0)}", [None])
    ('∂gates = [:, 192:] +=', 'transpose')
    >>> operation_label("sum{axes=(0,), keepdims=False}", [None]), operation_label("clip", [None, "0.0", "1.0"])
    ('sum{axes=(0,)}', 'clip(·, 0, 1)')
    """
    label = _plain(op)
    if any(text is not None for text in written):
        texts = [OPEN if text is None else text.removesuffix(".0") for text in written]
        sign = _BETWEEN.get(op) if len(texts) == 2 else None
        second = texts[-1]
        if sign and second.startswith("-"):
            texts[-1] = f"({second})"
        label = f" {sign} ".join(texts) if sign else f"{label}({', '.join(texts)})"
    elif name and label.startswith("[") and name.endswith(label):
        return name
    return f"{name} = {label}" if name else label


def _plain(op: str) -> str:
    """Return an operation without what its readers know: that it is an index, and parameters that are as always."""
    if op.startswith("index["):
        return op.removeprefix("index")
    if op.startswith("assign["):
        place, _, sign = op.removeprefix("assign").rpartition("]")
        return f"{place}] {sign}"
    return "transpose" if op == _TRANSPOSED else _DEFAULTS.sub("", op)


__all__ = ["OPEN", "operation_label"]
